"""Fingerprints: equal for requests that mean the same, different for any that mean something else."""

from __future__ import annotations

import random
from dataclasses import replace

from helpers.matching import messages, requests, tools
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from workbench.matching.cassettes import request_of
from workbench.matching.fingerprint import INCLUDE_PARAMS, Normal
from workbench.matching.request import Message, Part, RecordedRequest, plain
from workbench.matching.rules import redaction, scrubbing

NORMAL = Normal(redaction(b"key"), scrubbing())
few = settings(max_examples=120, deadline=None)


def prints(request: RecordedRequest, normal: Normal = NORMAL) -> tuple[str, str]:
    made = normal.prepare(request)
    return made.exact, made.normalised


def with_texts(request: RecordedRequest, change) -> RecordedRequest:
    """The request with every readable text changed."""

    def parts(m):
        return tuple(replace(p, text=change(p.text)) if p.kind in ("text", "result") else p for p in m.parts)

    turns = tuple(Message(m.role, parts(m)) for m in request.messages)
    return replace(request, messages=turns, system=change(request.system))


@few
@given(requests)
def test_a_request_survives_its_stored_form(request):
    again = RecordedRequest.from_json(request.as_json())
    assert again == request
    assert prints(again) == prints(request)


@few
@given(requests, st.randoms(use_true_random=False))
def test_order_of_parameters_and_tools_changes_nothing(request, rng: random.Random):
    shuffled = dict(rng.sample(list(request.params.items()), len(request.params)))
    turned = list(request.tools)
    rng.shuffle(turned)
    other = replace(request, params=shuffled, tools=tuple(turned))
    assert prints(other)[1] == prints(request)[1]
    assert prints(replace(request, params=shuffled))[0] == prints(request)[0]


def test_order_of_json_keys_changes_nothing_on_the_wire():
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}}
    turned = {"properties": {"b": {"type": "number"}, "a": {"type": "string"}}, "type": "object"}

    def body(parameters, given):
        function = {"name": "f", "parameters": parameters}
        call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": given}}
        return {
            "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [call]}],
            "tools": [{"type": "function", "function": function}], "model": "m",
        }  # fmt: skip

    one = request_of(body(schema, '{"a": 1, "b": 2.0}'))
    other = request_of(dict(reversed(body(turned, '{"b":2,"a":1}').items())))
    assert prints(one) == prints(other)


@few
@given(requests, st.sampled_from(["  ", "\n", "\t \r\n"]))
def test_white_space_changes_the_exact_fingerprint_at_most(request, blank):
    other = with_texts(request, lambda t: blank + t.replace(" ", f" {blank}") + blank if t else t)
    assert prints(other)[1] == prints(request)[1]


VOLATILE = [
    ("0b85ed4a-1c2d-4e5f-8a9b-0c1d2e3f4a5b", "9c96fe5b-2d3e-4f60-9bac-1d2e3f405162"),
    ("2026-11-11T09:58:01Z", "2027-01-02T23:00:59Z"),
    ("call_Ab12Cd34Ef", "call_Zz98Yy76Xx"),
    ("/tmp/tmpab12cd34/out.txt", "/tmp/tmpzz99yy88/out.txt"),
    ("507f1f77bcf86cd799439011", "60a1b2c3d4e5f60718293a4b"),
    ("created_at: 1769147612", "created_at: 1769147999"),
]


@few
@given(requests, st.sampled_from(VOLATILE))
def test_volatile_values_change_nothing_but_the_exact_fingerprint(request, pair):
    one, other = (with_texts(request, lambda t, v=value: f"{t} see {v} now" if t else t) for value in pair)
    assume(one != other)
    assert prints(one)[1] == prints(other)[1]
    assert prints(one)[0] != prints(other)[0]


def test_two_volatile_values_are_not_one():
    first, second = VOLATILE[0]
    assert prints(plain(f"copy {first} to {second}"))[1] == prints(plain(f"copy {second} to {first}"))[1]
    assert prints(plain(f"copy {first} to {second}"))[1] != prints(plain(f"copy {first} to {first}"))[1]


def test_call_ids_tie_results_to_calls_and_are_nothing_else():
    def talk(first: str, second: str, answered: str) -> RecordedRequest:
        calls = (Part("call", "{}", "f", first), Part("call", "{}", "f", second))
        return RecordedRequest(
            (Message("assistant", calls), Message("tool", (Part("result", "ok", "", answered),)))
        )

    assert prints(talk("a", "b", "a"))[1] == prints(talk("x", "y", "x"))[1]
    assert prints(talk("a", "b", "a"))[1] != prints(talk("a", "b", "b"))[1]


@few
@given(requests, messages, tools, st.data())
def test_any_change_of_meaning_changes_both_fingerprints(request, extra, offered, data):
    place = data.draw(st.integers(0, len(request.messages) - 1))
    turn = request.messages[place]
    role = data.draw(
        st.sampled_from(["user", "assistant", "tool", "system"]).filter(lambda r: r != turn.role)
    )
    piece = data.draw(st.integers(0, len(turn.parts) - 1))
    worded = replace(turn.parts[piece], text=turn.parts[piece].text + " purple")

    def at(changed: Message) -> RecordedRequest:
        return replace(request, messages=(*request.messages[:place], changed, *request.messages[place + 1 :]))

    changes = {
        "role": at(Message(role, turn.parts)),
        "value": at(Message(turn.role, (*turn.parts[:piece], worded, *turn.parts[piece + 1 :]))),
        "one message more": replace(request, messages=(*request.messages, extra)),
        "one message less": replace(request, messages=request.messages[:-1]),
        "system": replace(request, system=request.system + " Be brief."),
        "tools": replace(request, tools=offered),
        **{name: replace(request, params={**request.params, name: "other"}) for name in INCLUDE_PARAMS},
    }
    for name, changed in changes.items():
        if changed != request and not (
            name == "tools" and sorted(map(str, offered)) == sorted(map(str, request.tools))
        ):
            assert prints(changed)[0] != prints(request)[0], name
            assert prints(changed)[1] != prints(request)[1], name


@few
@given(requests)
def test_parameters_that_are_not_included_leave_the_normalised_fingerprint(request):
    other = replace(request, params={**request.params, "temperature": 1.75, "user": "someone"})
    assert prints(other)[1] == prints(request)[1]
    every = replace(NORMAL, include_params=("*",))
    assert prints(other, every)[1] != prints(request, every)[1]
    chosen = replace(NORMAL, include_params=("temperature",))
    assert (
        prints(replace(request, params={"temperature": 0.1}), chosen)[1]
        != prints(replace(request, params={"temperature": 0.2}), chosen)[1]
    )


@few
@given(requests, st.integers(1, 3))
def test_tail_n_compares_the_last_messages_and_always_the_system_text(request, n):
    tail = replace(NORMAL, tail_n=n)
    longer = replace(request, messages=(Message("user", (Part("text", "earlier"),)), *request.messages))
    if len(request.messages) >= n:
        assert prints(longer, tail)[1] == prints(request, tail)[1]
    assert prints(replace(request, system="Another one."), tail)[1] != prints(request, tail)[1]


def test_pictures_and_provider_state_are_compared_whole():
    def shown(data: str) -> RecordedRequest:
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        return request_of(
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, image]}]}
        )

    assert prints(shown("AAAA")) == prints(shown("AAAA"))
    assert prints(shown("AAAA"))[1] != prints(shown("BBBB"))[1]
    assert NORMAL.prepare(shown("AAAA")).words == NORMAL.prepare(shown("BBBB")).words

    def later(earlier: str) -> RecordedRequest:
        return request_of(
            {"input": "And the second?", "previous_response_id": earlier}, "https://x/v1/responses"
        )

    assert prints(later("resp_0123456789ab"))[1] != prints(later("resp_ba9876543210"))[1]

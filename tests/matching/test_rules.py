"""Rules as data: each holds for its own examples; secrets never reach the file; hostile texts take linear time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from helpers.matching import said
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.matching.cascade import ask
from workbench.matching.library import Library
from workbench.matching.request import Message, Part, RecordedRequest, Tool, plain
from workbench.matching.rules import (
    BadRule,
    RuleSet,
    Seen,
    read_rules,
    redaction,
    rule_from,
    scrubbing,
)

BOTH = [*redaction().rules.rules, *scrubbing().rules]


@pytest.mark.parametrize("rule", BOTH, ids=lambda r: r.name)
def test_every_rule_has_examples_that_it_changes_and_that_it_spares(rule):
    assert rule.matches and rule.spares
    for text in rule.matches:
        assert rule.applies(text), "a needle must stand in every example"


@pytest.mark.parametrize(
    ("broken", "said_of_it"),
    [
        ({"pattern": "("}, "does not compile"),
        ({"matches": ["xyz"]}, "must change"),
        ({"spares": ["aaa"]}, "must spare"),
        ({"replace": ""}, "missing"),
        ({"colour": "red"}, "unknown field"),
    ],
)
def test_a_rule_that_breaks_its_word_is_refused_by_name(broken, said_of_it):
    with pytest.raises(BadRule, match=said_of_it) as caught:
        rule_from({"name": "r", "pattern": "a+", "replace": "<a>", **broken}, "rules.toml")
    assert "rule 'r'" in caught.value.where


def test_a_rules_file_that_cannot_be_read_says_where(tmp_path: Path):
    (tmp_path / "r.toml").write_text("[[rule]\n")
    with pytest.raises(BadRule, match=r"r\.toml"):
        read_rules(tmp_path / "r.toml")


SECRETS = {
    "key": "sk-proj-a1b2c3d4e5f6g7h8i9",
    "bearer": "abcDEF0123456789xyz",
    "mail": "ann.example@mail.example.org",
    "password": "hunter2x!9",
}


def secret_call() -> tuple[RecordedRequest, object]:
    text = f"Use key {SECRETS['key']} with Authorization: Bearer {SECRETS['bearer']} and write to {SECRETS['mail']}"
    login = f'{{"user": "ann", "password": "{SECRETS["password"]}"}}'
    turns = (
        Message("user", (Part("text", text),)),
        Message("assistant", (Part("call", login, "login", "c1"),)),
        Message("tool", (Part("result", f"ok for {SECRETS['mail']}", "", "c1"),)),
    )
    tool = Tool("login", f"asks {SECRETS['mail']}", f'{{"default":"{SECRETS["key"]}"}}')
    answer = said(f"Written to {SECRETS['mail']} with {SECRETS['key']}")
    return RecordedRequest(
        turns, f"You act for {SECRETS['mail']}.", (tool,), {"user": SECRETS["mail"]}
    ), answer


def test_no_secret_reaches_the_file_by_recording_asking_or_queueing(tmp_path: Path):
    path = tmp_path / "l.sqlite"
    request, answer = secret_call()
    with Library(path) as library:
        library.record(request, answer)
        assert ask(library, request).tier == "exact"
        near = RecordedRequest(
            (*request.messages[:-1], Message("tool", (Part("result", f"fine for {SECRETS['mail']}", "", "c1"),))),
            request.system, request.tools, request.params,
        )  # fmt: skip
        assert ask(library, near).candidates
        library.counts()
    held = b"".join(p.read_bytes() for p in tmp_path.iterdir())
    for name, secret in SECRETS.items():
        assert secret.encode() not in held, name
    assert b"<secret>" in held and b"<email-" in held


def test_a_letter_to_one_address_never_answers_for_another():
    with Library() as library:
        library.record(plain("Write to ann@example.org"), said("Dear Ann"))
        assert ask(library, plain("Write to ann@example.org")).served
        assert not ask(library, plain("Write to bob@example.org")).served


def test_a_value_under_a_secret_key_goes_whatever_it_looks_like():
    shown = redaction().value({"Api-Key": "plain words", "deep": [{"password": "x"}], "max_tokens": 5})
    assert shown == {"Api-Key": "<secret>", "deep": [{"password": "<secret>"}], "max_tokens": 5}


def test_a_new_redaction_rule_cleans_what_is_stored_already(tmp_path: Path):
    path = tmp_path / "l.sqlite"
    with Library(path) as library:
        library.record(plain("The codename is BLUEBIRD"), said("BLUEBIRD it is"))
        library.add_rule("redaction", {"name": "codename", "pattern": "BLUEBIRD", "replace": "<codename>"})
        assert library.request(1).messages[0].text == "The codename is <codename>"
        assert ask(library, plain("The codename is BLUEBIRD")).answer.text == "<codename> it is"
    with Library(path) as library:
        assert [r.name for r in library.project.own_rules("redaction")] == ["codename"]


def test_a_new_scrubbing_rule_makes_recorded_requests_equal_at_once():
    with Library() as library:
        library.record(plain("Build 1234 failed"), said("fix it"))
        assert not ask(library, plain("Build 9999 failed")).served
        library.add_rule("scrubbing", {"name": "build", "pattern": r"Build \d+", "replace": "Build <n>"})
        assert ask(library, plain("Build 9999 failed")).tier == "normalised"


def test_a_dropped_rule_hides_nothing_more_and_what_it_hid_is_told_apart():
    first, second = "4f1c2d3e-5a6b-4c7d-8e9f-0a1b2c3d4e5f", "9b8a7c6d-1e2f-4a3b-8c4d-5e6f7a8b9c0d"
    with Library() as library:
        library.record(plain(f"summarise ticket {first}"), said("the crane"))
        assert ask(library, plain(f"summarise ticket {second}")).tier == "normalised"
        library.drop_rule("uuid")
        assert not ask(library, plain(f"summarise ticket {second}")).served
        assert ask(library, plain(f"summarise  ticket {first}")).tier == "normalised"
        with pytest.raises(BadRule, match="no scrubbing rule 'uuid'"):
            library.drop_rule("uuid")


def test_rules_and_settings_that_another_process_changed_are_taken_over(tmp_path: Path):
    with Library(tmp_path / "l.sqlite") as one, Library(tmp_path / "l.sqlite") as other:
        one.record(plain("Build 1234 failed"), said("fix it"))
        other.add_rule("scrubbing", {"name": "build", "pattern": r"Build \d+", "replace": "Build <n>"})
        other.change(serve=0.5)
        assert ask(one, plain("Build 9999 failed")).tier == "normalised"
        assert one.settings.serve == 0.5
        one.record(plain("Build 5 passed"), said("well done"))
        assert ask(other, plain("Build 6 passed")).answer.text == "well done"


def test_numbers_of_values_start_anew_for_each_request_and_are_shared_within_one():
    rule = rule_from({"name": "r", "pattern": r"#\d", "replace": "<{n}>"}, "t")
    seen = Seen()
    rules = RuleSet((rule,))
    assert [rules.apply(t, seen) for t in ("#5 #7 #5", "#7")] == ["<1> <2> <1>", "<2>"]
    assert rules.apply("#7") == "<1>"


LONG = [
    "a",
    "1a",
    "a@",
    "a.b@c.",
    "/tmp/1",
    "2026-",
    "eyJ",
    "password=",
    "bearer ",
    "://a:",
    "Mon ",
    "-----BEGIN PRIVATE KEY-----",
]


@pytest.mark.parametrize("unit", LONG)
def test_a_megabyte_without_sense_takes_no_more_than_seconds(unit):
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()
    scrubbing().apply(redaction().text(text))
    assert time.process_time() - start < 5


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_redaction_is_done_after_one_pass(text):
    rules = redaction(b"key")
    once = rules.text(text)
    assert rules.text(once) == once
    assert rules.touches(text) or once == text

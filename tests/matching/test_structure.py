"""A wrong replay never happens by default: what words do not show is part of what must be equal."""

from __future__ import annotations

import pytest
from helpers.crossed_calls import FORMS, attack, crossed
from helpers.matching import said

from workbench.matching.cascade import ask
from workbench.matching.cassettes import Recording, read, request_of
from workbench.matching.library import ADR_0003, Library
from workbench.matching.request import Message, Part, RecordedRequest, plain


def served(recorded: RecordedRequest, asked: RecordedRequest, settings=None) -> str:
    """The tier that serves the one for the other; "" for none."""
    with Library(settings=settings) as library:
        library.record(recorded, said("x"))
        found = ask(library, asked)
        return found.tier if found.served else ""


@pytest.mark.parametrize("settings", [None, ADR_0003], ids=["defaults", "record"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", ["ids", "texts"])
def test_crossed_results_of_two_calls_are_not_served(form, way, settings):
    uri, body = FORMS[form]
    recorded, asked = (request_of(body(crossed=c), uri) for c in ("", way))
    assert served(recorded, recorded, settings) == "exact"
    assert recorded.speakers() == asked.speakers()
    assert served(recorded, asked, settings) == ""


def talk(*turns: tuple[str, list[Part]], system: str = "") -> RecordedRequest:
    return RecordedRequest(tuple(Message(r, tuple(p)) for r, p in turns), system)


def T(text: str, kind: str = "text") -> Part:  # noqa: N802
    return Part(kind, text)


CALL = "call_Ab12Cd34Ef", "call_Zz98Yy76Xx"
TWO = [("assistant", [Part("call", "{}", "f", CALL[0]), Part("call", "{}", "g", CALL[1])]),
       ("tool", [Part("result", "1", "", CALL[0]), Part("result", "2", "", CALL[1])])]  # fmt: skip
MEDIA = Part("media", "sha256:aa", "image/png")
STRUCTURE = {
    "words move to another speaker": (
        talk(("user", [T("yes or")]), ("assistant", [T("no")])), talk(("user", [T("yes")]), ("assistant", [T("or no")]))),
    "words move from the system text": (
        talk(("user", [T("now go")]), system="stay"), talk(("user", [T("go")]), system="stay now")),
    "a thought becomes a text": (talk(("assistant", [T("go", "reasoning")])), talk(("assistant", [T("go")]))),
    "two parts become one": (talk(("user", [T("a"), T("b")])), talk(("user", [T("a b")]))),
    "a picture moves before its text": (talk(("user", [T("this"), MEDIA])), talk(("user", [MEDIA, T("this")]))),
    "a picture moves to another message": (
        talk(("user", [T("a"), MEDIA]), ("user", [T("b")])), talk(("user", [T("a")]), ("user", [T("b"), MEDIA]))),
    "the name of a tool message": (
        talk(("tool", [Part("result", "ok", "getX")])), talk(("tool", [Part("result", "ok", "getx")]))),
    "an id that a later message refers to": (
        talk(*TWO, ("user", [T(f"repeat {CALL[0]}")])), talk(*TWO, ("user", [T(f"repeat {CALL[1]}")]))),
    "an empty argument": (
        talk(("assistant", [Part("call", '{"a":"b","b":""}', "f")])), talk(("assistant", [Part("call", '{"a":"","b":"b"}', "f")]))),
    "a number becomes a text": (
        talk(("assistant", [Part("call", '{"n":1}', "f")])), talk(("assistant", [Part("call", '{"n":"1"}', "f")]))),
    "an indented line": (
        talk(("user", [T("if x:\n  a()\n  b()")])), talk(("user", [T("if x:\n  a()\nb()")]))),
}  # fmt: skip


@pytest.mark.parametrize("name", STRUCTURE)
def test_what_words_do_not_show_is_not_served(name):
    recorded, asked = STRUCTURE[name]
    assert served(recorded, recorded) == "exact"
    assert served(recorded, asked) == served(asked, recorded) == ""


def test_new_ids_for_the_same_calls_are_served():
    recorded = talk(*TWO, ("user", [T(f"repeat {CALL[0]}")]))
    new = talk(*([(r, [Part(p.kind, p.text, p.name, "call_9k8j7h6g" if p.id == CALL[0] else "call_5f4d3s2a") for p in parts])
                  for r, parts in TWO]), ("user", [T("repeat call_9k8j7h6g")]))  # fmt: skip
    assert served(recorded, new) == "normalised"


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}
DOCUMENT = {"type": "document", "title": "Bid of Ann", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
DROPPED = {
    "detail of an image": (FORMS["openai-chat"][0], {"messages": [{"role": "user", "content": [IMAGE]}]}, "low", "high"),
    "prefix": (FORMS["openai-chat"][0], {"messages": [
        {"role": "user", "content": "x"}, {"role": "assistant", "content": "y", "prefix": "yes"}]}, "yes", "no"),
    "title of a document": (FORMS["anthropic"][0], {"messages": [{"role": "user", "content": [DOCUMENT]}]}, "Ann", "Bob"),
    "name of a document": (FORMS["bedrock"][0], {"messages": [{"role": "user", "content": [
        {"document": {"format": "txt", "name": "ann", "source": {"bytes": "AAAA"}}}]}]}, "ann", "bob"),
    "part of a video": (FORMS["gemini"][0], {"contents": [{"role": "user", "parts": [
        {"fileData": {"mimeType": "video/mp4", "fileUri": "u"}, "videoMetadata": {"startOffset": "1s"}}]}]}, "1s", "9s"),
    "files of a result": (FORMS["gemini"][0], {"contents": [{"role": "user", "parts": [
        {"functionResponse": {"name": "f", "response": {}, "parts": [{"x": "one"}]}}]}]}, "one", "two"),
    "file name": (FORMS["openai-responses"][0], {"input": [{"role": "user", "content": [
        {"type": "input_file", "file_data": "data:text/plain;base64,AAAA", "filename": "ann"}]}]}, "ann", "bob"),
}  # fmt: skip


@pytest.mark.parametrize("name", DROPPED)
def test_a_reader_drops_nothing_that_the_model_sees(name):
    import json

    uri, body, one, other = DROPPED[name]
    changed = json.loads(json.dumps(body).replace(f'"{one}"', f'"{other}"').replace(f" {one}", f" {other}"))
    assert changed != body
    assert served(request_of(body, uri), request_of(changed, uri)) == ""


def test_crossed_swapped_and_dropped_structure_is_never_served_wrong():
    calls = [request_of(FORMS[f][1](word=w), FORMS[f][0]) for f in FORMS for w in ("sunny", "windy", "dry")]
    found = attack(calls, 400, seed=7)
    assert (found.asked, found.wrong) == (400, [])
    assert len(found.kinds) >= 8


@pytest.mark.shared
def test_real_recordings_with_crossed_structure_are_never_served_wrong(shared_data):
    calls = [r.request for r in read(shared_data("cassettes-crewai")) if isinstance(r, Recording)][:150]
    found = attack(calls, 300, seed=11)
    assert found.asked == 300 and not found.wrong


def test_a_change_of_the_generator_is_a_change():
    (request,) = [request_of(FORMS["anthropic"][1](), FORMS["anthropic"][0])]
    for kind, changed in crossed(request, seed=3, count=50):
        assert changed != request, kind
    assert plain("x") not in [c for _, c in crossed(plain("x"), seed=1, count=5)]

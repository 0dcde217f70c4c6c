"""Reading cassettes: every interaction is a recording or is listed with its reason, and a bad one harms no other."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
import yaml
from helpers.matching import aws_frame, cassette, chat, chat_answer, sse

from workbench.matching import cassettes
from workbench.matching.cascade import ask
from workbench.matching.cassettes import CassetteError, Recording, Skipped, load, read
from workbench.matching.library import Library

GOOD = (chat("Hello"), chat_answer("Hi"))


def write(folder: Path, name: str, held) -> Path:
    path = folder / name
    if not isinstance(held, str):
        try:
            held = json.dumps(held)  # JSON is YAML too, and written in no time
        except TypeError:
            held = yaml.safe_dump(held)
    path.write_text(held, encoding="utf-8")
    return path


def found(source: Path) -> tuple[list[Recording], list[Skipped]]:
    all_of_it = list(read(source))
    return [f for f in all_of_it if isinstance(f, Recording)], [
        f for f in all_of_it if isinstance(f, Skipped)
    ]


BAD_FILES = {
    "not-yaml.yaml": "interactions: [\n- {",
    "not-a-cassette.yaml": "version: 1\n",
    "a-list.yaml": "- 1\n- 2\n",
    "empty.yaml": "",
    "python-tag.yaml": "interactions: !!python/object/apply:os.system ['true']\n",
    "bad-base64.yaml": "interactions:\n- request: {body: !!binary 'abcde'}\n",
    "deep.yaml": "interactions: " + "[" * 5000 + "]" * 5000,
    "not-json.json": '{"interactions": [',
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_listed_and_the_others_are_loaded(tmp_path: Path, name):
    write(tmp_path, name, BAD_FILES[name])
    write(tmp_path, "zz-good.yaml", cassette(GOOD))
    good, skipped = found(tmp_path)
    assert [r.answer.text for r in good] == ["Hi"]
    assert [(s.file, s.number) for s in skipped] == [(name, 0)]
    assert skipped[0].reason and "\n" not in skipped[0].reason


def test_a_file_that_is_not_utf8_is_listed(tmp_path: Path):
    (tmp_path / "latin.yaml").write_bytes("interactions: é".encode("latin-1"))
    write(tmp_path, "zz.yaml", cassette(GOOD))
    good, skipped = found(tmp_path)
    assert len(good) == 1 and "UTF-8" in skipped[0].reason


def test_a_bomb_of_aliases_is_listed_before_it_goes_off(tmp_path: Path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    write(tmp_path, "bomb.yaml", "\n".join([*lines, "interactions: *a8"]))
    _, skipped = found(tmp_path)
    assert "1,000,000 values" in skipped[0].reason


BAD_CALLS = {
    "binary request": ((b"\x89PNG\x0d\xff\xfe", chat_answer("x")), "binary"),
    "binary answer": ((chat("x"), b"\x89PNG\x0d\xff\xfe"), "event stream"),
    "no json": (("hello=1", chat_answer("x")), "no JSON object"),
    "text answer": ((chat("x"), "<html>"), "neither JSON"),
    "cut answer": ((chat("x"), '{"choices": [{"mess'), "neither JSON"),
    "cut stream": ((chat("x"), sse({"choices": [{"delta": {"content": "Hel"}}]})), "neither a finish reason"),
    "cut event": ((chat("x"), 'data: {"choices": [{"delta'), "no whole JSON"),
    "error in the stream": ((chat("x"), sse({"error": {"message": "overloaded"}})), "error"),
    "20 MB body": ((chat("x" * (20 << 20)), chat_answer("x")), "larger than 8 MiB"),
    "20 MB answer": ((chat("x"), chat_answer("x" * (20 << 20))), "larger than 8 MiB"),
    "cut frames": ((chat("x"), aws_frame("a", {})[:-3] + b"\xff"), "cut"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_CALLS)
def test_a_bad_call_is_listed_and_its_neighbours_are_loaded(tmp_path: Path, name):
    bad, reason = BAD_CALLS[name]
    first, last = (chat("first"), chat_answer("1")), (chat("last"), chat_answer("2"))
    write(tmp_path, "c.yaml", cassette(first, bad, last))
    with Library() as library:
        report = load(library, tmp_path)
        assert (report.recordings, report.entries) == (2, 2)
        assert [(s.file, s.number) for s in report.skipped] == [("c.yaml", 2)]
        assert reason in report.skipped[0].reason
        assert library.exact(library.normal.prepare(library.request(2)).exact)[1].text == "2"


def test_errors_and_unknown_formats_are_listed_by_what_they_are(tmp_path: Path):
    held = cassette(GOOD, GOOD, GOOD)
    held["interactions"][0]["response"]["status"]["code"] = 429
    held["interactions"][1]["request"]["uri"] = "https://api.cohere.com/v2/chat"
    held["interactions"].append({"kind": "websocket", "data": "x"})
    write(tmp_path, "c.yaml", held)
    good, skipped = found(tmp_path)
    assert len(good) == 1
    assert [s.reason for s in skipped] == [
        "the recorded answer is an error: HTTP 429 from openai-chat",
        "no known format: POST api.cohere.com/v2/chat",
        "not an HTTP interaction (it has data, kind)",
    ]


def test_every_wrapping_of_a_body_is_read(tmp_path: Path):
    asked, answered = json.dumps(GOOD[0]), json.dumps(GOOD[1])
    held = cassette(*[GOOD] * 4)
    bodies = [
        (asked.encode(), {"string": answered.encode()}),
        (
            {"string": asked, "encoding": "utf-8"},
            {"base64_string": base64.b64encode(answered.encode()).decode()},
        ),
        (GOOD[0], answered),
    ]
    for interaction, (request, response) in zip(held["interactions"], bodies, strict=False):
        interaction["request"]["body"], interaction["response"]["body"] = request, response
    parsed = held["interactions"][3]
    parsed["request"]["parsed_body"], parsed["response"]["parsed_body"] = GOOD
    del parsed["request"]["body"], parsed["response"]["body"]
    write(tmp_path, "c.yaml", held)
    good, skipped = found(tmp_path)
    assert not skipped
    assert {(r.request.as_json(), r.answer.text) for r in good} == {(good[0].request.as_json(), "Hi")}


def test_a_larger_file_than_the_limit_is_not_opened(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(cassettes, "FILE_LIMIT", 100)
    write(tmp_path, "big.yaml", cassette(GOOD))
    assert found(tmp_path) == ([], [Skipped("big.yaml", 0, "the file is larger than 0 MiB")])


def test_jsonl_is_read_line_by_line(tmp_path: Path):
    lines = [
        json.dumps({**chat("one"), "answer": "1"}), "", "{not json", json.dumps([1]), json.dumps({"messages": []}),
        json.dumps({"request": chat("two"), "response": chat_answer("2")}),
        json.dumps({"uri": "https://x/v2/chat", "request": chat("three"), "response": chat_answer("3")}),
        json.dumps({**chat("four"), "answer": chat_answer("4")}),
    ]  # fmt: skip
    good, skipped = found(write(tmp_path, "calls.jsonl", "\n".join(lines)))
    assert [(r.number, r.answer.text) for r in good] == [(1, "1"), (6, "2"), (8, "4")]
    assert [s.number for s in skipped] == [3, 4, 5, 7]


def test_a_source_that_is_not_there_is_an_error(tmp_path: Path):
    with pytest.raises(CassetteError, match="no such file"):
        list(read(tmp_path / "nowhere"))
    with pytest.raises(CassetteError, match="no cassette here"):
        list(read(tmp_path))


def test_loading_again_changes_nothing_and_other_answers_stand_behind_the_first(tmp_path: Path):
    write(tmp_path, "a.yaml", cassette(GOOD, (chat("Hello"), chat_answer("Hey"))))
    with Library() as library:
        first = load(library, tmp_path)
        again = load(library, tmp_path)
        assert (first.recordings, first.entries, first.answers) == (2, 1, 2)
        assert (again.recordings, again.entries, again.answers) == (2, 0, 0)
        assert library.answer(1).text == "Hi"


def test_a_load_that_breaks_leaves_the_library_as_it_was(tmp_path: Path, monkeypatch):
    write(tmp_path, "a.yaml", cassette(GOOD, (chat("two"), chat_answer("2"))))
    with Library(tmp_path / "l.sqlite") as library:

        def stop(number: int) -> None:
            if number == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            load(library, tmp_path, tick=stop)
        assert library.counts()["entries"] == 0
        assert load(library, tmp_path).entries == 2


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "files", "recordings", "entries", "skipped"),
    [("cassettes-crewai", 529, 908, 694, 195), ("cassettes-pydantic-ai", 1153, 1431, 1168, 2613)],
)
def test_real_cassettes_are_loaded_and_each_answers_its_own_request(
    shared_data, name, files, recordings, entries, skipped
):
    folder = shared_data(name)
    assert len(cassettes.files_of(folder)) == files
    with Library(key=b"0" * 16) as library:
        report = load(library, folder)
        assert (report.recordings, report.entries, len(report.skipped)) == (recordings, entries, skipped)
        for request_id in range(1, entries + 1, 7):
            outcome = ask(library, library.request(request_id))
            assert (outcome.tier, outcome.entry_id) == ("exact", request_id)

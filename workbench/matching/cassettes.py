"""Recorded calls from vcrpy cassettes (YAML or JSON) and plain JSONL: what is understood, and a list of the rest.

The law: every interaction is either a recording or is listed with its file, its number and the reason; a bad one
never takes its neighbours with it. Files come in the order of their paths, interactions in the order of the file.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from workbench.matching.formats import format_of, openai_chat, read_answer, read_request
from workbench.matching.formats.wire import (
    NotUnderstood,
    Wire,
    aws_frames,
    looks_server_sent,
    server_sent,
)
from workbench.matching.library import Library
from workbench.matching.request import Answer, RecordedRequest, json_text
from workbench.matching.rules import CleanError, Seen

# ---- Plain JSONL: one call a line ----

CHAT_URI = "https://localhost/v1/chat/completions"
"""An address for bodies that come without one; the chat format is known by its path."""


def read_jsonl(
    path: Path, limit: int
) -> Iterator[tuple[int, Callable[[], tuple[RecordedRequest, Answer]]]]:
    """(line number from 1, a function that reads the line or raises NotUnderstood) of every line that is not blank."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, partial(_jsonl_call, line, limit)


def _jsonl_call(line: bytes, limit: int) -> tuple[RecordedRequest, Answer]:
    if len(line) > limit:
        raise NotUnderstood(f"the line is larger than {limit >> 20} MiB")
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise NotUnderstood(f"the line is no JSON: {error}") from error
    if not isinstance(data, Mapping):
        raise NotUnderstood("the line is no JSON object")
    if "request" in data:
        return _wire_call(data)
    if "answer" not in data:
        raise NotUnderstood("the line has neither `answer` nor `request` and `response`")
    return request_of({k: v for k, v in data.items() if k not in ("answer", "uri")}), _answer(
        data["answer"]
    )


def request_of(body: Mapping[str, Any], uri: str = CHAT_URI) -> RecordedRequest:
    """A request from a wire body. Raises NotUnderstood where no format claims it."""
    wire = Wire("POST", uri, body)
    form = format_of(wire)
    if form is None:
        raise NotUnderstood(_no_format(uri))
    return read_request(form, wire)


def _no_format(uri: str) -> str:
    """Why no format claims a body; one without an address is a chat body, or nothing that is known."""
    return (
        "the request has no `messages`, and no address that tells another format"
        if uri == CHAT_URI
        else f"no known format: {uri}"
    )


def _wire_call(data: Mapping[str, Any]) -> tuple[RecordedRequest, Answer]:
    if not isinstance(data["request"], Mapping) or not isinstance(data.get("uri", CHAT_URI), str):
        raise NotUnderstood("`request` must be a JSON object and `uri` a text")
    wire = Wire("POST", data.get("uri", CHAT_URI), data["request"], body=data.get("response"))
    form = format_of(wire)
    if form is None:
        raise NotUnderstood(_no_format(wire.uri))
    return read_request(form, wire), read_answer(form, wire)


def _answer(given: Any) -> Answer:
    if isinstance(given, str):
        return Answer(given, body=json_text(given))
    return read_answer(openai_chat.FORMAT, Wire("POST", CHAT_URI, {}, body=given))


# ---- Recorded calls from vcrpy cassettes (YAML or JSON) and plain JSONL: what is understood ----

SUFFIXES = (".yaml", ".yml", ".json", ".jsonl", ".ndjson")
FILE_LIMIT = 64 << 20
"""Bytes of a file that is read at all; 1,000 times the size of an ordinary cassette."""
BODY_LIMIT = 8 << 20
"""Bytes of one body. Larger ones are uploads and downloads, not prompts: a model's window is under 8 MB of text."""
NODE_LIMIT = 1_000_000
"""Values of one document with its aliases written out, so that a few lines of YAML cannot fill the memory."""


class CassetteError(CleanError):
    """A source that is not there or holds no file that could be a recording."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded call and where it stands; `number` counts a file's interactions (or lines) from 1."""

    request: RecordedRequest
    answer: Answer
    file: str
    number: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was not loaded, and why; `number` 0 is the whole file."""

    file: str
    number: int
    reason: str


def files_of(source: Path) -> list[Path]:
    """The files of a source: itself, or all below it with a known suffix, ordered by path."""
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise CassetteError(
            "no such file or folder",
            where=str(source),
            do="Name a cassette, a JSONL file or a folder",
        )
    found = sorted(p for p in source.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
    if not found:
        raise CassetteError(
            "no cassette here", where=str(source), do=f"Looked for {', '.join(SUFFIXES)}"
        )
    return found


def read(source: Path | str) -> Iterator[Recording | Skipped]:
    """Every interaction of a source, as a recording or as skipped."""
    source = Path(source)
    root = source.parent if source.is_file() else source
    for path in files_of(source):
        name = path.relative_to(root).as_posix()
        if path.stat().st_size > FILE_LIMIT:
            yield Skipped(name, 0, f"the file is larger than {FILE_LIMIT >> 20} MiB")
        elif path.suffix.lower() in (".jsonl", ".ndjson"):
            yield from _jsonl(path, name)
        else:
            yield from _cassette(path, name)


def _cassette(path: Path, name: str) -> Iterator[Recording | Skipped]:
    try:
        interactions = _interactions(path)
    except NotUnderstood as error:
        yield Skipped(name, 0, error.what)
        return
    for number, interaction in enumerate(interactions, 1):
        try:
            yield Recording(*_call(interaction), name, number)
        except NotUnderstood as error:
            yield Skipped(name, number, error.what)


def _jsonl(path: Path, name: str) -> Iterator[Recording | Skipped]:
    for number, read_line in read_jsonl(path, BODY_LIMIT):
        try:
            yield Recording(*read_line(), name, number)
        except NotUnderstood as error:
            yield Skipped(name, number, error.what)


def _interactions(path: Path) -> list[Any]:
    """The list of interactions of a cassette. Raises NotUnderstood for what is not one."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text = path.read_bytes().decode("utf-8")
        data = (
            json.loads(text) if path.suffix.lower() == ".json" else yaml.load(text, Loader=loader)
        )
    except UnicodeDecodeError as error:
        raise NotUnderstood(
            f"the file is not UTF-8: {error.reason} at byte {error.start}"
        ) from error
    except RecursionError as error:
        raise NotUnderstood("the file is nested too deeply") from error
    except (yaml.YAMLError, ValueError) as error:
        raise NotUnderstood(f"the file is damaged: {' '.join(str(error).split())[:160]}") from error
    held = (
        data.get("interactions", data.get("http_interactions"))
        if isinstance(data, Mapping)
        else None
    )
    if not isinstance(held, list):
        raise NotUnderstood("the file is no cassette: it has no list of interactions")
    _check_size(held)
    return held


def _check_size(value: Any) -> None:
    """Raises NotUnderstood where the document, aliases written out, holds more than NODE_LIMIT values."""
    left, stack = NODE_LIMIT, [value]
    while stack:
        left -= 1
        if left < 0:
            raise NotUnderstood(
                f"the file holds more than {NODE_LIMIT:,} values when its aliases are written out"
            )
        held = stack.pop()
        if isinstance(held, Mapping):
            stack.extend(held.values())
        elif isinstance(held, list):
            stack.extend(held)


def _call(interaction: Any) -> tuple[RecordedRequest, Answer]:
    """Request and answer of one interaction. Raises NotUnderstood with the reason to list."""
    if not isinstance(interaction, Mapping) or not isinstance(interaction.get("request"), Mapping):
        keys = (
            ", ".join(sorted(map(str, interaction)))
            if isinstance(interaction, Mapping)
            else type(interaction).__name__
        )
        raise NotUnderstood(f"not an HTTP interaction (it has {keys})")
    request, response = interaction["request"], interaction.get("response")
    if not isinstance(response, Mapping):
        raise NotUnderstood("an interaction without a response")
    method, uri = (
        str(request.get("method", "")).upper(),
        str(request.get("uri", request.get("url", ""))),
    )
    try:
        address = f"{method} {urlsplit(uri).hostname or ''}{urlsplit(uri).path}"
    except ValueError as error:
        raise NotUnderstood(f"the address cannot be read: {error}") from error
    wire = Wire(method, uri, _request_body(request, address), _status(response))
    form = format_of(wire)
    if form is None:
        raise NotUnderstood(f"no known format: {address}")
    if wire.status >= 400:
        raise NotUnderstood(f"the recorded answer is an error: HTTP {wire.status} from {form.name}")
    asked = read_request(form, wire)
    body, events = _response_body(response)
    return asked, read_answer(form, Wire(method, uri, wire.request, wire.status, body, events))


def _status(response: Mapping[str, Any]) -> int:
    status = response.get("status")
    code = (
        status.get("code") if isinstance(status, Mapping) else response.get("status_code", status)
    )
    return code if isinstance(code, int) else 200


def _request_body(request: Mapping[str, Any], address: str) -> Mapping[str, Any]:
    parsed = request.get("parsed_body")
    body = _json(_raw(request.get("body"))) if parsed is None else parsed
    if not isinstance(body, Mapping):
        what = (
            "no body"
            if body is None or body == ""
            else f"a body that is no JSON object ({type(body).__name__})"
        )
        raise NotUnderstood(f"the request has {what}: {address}")
    return body


def _response_body(response: Mapping[str, Any]) -> tuple[Any, tuple | None]:
    """(JSON body, None) or (None, events)."""
    if response.get("parsed_body") is not None:
        return response["parsed_body"], None
    raw = _raw(response.get("body"))
    if isinstance(raw, bytes):
        try:
            raw = raw.decode("utf-8")
        except UnicodeDecodeError:
            return None, aws_frames(raw)
        if raw.startswith("\x00"):
            return None, aws_frames(raw.encode("utf-8"))
    if isinstance(raw, str) and looks_server_sent(raw):
        return None, server_sent(raw)
    parsed = _json(raw)
    if isinstance(parsed, str):
        raise NotUnderstood("the answer is neither JSON nor an event stream")
    return parsed, None


def _raw(body: Any) -> Any:
    """A body as text, bytes or parsed value, out of vcrpy's wrappings; a text over BODY_LIMIT is refused."""
    if isinstance(body, Mapping) and set(body) <= {"string", "encoding", "base64_string"}:
        body = _unwrapped(body)
    if isinstance(body, str | bytes) and len(body) > BODY_LIMIT:
        raise NotUnderstood(f"a body is larger than {BODY_LIMIT >> 20} MiB")
    return body


def _unwrapped(body: Mapping[str, Any]) -> Any:
    if body.get("base64_string") is None:
        return body.get("string")
    try:
        return base64.b64decode(body["base64_string"], validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        raise NotUnderstood(f"a body is no base64: {error}") from error


def _json(raw: Any) -> Any:
    """The JSON that a text holds, or the text itself where it holds none."""
    if isinstance(raw, bytes):
        try:
            raw = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise NotUnderstood("a body is binary data") from error
    if not isinstance(raw, str):
        return raw
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw


# ---- Load recorded calls into a library: all or nothing, repeatable, with a list of what wa ----


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What a load did. `recordings` were read; `entries` and `answers` are new in the library; the rest were there.

    `formats` counts recordings by wire format, `redacted` what each redaction rule replaced, `opaque` the parts that
    a format has and the matcher only compares whole.
    """

    recordings: int
    entries: int
    answers: int
    formats: dict[str, int]
    redacted: dict[str, int]
    opaque: dict[str, int]
    skipped: tuple[Skipped, ...] = field(default_factory=tuple)

    @property
    def reasons(self) -> dict[str, int]:
        """How often each reason was given, the address or detail behind a colon left off; most frequent first."""
        counts = Counter(s.reason.split(":", 1)[0] for s in self.skipped)
        return dict(sorted(counts.items(), key=lambda c: (-c[1], c[0])))


def load(
    library: Library, source: Path | str, *, tick: Callable[[int], None] | None = None
) -> LoadReport:
    """Read a source into the library, in one transaction; loading it again changes nothing. Raises CassetteError.

    `tick` is called with the number of interactions read so far.
    """
    before = library.counts()
    skipped: list[Skipped] = []
    formats: Counter[str] = Counter()
    opaque: Counter[str] = Counter()
    seen = Seen()
    clean = library.normal.redaction.text

    def calls() -> Iterator[tuple[Any, ...]]:
        for number, found in enumerate(read(source), 1):
            if tick is not None:
                tick(number)
            if isinstance(found, Skipped):
                skipped.append(Skipped(clean(found.file), found.number, clean(found.reason)))
                continue
            formats[found.request.api + (" streamed" if found.answer.events else "")] += 1
            opaque.update(
                p.name for m in found.request.messages for p in m.parts if p.kind == "opaque"
            )
            yield found.request, found.answer, found.file, found.number

    made = library.record_many(calls(), seen)
    after = library.counts()
    return LoadReport(
        len(made),
        after["entries"] - before["entries"],
        after["answers"] - before["answers"],
        dict(sorted(formats.items())),
        dict(sorted(seen.worked.items())),
        dict(sorted(opaque.items())),
        tuple(skipped),
    )

"""TREC's SGML: documents `<DOC><DOCNO>…`, topics `<top><num>…` or `<DOC><DOCNO>…`."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import regex

from workbench.sources.base import JudgedQuery, SourceError
from workbench.sources.files import byte_lines, text_lines

# ---- TREC's SGML: documents `<DOC><DOCNO>…`, topics `<top><num>…` or `<DOC><DOCNO>…` ----

TopicField = Literal["title", "desc", "narr"]
TOPIC_FIELDS: tuple[TopicField, ...] = ("title", "desc", "narr")
TITLES = ("title", "headline", "head", "hl", "ti")
"""Elements that hold a document's title; the first of them that is there counts."""

_OPEN, _CLOSE = regex.compile(r"<DOC(?:\s[^>]*)?>", regex.I), regex.compile(r"</DOC\s*>", regex.I)
_TOP, _END_OF_TOP = (
    regex.compile(r"<top(?:\s[^>]*)?>", regex.I),
    regex.compile(r"</top\s*>", regex.I),
)
_TAG = regex.compile(r"</?[A-Za-z][^<>]*>|<![^<>]*>|<\?[^<>]*>")
# What a topic's own fields begin with in TREC's early files.
_LABEL = regex.compile(r"^\s*(?:number|topic|description|narrative)\s*:", regex.I)


class Document(NamedTuple):
    """One document as it stands in its file; `line` is that of its first tag."""

    line: int
    id: str
    title: str
    text: str


def first_tag(path: Path) -> str:
    """`doc` or `top` where a file begins so, after declarations and comments; "" otherwise."""
    for number, line in byte_lines(path):
        text = line.decode("latin-1").removeprefix("\xef\xbb\xbf").strip()
        if text and not text.startswith(("<?", "<!")):
            return "doc" if _OPEN.match(text) else "top" if _TOP.match(text) else ""
        if number > 50:
            break
    return ""


def documents(path: Path) -> Iterator[Document]:
    """The documents of a file, streamed. The text is that of the TEXT elements where there are any, else all but the id
    and the title; tags are taken out, entities resolved.

    Raises SourceError with file and line for a document that is not closed or has no DOCNO, and
    for text outside of one.
    """
    for line, body in _elements(path, _OPEN, _CLOSE, "document"):
        where = f"{path}:{line}"
        found = _element(body, "docno")
        if not found or not (docno := _plain(found[0])):
            raise SourceError("a document without a DOCNO", where=where)
        title = next((_plain(t[0]) for name in TITLES if (t := _element(body, name))), "")
        parts = _element(body, "text") or [_without(body, ("docno", *TITLES))]
        yield Document(line, docno, title, "\n\n".join(filter(None, map(_plain, parts))))


def topics(path: Path, field: TopicField = "title") -> Iterator[tuple[int, JudgedQuery]]:
    """(line, query) of every topic of a file; `field` is the one that is asked. Numbers lose leading zeros, as TREC's
    judgements have them. A topic written as a document is asked whole.

    Raises SourceError with file and line for a topic that is not closed or lacks its number or
    that field.
    """
    if first_tag(path) == "doc":
        for found in documents(path):
            text = " ".join(f"{found.title}\n{found.text}".split())
            yield found.line, JudgedQuery(_number(found.id), text)
        return
    for line, body in _elements(path, _TOP, _END_OF_TOP, "topic"):
        fields = _fields(body)
        where = f"{path}:{line}"
        if not fields.get("num"):
            raise SourceError("a topic without a num", where=where)
        if field not in fields:
            raise SourceError(
                f"topic {fields['num']} has no {field}",
                where=where,
                do=f"It has: {', '.join(n for n in fields if n != 'num') or 'nothing to ask'}",
            )
        yield line, JudgedQuery(_number(fields["num"]), fields[field])


def _elements(
    path: Path, opening: regex.Pattern, closing: regex.Pattern, what: str
) -> Iterator[tuple[int, str]]:
    """(line, body) of every element. Raises SourceError."""
    began, body = 0, []
    for number, rest in enumerate(text_lines(path), 1):
        while rest:
            if began:
                end, again = closing.search(rest), opening.search(rest)
                if again and not (end and end.start() < again.start()):
                    raise SourceError(
                        f"a {what} begins where the one of line {began} is not closed",
                        where=f"{path}:{number}",
                    )
                body.append(rest[: end.start()] if end else rest)
                if not end:
                    break
                yield began, "".join(body)
                began, body, rest = 0, [], rest[end.end() :]
                continue
            start = opening.search(rest)
            outside = rest[: start.start()] if start else rest
            if _TAG.sub("", outside).strip():
                raise SourceError(
                    f"text outside of a {what}",
                    where=f"{path}:{number}",
                    do=f"Put it into a {what}, or remove it",
                )
            if not start:
                break
            began, rest = number, rest[start.end() :]
    if began:
        raise SourceError(f"the {what} is not closed", where=f"{path}:{began}")


def _element(body: str, name: str) -> list[str]:
    return regex.findall(rf"<{name}(?:\s[^>]*)?>(.*?)</{name}\s*>", body, regex.I | regex.S)


def _without(body: str, names: tuple[str, ...]) -> str:
    return regex.sub(
        rf"<({'|'.join(names)})(?:\s[^>]*)?>.*?</\1\s*>", "", body, flags=regex.I | regex.S
    )


def _fields(body: str) -> dict[str, str]:
    """A topic's fields by name: each goes on to the next tag, closed or not."""
    parts = regex.split(r"<(num|title|desc|narr)(?:\s[^>]*)?>", body, flags=regex.I)
    found: dict[str, str] = {}
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        found.setdefault(name.lower(), " ".join(_LABEL.sub("", _plain(text)).split()))
    return {name: text for name, text in found.items() if text}


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub(" ", text)).strip()


def _number(name: str) -> str:
    return str(int(name)) if name.isascii() and name.isdecimal() else name


# ---- SMART's files: records that begin with `.I ID`, with fields that begin with `.T`, `.W` ----

_RECORD, _FIELD = regex.compile(r"^\.I(?:\s+(.*\S))?\s*$"), regex.compile(r"^\.([A-Z])\s*$")


class Record(NamedTuple):
    """One record; `line` is that of its `.I`. A field that stands twice is joined by a line end."""

    line: int
    id: str
    fields: dict[str, str]


def is_smart(path: Path) -> bool:
    """Whether the first line that is not blank begins a record."""
    first = next((line for _, line in byte_lines(path) if line.strip()), b"")
    return _RECORD.match(first.decode("latin-1")) is not None


def records(path: Path) -> Iterator[Record]:
    """The records of a file, streamed. Raises SourceError with file and line for a record without an id or a field, and
    for text outside of a field."""
    record: Record | None = None
    lines: list[str] | None = None
    fields: dict[str, list[str]] = {}
    for number, line in enumerate(text_lines(path), 1):
        where = f"{path}:{number}"
        if begins := _RECORD.match(line):
            if record:
                yield _whole(record, fields, path)
            if not begins.group(1):
                raise SourceError(
                    "a record without an id", where=where, do="Write .I and the id on one line"
                )
            record, lines, fields = Record(number, begins.group(1), {}), None, {}
        elif (named := _FIELD.match(line)) and record:
            lines = fields.setdefault(named.group(1), [])
        elif lines is not None:
            lines.append(line)
        elif line.strip():
            raise SourceError(
                "text outside of a field",
                where=where,
                do="A record is .I ID, then fields such as .T and .W",
            )
    if record:
        yield _whole(record, fields, path)


def _whole(record: Record, fields: dict[str, list[str]], path: Path) -> Record:
    if not fields:
        raise SourceError(f"the record {record.id!r} has no field", where=f"{path}:{record.line}")
    return record._replace(fields={name: "".join(lines).strip() for name, lines in fields.items()})


def asked(path: Path) -> Iterator[tuple[int, JudgedQuery]]:
    """(line, query) of every record of a file of queries: its title and its text."""
    for record in records(path):
        text = f"{record.fields.get('T', '')} {record.fields.get('W', '')}"
        yield record.line, JudgedQuery(record.id, " ".join(text.split()))

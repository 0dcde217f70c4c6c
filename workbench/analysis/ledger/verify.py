"""Do the figures in a text agree with the ledger of a run? Each marked figure against what was measured.

The law: a figure agrees where the measured value, rounded to the digits that are written, is the figure, or where
it lies within the mark's own tolerance. A figure followed by `%` is a share: 12 % is 0.12. A duration changes from
run to run, so a duration that differs is reported and never fails; so is a figure of a superseded claim. Verdicts,
counts and figures computed from durations do fail: give a ratio of durations a tolerance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from workbench.analysis.ledger.ledger import Ledger, Row
from workbench.analysis.ledger.verdict import VERDICTS, covers
from workbench.errors import WorkbenchError

# ---- Figures in a Markdown text, marked by the claim whose ledger row has them ----

VERDICT = "@verdict"

_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
_CLOSE = re.compile(r"\s*/\s*claim\s*")
_OURS = re.compile(r"\s*/?\s*claim\b", re.IGNORECASE)
_MARK = re.compile(
    r"\s*claim:(?P<claim>[A-Za-z][A-Za-z0-9_-]*)(?P<path>@verdict|(?:\.(?=\S)[^\n]+?)?)"
    r"(?:\s+within\s+(?P<within>\d+(?:\.\d+)?)\s*(?P<share>%?))?\s*"
)
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
# What a figure can be dressed in: emphasis, code, tags, a cell's edge and white space.
_DRESS = re.compile(r"(?:[\s*_`|]|<[^!>][^>]*>)*")
_BLANK_LINE = re.compile(r"(\n[ \t]*\n)")
_PARAGRAPH = re.compile(r"\n[ \t]*\n|<!--|\Z")


class BadMark(WorkbenchError):
    """A comment that means to be a mark and is none; says at which line."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark. `path` is "" (the whole measured value), keys joined by dots, or VERDICT; `after` is the text
    that follows it in its paragraph, or up to the closing mark where `closed`. `within` is the mark's own
    tolerance, absolute, or of the measured value where `relative`; None where it has none."""

    line: int
    claim: str
    path: str
    after: str
    closed: bool = False
    within: Decimal | None = None
    relative: bool = False

    def __str__(self) -> str:
        return (
            f"{self.claim}{self.path}"
            if self.path == VERDICT or not self.path
            else f"{self.claim}.{self.path}"
        )


def marks(text: str) -> list[Mark]:
    """All marks of a Markdown text in their order. Raises BadMark."""
    text = text.replace("\r\n", "\n")
    ours = [m for m in _COMMENT.finditer(_without_code(text)) if _OURS.match(m[1])]
    found: list[Mark] = []
    for place, comment in enumerate(ours):
        line = text.count("\n", 0, comment.start()) + 1
        if _CLOSE.fullmatch(comment[1]):
            if place == 0 or _CLOSE.fullmatch(ours[place - 1][1]):
                raise BadMark("a closing mark that closes nothing", where=f"line {line}")
            continue
        parsed = _MARK.fullmatch(comment[1])
        if not parsed:
            raise BadMark(
                f"{comment[0]!r} is no mark",
                where=f"line {line}",
                do="Write <!-- claim:ID.path -->",
            )
        following = ours[place + 1] if place + 1 < len(ours) else None
        closed = following is not None and bool(_CLOSE.fullmatch(following[1]))
        end = following.start() if closed else _PARAGRAPH.search(text, comment.end()).start()
        after = text[_DRESS.match(text, comment.end(), end).end() : end]
        found.append(
            Mark(
                line,
                parsed["claim"],
                parsed["path"].removeprefix("."),
                after.rstrip("*_`| \t\n"),
                closed,
                Decimal(parsed["within"]) if parsed["within"] else None,
                bool(parsed["share"]),
            )
        )
    return found


def _without_code(text: str) -> str:
    """The text at equal length, its code blocks and code spans blanked."""
    lines = text.split("\n")
    for start, end in _code_blocks(text):
        lines[start:end] = [" " * len(line) for line in lines[start:end]]
    # A code span ends with its paragraph.
    return "".join(_CODE_SPAN.sub(_blanked, part) for part in _BLANK_LINE.split("\n".join(lines)))


def _blanked(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _code_blocks(text: str) -> Iterator[tuple[int, int]]:
    from markdown_it import MarkdownIt

    for token in MarkdownIt("commonmark").parse(text):
        if token.type in ("fence", "code_block") and token.map:
            yield token.map[0], token.map[1]


# ---- Do the figures in a text agree with the ledger of a run? Each marked figure against wh ----

Status = Literal["agrees", "differs", "timing", "superseded", "nothing"]

_GROUP = ",\u00a0\u2009\u202f"
_NUMBER = re.compile(
    rf"(?P<sign>[+\-\u2212]?)(?P<digits>\d{{1,3}}(?:[{_GROUP}]\d{{3}})+(?!\d)|\d+)(?P<rest>(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"(?P<share>[ \u00a0\u2009\u202f]?%)?"
)
_WORD = re.compile(r"\S+")
_TRUTH = {"yes": True, "true": True, "no": False, "false": False}
_ABSENT = ("absent", "none", "–")
_MEASURED_SHOWN = 60


class NamesNothing(WorkbenchError):
    """A mark that leads to no measured value, or that no figure follows."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A mark and what came of it: `written` as it stands in the text, `measured` from the ledger; `why` where it
    does not agree. `timing`: it differs, but is a duration. `superseded`:
    it differs, but another claim or record replaced this one. `nothing`: the mark names nothing."""

    mark: Mark
    status: Status
    written: str
    measured: Any
    why: str = ""


def verify(ledger: Ledger, found: Sequence[Mark]) -> tuple[Checked, ...]:
    """Every mark against the ledger, in the order of the text."""
    rows = {row.id: row for row in ledger.rows}
    return tuple(_checked(rows, mark) for mark in found)


def unmarked(ledger: Ledger, found: Sequence[Mark]) -> tuple[str, ...]:
    """The claims that no mark names, in the ledger's order."""
    named = {mark.claim for mark in found}
    return tuple(row.id for row in ledger.rows if row.id not in named)


def _checked(rows: Mapping[str, Row], mark: Mark) -> Checked:
    try:
        if mark.claim not in rows:
            raise NamesNothing(
                f"the ledger has no claim {mark.claim}", do=f"It has {', '.join(rows)}"
            )
        row = rows[mark.claim]
        measured = row.verdict if mark.path == VERDICT else _value(row.measured, mark.path)
        written, agrees = _compared(mark, measured)
    except NamesNothing as error:
        return Checked(mark, "nothing", mark.after[:_MEASURED_SHOWN], None, str(error))
    if agrees:
        return Checked(mark, "agrees", written, measured)
    status: Status = "superseded" if row.superseded else "differs"
    if mark.path != VERDICT and covers(row.timing, mark.path):
        status = "timing"
    return Checked(
        mark, status, written, measured, f"written {written}, measured {_shown(measured)}"
    )


def _value(measured: Any, path: str) -> Any:
    """What stands at a path of keys and 1-based places; of several ways to read its dots the longest key first.

    Raises NamesNothing.
    """
    if not path:
        return measured
    parts = path.split(".")
    if isinstance(measured, Mapping):
        for length in range(len(parts), 0, -1):
            key = ".".join(parts[:length])
            if key in measured:
                return _value(measured[key], ".".join(parts[length:]))
        raise NamesNothing(
            f"nothing was measured at {path!r}", do=f"There are: {', '.join(measured) or 'none'}"
        )
    if isinstance(measured, list):
        place = int(parts[0]) if parts[0].isascii() and parts[0].isdecimal() else 0
        if 1 <= place <= len(measured):
            return _value(measured[place - 1], ".".join(parts[1:]))
        raise NamesNothing(f"{path!r} is no place in a list of {len(measured)}", do="Count from 1")
    raise NamesNothing(f"{path!r} leads into {_shown(measured)}, which has no parts")


def _compared(mark: Mark, measured: Any) -> tuple[str, bool]:
    """The figure as it is written, and whether it agrees. Raises NamesNothing."""
    if mark.path == VERDICT:
        written = next((v for v in VERDICTS if mark.after.startswith(v)), None) or _word(mark)
        return written, written == measured
    if isinstance(measured, bool):
        written = _word(mark)
        return written, _TRUTH.get(written.casefold()) is measured
    if measured is None:
        written = _word(mark)
        return written, written.casefold() in _ABSENT
    if isinstance(measured, int | float):
        number = _NUMBER.search(mark.after) if mark.closed else _NUMBER.match(mark.after)
        if not number:
            raise NamesNothing(f"no number follows, and {_shown(measured)} was measured")
        return number[0], _near(number, measured, mark)
    if isinstance(measured, str):
        written = mark.after if mark.closed else _word(mark)
        return written, written == measured
    if isinstance(measured, list) and all(_is_number(v) for v in measured):
        if not mark.closed:
            raise NamesNothing(
                f"a list of {len(measured)} numbers needs a closing mark",
                do="Write <!-- /claim --> after it",
            )
        numbers = list(_NUMBER.finditer(mark.after))
        pairs = zip(numbers, measured, strict=False)
        return mark.after, len(numbers) == len(measured) and all(
            _near(n, m, mark) for n, m in pairs
        )
    keys = ", ".join(measured) if isinstance(measured, Mapping) else f"1 to {len(measured)}"
    raise NamesNothing("the mark ends at a table, not at a figure", do=f"Go on with one of: {keys}")


def _near(number: re.Match[str], measured: float, mark: Mark) -> bool:
    digits = re.sub(f"[{_GROUP}]", "", number["digits"])
    figure = Decimal(("-" if number["sign"] in ("-", "\u2212") else "") + digits + number["rest"])
    half = Decimal(1).scaleb(figure.as_tuple().exponent) / 2  # type: ignore[arg-type]
    if number["share"]:
        figure, half = figure / 100, half / 100
    # A float's shortest text is what a person would copy from the ledger.
    exact = Decimal(repr(measured))
    allowed = half
    if mark.within is not None:
        allowed = max(half, abs(exact) * mark.within / 100 if mark.relative else mark.within)
    return abs(exact - figure) <= allowed


def _word(mark: Mark) -> str:
    """The first word that follows, without the full stop or comma that ends it. Raises NamesNothing."""
    if mark.closed and mark.after:
        return mark.after
    word = _WORD.match(mark.after)
    if not word:
        raise NamesNothing("nothing follows the mark")
    return word[0].rstrip(".,;:)*_`|") or word[0]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    text = (
        "nothing"
        if value is None
        else ("yes" if value else "no")
        if isinstance(value, bool)
        else str(value)
    )
    return text if len(text) <= _MEASURED_SHOWN else text[:_MEASURED_SHOWN] + "…"

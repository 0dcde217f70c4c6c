"""Found values as facets: one rule for front matter, tables and payloads."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from workbench.sources.source import SourceError
from workbench.types import Facets

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Numbers of 9 to 10 digits are seconds since 1970 and of 12 to 13 milliseconds (Dendron writes these); 8 digits
# are a date without hyphens.
EPOCH_SECONDS = re.compile(r"-?\d{9,10}")
EPOCH_MILLISECONDS = re.compile(r"-?\d{12,13}")
# `2026-01-01 10:00:00 +0200`, as git and site generators write it.
BLANK_BEFORE_OFFSET = re.compile(r"(?<=\d)\s+(?=[+-]\d{2}:?\d{2}$|Z$)")
# What both stores and canonical JSON hold as a number.
INT64 = 2**63
# Deeper than any front matter or payload that is meant to be filtered by; keeps the recursion far from Python's.
MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Reading:
    """Facets, and (facet, what was odd about its value) pairs."""

    facets: Facets
    problems: tuple[tuple[str, str], ...] = ()


def time_of(value: Any) -> tuple[str | None, str]:
    """ISO 8601 text and what was odd: a day stays a day, an instant with a zone becomes UTC (`…Z`), one without
    a zone stays without and is said. Unreadable: (None, why)."""
    if isinstance(value, datetime):
        return _instant(value)
    if isinstance(value, date):
        return value.isoformat(), ""
    text = "" if isinstance(value, bool) else str(value).strip()
    try:
        if EPOCH_MILLISECONDS.fullmatch(text):
            return _instant(EPOCH + timedelta(milliseconds=int(text)))
        if EPOCH_SECONDS.fullmatch(text):
            return _instant(EPOCH + timedelta(seconds=int(text)))
        if len(text) <= 10 and "T" not in text and ":" not in text:
            return date.fromisoformat(text).isoformat(), ""
        return _instant(datetime.fromisoformat(BLANK_BEFORE_OFFSET.sub("", text)))
    except (ValueError, OverflowError):
        return None, f"{_short(value)} is not an ISO 8601 time"


def _instant(when: datetime) -> tuple[str, str]:
    if when.tzinfo is None:
        return when.isoformat(), f"{when.isoformat()} has no time zone"
    return when.astimezone(UTC).isoformat().replace("+00:00", "Z"), ""


def tags_of(value: Any) -> tuple[tuple[str, ...], str]:
    """Tags in order, each once, without a leading `#`, and what was odd. Text is split at commas, or, where it
    holds none, at white space."""
    if value is None:
        return (), ""
    problem = ""
    if isinstance(value, str):
        parts: Sequence[Any] = value.split(",") if "," in value else value.split()
        problem = "tags are a text, not a list" if len(parts) != 1 else ""
    elif isinstance(value, list | tuple):
        parts = value
    else:
        return (), f"tags are a {type(value).__name__}, not a list"
    texts = (_tag(part) for part in parts if part is not None and not isinstance(part, dict | list))
    if any(isinstance(part, dict | list) for part in parts):
        problem = "tags hold nested values, left out"
    return tuple(dict.fromkeys(t for t in texts if t)), problem


def _tag(part: Any) -> str:
    return str(part).strip().removeprefix("#").strip()


def text_of(value: Any) -> str | None:
    """One value as facet text; empty is absent. Raises ValueError for a list or mapping."""
    if isinstance(value, dict | list | tuple):
        raise ValueError
    if isinstance(value, bool):
        return "true" if value else "false"
    text = "" if value is None else str(value).strip()
    return text or None


def facets_of(named: Mapping[str, Any], rest: Mapping[str, Any]) -> Reading:
    """Facets of values by facet name, the rest flattened to `metadata`.

    A value that its facet cannot hold moves to the metadata under the facet's name and is a problem.
    """
    problems: list[tuple[str, str]] = []
    values: dict[str, Any] = {}
    odd: dict[str, Any] = {}
    for name in ("project", "note_type", "status", "path"):
        try:
            values[name] = text_of(named.get(name))
        except ValueError:
            odd[name] = named[name]
            problems.append((name, f"{name} is a {type(named[name]).__name__}, not a text"))
    for name in ("created", "updated"):
        if named.get(name) in (None, ""):
            continue
        values[name], problem = time_of(named[name])
        if values[name] is None:
            odd[name] = named[name]
        if problem:
            problems.append((name, f"{name} {problem}"))
    values["tags"], problem = tags_of(named.get("tags"))
    if problem:
        problems.append(("tags", problem))
    return Reading(Facets(**values, metadata=flat({**odd, **rest})), tuple(problems))


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """A flat mapping: nested keys joined by dots, list positions as keys where a list holds containers, empty
    values left out, keys in the order found. Raises SourceError beyond MAX_DEPTH levels."""
    return dict(_leaves("", values, 0))


def _leaves(prefix: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > MAX_DEPTH and isinstance(value, Mapping | list | tuple):
        raise SourceError(f"values nested deeper than {MAX_DEPTH} levels", where=prefix[:80])
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(f"{prefix}.{key}" if prefix else str(key), inner, depth + 1)
    elif isinstance(value, list | tuple):
        if any(isinstance(v, Mapping | list | tuple) for v in value):
            for position, inner in enumerate(value):
                yield from _leaves(f"{prefix}.{position}", inner, depth + 1)
        elif value:
            yield prefix, [_scalar(v) for v in value if v is not None]
    elif value is not None and value != "":
        yield prefix, _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -INT64 <= value < INT64 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, date | datetime):
        return value.isoformat()
    return str(value)


def _short(value: Any, chars: int = 40) -> str:
    text = repr(value)
    return text if len(text) <= chars else text[:chars] + "…"

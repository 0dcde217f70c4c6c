"""The JSON of ranx ({query: {document: number}}) and BEIR's JSON lines, as text and as values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from math import isfinite
from pathlib import Path
from typing import Any

from workbench.analysis.canonical import plain
from workbench.analysis.judged import Run
from workbench.sources.files import text_lines
from workbench.sources.source import JudgedQuery, Qrel, SourceError


def json_run(path: Path) -> dict[str, dict[str, float]]:
    """{query: {document: score}} in the order of the file."""
    return _nested(path, "score", lambda v: float(v) if isinstance(v, int | float) else None)


def json_qrels(path: Path) -> tuple[Qrel, ...]:
    """The judgements in the order of the file."""
    grades = _nested(path, "grade", lambda v: v if isinstance(v, int) else None)
    return tuple(
        Qrel(query, document, grade) for query, of in grades.items() for document, grade in of.items()
    )


def run_as_json(run: Run) -> str:
    """Rankings as ranx reads them, `score = n - rank`; a query without results keeps its empty object."""
    return _dump({q: {d: float(len(ids) - rank) for rank, d in enumerate(ids, 1)} for q, ids in run.items()})


def qrels_as_json(qrels: Iterable[Qrel]) -> str:
    """Judgements as ranx reads them."""
    grades: dict[str, dict[str, int]] = {}
    for qrel in qrels:
        grades.setdefault(qrel.query_id, {})[qrel.entity_id] = qrel.grade
    return _dump(grades)


def queries_as_jsonl(queries: Iterable[JudgedQuery]) -> str:
    """One object a line: `_id`, `text`, and the attributes as `metadata`."""
    rows = ({"_id": q.id, "text": q.text, "metadata": plain(dict(q.attributes))} for q in queries)
    return "".join(_dump(row) for row in rows)


def _nested(path: Path, what: str, number: Callable[[Any], Any]) -> dict[str, dict[str, Any]]:
    """Raises SourceError for anything but an object of objects of numbers, or a key that stands twice."""
    text = "".join(text_lines(path))
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_refused)
    except json.JSONDecodeError as error:
        raise SourceError(f"not JSON: {error.msg}", where=f"{path}:{error.lineno}") from None
    except (ValueError, RecursionError) as error:
        raise SourceError(f"not JSON: {error}", where=str(path)) from None
    return {
        query: {
            document: _checked(number, value, what, f"{path}, query {query!r}, document {document!r}")
            for document, value in _object(of_query, f"{path}, query {query!r}").items()
        }
        for query, of_query in _object(found, str(path)).items()
    }


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SourceError(f"a JSON {type(value).__name__} where an object belongs", where=where,
                          do="The file is {query: {document: number}}")  # fmt: skip
    return value


def _checked(number: Callable[[Any], Any], value: Any, what: str, where: str) -> Any:
    found = None if isinstance(value, bool) else number(value)
    if found is None or not isfinite(found):
        raise SourceError(f"{value!r} is not a {what}", where=where)
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key in found if sum(key == k for k, _ in pairs) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _dump(value: Any) -> str:
    # In ASCII, so that a lone surrogate in an id survives the way out and in.
    return json.dumps(value) + "\n"

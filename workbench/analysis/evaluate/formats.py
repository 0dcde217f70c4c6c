"""Runs as files, in and out; judgements and queries out (`sources.judgements` reads them).

A `.json` file is ranx's, anything else TREC's; `.gz` is read as well. A file that cannot be read as it claims
raises SourceError with `file:line`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from pathlib import Path

from workbench.analysis.canonical import plain, write_text
from workbench.analysis.evaluate.comparison import utf8
from workbench.analysis.evaluate.judged import Judged, Run
from workbench.analysis.evaluate.metrics import Range, metric_range
from workbench.errors import BadParameter
from workbench.sources.base import JudgedQuery, Qrel, SourceError
from workbench.sources.files import existing_file, suffix_of, text_lines
from workbench.sources.judgements import read_numbers
from workbench.text import counted
from workbench.types import content_hash

# ---- Runs as files, in and out; judgements and queries out (`sources.judgements` reads them ----

TREC_RUN = ("query", "Q0", "document", "rank", "score", "tag")
BEIR_QRELS = ("query-id", "corpus-id", "score")

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class RunFile:
    """A run as read: rankings in the order of falling score, equal scores in the order of the file; scores in
    the same order; `notes` says what did not fit, with counts."""

    rankings: Mapping[str, tuple[str, ...]]
    scores: Mapping[str, tuple[float, ...]]
    notes: tuple[str, ...] = ()

    def scored(self) -> dict[str, tuple[tuple[str, float], ...]]:
        """Query id to (document, score), as `ties.metric_range` takes it."""
        return {q: tuple(zip(ids, self.scores[q], strict=True)) for q, ids in self.rankings.items()}


def read_run(location: str | Path) -> RunFile:
    """A run: `.json` is ranx ({query: {document: score}}), anything else TREC's six columns.

    The score orders, as in every evaluator; a rank column that says otherwise is counted in `notes`, and so
    are queries with equal scores. Raises SourceError for a document that a query names twice.
    """
    path = existing_file(location, "the run")
    if suffix_of(path) == ".json":
        return _ordered(read_numbers(path), {})
    rows: dict[str, dict[str, float]] = {}
    ranks: dict[str, dict[str, int]] = {}
    for where, (query, _, document, rank, score, _) in _run_rows(path):
        if document in rows.setdefault(query, {}):
            raise SourceError(f"query {query!r} names document {document!r} twice", where=where)
        rows[query][document] = _number(score, where)
        ranks.setdefault(query, {})[document] = _whole(rank, "rank", where)
    return _ordered(rows, ranks)


def write_run(location: str | Path, run: Run, *, tag: str = "workbench") -> None:
    """Write rankings with `score = n - rank`, so that every evaluator reads our order: `.json` for ranx, else
    TREC. TREC has no line for a query without results, and no ids with white space (BadParameter)."""
    path = Path(location)
    if suffix_of(path) == ".json":
        scores = {
            q: {d: float(len(ids) - rank) for rank, d in enumerate(ids, 1)}
            for q, ids in run.items()
        }
        return write_text(path, _as_json(scores))
    _plain([*run, tag, *chain.from_iterable(run.values())], "a TREC run")
    lines = [
        f"{query} Q0 {document} {rank} {len(ids) - rank} {tag}\n"
        for query, ids in run.items()
        for rank, document in enumerate(ids, 1)
    ]
    return write_text(path, "".join(lines))


def write_qrels(location: str | Path, qrels: Iterable[Qrel]) -> None:
    """Write judgements: `.json` for ranx, `.tsv` for BEIR, else TREC. Ids that the kind cannot hold raise
    BadParameter: any white space in TREC, more than inner blanks in BEIR."""
    path, qrels = Path(location), list(qrels)
    if suffix_of(path) == ".json":
        grades: dict[str, dict[str, int]] = {}
        for q in qrels:
            grades.setdefault(q.query_id, {})[q.entity_id] = q.grade
        return write_text(path, _as_json(grades))
    ids = [i for q in qrels for i in (q.query_id, q.entity_id)]
    if suffix_of(path) == ".tsv":
        _plain(ids, "BEIR judgements", inner_blanks=True)
        lines = [
            "\t".join(BEIR_QRELS) + "\n",
            *(f"{q.query_id}\t{q.entity_id}\t{q.grade}\n" for q in qrels),
        ]
    else:
        _plain(ids, "TREC judgements")
        lines = [f"{q.query_id} 0 {q.entity_id} {q.grade}\n" for q in qrels]
    return write_text(path, "".join(lines))


def write_queries(location: str | Path, queries: Iterable[JudgedQuery]) -> None:
    """Write queries as BEIR does: one JSON object a line, attributes as `metadata`."""
    rows = ({"_id": q.id, "text": q.text, "metadata": plain(dict(q.attributes))} for q in queries)
    write_text(Path(location), "".join(map(_as_json, rows)))


def _as_json(value: object) -> str:
    # In ASCII, so that a lone surrogate in an id survives the way out and in.
    return json.dumps(value) + "\n"


def _run_rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """(`file:line`, the six cells) of every line that is not blank."""
    for number, line in enumerate(text_lines(path), 1):
        cells = line.split()
        where = f"{path}:{number}"
        if cells and len(cells) != len(TREC_RUN):
            missed = (
                f"; missing: {', '.join(TREC_RUN[len(cells) :])}"
                if len(cells) < len(TREC_RUN)
                else ""
            )
            raise SourceError(
                f"{len(cells)} columns in place of the {len(TREC_RUN)} of a TREC run{missed}",
                where=where,
                do=f"Give {', '.join(TREC_RUN)}",
            )
        if cells:
            yield where, cells


def _ordered(
    rows: Mapping[str, Mapping[str, float]], ranks: Mapping[str, Mapping[str, int]]
) -> RunFile:
    # sorted() is stable: equal scores stay in the order of the file.
    ids = {q: tuple(sorted(found, key=lambda d: -found[d])) for q, found in rows.items()}
    scores = {q: tuple(rows[q][d] for d in ids[q]) for q in rows}
    tied = sum(len(set(s)) < len(s) for s in scores.values())
    turned = sum(
        any(
            ranks[q][above] > ranks[q][below]
            for above, below in zip(ids[q], ids[q][1:], strict=False)
        )
        for q in ranks
    )
    notes = []
    if tied:
        notes.append(f"queries with equal scores, kept in the order of the file: {tied}")
    if turned:
        notes.append(
            f"queries whose ranks disagree with their scores, the scores were followed: {turned}"
        )
    return RunFile(ids, scores, tuple(notes))


def _whole(text: str, what: str, where: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise SourceError(f"{what} {text!r} is not a whole number", where=where)
    return int(text)


def _number(text: str, where: str) -> float:
    try:
        number = float("nan" if "_" in text else text)
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise SourceError(f"score {text!r} is not a finite number", where=where)
    return number


def _plain(ids: Iterable[str], kind: str, inner_blanks: bool = False) -> None:
    """Raises BadParameter for an id that would not be read back as it is."""
    for text in ids:
        parts = text.replace(" ", "_").split() if inner_blanks else text.split()
        if (
            len(parts) != 1
            or text != text.strip()
            or any("\ud800" <= c <= "\udfff" or c == "\ufeff" for c in text)
        ):
            raise BadParameter(
                f"{kind} cannot hold the id {text!r}", do="Write a .json file instead"
            )


# ---- Runs of other systems: read from files, laid beside ours, and how far their ties could ----


@dataclass(frozen=True)
class ForeignRuns:
    """Runs by name, with the content hash of each file; `depth` documents of each query are evaluated."""

    files: Mapping[str, RunFile]
    hashes: Mapping[str, str]
    depth: int

    @property
    def runs(self) -> dict[str, Run]:
        """Name to query id to document ids, best first."""
        return {name: file.rankings for name, file in self.files.items()}

    def ranges(
        self, judged: Judged, metrics: Sequence[str], depth: int, seed: int
    ) -> dict[str, dict[str, Range]]:
        """Run to metric to its range over the orders of tied documents, for the runs that have ties."""
        out: dict[str, dict[str, Range]] = {}
        for name, file in self.files.items():
            own = {q.id: q.own_document for q in judged.queries}
            scored = {
                q: tuple(pair for pair in pairs if pair[0] != own[q])
                for q, pairs in file.scored().items()
                if q in own
            }
            if any(len({score for _, score in pairs}) < len(pairs) for pairs in scored.values()):
                out[name] = {
                    m: metric_range(scored, judged.grades, m, depth, seed) for m in metrics
                }
        return out

    def notes(self, ranges: Mapping[str, Mapping[str, Range]]) -> tuple[str, ...]:
        """What each file's notes, ties and cut lists say, each sentence beginning with the run."""
        found = []
        for name, file in self.files.items():
            found += [f"{name}: {note}" for note in file.notes]
            cut = sum(len(ids) > self.depth for ids in file.rankings.values())
            if cut:
                found.append(
                    f"{name}: rankings longer than the {self.depth:,} documents that are evaluated, cut: {cut}"
                )
            found += [
                f"{name}: {tie_sentence(r)}"
                for r in ranges.get(name, {}).values()
                if r.low != r.high
            ]
        return tuple(found)


def tie_sentence(found: Range) -> str:
    """How far a metric could move, in words."""
    bound = "" if found.exact else " at least"
    return (
        f"{found.metric} is {found.value:.4f} in the order of the file and"
        f"{bound} {found.low:.4f} to {found.high:.4f} over the orders of its ties"
        f" ({counted(len(found.moved), 'query', 'queries')})"
    )


def foreign_runs(files: Mapping[str, str | Path], depth: int) -> ForeignRuns:
    """Read runs by name. Raises SourceError for a file that is no run."""
    read = {utf8(name): read_run(path) for name, path in files.items()}
    return ForeignRuns(
        read, {name: content_hash(file.scored()) for name, file in read.items()}, depth
    )


def named_files(runs: Sequence[str], named: bool) -> dict[str, str]:
    """`NAME=FILE` by name; without `named` a plain FILE is called by its name without suffixes.

    Raises BadParameter for a name that stands twice, an empty one, and a plain file where a name is needed.
    """
    found: dict[str, str] = {}
    for run in runs:
        splits = [(run[:n], run[n + 1 :]) for n, mark in enumerate(run) if mark == "="]
        # A name such as `bm25(k1=0.9)` and a path may both hold `=`: the file that is there decides, else the last one.
        name, path = next(
            (s for s in splits if Path(s[1]).expanduser().is_file()),
            splits[-1] if splits else ("", ""),
        )
        if not splits or Path(run).expanduser().exists():
            if named:
                raise BadParameter(f"the run {run!r} has no name", do="Write NAME=FILE")
            name, path = (
                Path(run).name.removesuffix(".gz").rpartition(".")[0] or Path(run).name,
                run,
            )
        if not name.strip() or not path:
            raise BadParameter(f"the run {run!r} has no name or no file", do="Write NAME=FILE")
        if name in found:
            raise BadParameter(f"two runs are called {name!r}", do="Name them apart: NAME=FILE")
        found[name] = path
    return found

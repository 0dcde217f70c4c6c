"""Runs of other systems: read from files, laid beside ours, and how far their ties could move each metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.analysis.comparison_tables import utf8
from workbench.analysis.formats import RunFile, read_run
from workbench.analysis.judged import Judged, Run
from workbench.analysis.ties import Range, metric_range
from workbench.errors import BadParameter
from workbench.text import counted
from workbench.types import content_hash


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
                out[name] = {m: metric_range(scored, judged.grades, m, depth, seed) for m in metrics}
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
                f"{name}: {tie_sentence(r)}" for r in ranges.get(name, {}).values() if r.low != r.high
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
    return ForeignRuns(read, {name: content_hash(file.scored()) for name, file in read.items()}, depth)


def named_files(runs: Sequence[str], named: bool) -> dict[str, str]:
    """`NAME=FILE` by name; without `named` a plain FILE is called by its name without suffixes.

    Raises BadParameter for a name that stands twice, an empty one, and a plain file where a name is needed.
    """
    found: dict[str, str] = {}
    for run in runs:
        splits = [(run[:n], run[n + 1 :]) for n, mark in enumerate(run) if mark == "="]
        # A name such as `bm25(k1=0.9)` and a path may both hold `=`: the file that is there decides, else the last one.
        name, path = next((s for s in splits if Path(s[1]).expanduser().is_file()), splits[-1] if splits else ("", ""))
        if not splits or Path(run).expanduser().exists():
            if named:
                raise BadParameter(f"the run {run!r} has no name", do="Write NAME=FILE")
            name, path = Path(run).name.removesuffix(".gz").rpartition(".")[0] or Path(run).name, run
        if not name.strip() or not path:
            raise BadParameter(f"the run {run!r} has no name or no file", do="Write NAME=FILE")
        if name in found:
            raise BadParameter(f"two runs are called {name!r}", do="Name them apart: NAME=FILE")
        found[name] = path
    return found

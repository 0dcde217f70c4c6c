"""What the measures of ADR 0172 are made on: its incident as a replica, and judged collections; each loaded once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.analysis.ledger.run import Run
from workbench.errors import BadParameter
from workbench.retrieval.search import Collection
from workbench.retrieval.variant import Variant
from workbench.settings import project_root
from workbench.sources.judged_sets import public, why_absent
from workbench.types import PointId, Query, Result

INCIDENTS = Path("data") / "incidents"

SIZES: dict[str, int | None] = {"full": None, "small": 5_000, "tiny": 5_000}
"""Memories of the incident by the run's size, None for all of the record's: every cap of the record cuts in each.
`small` is a quick look, `tiny` is for tests: it asks fewer queries of fewer collections."""


def full_size(run: Run) -> bool:
    return size_of(run) == "full"


@dataclass(frozen=True, slots=True)
class Incident:
    """An opened replica: the collection, the target's first chunk, and the queries by their id."""

    collection: Collection
    spec: Any
    target: PointId
    queries: Mapping[str, Query]

    def search(self, query: str | Query, variant: str | Variant, **fields: Any) -> Result:
        """Search with one of the incident's queries by id, or any other."""
        chosen = query if isinstance(query, Query) else self.queries.get(query) or Query(query)
        if fields:
            chosen = Query(
                fields.pop("text", chosen.text),
                **{
                    "filters": dict(chosen.filters),
                    "limit": chosen.limit,
                    "mode": chosen.mode,
                    **fields,
                },
            )
        return self.collection.search(chosen, variant, with_chunks=False)

    @property
    def where(self) -> str:
        return f"{self.collection.name}, {self.collection.stores.catalog.n:,} memories"

    def of(self, ids: Iterable[PointId]) -> list[Any]:
        return self.collection.stores.catalog.chunks(list(ids))


def size_of(run: Run) -> str:
    """The run's size by name. Raises BadParameter for another one."""
    size = run.params.get("size", "full")
    if size not in SIZES:
        raise BadParameter(f"unknown size {size!r}", do=f"Use {', '.join(SIZES)}")
    return size


def loaded(run: Run, name: str, spec: str, **options: Any) -> Collection:
    """The collection of that name, loaded first where it is not; loading the same source again changes nothing."""

    def load_and_open() -> Collection:
        from workbench.stores.load import load

        # A bar that moves would flood a launched kernel's channel, and messages of its cells would be lost.
        load(spec, name=name, progress=not run.launched, **options)
        return run.open(name)

    return run.once(("collection", name), load_and_open)


def incident(
    run: Run,
    file: str = "adr-0172",
    size: int | None = None,
    seed: int | None = None,
    **options: Any,
) -> Incident:
    """The replica of an incident file (its name, or a path), at full size or at the run's small one."""
    from workbench.sources.replica.spec import read_incident

    path = Path(file) if file.endswith(".toml") else project_root() / INCIDENTS / f"{file}.toml"
    spec = read_incident(path)
    if size is None and file == "adr-0172":
        size = SIZES[size_of(run)]
    name = "-".join(
        [
            path.stem,
            *([str(size)] if size else []),
            *([f"seed{seed}"] if seed is not None else []),
            *(f"{k}-{v}" for k, v in options.items()),
        ]
    )
    given = {"size": size, "seed": seed, **options}
    collection = loaded(run, name, str(path), **{k: v for k, v in given.items() if v is not None})
    ids = collection.stores.catalog.entity(spec.target.entity)
    first = next(c.id for c in collection.stores.catalog.chunks(ids) if c.chunk_index == 0)
    queries = {q.id: Query(q.text, dict(q.filters), q.limit) for q in spec.queries}
    return Incident(collection, spec, first, queries)


_LARGE_ONES = ("cassettes-crewai", "meetings-minutes")
LEFT_OUT = {"small": _LARGE_ONES, "tiny": (*_LARGE_ONES, "scifact-beir")}
"""Public collections that the smaller sizes do without: those that take longest, one of each kind stays."""


def archive(run: Run, name: str) -> Path | str:
    """The folder of a public collection, or the plain reason why this run does without it."""
    if name in LEFT_OUT.get(size_of(run), ()):
        return f"a {size_of(run)} run leaves {name} out"
    return public(name) or why_absent(name)


JUDGED: dict[str, Callable[[Path], str]] = {
    "scifact-beir": str,
    "xquad-ro-en": lambda folder: str(next(folder.rglob("xquad.en.json"))),
}
"""Judged collections with ordinary questions: archive name to the loader's source."""

SAMPLES = {"small": {"scifact-beir": 600}}
"""Documents of a quick look, every judged one among them: embedding all takes most of such a run's minutes."""


def judged(run: Run, name: str) -> Collection | str:
    """The judged collection, or the plain reason why it is not there."""
    folder = archive(run, name)
    if isinstance(folder, str):
        return folder
    sample = SAMPLES.get(size_of(run), {}).get(name)
    options = {"documents": sample} if sample else {}
    return loaded(
        run, "-".join(map(str, [name, *options.values()])), JUDGED[name](folder), **options
    )


def titles_of(run: Run) -> dict[str, Collection | str]:
    """The collections that the known-item set of titles runs on: `pydoc`, the minutes where they are, one's own."""
    found: dict[str, Collection | str] = {"pydoc": loaded(run, "pydoc", "pydoc")}
    folder = archive(run, "meetings-minutes")
    found["meetings"] = folder if isinstance(folder, str) else loaded(run, "meetings", str(folder))
    if own := run.params.get("collection"):
        found[own] = run.open(own)
    return found

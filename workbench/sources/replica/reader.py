"""The reader `replica`: an incident file as a source, its texts and vectors made while they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from workbench.registry import register
from workbench.sources.replica.spec import Incident
from workbench.sources.replica.spec_file import read_incident, scaled
from workbench.sources.replica.tables import SpecError
from workbench.sources.source import Embed, JudgedQuery, Qrel, Source
from workbench.types import Chunk

if TYPE_CHECKING:
    import numpy as np

    from workbench.sources.replica.layout import Layout

# Part of the settings, so that a collection made by another generator is not taken for this one's.
GENERATOR = 1


@register("reader")
def replica(
    location: str | Path,
    *,
    seed: int | None = None,
    size: int | None = None,
    vectors: Literal["composed", "exact"] = "composed",
    decoy: bool | None = None,
    target_averages: float | int | None = None,
    filler: str | None = None,
    filler_texts: Callable[[], Iterable[str]] | None = None,
) -> Source:
    """A replica of an incident, made from its file: .toml.

    `seed` and `size` are the file's where not given; a size scales the counts. `vectors`: "composed" makes the
    vectors of long filler from true ones of its parts, "exact" embeds every text. `decoy` plants one chunk that
    holds all terms of the first query without its phrase. `target_averages` makes the target's first chunk that
    many average lengths long. `filler` names the collection whose chunks `filler_texts` yields, in place of made
    sentences.

    Raises SpecError for a file that cannot be built as it stands; while reading, where a count, the target's
    lexical rank or its place outside the semantic list is not as the file says.
    """
    path = Path(location).expanduser()
    incident = read_incident(path)
    if incident.captured and (vectors == "exact" or decoy or target_averages or size not in (None, incident.size)):
        raise SpecError("a captured incident has its own size, target and vectors", where=str(path),
                        do="Build it without size, decoy, target_averages and exact vectors")  # fmt: skip
    if (filler is None) != (filler_texts is None):
        raise SpecError("filler needs a loaded collection's texts", where=str(path),
                        do="workbench replica build FILE --filler NAME")  # fmt: skip
    incident = scaled(incident, size or incident.size)
    if decoy is not None:
        incident = replace(incident, decoy=decoy)
    seed = incident.seed if seed is None else seed

    @cache
    def layout() -> Layout:
        from workbench.sources.replica.layout import make_layout

        return make_layout(incident, seed, filler_texts, target_averages)

    def read() -> Iterator[Chunk]:
        from workbench.sources.replica.render import chunks

        yield from chunks(layout())

    def made(embed: Embed) -> Iterator[np.ndarray]:
        from workbench.sources.replica.compose import composed
        from workbench.sources.replica.cosines import constructed

        yield from constructed(layout(), embed) if incident.captured else composed(layout(), embed)

    settings = {
        "incident": incident.name, "size": incident.size, "seed": seed, "vectors": vectors, "decoy": incident.decoy,
        "target_averages": target_averages, "filler": filler, "generator": GENERATOR,
    }  # fmt: skip
    return Source(
        "replica", str(path), settings, read, _queries(incident), _qrels(incident),
        vectors=None if vectors == "exact" else made, count=incident.size,
    )  # fmt: skip


def _queries(incident: Incident) -> tuple[JudgedQuery, ...]:
    limits: dict[str, Any] = {"lexical_limit": incident.lexical_limit, "semantic_limit": incident.semantic_limit}
    return tuple(
        JudgedQuery(q.id, q.text, {"limit": q.limit, **limits, **({"filters": dict(q.filters)} if q.filters else {})})
        for q in incident.queries
    )


def _qrels(incident: Incident) -> tuple[Qrel, ...]:
    return tuple(Qrel(q.id, incident.target.entity, 1) for q in incident.queries)

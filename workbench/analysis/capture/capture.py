"""Capture an incident from a live collection, read-only: what a replica needs to show the same ranks by list.

Recorded are the sizes and exact counts, which terms stand together, and the chunks that any reading of the
records' policies can reach: the first `depth` by point id of each term and of all terms together, the `depth`
nearest, the `depth` best by BM25 where a catalog is there, and the target; of each its place, length, term
counts, cosine and whether it holds the query verbatim. A replica built from it keeps every list's order; rows
whose scores differ by less than `TOLERANCE` may change places.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from workbench.analysis.capture.live import Live, Read
from workbench.errors import BadParameter
from workbench.retrieval.derived import holds_verbatim
from workbench.retrieval.policies import CANDIDATE_CAP
from workbench.sources.replica.spec import (
    COLUMNS,
    UNKNOWN,
    Captured,
    Cell,
    Filler,
    Incident,
    IncidentQuery,
    KnownRow,
    Limits,
    Target,
    TargetChunk,
)
from workbench.stores.filters.values import Point
from workbench.stores.manifest import write_whole
from workbench.text import DEFAULT, verbatim_key
from workbench.types import PointId, Query

# ---- Capture an incident from a live collection, read-only: what a replica needs to show th ----

VARIANTS = ("adr_0005", "two_lists", "adr_0172")
"""The variants whose ranks of the target are written down, to compare a replica's with."""

TOLERANCE = 1e-6
"""Difference of two scores below which a replica's order may differ: what float32 vectors keep of a cosine."""

MOST_TERMS = 10
"""All subsets of the terms are counted; 10 terms make 1,023 exact counts."""

# Words in place of the query's own, none of which a made-up memory uses.
NEUTRAL = (
    "zorvex",
    "quilmar",
    "tandrel",
    "ubrisk",
    "velnor",
    "ostrika",
    "fendalo",
    "grimpax",
    "holvane",
    "juxtero",
)
UNNAMED = "untitled"


def capture(
    live: Live,
    text: str,
    target: PointId,
    *,
    limit: int = 8,
    depth: int = CANDIDATE_CAP,
    private: bool = False,
) -> Incident:
    """The incident of one query and the target that was looked for.

    With `private` no word of the content, of titles, sources or projects is kept: the query's terms become
    neutral ones with the same counts. Raises BadParameter for a target that is not there, for a query without
    terms or with more than `MOST_TERMS`, for a depth below the records' cap.
    """
    query = Query(text, limit=limit)
    terms = DEFAULT.query_terms(query.normalised)
    if not 1 <= len(terms) <= MOST_TERMS:
        raise BadParameter(
            f"the query has {len(terms)} terms; from 1 to {MOST_TERMS} can be captured"
        )
    if depth < CANDIDATE_CAP:
        raise BadParameter(
            f"a depth of {depth} does not cover what the records' policies read",
            do=f"Use {CANDIDATE_CAP} or more",
        )
    if target not in live.places:
        raise BadParameter(f"no point has the id {target!r}", where=live.name)
    vector = live.vector(query.normalised)
    nearest = live.points.nearest(vector, {}, depth, fields=())
    first = {t: _first(live, [t], depth) for t in terms}
    every = _first(live, terms, depth)
    best = live.best(terms, depth)
    ids = {target, *every, *(p.id for p, _ in nearest), *(i for i, _ in best)}.union(
        *first.values()
    )
    ordered = sorted(ids, key=live.places.__getitem__)
    rows = _rows(live, ordered, terms, query, vector, dict((p.id, s) for p, s in nearest))
    df = {t: live.points.count([t], "all", {}) for t in terms}
    cells, df = _cells(live, terms, df, rows)
    mean, spread, lengths = _spreads(live, vector)
    captured = Captured(
        tuple(rows),
        {t: live.places[found[-1]] for t, found in first.items() if len(found) == depth},
        live.places[every[-1]] if len(every) == depth else 0,
        mean,
        spread,
        float(nearest[-1][1]) if len(nearest) < live.size else 1.0,
        float(best[-1][1]) if len(best) == depth else 0.0,
        _ranks(live, query, target),
        private,
    )
    own = live.read([target])[0]
    incident = Incident(
        name=live.name,
        about=f"Captured from {live.name}.",
        size=live.size,
        seed=0,
        queries=(IncidentQuery("captured", query.normalised, limit),),
        terms=df,
        target=_target(own, live.places[target], query),
        filler=_filler(live, lengths, rows),
        cells=cells,
        limits=Limits(depth, depth),
        captured=captured,
    )
    return hidden(incident) if private else incident


def _first(live: Live, terms: Sequence[str], depth: int) -> list[PointId]:
    return [p.id for p in live.points.scroll(terms, "all", {}, depth, fields=())]


def _rows(
    live: Live,
    ids: Sequence[PointId],
    terms: Sequence[str],
    query: Query,
    vector: np.ndarray,
    near: Mapping[PointId, float],
) -> list[KnownRow]:
    needle, phrase = verbatim_key(query.normalised), Counter(DEFAULT.terms(query.normalised))
    out = []
    # A listed row keeps the cosine that the list was ordered by.
    for read, cosine in zip(live.read(ids), live.cosines(ids, vector), strict=True):
        words = Counter(found := DEFAULT.terms(read.text))
        cosine = near.get(read.id, cosine)
        out.append(
            KnownRow(
                live.places[read.id],
                len(found),
                tuple(words[t] for t in terms),
                None if cosine is None else round(float(cosine), 9),
                read.project,
                _verbatim(read, needle, words, phrase),
            )
        )
    return out


def _verbatim(read: Read, needle: str, words: Counter[str], phrase: Counter[str]) -> str:
    """Where the query stands verbatim. Inside longer words (`art` in `heart`) it is none of their terms: the
    replica then has it in the source, which counts for the third list and for nothing else."""
    if holds_verbatim(Point(read.id, {"content": read.text}), needle):
        return "content" if phrase <= words else "source"
    return "source" if holds_verbatim(Point(read.id, {"source": read.source}), needle) else ""


def _cells(
    live: Live, terms: Sequence[str], df: Mapping[str, int], rows: Sequence[KnownRow]
) -> tuple[tuple[Cell, ...], dict[str, int]]:
    """How many chunks beside the recorded ones hold exactly each set of terms, by inclusion and exclusion over
    exact counts; and the counts of the terms that follow.

    A server that splits words by another rule counts otherwise than the tokenizer does: a set is then never
    below what was read, and a term's count is what its sets add up to.
    """
    subsets = [frozenset(s) for n in range(1, len(terms) + 1) for s in combinations(terms, n)]
    holding = {
        s: df[next(iter(s))] if len(s) == 1 else live.points.count(sorted(s), "all", {})
        for s in subsets
    }
    known = Counter(frozenset(t for t, n in zip(terms, r.tf, strict=True) if n) for r in rows)
    left = {}
    for s in sorted(subsets, key=len, reverse=True):
        exactly = sum((-1) ** (len(w) - len(s)) * holding[w] for w in subsets if s <= w)
        left[s] = max(exactly - known[s], 0)
    counts = {t: sum(n for s, n in [*left.items(), *known.items()] if t in s) for t in terms}
    return tuple(Cell(s, n) for s, n in left.items() if n and len(s) > 1), {
        t: max(n, 1) for t, n in counts.items()
    }


def _spreads(live: Live, vector: np.ndarray) -> tuple[float, float, list[int]]:
    """Mean and spread of the sample's cosines, and its lengths in terms."""
    texts, vectors = live.sample()
    cosines = vectors @ vector
    return float(cosines.mean()), float(cosines.std()), [len(DEFAULT.terms(t)) for t in texts]


def _ranks(live: Live, query: Query, target: PointId) -> dict[str, dict[str, int]]:
    """The target's 1-based rank in each list and in the fused ranking, by variant; absent where it is absent."""
    out = {}
    for name in VARIANTS:
        result = live.search(query, name)
        found = {r.name: r.ranks().get(target) for r in (*result.lists, result.fused)}
        found["fused"] = result.rank_of(target)
        out[name] = {
            n: r
            for n, r in found.items()
            if r is not None and n in ("lexical", "semantic", "verbatim", "fused")
        }
    return out


def _target(own: Read, position: int, query: Query) -> Target:
    return Target(
        own.entity,
        own.title,
        own.source,
        own.project or UNNAMED,
        position,
        (TargetChunk(max(len(own.text), 1)),),
        language="en",
        note_type="captured",
    )


def _filler(live: Live, lengths: Sequence[int], rows: Sequence[KnownRow]) -> Filler:
    logs = np.log(np.maximum(lengths, 1))
    projects = sorted({r.project or UNNAMED for r in rows})
    return Filler(
        tuple(projects),
        average_terms=live.average,
        spread=min(round(float(logs.std()), 3), 3.0),
        shortest=1,
        longest=int(max(*lengths, 1)),
        near_duplicates=0.0,
        exact_duplicates=0.0,
    )


def hidden(incident: Incident) -> Incident:
    """The incident without a word of the content: neutral terms, projects and names by number, the same figures."""
    query, captured = incident.queries[0], incident.captured
    neutral = dict(zip(incident.terms, NEUTRAL, strict=False))
    asked = " ".join(neutral[t] for t in DEFAULT.terms(query.text))
    projects = {
        p: f"project-{n}"
        for n, p in enumerate(
            sorted({r.project for r in captured.rows} | set(incident.filler.projects)), 1
        )
    }
    titled = verbatim_key(incident.target.title) == verbatim_key(query.text)
    target = replace(
        incident.target,
        entity="target",
        title=asked if titled else UNNAMED,
        source="captured",
        project=projects.get(incident.target.project, UNNAMED),
    )
    return replace(
        incident,
        name="captured",
        about="Captured, without a word of the original.",
        queries=(replace(query, text=asked),),
        terms={neutral[t]: n for t, n in incident.terms.items()},
        cells=tuple(
            replace(c, holds=frozenset(neutral[t] for t in c.holds)) for c in incident.cells
        ),
        target=target,
        filler=replace(
            incident.filler, projects=tuple(projects[p] for p in incident.filler.projects)
        ),
        captured=replace(
            captured,
            rows=tuple(replace(r, project=projects[r.project]) for r in captured.rows),
            after={neutral[t]: n for t, n in captured.after.items()},
        ),
    )


# ---- A captured incident as a TOML file that the replica reader reads: small tables, one re ----


def write_incident(path: Path, incident: Incident) -> None:
    """Write the file, whole or not at all."""
    write_whole(path, toml_of(incident))


def toml_of(incident: Incident) -> str:
    """The incident as TOML: what `read_incident` reads back as an equal value."""
    captured, target, filler = incident.captured, incident.target, incident.filler
    rows = [
        f"  [{r.position}, {r.length}, {list(r.tf)}, {_text(UNKNOWN) if r.cosine is None else repr(r.cosine)}, "
        f"{_text(r.project)}, {_text(r.verbatim)}],"
        for r in captured.rows
    ]
    kept = (
        "No word of the original is in it."
        if captured.private
        else "It holds the query, the target's title and project names."
    )
    return "\n".join(
        [
            f"# Captured from a live collection, read-only. {kept}",
            f"# Each row of [captured] is one chunk: {', '.join(COLUMNS)}; tf follows the order of [terms],",
            f"# the cosine is that to the query, {_text(UNKNOWN)} where it is only known to be below the ceiling.",
            "",
            *_pairs(
                {
                    "name": incident.name,
                    "about": incident.about,
                    "size": incident.size,
                    "seed": incident.seed,
                }
            ),
            *(
                line
                for q in incident.queries
                for line in (
                    "",
                    "[[query]]",
                    *_pairs({"id": q.id, "text": q.text, "limit": q.limit}),
                )
            ),
            "",
            "[limits]",
            *_pairs({"lexical": incident.limits.lexical, "semantic": incident.limits.semantic}),
            "",
            "[terms]",
            *_pairs(incident.terms),
            *(
                line
                for c in incident.cells
                for line in ("", "[[cell]]", *_pairs({"holds": sorted(c.holds), "rows": c.rows}))
            ),
            "",
            "[target]",
            *_pairs(
                {
                    k: getattr(target, k)
                    for k in (
                        "entity",
                        "title",
                        "source",
                        "project",
                        "note_type",
                        "language",
                        "position",
                    )
                }
            ),
            *(
                line
                for c in target.chunks
                for line in ("[[target.chunk]]", *_pairs({"characters": c.characters}))
            ),
            "",
            "[filler]",
            *_pairs(
                {
                    k: getattr(filler, k)
                    for k in (
                        "average_terms",
                        "spread",
                        "shortest",
                        "longest",
                        "near_duplicates",
                        "exact_duplicates",
                    )
                }
            ),
            *_pairs({"projects": list(filler.projects)}),
            "",
            "[captured]",
            *_pairs(
                {
                    "private": captured.private,
                    "after_all": captured.after_all,
                    "cosine_mean": captured.cosine_mean,
                    "cosine_spread": captured.cosine_spread,
                    "cosine_ceiling": captured.cosine_ceiling,
                    "bm25_ceiling": captured.bm25_ceiling,
                }
            ),
            "rows = [",
            *rows,
            "]",
            "",
            "[captured.after]",
            *_pairs(captured.after),
            *(
                line
                for name, ranks in captured.ranks.items()
                for line in ("", f"[captured.ranks.{_text(name)}]", *_pairs(ranks))
            ),
            "",
        ]
    )


def _pairs(values: Mapping[str, Any]) -> Iterable[str]:
    return [
        f"{_text(k) if not k.isidentifier() or not k.isascii() else k} = {_value(v)}"
        for k, v in values.items()
    ]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    return _text(value) if isinstance(value, str) else repr(value)


def _text(value: str) -> str:
    # A JSON string is a TOML basic string, but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

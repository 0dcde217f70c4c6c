"""Priors: what is known of a row before any query — how new it is, whose project, pinned, from the asked time.

A prior is a list like any other: its rows are those that the channels found, its scores the prior's values from 0 to
1, rows of value 0 left out; so it never brings a row in. The fusion `rrf_priors` counts it by its values, so that a
row's explanation shows what the prior added. Times without a zone are UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal

from workbench.errors import BadParameter
from workbench.registry import Stage, make, register
from workbench.retrieval.context import Context
from workbench.retrieval.dates import recognise
from workbench.retrieval.fusions import traits_of
from workbench.retrieval.variant import AnyVariant, Variant, variant
from workbench.stores.moments import moment_of
from workbench.types import Facets, PointId, Query, Ranking, point_order

HALF_LIFE_DAYS = 30.0
"""A month: a choice of ours, to be tuned."""

WEIGHT = 0.5
"""What a whole prior counts beside a first rank in one list: a choice of ours, to be tuned."""

Field = Literal["updated", "created"]
"""The time that a row's age is counted from."""

_DAY = 86_400.0


@register("prior")
def recency(
    query: Query, ctx: Context, *, half_life: float = HALF_LIFE_DAYS, field: Field = "updated", now: str = ""
) -> Ranking:
    """Newer rows first: 2^(-age / half-life in days); a row of the future counts as new, one without a time not at all.

    `field`: updated, or created; a row without an updated time has its created one. `now`: the moment that ages are
    counted from, "" for the newest in the collection.
    """
    if not half_life > 0:
        raise BadParameter(f"a half-life is above 0 days, not {half_life}")
    at = moment(now, ctx, field)

    def value(facets: Facets) -> float:
        when = time_of(facets, field)
        if when is None or at is None:
            return 0.0
        return 2.0 ** (-max(0.0, (at - when).total_seconds()) / (half_life * _DAY))

    return _list("recency", ctx, value)


@register("prior")
def project(query: Query, ctx: Context, *, preferred: tuple[str, ...] = ()) -> Ranking:
    """Rows of a preferred project: 1; without `preferred` those whose project's name the query holds, word for word."""
    terms = set(ctx.terms(query))
    named = (preferred,) if isinstance(preferred, str) else preferred

    def value(facets: Facets) -> float:
        if facets.project is None or named:
            return float(facets.project in named)
        words = ctx.stores.tokenizer.query_terms(facets.project)
        return float(bool(words) and terms.issuperset(words))

    return _list("project", ctx, value)


@register("prior")
def pinned(query: Query, ctx: Context, *, key: str = "pinned") -> Ranking:
    """Rows whose metadata holds `key` as true, or a tag of that name: 1."""

    def value(facets: Facets) -> float:
        held = facets.metadata.get(key)
        return float(held is True or held == 1 or str(held).lower() in ("true", "yes") or key in facets.tags)

    return _list("pinned", ctx, value)


@register("prior")
def dated(query: Query, ctx: Context, *, field: Field = "created", now: str = "") -> Ranking:
    """Rows of the time that the query names (`dates.recognise`): 1; a query that names none, or several, has no such
    list. `now`: the moment that "last week" is counted from, "" for the newest in the collection."""
    at = moment(now, ctx, field)
    found = None if at is None else recognise(query.text, at)
    if found is None:
        return Ranking("dated", (), ())
    ctx.trace.note("dated", f"{found.phrase!r} is {found.start:%Y-%m-%d} to {found.end:%Y-%m-%d}")

    def value(facets: Facets) -> float:
        when = time_of(facets, field)
        return float(when is not None and found.start <= when <= found.end)

    return _list("dated", ctx, value)


def with_prior(base: Variant, stage: Stage, weight: float = WEIGHT) -> Variant:
    """The variant with one more prior of that weight. Raises BadParameter for a fusion other than RRF."""
    if base.fusion.name != "rrf" and not traits_of(base.fusion).takes_priors:
        raise BadParameter(f"a prior is added to RRF, and {base.name} fuses by {base.fusion.name}", do="Take a variant that fuses by rrf")
    held = base.fusion.get("priors", ())
    if stage.name in held:
        raise BadParameter(f"{base.name} has the prior {stage.name!r} already")
    weights = {**dict(base.fusion["weights"]), stage.name: weight}
    fusion = make("fusion", "rrf_priors", {"priors": (*held, stage.name), "k": base.fusion["k"], "weights": weights})
    return base.replace(name=f"{base.name}+{stage.name}", derived=(*base.derived, stage), fusion=fusion)


@register("variant")
def adr_0172_priors(
    *, recency: float = WEIGHT, project: float = WEIGHT, pinned: float = WEIGHT, dated: float = WEIGHT,
    half_life: float = HALF_LIFE_DAYS, now: str = "",
) -> Variant:  # fmt: skip
    """ADR 0172 with four priors added to its fusion, each by a weight of its own: newness, project, pinned, named time."""
    made = variant("adr_0172")
    stages = (
        (make("prior", "recency", {"half_life": half_life, "now": now}), recency), (make("prior", "project", {}), project),
        (make("prior", "pinned", {}), pinned), (make("prior", "dated", {"now": now}), dated),
    )  # fmt: skip
    for stage, weight in stages:
        made = with_prior(made, stage, weight)
    return made.replace(name="adr_0172_priors", source="a prior of ours on ADR 0172")


def at_time(chosen: AnyVariant, now: str) -> AnyVariant:
    """The variant as it was at a moment: every stage that counts from the newest row counts from `now` instead."""
    if not isinstance(chosen, Variant):
        return chosen  # nothing of it counts time
    return chosen.replace(
        derived=tuple(s.replace(now=now) if s.get("now") == "" else s for s in chosen.derived),
        own=tuple(s.replace(now=now) if s.get("now") == "" else s for s in chosen.own),
    )


def moment(now: str, ctx: Context, field: str) -> datetime | None:
    """`now` as a moment in UTC; "" is the newest in the collection, None where it has none. Raises BadParameter."""
    if not now:
        return ctx.fact(("newest", field), lambda: ctx.stores.catalog.newest(field) or ctx.stores.catalog.newest("created"))
    read = moment_of(now)
    if read is None:
        raise BadParameter(f"{now!r} is no date or time", do="Write it as 2026-11-11 or 2026-11-11T09:58:00Z")
    return datetime.fromisoformat(read)


def time_of(facets: Facets, field: str) -> datetime | None:
    """A row's moment in UTC: its `updated` where asked for and there, else its `created`; None without either."""
    texts = (facets.updated, facets.created) if field == "updated" else (facets.created,)
    for text in texts:
        if read := moment_of(text):
            return datetime.fromisoformat(read).astimezone(UTC)
    return None


def _list(name: str, ctx: Context, value: Callable[[Facets], float]) -> Ranking:
    """The rows of the channels' lists by a prior's value, ties by point id; rows of value 0 left out."""
    scores = {i: v for i, f in _facets(ctx).items() if (v := value(f)) > 0}
    ids = sorted(scores, key=lambda i: (-scores[i], point_order(i)))
    return Ranking(name, tuple(ids), tuple(scores[i] for i in ids))


def _facets(ctx: Context) -> Mapping[PointId, Facets]:
    """The facets of every row that a channel found, each read once."""
    ids = list(dict.fromkeys(i for r in ctx.lists for i in r.ids))
    known: dict[PointId, Facets] = ctx.fact(("facets",), dict)
    missing = tuple(i for i in ids if i not in known)
    if missing:
        found = ctx.once(("facets", missing), lambda: _read(ctx, missing))
        known.update(zip(missing, found, strict=True))
    return {i: known[i] for i in ids}


def _read(ctx: Context, ids: Sequence[PointId]) -> list[Facets]:
    with ctx.trace.span("priors", "sql", "duckdb") as span:
        found = ctx.stores.catalog.facets(ids)
        span.rows, span.note = len(found), "facets of ids"
    return found

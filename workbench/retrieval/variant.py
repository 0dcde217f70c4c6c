"""A variant: a named composition of stages. It is data: it prints as a plan, hashes, and compares."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from workbench.errors import BadParameter
from workbench.registry import (
    COSINE,
    COUNT,
    INFINITE,
    RANGES,
    Stage,
    checked,
    declared,
    entries,
    lookup,
    make,
    number,
    register,
)
from workbench.retrieval.context import Context
from workbench.retrieval.dates import recognise
from workbench.retrieval.fusions import single, traits_of
from workbench.stores.filters.values import moment_of
from workbench.types import Facets, Mode, PointId, Query, Ranking, Result, content_hash, point_order

if TYPE_CHECKING:
    from workbench.retrieval.search import Collection

# ---- A variant: a named composition of stages. It is data: it prints as a plan, hashes, and ----


class NotComposed(BadParameter):
    """The variant is searched as a whole, so there are no stages whose knobs could be turned over frozen lists."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Channels to lists, derived lists from what the channels read, one fusion over all of them.

    `lexical` and `semantic` are the two channels that the modes name; `own` are further channels, in hybrid
    mode only, and so are `derived` lists. The order of the lists (lexical, semantic, own, derived) changes
    no fused rank. With `distinct` a ranking holds each entity once, by its best row.
    """

    name: str
    fusion: Stage
    lexical: Stage | None = None
    semantic: Stage | None = None
    own: tuple[Stage, ...] = ()
    derived: tuple[Stage, ...] = ()
    source: str = ""
    distinct: bool = False

    def __post_init__(self) -> None:
        if self.lexical is None and self.semantic is None and not self.own:
            raise BadParameter(f"variant {self.name!r} has no channel", do="Give it at least one")

    def stages(self, mode: Mode) -> tuple[tuple[Stage, ...], tuple[Stage, ...], Stage]:
        """(channels, derived, fusion) of a mode. Raises BadParameter where the mode's channel is missing."""
        if mode == "hybrid":
            channels = tuple(s for s in (self.lexical, self.semantic, *self.own) if s is not None)
            return channels, self.derived, self.fusion
        channel = self.lexical if mode == "lexical" else self.semantic
        if channel is None:
            raise BadParameter(f"variant {self.name!r} has no {mode} channel")
        return (channel,), (), single(name=mode)

    def plan(self) -> str:
        """The composition as lines of text, as it runs."""
        lines = [f"{self.name}" + (f"  [{self.source}]" if self.source else "")]
        for label, stage in (("lexical", self.lexical), ("semantic", self.semantic)):
            if stage is not None:
                lines.append(f"  {label:<9} {stage}")
        lines += [f"  {'own':<9} {s}" for s in self.own]
        lines += [f"  {'derived':<9} {s}" for s in self.derived]
        lines.append(f"  {'fusion':<9} {self.fusion}")
        return "\n".join(
            lines + [f"  {'page':<9} each entity once, by its best row"] * self.distinct
        )

    @property
    def hash(self) -> str:
        """Of the composition alone: two names for the same stages have the same hash."""
        stages = (self.lexical, self.semantic, *self.own, *self.derived, self.fusion)
        return content_hash([str(s) for s in stages], self.distinct)

    def replace(self, **changes: Any) -> Variant:
        """A new variant with some fields changed."""
        return replace(self, **changes)


class Whole(Protocol):
    """A variant that is searched as a whole (one statement, one loop) and not stage by stage: the notes paths."""

    name: str
    source: str

    @property
    def hash(self) -> str: ...

    def plan(self) -> str: ...

    def replace(self, **changes: Any) -> Whole: ...

    def search(self, collection: Collection, query: Query) -> Result: ...

    def ends(self, collection: Collection, result: Result, row: tuple[str, str]) -> tuple[Any, ...]:
        """What the end of each of its lists did to a row, (type, id), that the filters admit."""


AnyVariant = Variant | Whole


def variant(spec: str | AnyVariant, **params: Any) -> AnyVariant:
    """A registered variant by name with its knobs (`variant("adr_0172", cap=512)`), one written as `spec` has it
    (`variant("adr_0172(cap=512)+mine")`), or the one given."""
    if not isinstance(spec, str):
        if not callable(getattr(spec, "search", None)) and not isinstance(spec, Variant):
            raise BadParameter(f"a variant is a name or a Variant, not {type(spec).__name__}")
        return spec
    if spec not in entries("variant") and not params:
        return parse(spec)
    entry = lookup("variant", spec)
    for given in params:
        if given not in entry.parameters:
            raise BadParameter(
                f"variant {spec!r} has no knob {given!r}",
                do=f"It has: {', '.join(entry.parameters) or 'none'}",
            )
    return entry.function(**checked(entry.function, params))


def composed(spec: str | AnyVariant) -> Variant:
    """The variant, where it is composed of stages. Raises NotComposed."""
    chosen = variant(spec)
    if isinstance(chosen, Variant):
        return chosen
    raise NotComposed(
        f"{chosen.name} is searched as a whole, not stage by stage: it has no knobs over frozen lists and takes no further list",
        do="Give its parameters in brackets, NAME(parameter=value): docs/variants.md lists them",
    )


def known() -> dict[str, str]:
    """Every registered variant's name and law, in the order of registration."""
    return {name: entry.law for name, entry in entries("variant").items()}


# ---- Knobs: every number and choice of a variant that a person turns, by one name, with its ----

WEIGHT = "weight."
NONE = "none"
PRIOR = "prior"
"""The kind of a derived list that a fusion counts by its values."""


FROM_FUSION = ("k", "bonus")
"""A fusion's parameters beside its weights: the lists that it is given depend on none of them."""

STRUCTURE = ("third_list", "fusion", "policy")
"""Knobs that choose a stage: which others a variant has depends on them."""


@dataclass(frozen=True, slots=True)
class Knob:
    """One knob of a variant. `kind` says how it turns: "real" and "whole" (`low` to `high`), "choice" (one of
    `choices`). `value` is where it stands; `about` says what it does."""

    name: str
    kind: Literal["real", "whole", "choice"]
    value: Any
    about: str
    low: float = 0
    choices: tuple[Any, ...] = ()
    again: bool = False
    high: float = INFINITE


def knobs(spec: str | AnyVariant, mode: Mode = "hybrid") -> dict[str, Knob]:
    """The knobs that a variant has in a mode, by name, in the order of its stages. Raises NotComposed."""
    chosen = composed(spec)
    channels, derived, fusion = chosen.stages(mode)
    found: list[Knob] = []
    if chosen.lexical in channels and chosen.lexical is not None:
        found += _lexical(chosen.lexical)
    if chosen.semantic in channels and chosen.semantic is not None:
        found += _semantic(chosen.semantic)
    if mode == "hybrid":
        found.append(
            Knob(
                "third_list",
                "choice",
                _third(chosen),
                "the list made of what the channels read",
                choices=tuple(_third_lists(chosen)),
            )
        )
        found.append(
            Knob(
                "fusion",
                "choice",
                _text(fusion),
                "how the lists become one",
                choices=tuple(fusions(chosen)),
            )
        )
        lists = [n for n in ("lexical", "semantic") if getattr(chosen, n) is not None]
        # An endpoint's list bears the name that it is given.
        own = [s.get("name") or s.name for s in chosen.own]
        found += _fusion(fusion, [*lists, *own, *(d.name for d in derived)])
    found.append(
        Knob(
            "distinct",
            "choice",
            chosen.distinct,
            "each entity once, by its best row",
            choices=(False, True),
        )
    )
    return {k.name: k for k in found}


def with_knobs(
    spec: str | AnyVariant, turned: Mapping[str, Any], mode: Mode = "hybrid"
) -> AnyVariant:
    """The variant with these knobs turned; its name says how. Raises BadParameter for a knob that it lacks, NotComposed
    for any knob of a variant that is searched as a whole.

    Stages are chosen first, so that a knob of the new fusion can be turned with it.
    """
    base = made = variant(spec) if not turned else composed(spec)
    first = [n for n in STRUCTURE if n in turned]
    for name in [*first, *(n for n in turned if n not in first)]:
        made = _turned(made, name, turned[name], mode)
    said = ", ".join(f"{n}={_short(v)}" for n, v in turned.items())
    return made.replace(name=f"{base.name} ({said})") if said else base


def parameters(spec: str | AnyVariant, mode: Mode = "hybrid") -> dict[str, Knob]:
    """Every number of a variant by name: its knobs, and what its lexical channel and its priors are registered with (k1,
    b, title_weight, half_life). Raises NotComposed."""
    chosen = composed(spec)
    numbers = {n: k for n, k in knobs(chosen, mode).items() if k.kind != "choice"}
    further = {n: _stage_number(s, n) for s in _stages_with_numbers(chosen) for n in dict(s.params)}
    return numbers | {
        n: k for n, k in further.items() if k is not None and n not in numbers and n != "limit"
    }


def _stages_with_numbers(chosen: Variant) -> list[Stage]:
    return [
        s
        for s in (chosen.lexical, *chosen.derived)
        if s is not None and (s is chosen.lexical or s.kind == PRIOR)
    ]


def _stage_number(stage: Stage, name: str) -> Knob | None:
    value = stage[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    low, high = RANGES.get(name, (-INFINITE, INFINITE))
    return Knob(
        name,
        "whole" if isinstance(value, int) else "real",
        value,
        f"{name} of {stage.name}",
        low,
        again=True,
        high=high,
    )


def fusions(chosen: Variant) -> dict[str, Stage]:
    """Every fusion that a variant can be given, by its text: its own, each registered one as it is by default that
    counts all its lists, and each of its lists alone."""
    plain = [make("fusion", n, {}) for n, e in entries("fusion").items() if not _needs(e)]
    plain = [f for f in plain if not uncounted(chosen, f)]
    alone = [
        make("fusion", "single", {"name": n})
        for n in ("lexical", "semantic")
        if getattr(chosen, n) is not None
    ]
    return {_text(s): s for s in (chosen.fusion, *plain, *alone)}


def uncounted(chosen: Variant, fusion: Stage) -> str:
    """The name of a list of the variant that a fusion would not count: a prior or a custom channel; "" for none."""
    traits = traits_of(fusion)
    if not traits.takes_priors and (priors := [d.name for d in chosen.derived if d.kind == PRIOR]):
        return priors[0]
    return chosen.own[0].name if chosen.own and not traits.counts_every_list else ""


def _lexical(channel: Stage) -> list[Knob]:
    policy = channel.get("policy")
    if policy is not None:
        return [
            Knob(
                "policy",
                "choice",
                policy.name,
                "the order in which candidates are read",
                choices=tuple(dict.fromkeys([policy.name, *entries("policy")])),
                again=True,
            ),
            Knob(
                "cap",
                "whole",
                policy["cap"],
                "candidates that the lexical channel reads at most",
                COUNT[0],
                high=COUNT[1],
            ),
        ]
    limit = channel.get("limit")
    return (
        []
        if limit is None
        else [
            Knob(
                "lexical_limit",
                "whole",
                limit,
                "rows that the lexical channel holds at most",
                COUNT[0],
                high=COUNT[1],
            )
        ]
    )


def _semantic(channel: Stage) -> list[Knob]:
    found = []
    if channel.get("limit") is not None:
        found.append(
            Knob(
                "semantic_limit",
                "whole",
                channel["limit"],
                "nearest rows that the semantic channel holds",
                COUNT[0],
                high=COUNT[1],
            )
        )
    if "floor" in dict(channel.params):
        found.append(
            Knob(
                "floor",
                "real",
                channel["floor"],
                "the least cosine that the semantic channel admits",
                float(COSINE[0]),
            )
        )
    return found


def _fusion(fusion: Stage, lists: list[str]) -> list[Knob]:
    """Every number of the fusion, by its name, and the weight of each list."""
    about, found = traits_of(fusion).about, []
    for name, value in fusion.params:
        if name == "weights":
            given = dict(value)
            found += [
                Knob(WEIGHT + n, "real", given.get(n, 1), f"what a rank in the {n} list counts")
                for n in lists
            ]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            whole = declared(lookup("fusion", fusion.name).function, name) is int
            said = about.get(name, f"{name} of {fusion.name}")
            low, high = RANGES.get(name, COUNT if whole else (0, INFINITE))
            found.append(Knob(name, "whole" if whole else "real", value, said, low, high=high))
    return found


def _turned(chosen: Variant, name: str, value: Any, mode: Mode) -> Variant:
    known = knobs(chosen, mode)
    if name not in known and name in (numbers := parameters(chosen, mode)):
        return _with_stage_number(chosen, name, _checked(numbers[name], value))
    if name not in known:
        raise BadParameter(
            f"{chosen.name} has no knob {name!r}",
            do=f"It has: {', '.join(known | parameters(chosen, mode))}",
        )
    value = _checked(known[name], value)
    if name == "distinct":
        return chosen.replace(distinct=bool(value))
    if name == "third_list":
        return chosen.replace(derived=_third_lists(chosen)[value])
    if name == "fusion":
        return chosen.replace(fusion=_fusion_of(chosen, value))
    if name.startswith(WEIGHT):
        weights = {**dict(chosen.fusion["weights"]), name.removeprefix(WEIGHT): value}
        return chosen.replace(fusion=chosen.fusion.replace(weights=weights))
    if name in dict(chosen.fusion.params):
        return chosen.replace(fusion=chosen.fusion.replace(**{name: value}))
    if name in ("semantic_limit", "floor"):
        return chosen.replace(
            semantic=chosen.semantic.replace(**{name.removeprefix("semantic_"): value})
        )
    if name == "lexical_limit":
        return chosen.replace(lexical=chosen.lexical.replace(limit=value))
    policy = chosen.lexical["policy"]
    changed = (
        policy.replace(cap=value)
        if name == "cap"
        else make("policy", value, {"cap": policy["cap"]})
    )
    return chosen.replace(lexical=chosen.lexical.replace(policy=changed))


def _fusion_of(chosen: Variant, text: str) -> Stage:
    """The fusion of that text: one of the choices, or a registered one with its parameters, `borda(depth=10)`."""
    if text in (known := fusions(chosen)):
        return known[text]
    fusion = stage_of("fusion", text)
    if missed := uncounted(chosen, fusion):
        raise BadParameter(
            f"{fusion.name} does not count the list {missed!r} of {chosen.name}",
            do=f"Use one of {', '.join(known)}",
        )
    return fusion


def _with_stage_number(chosen: Variant, name: str, value: Any) -> Variant:
    if chosen.lexical is not None and name in dict(chosen.lexical.params):
        return chosen.replace(lexical=chosen.lexical.replace(**{name: value}))
    of_priors = (
        d.replace(**{name: value}) if d.kind == PRIOR and name in dict(d.params) else d
        for d in chosen.derived
    )
    return chosen.replace(derived=tuple(of_priors))


def _checked(knob: Knob, value: Any) -> Any:
    if knob.kind == "choice" and knob.name != "fusion":
        if value not in knob.choices:
            raise BadParameter(
                f"{knob.name} cannot be {value!r}",
                do=f"Use one of {', '.join(map(str, knob.choices))}",
            )
        return value
    if knob.name == "fusion" or (knob.name == "floor" and value is None):
        return value
    return number(knob.name, value, knob.low, knob.high, whole=knob.kind == "whole")


def _third_lists(chosen: Variant) -> dict[str, tuple[Stage, ...]]:
    priors = tuple(d for d in chosen.derived if d.kind == PRIOR)
    own = {_third(chosen): chosen.derived}
    alone = {
        n: (make("derived", n, {}), *priors) for n, e in entries("derived").items() if not _needs(e)
    }
    return {**own, **{n: s for n, s in {NONE: priors, **alone}.items() if n not in own}}


def _third(chosen: Variant) -> str:
    return " + ".join(d.name for d in chosen.derived if d.kind != PRIOR) or NONE


def _text(stage: Stage) -> str:
    """A stage as a person writes it: parameters that are not set are left out."""
    return f"{stage.name}({', '.join(f'{k}={v}' for k, v in stage.params if v not in (None, ()))})"


def _needs(entry: Any) -> bool:
    return any(p.default is p.empty for p in entry.parameters.values())


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


# ---- A variant as one word of a command: `adr_0172`, `adr_0172(k=10,weight.verbatim=0.5)`,  ----

FORM = "Write NAME, NAME(knob=value,…) or NAME+CHANNEL"
OURS = "workbench.retrieval.channels"

_PART = re.compile(r"(?P<name>[^\s()+,=\"]+)\s*(?:\((?P<params>.*)\))?", re.DOTALL)
_WORDS = {"true": True, "false": False, "none": None}


@dataclass(frozen=True, slots=True)
class Part:
    """One name of a specification with its parameters, values as they are typed."""

    name: str
    params: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return self.name + (
            f"({','.join(f'{k}={_spec_text(v)}' for k, v in self.params)})" if self.params else ""
        )


def split(text: str, mark: str = ",") -> list[str]:
    """The pieces between marks that stand in no brackets and no quotation marks. Raises BadParameter."""
    pieces, depth, quoted, start = [], 0, False, 0
    for place, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        elif not quoted:
            depth += (char == "(") - (char == ")")
            if char == mark and depth == 0:
                pieces.append(text[start:place])
                start = place + 1
        if depth < 0:
            break
    if depth or quoted:
        raise BadParameter(
            f"{text!r} has a bracket or quotation mark without its other one", do=FORM
        )
    return [p.strip() for p in (*pieces, text[start:])]


def parse_all(text: str) -> tuple[AnyVariant, ...]:
    """The variants of a list with commas, each once. Raises BadParameter for two that bear one name."""
    return distinct_variants([parse(word) for word in split(text) if word])


def distinct_variants(variants: Sequence[str | AnyVariant]) -> tuple[AnyVariant, ...]:
    """The variants in their order. Raises BadParameter for none, and for a name that stands twice."""
    chosen = tuple(map(variant, variants))
    names = [v.name for v in chosen]
    if not chosen:
        raise BadParameter("no variant is named", do="workbench variants lists them")
    if twice := sorted({n for n in names if names.count(n) > 1}):
        raise BadParameter(
            f"the variant {twice[0]!r} is named twice",
            do="Name each once; knobs make another: adr_0172(k=10)",
        )
    return chosen


def parse(text: str) -> AnyVariant:
    """The variant of a specification. Raises BadParameter that names the part which is wrong."""
    first, *others = (_part(piece) for piece in split(text, "+"))
    made, knobs = _base(first)
    if "fusion" in knobs:  # it says which further lists are counted
        made = _chosen(composed(made), {"fusion": knobs.pop("fusion")})
    for part in others:
        made = extended(composed(made), _stage(part))
    if knobs:
        made = _chosen(made, knobs)
    return made.replace(name="+".join(map(str, (first, *others))))


def turned(base: Variant, knobs: dict[str, Any]) -> Variant:
    """The variant with these knobs turned, named by its recipe where the variant's own name is one."""
    made = with_knobs(base, knobs)
    try:
        first, *others = (_part(piece) for piece in split(base.name, "+"))
        name = "+".join(
            map(str, (Part(first.name, tuple((dict(first.params) | knobs).items())), *others))
        )
        return made.replace(name=name) if parse(name).hash == made.hash else made
    except BadParameter:
        return made


def recipe_at(base: AnyVariant, now: str) -> str:
    """The recipe of `priors.at_time(base, now)`; the variant's own name where that is no recipe, or nothing counts time."""
    try:
        parts = [_part(piece) for piece in split(base.name, "+")]
        kinds = ("variant", *["prior"] * (len(parts) - 1))
        name = "+".join(
            str(_with_now(part, kind, now)) for part, kind in zip(parts, kinds, strict=True)
        )
        return name if parse(name).hash == at_time(base, now).hash else base.name
    except BadParameter:
        return base.name


def _with_now(part: Part, kind: str, now: str) -> Part:
    known = entries(kind).get(part.name) or entries("channel").get(part.name)
    if known is None or "now" not in known.parameters or dict(part.params).get("now"):
        return part
    return Part(part.name, tuple((dict(part.params) | {"now": now}).items()))


def extended(base: Variant, stage: Stage) -> Variant:
    """The variant with one more list: a channel of one's own, or a prior. Raises BadParameter where its fusion would
    not count it, or where it has it already."""
    if stage.kind == "prior":
        return with_prior(base, stage)
    if not traits_of(base.fusion).counts_every_list:
        raise BadParameter(
            f"{base.fusion.name} counts no custom list",
            where=base.name,
            do="Add it to a variant that fuses by rrf",
        )
    if any(s.name == stage.name and s.get("name") == stage.get("name") for s in base.own):
        raise BadParameter(f"{base.name} has the channel {stage.name!r} already")
    return base.replace(name=f"{base.name}+{stage.name}", own=(*base.own, stage))


def alone(stage: Stage) -> Variant:
    """One channel as a variant: its list as it is."""
    if entries("channel")[stage.name].function.__module__ == OURS:
        slot = "semantic" if stage.name == "semantic" else "lexical"
        return Variant(stage.name, single(name=slot), **{slot: stage}, source="one list")
    return Variant(
        stage.name, single(name=stage.get("name") or stage.name), own=(stage,), source="one list"
    )


def _base(part: Part) -> tuple[AnyVariant, dict[str, Any]]:
    """The first part's variant, and those of its parameters that are knobs and no parameters of its making."""
    known = entries("variant")
    if part.name in known:
        given = dict(part.params)
        own = {k: v for k, v in given.items() if k in known[part.name].parameters}
        made = variant(part.name, **own)
        if isinstance(made, Variant):
            return made, {k: v for k, v in given.items() if k not in own}
        return variant(part.name, **given), {}  # its parameters are all that can be set
    if part.name in entries("channel"):
        return alone(make("channel", part.name, dict(part.params))), {}
    raise BadParameter(
        f"unknown variant {part.name!r}", do=f"Known: {', '.join(sorted(known))}; {FORM}"
    )


def _chosen(made: Variant, given: dict[str, Any]) -> Variant:
    """The variant with these knobs turned as they are written; a fusion may be named without its parameters."""
    known = knobs(made)
    if given.get("floor") is not None and "floor" in known:
        number("floor", given["floor"], *COSINE)
    for name, value in given.items():
        if name in known and known[name].kind == "choice":
            found = [
                c
                for c in known[name].choices
                if str(c).lower() == str(value).lower() or str(c).startswith(f"{value}(")
            ]
            given[name] = found[0] if len(found) == 1 else value
    return with_knobs(made, given)


def stage_of(kind: str, text: str) -> Stage:
    """A registered stage as it is written, `rrf(k=10)`. Raises BadParameter."""
    part = _part(text)
    return make(kind, part.name, dict(part.params))


def _stage(part: Part) -> Stage:
    ours = {n for n, e in entries("channel").items() if e.function.__module__ == OURS}
    for kind in ("channel", "prior"):
        if part.name in entries(kind) and part.name not in ours:
            return make(kind, part.name, dict(part.params))
    own = sorted((set(entries("channel")) - ours) | set(entries("prior")))
    raise BadParameter(
        f"{part.name!r} is neither a channel of one's own nor a prior",
        do=f"Known: {', '.join(own)}",
    )


def _part(text: str) -> Part:
    found = _PART.fullmatch(text)
    if found is None:
        raise BadParameter(f"{text!r} is no variant", do=FORM)
    params: dict[str, Any] = {}
    for pair in split(found["params"] or ""):
        name, mark, value = (s.strip() for s in pair.partition("="))
        if not pair:
            continue
        if not mark or not name or name in params:
            raise BadParameter(f"{pair!r} in {text!r} is not one knob=value", do=FORM)
        params[name] = _value(value)
    return Part(found["name"], tuple(params.items()))


def _value(text: str) -> Any:
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text) if "_" not in text else text
        except ValueError:
            continue
    return text


def _spec_text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return (
        f'"{text}"'
        if isinstance(value, str) and (_value(text) != value or set(text) & set(",()+"))
        else text
    )


# ---- Priors: what is known of a row before any query — how new it is, whose project, pinned ----

HALF_LIFE_DAYS = 30.0
"""A month: a choice of ours, to be tuned."""

PRIOR_WEIGHT = 0.5
"""What a whole prior counts beside a first rank in one list: a choice of ours, to be tuned."""

Field = Literal["updated", "created"]
"""The time that a row's age is counted from."""

_DAY = 86_400.0


@register("prior")
def recency(
    query: Query,
    ctx: Context,
    *,
    half_life: float = HALF_LIFE_DAYS,
    field: Field = "updated",
    now: str = "",
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
        return float(
            held is True or held == 1 or str(held).lower() in ("true", "yes") or key in facets.tags
        )

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


def with_prior(base: Variant, stage: Stage, weight: float = PRIOR_WEIGHT) -> Variant:
    """The variant with one more prior of that weight. Raises BadParameter for a fusion other than RRF."""
    if base.fusion.name != "rrf" and not traits_of(base.fusion).takes_priors:
        raise BadParameter(
            f"a prior is added to RRF, and {base.name} fuses by {base.fusion.name}",
            do="Take a variant that fuses by rrf",
        )
    held = base.fusion.get("priors", ())
    if stage.name in held:
        raise BadParameter(f"{base.name} has the prior {stage.name!r} already")
    weights = {**dict(base.fusion["weights"]), stage.name: weight}
    fusion = make(
        "fusion",
        "rrf_priors",
        {"priors": (*held, stage.name), "k": base.fusion["k"], "weights": weights},
    )
    return base.replace(
        name=f"{base.name}+{stage.name}", derived=(*base.derived, stage), fusion=fusion
    )


@register("variant")
def adr_0172_priors(
    *,
    recency: float = PRIOR_WEIGHT,
    project: float = PRIOR_WEIGHT,
    pinned: float = PRIOR_WEIGHT,
    dated: float = PRIOR_WEIGHT,
    half_life: float = HALF_LIFE_DAYS,
    now: str = "",
) -> Variant:
    """ADR 0172 with four priors added to its fusion, each by a weight of its own: newness, project, pinned, named time."""
    made = variant("adr_0172")
    stages = (
        (make("prior", "recency", {"half_life": half_life, "now": now}), recency),
        (make("prior", "project", {}), project),
        (make("prior", "pinned", {}), pinned),
        (make("prior", "dated", {"now": now}), dated),
    )
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
        return ctx.fact(
            ("newest", field),
            lambda: ctx.stores.catalog.newest(field) or ctx.stores.catalog.newest("created"),
        )
    read = moment_of(now)
    if read is None:
        raise BadParameter(
            f"{now!r} is no date or time", do="Write it as 2026-11-11 or 2026-11-11T09:58:00Z"
        )
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

"""Knobs: every number and choice of a variant that a person turns, by one name, with its range.

A knob that frozen lists answer has `again` False; turning one of the others retrieves again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from workbench.errors import BadParameter
from workbench.ranges import COSINE, COUNT, INFINITE, RANGES, declared, number
from workbench.registry import Stage, entries, lookup, make
from workbench.retrieval.fusions import traits_of
from workbench.retrieval.variant import AnyVariant, Variant, composed, variant
from workbench.types import Mode

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
        found.append(Knob("third_list", "choice", _third(chosen), "the list made of what the channels read",
                          choices=tuple(_third_lists(chosen))))  # fmt: skip
        found.append(Knob("fusion", "choice", _text(fusion), "how the lists become one", choices=tuple(fusions(chosen))))
        lists = [n for n in ("lexical", "semantic") if getattr(chosen, n) is not None]
        # An endpoint's list bears the name that it is given.
        own = [s.get("name") or s.name for s in chosen.own]
        found += _fusion(fusion, [*lists, *own, *(d.name for d in derived)])
    found.append(Knob("distinct", "choice", chosen.distinct, "each entity once, by its best row", choices=(False, True)))
    return {k.name: k for k in found}


def with_knobs(spec: str | AnyVariant, turned: Mapping[str, Any], mode: Mode = "hybrid") -> AnyVariant:
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
    return numbers | {n: k for n, k in further.items() if k is not None and n not in numbers and n != "limit"}


def _stages_with_numbers(chosen: Variant) -> list[Stage]:
    return [s for s in (chosen.lexical, *chosen.derived) if s is not None and (s is chosen.lexical or s.kind == PRIOR)]


def _stage_number(stage: Stage, name: str) -> Knob | None:
    value = stage[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    low, high = RANGES.get(name, (-INFINITE, INFINITE))
    return Knob(name, "whole" if isinstance(value, int) else "real", value, f"{name} of {stage.name}", low, again=True, high=high)


def fusions(chosen: Variant) -> dict[str, Stage]:
    """Every fusion that a variant can be given, by its text: its own, each registered one as it is by default that
    counts all its lists, and each of its lists alone."""
    plain = [make("fusion", n, {}) for n, e in entries("fusion").items() if not _needs(e)]
    plain = [f for f in plain if not uncounted(chosen, f)]
    alone = [make("fusion", "single", {"name": n}) for n in ("lexical", "semantic") if getattr(chosen, n) is not None]
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
            Knob("policy", "choice", policy.name, "the order in which candidates are read",
                 choices=tuple(dict.fromkeys([policy.name, *entries("policy")])), again=True),
            Knob("cap", "whole", policy["cap"], "candidates that the lexical channel reads at most", COUNT[0], high=COUNT[1]),
        ]  # fmt: skip
    limit = channel.get("limit")
    return [] if limit is None else [Knob("lexical_limit", "whole", limit, "rows that the lexical channel holds at most", COUNT[0], high=COUNT[1])]


def _semantic(channel: Stage) -> list[Knob]:
    found = []
    if channel.get("limit") is not None:
        found.append(Knob("semantic_limit", "whole", channel["limit"], "nearest rows that the semantic channel holds", COUNT[0], high=COUNT[1]))
    if "floor" in dict(channel.params):
        found.append(Knob("floor", "real", channel["floor"], "the least cosine that the semantic channel admits", float(COSINE[0])))
    return found


def _fusion(fusion: Stage, lists: list[str]) -> list[Knob]:
    """Every number of the fusion, by its name, and the weight of each list."""
    about, found = traits_of(fusion).about, []
    for name, value in fusion.params:
        if name == "weights":
            given = dict(value)
            found += [Knob(WEIGHT + n, "real", given.get(n, 1), f"what a rank in the {n} list counts") for n in lists]
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
        raise BadParameter(f"{chosen.name} has no knob {name!r}", do=f"It has: {', '.join(known | parameters(chosen, mode))}")
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
        return chosen.replace(semantic=chosen.semantic.replace(**{name.removeprefix("semantic_"): value}))
    if name == "lexical_limit":
        return chosen.replace(lexical=chosen.lexical.replace(limit=value))
    policy = chosen.lexical["policy"]
    changed = policy.replace(cap=value) if name == "cap" else make("policy", value, {"cap": policy["cap"]})
    return chosen.replace(lexical=chosen.lexical.replace(policy=changed))


def _fusion_of(chosen: Variant, text: str) -> Stage:
    """The fusion of that text: one of the choices, or a registered one with its parameters, `borda(depth=10)`."""
    if text in (known := fusions(chosen)):
        return known[text]
    from workbench.retrieval.spec import stage_of

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
    of_priors = (d.replace(**{name: value}) if d.kind == PRIOR and name in dict(d.params) else d for d in chosen.derived)
    return chosen.replace(derived=tuple(of_priors))


def _checked(knob: Knob, value: Any) -> Any:
    if knob.kind == "choice" and knob.name != "fusion":
        if value not in knob.choices:
            raise BadParameter(f"{knob.name} cannot be {value!r}", do=f"Use one of {', '.join(map(str, knob.choices))}")
        return value
    if knob.name == "fusion" or (knob.name == "floor" and value is None):
        return value
    return number(knob.name, value, knob.low, knob.high, whole=knob.kind == "whole")


def _third_lists(chosen: Variant) -> dict[str, tuple[Stage, ...]]:
    priors = tuple(d for d in chosen.derived if d.kind == PRIOR)
    own = {_third(chosen): chosen.derived}
    alone = {n: (make("derived", n, {}), *priors) for n, e in entries("derived").items() if not _needs(e)}
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

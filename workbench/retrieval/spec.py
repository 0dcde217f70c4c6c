"""A variant as one word of a command: `adr_0172`, `adr_0172(k=10,weight.verbatim=0.5)`, `adr_0172+mine(limit=50)`.

The law: NAME or NAME(knob=value,…), then `+CHANNEL` for each list of one's own and `+PRIOR` for each prior. NAME is a
variant, or a channel, which then stands alone. The text is the variant's name, so a name is also its recipe.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.errors import BadParameter
from workbench.ranges import COSINE, number
from workbench.registry import Stage, entries, make
from workbench.retrieval.fusions import single, traits_of
from workbench.retrieval.variant import AnyVariant, Variant, composed, variant

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
        return self.name + (f"({','.join(f'{k}={_text(v)}' for k, v in self.params)})" if self.params else "")


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
        raise BadParameter(f"{text!r} has a bracket or quotation mark without its other one", do=FORM)
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
        raise BadParameter(f"the variant {twice[0]!r} is named twice", do="Name each once; knobs make another: adr_0172(k=10)")
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
    from workbench.retrieval.knobs import with_knobs

    made = with_knobs(base, knobs)
    try:
        first, *others = (_part(piece) for piece in split(base.name, "+"))
        name = "+".join(map(str, (Part(first.name, tuple((dict(first.params) | knobs).items())), *others)))
        return made.replace(name=name) if parse(name).hash == made.hash else made
    except BadParameter:
        return made


def recipe_at(base: AnyVariant, now: str) -> str:
    """The recipe of `priors.at_time(base, now)`; the variant's own name where that is no recipe, or nothing counts time."""
    from workbench.retrieval.priors import at_time

    try:
        parts = [_part(piece) for piece in split(base.name, "+")]
        kinds = ("variant", *["prior"] * (len(parts) - 1))
        name = "+".join(str(_with_now(part, kind, now)) for part, kind in zip(parts, kinds, strict=True))
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
        from workbench.retrieval.priors import with_prior

        return with_prior(base, stage)
    if not traits_of(base.fusion).counts_every_list:
        raise BadParameter(f"{base.fusion.name} counts no custom list", where=base.name, do="Add it to a variant that fuses by rrf")
    if any(s.name == stage.name and s.get("name") == stage.get("name") for s in base.own):
        raise BadParameter(f"{base.name} has the channel {stage.name!r} already")
    return base.replace(name=f"{base.name}+{stage.name}", own=(*base.own, stage))


def alone(stage: Stage) -> Variant:
    """One channel as a variant: its list as it is."""
    if entries("channel")[stage.name].function.__module__ == OURS:
        slot = "semantic" if stage.name == "semantic" else "lexical"
        return Variant(stage.name, single(name=slot), **{slot: stage}, source="one list")
    return Variant(stage.name, single(name=stage.get("name") or stage.name), own=(stage,), source="one list")


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
    raise BadParameter(f"unknown variant {part.name!r}", do=f"Known: {', '.join(sorted(known))}; {FORM}")


def _chosen(made: Variant, given: dict[str, Any]) -> Variant:
    """The variant with these knobs turned as they are written; a fusion may be named without its parameters."""
    from workbench.retrieval.knobs import knobs, with_knobs

    known = knobs(made)
    if given.get("floor") is not None and "floor" in known:
        number("floor", given["floor"], *COSINE)
    for name, value in given.items():
        if name in known and known[name].kind == "choice":
            found = [c for c in known[name].choices if str(c).lower() == str(value).lower() or str(c).startswith(f"{value}(")]
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
    raise BadParameter(f"{part.name!r} is neither a channel of one's own nor a prior", do=f"Known: {', '.join(own)}")


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


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return f'"{text}"' if isinstance(value, str) and (_value(text) != value or set(text) & set(',()+')) else text

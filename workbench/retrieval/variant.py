"""A variant: a named composition of stages. It is data: it prints as a plan, hashes, and compares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from workbench.errors import BadParameter
from workbench.ranges import checked
from workbench.registry import Stage, entries, lookup
from workbench.retrieval.fusions import single
from workbench.types import Mode, Query, Result, content_hash

if TYPE_CHECKING:
    from workbench.retrieval.search import Collection


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
        return "\n".join(lines + [f"  {'page':<9} each entity once, by its best row"] * self.distinct)

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
        from workbench.retrieval.spec import parse

        return parse(spec)
    entry = lookup("variant", spec)
    for given in params:
        if given not in entry.parameters:
            raise BadParameter(
                f"variant {spec!r} has no knob {given!r}", do=f"It has: {', '.join(entry.parameters) or 'none'}"
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

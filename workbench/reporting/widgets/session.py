"""An investigation's state as data: what was asked, how its knobs stand, and the cell of code that says the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from workbench.errors import BadParameter
from workbench.retrieval.frozen import DEPTH
from workbench.retrieval.search import DEFAULT_VARIANT
from workbench.retrieval.variant import STRUCTURE, Knob, Variant, composed, knobs, with_knobs
from workbench.types import Mode, PointId, Query

FIRST = 8
"""The first page of the records' searches."""


@dataclass(frozen=True)
class Session:
    """One state of an investigation. `knobs` are turned on `variant`; `other` is a variant to compare with, "" for
    none; `pinned` is a document that is watched; lists are frozen `depth` deep."""

    collection: str
    query: str = ""
    variant: str = DEFAULT_VARIANT
    filters: Mapping[str, Any] = field(default_factory=dict)
    knobs: Mapping[str, Any] = field(default_factory=dict)
    first: int = FIRST
    mode: Mode = "hybrid"
    other: str = ""
    pinned: PointId | None = None
    depth: int = DEPTH

    def __post_init__(self) -> None:
        for name in ("filters", "knobs"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def asked(self) -> Query:
        """The query of its first page."""
        return Query(self.query, dict(self.filters), self.first, 0, self.mode)

    @property
    def chosen(self) -> Variant:
        """The variant with its knobs turned. Raises BadParameter, NotComposed."""
        return composed(with_knobs(self.variant, self.knobs, self.mode))

    @property
    def panel(self) -> dict[str, Knob]:
        """The knobs as they stand: those of the chosen stages, each at its turned value. Raises BadParameter."""
        chosen = {n: v for n, v in self.knobs.items() if n in STRUCTURE}
        base = knobs(self.variant, self.mode)
        found = knobs(with_knobs(self.variant, chosen, self.mode), self.mode)
        # A stage is always chosen among the variant's own and the others, whichever stands now.
        return {
            n: replace(base[n] if n in STRUCTURE else k, value=self.knobs.get(n, k.value))
            for n, k in found.items()
        }

    def turned(self, knob: str, value: Any) -> Session:
        """The session with one knob turned. At the place where its variant has it a knob is not turned; choosing
        another stage lets go of the knobs that the stage before had."""
        kept = {n: v for n, v in self.knobs.items() if n != knob}
        bare = self.replace(knobs={n: v for n, v in kept.items() if n in STRUCTURE})
        own = bare.panel.get(knob)
        made = self.replace(
            knobs=kept if own is not None and own.value == value else {**kept, knob: value}
        )
        if knob in STRUCTURE:
            held = made.replace(knobs={n: v for n, v in made.knobs.items() if n in STRUCTURE}).panel
            made = made.replace(knobs={n: v for n, v in made.knobs.items() if n in held})
        return made

    def replace(self, **changes: Any) -> Session:
        """A new session with some fields changed."""
        return replace(self, **changes)

    def code(self) -> str:
        """A cell that shows this investigation again, and one that gives its ranking without a widget."""
        given = [
            f"{f.name}={_literal(getattr(self, f.name))}"
            for f in fields(self)[2:]
            if getattr(self, f.name) != _default(f)
        ]
        first = f"{self.collection!r}, {self.query!r}"
        turned = (
            f"with_knobs({self.variant!r}, {_literal(self.knobs)}, {self.mode!r})"
            if self.knobs
            else repr(self.variant)
        )
        asked = "".join(
            f", {n}={_literal(getattr(self, n))}"
            for n in ("filters", "mode")
            if getattr(self, n) != _default_of(n)
        )
        return "\n".join(
            [
                "from workbench.reporting.widgets import investigate",
                "",
                f"investigate({', '.join([first, *given])})",
                "",
                "# The same ranking without a widget:",
                *(["from workbench.retrieval.variant import with_knobs"] if self.knobs else []),
                "from workbench.retrieval.search import open_collection",
                "",
                f"with open_collection({self.collection!r}) as collection:",
                f"    result = collection.search({self.query!r}, {turned}{asked}, limit={self.first})",
                "[(hit.rank, hit.chunk.title, hit.score, dict(hit.ranks)) for hit in result.hits]",
            ]
        )


def filters_of(text: str) -> dict[str, Any]:
    """`field=value` pairs with blanks between as filters; a field named twice means any of its values, `field=` means
    absent, and quotes hold a value with blanks. Raises BadParameter."""
    import shlex

    try:
        pairs = shlex.split(text)
    except ValueError as error:
        raise BadParameter(
            f"the filters cannot be read: {error}", do='Write e.g. project=json note_type="a b"'
        ) from error
    out: dict[str, Any] = {}
    for pair in pairs:
        name, mark, value = pair.partition("=")
        if not mark or not name:
            raise BadParameter(
                f"filter {pair!r} is not of the form field=value", do="Write e.g. project=json"
            )
        held = [value or None]
        out[name] = (
            held[0]
            if name not in out
            else [*(out[name] if isinstance(out[name], list) else [out[name]]), *held]
        )
    return out


def filters_text(filters: Mapping[str, Any]) -> str:
    """Filters as `filters_of` reads them; "" for what has no such form, as a range has none."""
    import shlex

    pairs = [
        (n, v)
        for n, value in filters.items()
        for v in (value if isinstance(value, list | tuple) else [value])
    ]
    if any(isinstance(v, Mapping) for _, v in pairs):
        return ""
    return " ".join(shlex.quote(f"{n}={'' if v is None else v}") for n, v in pairs)


def _literal(value: Any) -> str:
    return repr(dict(value)) if isinstance(value, Mapping) else repr(value)


def _default(declared: Any) -> Any:
    return declared.default if declared.default_factory is not dict else {}


def _default_of(name: str) -> Any:
    return _default(next(f for f in fields(Session) if f.name == name))

"""One registration for everything that is chosen by name: policies, channels, fusions, variants, tiers, readers.

`@register(kind)` turns a function into a factory of stages. Calling the factory with keyword parameters gives a
`Stage`: frozen data (kind, name, parameters) that prints, hashes, compares, is stored with a result, and when
called runs the function:

    @register("fusion")
    def rrf(lists, *, k: int = 60): ...

    rrf(k=10)            # Stage: prints as rrf(k=10)
    rrf(k=10)(lists)     # runs the function
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from numbers import Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from workbench.errors import BadParameter
from workbench.types import content_hash

# ---- What a parameter may be: the type that its function declares, and a range by its name. ----

INFINITE = float("inf")
COUNT = (1, 2**31 - 1)
"""How many rows may be asked for; the engines count in 32 bits."""
COSINE = (-1, 1)

RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(
        ("cap", "limit", "semantic_limit", "candidate_limit", "row_budget", "page_rows"), COUNT
    ),
    **dict.fromkeys(("floor", "floor_unsupported", "floor_alone", "min_similarity"), COSINE),
    **dict.fromkeys(
        (
            "k",
            "bonus",
            "weight",
            "title_weight",
            "recency",
            "project",
            "pinned",
            "dated",
            "half_life",
            "k1",
        ),
        (0, INFINITE),
    ),
    "b": (0, 1),
    "counted": (0, COUNT[1]),
}
"""The range of our own stages' numbers, by the parameter's name, both ends included."""


def checked(
    function: Callable[..., Any], params: Mapping[str, Any], free: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The parameters as their function declares them; 2.0 for a whole number is 2. Those in `free` have no range.
    Raises BadParameter."""
    hints = _hints(function)
    ours = (function.__module__ or "").startswith("workbench.")
    return {
        n: _value(n, hints.get(n, Any), v, RANGES.get(n) if ours and n not in free else None)
        for n, v in params.items()
    }


def number(
    name: str, value: Any, low: float = -INFINITE, high: float = INFINITE, *, whole: bool = False
) -> Any:
    """The number, where it is one within `low` to `high`. Raises BadParameter that says the range."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not low <= value <= high or abs(value) == INFINITE:
        raise BadParameter(
            f"{name} cannot be {value!r}",
            do=f"Use a {'whole ' if whole else ''}number{_within(low, high)}",
        )
    if whole and value != int(value):
        raise BadParameter(f"{name} is a whole number, not {value!r}")
    return int(value) if whole else value


def declared(function: Callable[..., Any], name: str) -> Any:
    """The type that a function declares for a parameter; Any if it declares none."""
    return _hints(function).get(name, Any)


def _within(low: float, high: float) -> str:
    if high == INFINITE:
        return "" if low == -INFINITE else f" of at least {low:g}"
    return f" from {low:g} to {high:,.10g}"


@cache
def _hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return get_type_hints(function)
    except NameError:  # a function of one's own may name types that are only there for its reader
        return {}


def _value(name: str, hint: Any, value: Any, within: tuple[float, float] | None) -> Any:
    allowed = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if value is None and NoneType in allowed:
        return None
    kinds = [kind for kind in allowed if kind is not NoneType]
    if len(kinds) == 1 and kinds[0] in (int, float):
        return number(name, value, *(within or ()), whole=kinds[0] is int)
    if any(_is(kind, value) for kind in kinds):
        return value
    raise BadParameter(f"{name} cannot be {value!r}", do=f"Use {' or '.join(map(_said, kinds))}")


def _is(hint: Any, value: Any) -> bool:
    if hint is Any:
        return True
    origin, parts = get_origin(hint) or hint, get_args(hint)
    if origin is Literal:
        return value in parts
    if origin is tuple:
        if isinstance(value, str):
            return parts[:1] == (str,)  # one name stands for a list of it
        pairs = value.items() if isinstance(value, Mapping) else value
        if not isinstance(value, Mapping | tuple | list):
            return False
        return (
            all(_is(parts[0], v) for v in pairs)
            if parts[1:] == (...,)
            else len(value) == len(parts) and all(map(_is, parts, value))
        )
    if origin in (int, float):
        return isinstance(value, Real) and not isinstance(value, bool) and abs(value) < INFINITE
    return not inspect.isclass(origin) or isinstance(value, origin)


def _said(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(map(str, get_args(hint)))
    if (get_origin(hint) or hint) is tuple:
        return "text (a number in quotation marks), or a tuple of Python"
    return {bool: "true or false", str: "text (a number in quotation marks)"}.get(
        hint, f"a {hint.__name__} of Python"
    )


# ---- One registration for everything that is chosen by name: policies, channels, fusions, v ----

READER = "reader"

_REGISTRY: dict[str, dict[str, Entry]] = {}

# The rooms whose import registers each kind; loaded only when a name is looked up or listed.
_ROOMS = {
    "policy": ("workbench.retrieval.policies",),
    "channel": (
        "workbench.retrieval.channels",
        "workbench.retrieval.custom",
        "workbench.retrieval.variants",
    ),
    "derived": ("workbench.retrieval.derived",),
    "prior": ("workbench.retrieval.variant",),
    "fusion": ("workbench.retrieval.fusions",),
    "variant": (
        "workbench.retrieval.variants",
        "workbench.retrieval.variant",
        "workbench.retrieval.notes.variants",
    ),
    READER: ("workbench.sources.readers",),
    "tier": ("workbench.matching.tiers",),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A registered function and its declared keyword parameters, as docs, commands and widgets show them.

    `traits` are what its registration says that it can do."""

    kind: str
    name: str
    function: Callable[..., Any]
    traits: Mapping[str, Any] = field(default_factory=dict)

    @property
    def law(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The keyword-only parameters by name: these are the knobs of a stage."""
        found = inspect.signature(self.function).parameters.values()
        return {p.name: p for p in found if p.kind is inspect.Parameter.KEYWORD_ONLY}


@dataclass(frozen=True, slots=True)
class Stage:
    """A registered function with its parameters bound: data until it is called."""

    kind: str
    name: str
    params: tuple[tuple[str, Any], ...] = ()

    def __call__(self, *args: Any) -> Any:
        return lookup(self.kind, self.name).function(*args, **dict(self.params))

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{k}={v}' for k, v in self.params)})"

    def __getitem__(self, name: str) -> Any:
        return dict(self.params)[name]

    def get(self, name: str, default: Any = None) -> Any:
        return dict(self.params).get(name, default)

    def replace(self, **params: Any) -> Stage:
        """A new stage with some parameters changed; an unknown one raises BadParameter."""
        return make(self.kind, self.name, {**dict(self.params), **params})

    @property
    def hash(self) -> str:
        return content_hash(self.kind, str(self))


def make(kind: str, name: str, params: dict[str, Any]) -> Stage:
    """A stage from names, defaults filled in. Raises BadParameter for an unknown name or parameter, or a value that the
    function does not declare."""
    entry = lookup(kind, name)
    for given in params:
        if given not in entry.parameters:
            known = ", ".join(entry.parameters) or "none"
            raise BadParameter(f"{kind} {name!r} has no parameter {given!r}", do=f"It has: {known}")
    if kind != READER:  # its room reads them from text
        params = checked(
            entry.function, params, free=("floor",)
        )  # counterfactuals try floors past any cosine
    bound = []
    for key, declared in entry.parameters.items():
        value = params.get(key, declared.default)
        if value is inspect.Parameter.empty:
            raise BadParameter(f"{kind} {name!r} needs the parameter {key!r}")
        bound.append((key, _frozen(value)))
    return Stage(kind, name, tuple(bound))


def _frozen(value: Any) -> Any:
    """Lists and mappings as tuples, so that a stage can be hashed and compared."""
    if isinstance(value, list):
        return tuple(value)
    return tuple(sorted(value.items())) if isinstance(value, dict) else value


def register(
    kind: str, name: str | None = None, **traits: Any
) -> Callable[[Callable[..., Any]], Callable[..., Stage]]:
    """Register a function under its own name (or `name`), with what it can do, and return its factory of stages."""

    def wrap(function: Callable[..., Any]) -> Callable[..., Stage]:
        entry = Entry(kind, name or function.__name__, function, traits)
        if entry.name in _REGISTRY.setdefault(kind, {}):
            raise BadParameter(
                f"{kind} {entry.name!r} is registered already", do="Choose another name"
            )
        _REGISTRY[kind][entry.name] = entry

        def factory(**params: Any) -> Stage:
            return make(kind, entry.name, params)

        factory.__doc__, factory.__name__ = function.__doc__, entry.name
        factory.entry = entry
        return factory

    return wrap


def put(kind: str, name: str, function: Callable[..., Any]) -> None:
    """Register or replace one's own function by name, as a notebook does when its cell is run again."""
    _load(kind)
    _REGISTRY.setdefault(kind, {})[name] = Entry(kind, name, function)


@cache
def _load(kind: str) -> None:
    for room in _ROOMS.get(kind, ()):
        import_module(room)


def entries(kind: str) -> dict[str, Entry]:
    """All registered entries of a kind, by name, in the order of registration."""
    _load(kind)
    return dict(_REGISTRY.get(kind, {}))


def lookup(kind: str, name: str) -> Entry:
    """The entry of that name. Raises BadParameter that lists the known names."""
    found = entries(kind)
    if name not in found:
        raise BadParameter(
            f"unknown {kind} {name!r}", do=f"Known: {', '.join(sorted(found)) or 'none'}"
        )
    return found[name]

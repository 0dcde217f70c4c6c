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
from typing import Any

from workbench.errors import BadParameter
from workbench.ranges import checked
from workbench.types import content_hash

READER = "reader"

_REGISTRY: dict[str, dict[str, Entry]] = {}

# The rooms whose import registers each kind; loaded only when a name is looked up or listed.
_ROOMS = {
    "policy": ("workbench.retrieval.policies",),
    "channel": ("workbench.retrieval.channels", "workbench.retrieval.endpoint", "workbench.retrieval.second_model"),
    "derived": ("workbench.retrieval.derived",),
    "prior": ("workbench.retrieval.priors",),
    "fusion": ("workbench.retrieval.fusions",),
    "variant": ("workbench.retrieval.variants", "workbench.retrieval.priors", "workbench.retrieval.second_model", "workbench.retrieval.notes.variants"),
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
        params = checked(entry.function, params, free=("floor",))  # counterfactuals try floors past any cosine
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


def register(kind: str, name: str | None = None, **traits: Any) -> Callable[[Callable[..., Any]], Callable[..., Stage]]:
    """Register a function under its own name (or `name`), with what it can do, and return its factory of stages."""

    def wrap(function: Callable[..., Any]) -> Callable[..., Stage]:
        entry = Entry(kind, name or function.__name__, function, traits)
        if entry.name in _REGISTRY.setdefault(kind, {}):
            raise BadParameter(f"{kind} {entry.name!r} is registered already", do="Choose another name")
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
        raise BadParameter(f"unknown {kind} {name!r}", do=f"Known: {', '.join(sorted(found)) or 'none'}")
    return found[name]

"""What a parameter may be: the type that its function declares, and a range by its name. One check for every stage.

The law: a number is finite and no truth value, a whole number has no fraction, everything else is what is declared; a
type that says nothing (a class of one's own, none at all) is not checked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from numbers import Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from workbench.errors import BadParameter

INFINITE = float("inf")
COUNT = (1, 2**31 - 1)
"""How many rows may be asked for; the engines count in 32 bits."""
COSINE = (-1, 1)

RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("cap", "limit", "semantic_limit", "candidate_limit", "row_budget", "page_rows"), COUNT),
    **dict.fromkeys(("floor", "floor_unsupported", "floor_alone", "min_similarity"), COSINE),
    **dict.fromkeys(("k", "bonus", "weight", "title_weight", "recency", "project", "pinned", "dated", "half_life", "k1"), (0, INFINITE)),
    "b": (0, 1), "counted": (0, COUNT[1]),
}  # fmt: skip
"""The range of our own stages' numbers, by the parameter's name, both ends included."""


def checked(function: Callable[..., Any], params: Mapping[str, Any], free: tuple[str, ...] = ()) -> dict[str, Any]:
    """The parameters as their function declares them; 2.0 for a whole number is 2. Those in `free` have no range.
    Raises BadParameter."""
    hints = _hints(function)
    ours = function.__module__.startswith("workbench.")
    return {n: _value(n, hints.get(n, Any), v, RANGES.get(n) if ours and n not in free else None) for n, v in params.items()}


def number(name: str, value: Any, low: float = -INFINITE, high: float = INFINITE, *, whole: bool = False) -> Any:
    """The number, where it is one within `low` to `high`. Raises BadParameter that says the range."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not low <= value <= high or abs(value) == INFINITE:
        raise BadParameter(f"{name} cannot be {value!r}", do=f"Use a {'whole ' if whole else ''}number{_within(low, high)}")
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
        return all(_is(parts[0], v) for v in pairs) if parts[1:] == (...,) else len(value) == len(parts) and all(map(_is, parts, value))
    if origin in (int, float):
        return isinstance(value, Real) and not isinstance(value, bool) and abs(value) < INFINITE
    return not inspect.isclass(origin) or isinstance(value, origin)


def _said(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(map(str, get_args(hint)))
    if (get_origin(hint) or hint) is tuple:
        return "text (a number in quotation marks), or a tuple of Python"
    return {bool: "true or false", str: "text (a number in quotation marks)"}.get(hint, f"a {hint.__name__} of Python")

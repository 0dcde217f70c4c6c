"""A notebook's parameters: declared in its one cell tagged `parameters`, checked before the notebook starts.

A parameter is `name: type = default  # what it means`. Types: str, int, float, bool, list[T], Literal[…] and
T | None. From the command line, where all is text: a str stays as it was typed (`0123` too), an int is digits
without a leading zero, a bool is true or false, a list is comma-separated or a JSON array, `none` is None
where allowed.
"""

from __future__ import annotations

import ast
import io
import json
import math
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from workbench.errors import BadParameter, WorkbenchError

PARAMETERS_TAG = "parameters"
_INT = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_SCALARS = ("str", "int", "float", "bool")


class BadNotebook(WorkbenchError):
    """A notebook that cannot be launched: unreadable, or without a proper parameters cell."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared parameter; `type` is the annotation as written."""

    name: str
    type: str
    default: Any
    help: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.type} = {self.default!r}"


def declared(notebook: Path) -> dict[str, Parameter]:
    """The parameters of a notebook by name, in order. Raises BadNotebook."""
    import nbformat

    try:
        book = nbformat.read(notebook, as_version=4)
    except FileNotFoundError as error:
        raise BadNotebook("no such notebook", where=notebook.name) from error
    except Exception as error:
        # nbformat raises its own errors, json's and Unicode's for a file that is no notebook.
        raise BadNotebook(f"not a notebook: {type(error).__name__}", where=notebook.name) from error
    tagged = [c for c in book.cells if PARAMETERS_TAG in c.metadata.get("tags", [])]
    if len(tagged) != 1 or tagged[0].cell_type != "code":
        do = f"Tag exactly one code cell {PARAMETERS_TAG!r}"
        raise BadNotebook(f"{len(tagged)} cells are tagged {PARAMETERS_TAG!r}", where=notebook.name, do=do)
    return _parse(tagged[0].source, notebook.name)


def bind(parameters: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Values given from Python, checked by type; numpy numbers become plain ones, nothing else is converted.

    Raises BadParameter for an unknown name or a wrong type.
    """
    return {n: _checked(_type(_known(parameters, n)), v, parameters[n]) for n, v in given.items()}


def bind_text(parameters: Mapping[str, Parameter], given: Mapping[str, str]) -> dict[str, Any]:
    """Values typed at the command line, read as their parameter declares. Raises BadParameter."""
    return {n: _read(_type(_known(parameters, n)), text, parameters[n]) for n, text in given.items()}


def _known(parameters: Mapping[str, Parameter], name: str) -> Parameter:
    if name not in parameters:
        known = "; ".join(map(str, parameters.values())) or "it has none"
        raise BadParameter(f"the notebook has no parameter {name!r}", do=f"Declared: {known}")
    return parameters[name]


def _parse(source: str, where: str) -> dict[str, Parameter]:
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise BadNotebook(
            f"the parameters cell is not Python: {error.msg}", where=f"{where}, line {error.lineno}"
        ) from error
    comments = _comments(source)
    found: dict[str, Parameter] = {}
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        line = ast.unparse(node)
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name) or node.value is None:
            raise BadNotebook(
                f"{line!r} is no declared parameter", where=where, do="Write `name: type = default`"
            )
        try:
            default = ast.literal_eval(node.value)
        except ValueError as error:
            raise BadNotebook(f"the default in {line!r} must be a literal", where=where) from error
        one = Parameter(
            node.target.id, ast.unparse(node.annotation), default, comments.get(node.end_lineno, "")
        )
        try:
            _checked(_type(one), default, one)
        except BadParameter as error:
            raise BadNotebook(str(error), where=where) from error
        found[one.name] = one
    return found


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}


# -- types: ("str",) ("int",) ("float",) ("bool",) ("list", T) ("literal", values) ("optional", T) -----------
def _type(parameter: Parameter) -> tuple[Any, ...]:
    found = _form(ast.parse(parameter.type, mode="eval").body)
    if found is None:
        do = "Use str, int, float, bool, list[T], Literal[…] or T | None"
        raise BadParameter(f"{parameter.name!r} is declared as {parameter.type!r}", do=do)
    return found


def _form(node: ast.expr) -> tuple[Any, ...] | None:
    match node:
        case ast.Name(id=name) if name in _SCALARS:
            return (name,)
        case ast.Subscript(value=ast.Name(id="list"), slice=inner) if (of := _form(inner)) and of[
            0
        ] in _SCALARS:
            return ("list", of)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            options = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if all(isinstance(o, ast.Constant) for o in options):
                return ("literal", tuple(o.value for o in options))
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)) if of := _form(left):
            return ("optional", of)
    return None


def _checked(form: tuple[Any, ...], value: Any, parameter: Parameter) -> Any:
    if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    match form:
        case ("optional", of):
            return None if value is None else _checked(of, value, parameter)
        case ("list", of) if isinstance(value, list | tuple):
            return [_checked(of, v, parameter) for v in value]
        case ("literal", options) if any(type(o) is type(value) and o == value for o in options):
            return value
        case ("str",) if isinstance(value, str):
            return str(value)
        case ("bool",) if isinstance(value, bool):
            return value
        case ("int",) if isinstance(value, Integral) and not isinstance(value, bool):
            return int(value)
        case ("float",) if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    raise BadParameter(
        f"{parameter.name!r} must be {parameter.type}, not {type(value).__name__} {_short(value)}"
    )


def _read(form: tuple[Any, ...], text: str, parameter: Parameter) -> Any:
    match form:
        case ("str",):
            return text
        case ("int",) if _INT.fullmatch(text):
            return int(text)
        case ("float",):
            try:
                return _checked(form, float(text), parameter)
            except ValueError:
                pass
        case ("bool",) if text in ("true", "false"):
            return text == "true"
        case ("literal", options) if any(str(o) == text for o in options):
            return next(o for o in options if str(o) == text)
        case ("optional", of):
            return None if text == "none" else _read(of, text, parameter)
        case ("list", of):
            if text.startswith("["):
                try:
                    return _checked(form, json.loads(text), parameter)
                except json.JSONDecodeError as error:
                    raise BadParameter(f"{parameter.name!r} is not a JSON array: {error.msg}") from error
            return [_read(of, part.strip(), parameter) for part in text.split(",")] if text else []
    hint = "An int has no leading zero" if form == ("int",) and text.strip("+-").startswith("0") else ""
    raise BadParameter(f"{parameter.name!r} must be {parameter.type}, not {_short(text)}", do=hint)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"

"""Docstrings of modules written in C, from a list that is safe to import."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from workbench.sources.pydoc_syntax import Doc, clean, short_signature


def object_docs(imported: str, public: str) -> Iterator[Doc]:
    """The documented public contents of a C module under its public name, by name; builtins go by their bare
    name, and an alias (`IOError` of `OSError`) is left out. What a program put there itself (a hook, a kernel's
    `display`) is not the library's: a hook's original is read. Raises ImportError."""
    module = import_module(imported)
    if imported == public and (text := clean(module.__doc__)):
        yield Doc(public, "module", public, text, public, public)
    for name, value in sorted(vars(module).items()):
        value = vars(module).get(f"__{name}__", value)
        if name.startswith("_") or getattr(value, "__name__", name) != name:
            continue
        qualified = name if module is builtins else f"{public}.{name}"
        if inspect.isclass(value):
            yield from _class_docs(value, qualified, public)
        elif inspect.isbuiltin(value) and (text := clean(value.__doc__)):
            yield Doc(qualified, "function", qualified + _signature(value), text, public, public)


def _class_docs(value: type, name: str, public: str) -> Iterator[Doc]:
    if text := clean(value.__doc__):
        yield Doc(name, "class", name + _signature(value), text, public, public)
    for member, inner in sorted(vars(value).items()):
        documented = callable(inner) or inspect.isdatadescriptor(inner) or isinstance(inner, classmethod | staticmethod)
        text = clean(getattr(inner, "__doc__", None)) if documented and not member.startswith("_") else ""
        if text:
            title = f"{name}.{member}" + _signature(getattr(value, member), bound=True)
            yield Doc(f"{name}.{member}", "method", title, text, public, public)


def _signature(value: Any, *, bound: bool = False) -> str:
    try:
        found = inspect.signature(value)
    except (ValueError, TypeError, AttributeError):  # the last from select.epoll in Python 3.13
        return ""
    parameters = list(found.parameters.values())
    if bound and parameters and parameters[0].name == "self":
        found = found.replace(parameters=parameters[1:])
    return short_signature(str(found))

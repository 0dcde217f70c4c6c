"""Docstrings and signatures from source text: parsed, never imported."""

from __future__ import annotations

import ast
import inspect
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from workbench.sources.pydoc_modules import TEST_FOLDERS

Kind = Literal["module", "class", "function", "method", "topic"]
# A signature longer than this is shown as `(…)`: titles are read, and asked for.
SIGNATURE_CHARS = 120
Scope = ast.Module | ast.ClassDef
Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Doc:
    """One documented thing. `name` is qualified, `title` that with the signature, `path` is relative."""

    name: str
    kind: Kind
    title: str
    text: str
    module: str
    path: str


def module_files(folder: Path, name: str) -> list[tuple[str, Path]]:
    """(dotted module, file) of a module or package below `folder`, by dotted name; private modules and tests are
    left out."""
    single = folder / f"{name}.py"
    if single.is_file():
        return [(name, single)]
    found = []
    for file in (folder / name).rglob("*.py"):
        parts = list(file.relative_to(folder).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        if not any(part in TEST_FOLDERS or part.startswith("_") for part in parts[1:]):
            found.append((".".join(parts), file))
    return sorted(found, key=lambda pair: pair[0])


def exported(folder: Path, package: str, init: Path) -> list[tuple[Path, frozenset[str] | None]]:
    """(file, names) of what a package's `__init__` takes from private modules of its own: that is where its
    public definitions stand. None is every public name. Raises as `syntax_docs`."""
    found = []
    for node in ast.walk(_parse(init)):
        if not isinstance(node, ast.ImportFrom):
            continue
        base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        parts = [*base, *(node.module or "").split(".")]
        private = any(part.startswith("_") for part in parts[1:])
        file = folder.joinpath(*parts[:-1], f"{parts[-1]}.py")
        file = file if file.is_file() else folder.joinpath(*parts, "__init__.py")
        if private and parts[0] == package.split(".")[0] and file.is_file():
            names = frozenset(alias.name for alias in node.names)
            found.append((file, None if "*" in names else names))
    return found


def syntax_docs(file: Path, module: str, path: str, only: frozenset[str] | None = None) -> Iterator[Doc]:
    """The documented public module, classes, functions and methods of a file, in its order; or, of its
    definitions, `only` these.

    Raises SyntaxError, UnicodeDecodeError or ValueError for a file that this Python cannot parse.
    """
    tree = _parse(file)
    if only is not None:
        tree.body = [node for node in _definitions(tree.body) if node.name in only]
    elif text := _text(tree):
        yield Doc(module, "module", module, text, module, path)
    yield from _members(tree, module, module, path)


def _parse(file: Path) -> ast.Module:
    with tokenize.open(file) as source, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old escapes in string literals are not ours to report
        return ast.parse(source.read(), filename=file.name)


def _members(scope: Scope, name: str, module: str, path: str) -> Iterator[Doc]:
    for node in _definitions(scope.body):
        if node.name.startswith("_"):
            continue
        qualified = f"{name}.{node.name}"
        if isinstance(node, ast.ClassDef):
            if text := _text(node):
                yield Doc(qualified, "class", qualified + _class_signature(node), text, module, path)
            yield from _members(node, qualified, module, path)
        elif text := _text(node):
            kind: Kind = "method" if isinstance(scope, ast.ClassDef) else "function"
            title = qualified + _signature(node, bound=kind == "method")
            yield Doc(qualified, kind, title, text, module, path)


def _definitions(body: list[ast.stmt]) -> Iterator[Defined]:
    """Definitions of a body, those under `if` and `try` too, in order."""
    for node in body:
        if isinstance(node, Defined):
            yield node
        elif isinstance(node, ast.If | ast.Try):
            for part in (node.body, getattr(node, "handlers", []), node.orelse, getattr(node, "finalbody", [])):
                inner = [s for h in part for s in h.body] if part and isinstance(part[0], ast.ExceptHandler) else part
                yield from _definitions(inner)


def _text(node: Scope | Defined) -> str:
    return (ast.get_docstring(node) or "").strip()


def _class_signature(node: ast.ClassDef) -> str:
    made = (d for name in ("__init__", "__new__") for d in _definitions(node.body) if d.name == name)
    init = next(made, None)
    return _signature(init, bound=True) if isinstance(init, ast.FunctionDef) else ""


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, *, bound: bool) -> str:
    marks = {ast.unparse(mark).rpartition(".")[2] for mark in node.decorator_list}
    if marks & {"property", "cached_property", "setter"}:
        return ""
    args = node.args
    if bound and "staticmethod" not in marks:
        first = args.posonlyargs or args.args
        args = ast.arguments(
            posonlyargs=args.posonlyargs[1:], args=args.args if args.posonlyargs else args.args[1:],
            vararg=args.vararg, kwonlyargs=args.kwonlyargs, kw_defaults=args.kw_defaults, kwarg=args.kwarg,
            defaults=args.defaults[-(len(args.posonlyargs) + len(args.args) - 1) :] if first else args.defaults,
        )  # fmt: skip
    return short_signature(f"({ast.unparse(args)})")


def short_signature(signature: str) -> str:
    """The signature on one line, or `(…)` where it is long or names an address in memory."""
    signature = " ".join(signature.split())
    return "(…)" if len(signature) > SIGNATURE_CHARS or " at 0x" in signature else signature


def clean(text: str | None) -> str:
    """A docstring with its indentation taken out."""
    return inspect.cleandoc(text or "").strip()

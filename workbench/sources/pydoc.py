"""The documentation of Python's standard library: a real collection that every machine has."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import sysconfig
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module, metadata
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, Literal

from workbench.errors import BadParameter
from workbench.registry import register
from workbench.sources.base import Source, SourceError, Tally, document_chunks
from workbench.sources.chunking import CHUNK_SIZE, OVERLAP, check_sizes
from workbench.types import Chunk, Facets

# ---- Which modules of Python's standard library are read, and how: a chosen core, and what  ----

# The default scope: much used modules, chosen so that all of them are about 3,000 chunks at 900 characters.
CORE = (
    "abc",
    "argparse",
    "ast",
    "asyncio",
    "base64",
    "bisect",
    "builtins",
    "collections",
    "concurrent",
    "contextlib",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "difflib",
    "enum",
    "fnmatch",
    "fractions",
    "functools",
    "glob",
    "gzip",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "io",
    "itertools",
    "json",
    "logging",
    "math",
    "operator",
    "os",
    "pathlib",
    "pickle",
    "pprint",
    "queue",
    "random",
    "re",
    "secrets",
    "shutil",
    "sqlite3",
    "statistics",
    "string",
    "struct",
    "subprocess",
    "sys",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "types",
    "typing",
    "urllib",
    "uuid",
    "warnings",
    "weakref",
    "zipfile",
    "zlib",
)
# What the core leaves out of them: asyncio's inner modules, and topics that repeat what others say.
CORE_WITHOUT = {
    "asyncio.base_events",
    "asyncio.base_futures",
    "asyncio.base_subprocess",
    "asyncio.base_tasks",
    "asyncio.constants",
    "asyncio.format_helpers",
    "asyncio.log",
    "asyncio.mixins",
    "asyncio.proactor_events",
    "asyncio.selector_events",
    "asyncio.sslproto",
    "asyncio.staggered",
    "asyncio.trsock",
    "asyncio.unix_events",
    "asyncio.windows_events",
    "asyncio.windows_utils",
    "topic.compound",
    "topic.debugger",
    "topic.specialnames",
    "topic.string-methods",
    "topic.types",
    "topic.typesmapping",
    "topic.typesseq",
}

# Modules whose source stands under another name: a Python twin of a C module, or the POSIX half of `os`.
TWINS = {"datetime": "_pydatetime", "decimal": "_pydecimal", "io": "_pyio"}
EXTRA_SOURCES = {"os": (("os.path", "posixpath.py"),)}

# C modules that do nothing when imported, by the public name under which their contents are known.
IMPORTED = {
    "_collections": "collections",
    "_contextvars": "contextvars",
    "_csv": "csv",
    "_signal": "signal",
    "_socket": "socket",
    "_sqlite3": "sqlite3",
    "_struct": "struct",
    "_weakref": "weakref",
    "array": "array",
    "atexit": "atexit",
    "binascii": "binascii",
    "builtins": "builtins",
    "cmath": "cmath",
    "errno": "errno",
    "gc": "gc",
    "itertools": "itertools",
    "marshal": "marshal",
    "math": "math",
    "posix": "os",
    "nt": "os",
    "select": "select",
    "sys": "sys",
    "time": "time",
    "unicodedata": "unicodedata",
    "zlib": "zlib",
}

# Folders of tests that some versions keep within a package.
TEST_FOLDERS = {"test", "tests", "idle_test", "__pycache__"}


# ---- Docstrings and signatures from source text: parsed, never imported ----

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


def syntax_docs(
    file: Path, module: str, path: str, only: frozenset[str] | None = None
) -> Iterator[Doc]:
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
                yield Doc(
                    qualified, "class", qualified + _class_signature(node), text, module, path
                )
            yield from _members(node, qualified, module, path)
        elif text := _text(node):
            kind: Kind = "method" if isinstance(scope, ast.ClassDef) else "function"
            title = qualified + _parsed_signature(node, bound=kind == "method")
            yield Doc(qualified, kind, title, text, module, path)


def _definitions(body: list[ast.stmt]) -> Iterator[Defined]:
    """Definitions of a body, those under `if` and `try` too, in order."""
    for node in body:
        if isinstance(node, Defined):
            yield node
        elif isinstance(node, ast.If | ast.Try):
            for part in (
                node.body,
                getattr(node, "handlers", []),
                node.orelse,
                getattr(node, "finalbody", []),
            ):
                inner = (
                    [s for h in part for s in h.body]
                    if part and isinstance(part[0], ast.ExceptHandler)
                    else part
                )
                yield from _definitions(inner)


def _text(node: Scope | Defined) -> str:
    return (ast.get_docstring(node) or "").strip()


def _class_signature(node: ast.ClassDef) -> str:
    made = (
        d for name in ("__init__", "__new__") for d in _definitions(node.body) if d.name == name
    )
    init = next(made, None)
    return _parsed_signature(init, bound=True) if isinstance(init, ast.FunctionDef) else ""


def _parsed_signature(node: ast.FunctionDef | ast.AsyncFunctionDef, *, bound: bool) -> str:
    marks = {ast.unparse(mark).rpartition(".")[2] for mark in node.decorator_list}
    if marks & {"property", "cached_property", "setter"}:
        return ""
    args = node.args
    if bound and "staticmethod" not in marks:
        first = args.posonlyargs or args.args
        args = ast.arguments(
            posonlyargs=args.posonlyargs[1:],
            args=args.args if args.posonlyargs else args.args[1:],
            vararg=args.vararg,
            kwonlyargs=args.kwonlyargs,
            kw_defaults=args.kw_defaults,
            kwarg=args.kwarg,
            defaults=args.defaults[-(len(args.posonlyargs) + len(args.args) - 1) :]
            if first
            else args.defaults,
        )
    return short_signature(f"({ast.unparse(args)})")


def short_signature(signature: str) -> str:
    """The signature on one line, or `(…)` where it is long or names an address in memory."""
    signature = " ".join(signature.split())
    return "(…)" if len(signature) > SIGNATURE_CHARS or " at 0x" in signature else signature


def clean(text: str | None) -> str:
    """A docstring with its indentation taken out."""
    return inspect.cleandoc(text or "").strip()


# ---- Docstrings of modules written in C, from a list that is safe to import ----


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
        documented = (
            callable(inner)
            or inspect.isdatadescriptor(inner)
            or isinstance(inner, classmethod | staticmethod)
        )
        text = (
            clean(getattr(inner, "__doc__", None))
            if documented and not member.startswith("_")
            else ""
        )
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


# ---- The documentation of Python's standard library: a real collection that every machine h ----

SCOPES = ("core", "all")
TOPICS = "topics"


@register("reader")
def pydoc(
    location: str = "pydoc",
    *,
    scope: Literal["core", "all"] = "core",
    packages: Sequence[str] = (),
    chunk_size: int = CHUNK_SIZE,
    overlap: int = OVERLAP,
) -> Source:
    """The name `pydoc`: the documentation of this Python's standard library.

    Docstrings of modules, classes, functions and methods, and the topics of the language reference.

    `scope` is "core" (a named list of much used modules, about 3,000 chunks) or "all"; `packages` adds installed
    packages by name. Source files are parsed, never imported; only C modules that do nothing on import are. A
    document's id is its qualified name, its title that and the signature; project is the top module, note type
    the kind, path the file. The same Python on the same platform gives the same chunks.

    Raises BadParameter for another scope, SourceError for a package that is not installed or has no source.
    """
    if scope not in SCOPES:
        raise BadParameter(f"unknown scope {scope!r}", do=f"Use {' or '.join(SCOPES)}")
    check_sizes(chunk_size, overlap)
    roots = [
        (name, _package_folder(name))
        for name in ((packages,) if isinstance(packages, str) else packages)
    ]
    versions = {name: _version(name) for name, _ in roots}
    settings = {
        "scope": scope,
        "packages": versions,
        "chunk_size": chunk_size,
        "overlap": overlap,
        "python": ".".join(map(str, sys.version_info[:3])),
        "platform": sys.platform,
    }
    warnings: list[str] = []
    return Source(
        "pydoc",
        location,
        settings,
        partial(_chunks, scope, roots, chunk_size, overlap, warnings),
        warnings=warnings,
    )


def _chunks(
    scope: str, roots: Sequence[tuple[str, Path]], size: int, overlap: int, warnings: list[str]
) -> Iterator[Chunk]:
    ids = count(1)
    seen: set[str] = set()
    for doc in _docs(scope, roots, warnings):
        if (
            doc.name in seen
        ):  # a setter, an overload, a second branch: the first that is documented stands
            continue
        if scope == "core" and CORE_WITHOUT & {doc.name, doc.module}:
            continue
        seen.add(doc.name)
        facets = Facets(
            project=doc.module.partition(".")[0],
            note_type=doc.kind,
            path=doc.path,
            metadata={"module": doc.module},
        )
        yield from document_chunks(
            ids,
            doc.name,
            doc.title,
            doc.text,
            source=doc.path,
            facets=facets,
            chunk_size=size,
            overlap=overlap,
        )


def _docs(scope: str, roots: Sequence[tuple[str, Path]], warnings: list[str]) -> Iterator[Doc]:
    unparsed, absent = (
        Tally("files cannot be parsed by this Python"),
        Tally("modules are not in this Python"),
    )
    library = Path(sysconfig.get_paths()["stdlib"])
    modules = (
        CORE
        if scope == "core"
        else sorted(n for n in sys.stdlib_module_names if not n.startswith("_"))
    )
    for name in modules:
        yield from _parsed(library, TWINS.get(name, name), name, unparsed)
        for public, file in EXTRA_SOURCES.get(name, ()):
            yield from _parsed(library, Path(file).stem, public, unparsed)
        for imported in (
            i for i, public in IMPORTED.items() if public == name and i in sys.stdlib_module_names
        ):
            try:
                yield from object_docs(imported, name)
            except ImportError:
                if imported not in ("posix", "nt"):  # each platform has one of them
                    absent.add(imported)
    yield from _topics()
    for name, folder in roots:
        yield from _parsed(folder, name, name, unparsed)
    unparsed.into(warnings)
    absent.into(warnings)


def _parsed(folder: Path, name: str, public: str, unparsed: Tally) -> Iterator[Doc]:
    """The docs of a module or package in `folder`; where the twin `name` is not there, of `public` itself."""
    for dotted, file in module_files(folder, name) or module_files(folder, public):
        module = public + dotted[len(name) :] if dotted.startswith(name) else dotted
        path = file.relative_to(folder).as_posix()
        try:
            yield from syntax_docs(file, module, path)
            for inner, names in (
                exported(folder, dotted, file) if file.name == "__init__.py" else ()
            ):
                yield from syntax_docs(inner, module, inner.relative_to(folder).as_posix(), names)
        except (SyntaxError, ValueError, RecursionError) as error:
            unparsed.add(f"{path} ({error})")


def _topics() -> Iterator[Doc]:
    """The language reference's topics as `help()` shows them, by name."""
    from pydoc_data.topics import topics

    for name, text in sorted(topics.items()):
        text = clean(text)
        lines = [line for line in text.split("\n", 3) if line.strip()]
        underlined = (
            len(lines) > 1 and len(set(lines[1].strip())) == 1 and not lines[1].strip().isalnum()
        )
        title = lines[0].strip() if underlined else name
        body = text.split("\n", 2)[-1].strip() if underlined else text
        yield Doc(f"topic.{name}", "topic", title, body, TOPICS, "pydoc_data/topics.py")


def _package_folder(name: str) -> Path:
    """The folder that holds an installed top-level package or module. Raises SourceError."""
    spec = find_spec(name) if name.isidentifier() else None
    if spec is None:
        raise SourceError(
            f"no package {name!r} is installed", do="Name an installed top-level package"
        )
    places = list(spec.submodule_search_locations or ())
    folder = Path(places[0]).parent if places else Path(spec.origin or "").parent
    if not module_files(folder, name):
        raise SourceError(f"the package {name!r} has no Python source", where=str(spec.origin))
    return folder


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""

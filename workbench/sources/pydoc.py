"""The documentation of Python's standard library: a real collection that every machine has."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Literal

from workbench.errors import BadParameter
from workbench.registry import register
from workbench.sources.chunking import CHUNK_SIZE, OVERLAP, check_sizes
from workbench.sources.documents import document_chunks
from workbench.sources.pydoc_modules import CORE, CORE_WITHOUT, EXTRA_SOURCES, IMPORTED, TWINS
from workbench.sources.pydoc_objects import object_docs
from workbench.sources.pydoc_syntax import Doc, clean, exported, module_files, syntax_docs
from workbench.sources.source import Source, SourceError
from workbench.sources.tally import Tally
from workbench.types import Chunk, Facets

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
    roots = [(name, _package_folder(name)) for name in ((packages,) if isinstance(packages, str) else packages)]
    versions = {name: _version(name) for name, _ in roots}
    settings = {"scope": scope, "packages": versions, "chunk_size": chunk_size, "overlap": overlap,
                "python": ".".join(map(str, sys.version_info[:3])), "platform": sys.platform}  # fmt: skip
    warnings: list[str] = []
    return Source("pydoc", location, settings, partial(_chunks, scope, roots, chunk_size, overlap, warnings),
                  warnings=warnings)  # fmt: skip


def _chunks(
    scope: str, roots: Sequence[tuple[str, Path]], size: int, overlap: int, warnings: list[str]
) -> Iterator[Chunk]:
    ids = count(1)
    seen: set[str] = set()
    for doc in _docs(scope, roots, warnings):
        if doc.name in seen:  # a setter, an overload, a second branch: the first that is documented stands
            continue
        if scope == "core" and CORE_WITHOUT & {doc.name, doc.module}:
            continue
        seen.add(doc.name)
        facets = Facets(project=doc.module.partition(".")[0], note_type=doc.kind, path=doc.path, metadata={"module": doc.module})
        yield from document_chunks(ids, doc.name, doc.title, doc.text, source=doc.path, facets=facets,
                                   chunk_size=size, overlap=overlap)  # fmt: skip


def _docs(scope: str, roots: Sequence[tuple[str, Path]], warnings: list[str]) -> Iterator[Doc]:
    unparsed, absent = Tally("files cannot be parsed by this Python"), Tally("modules are not in this Python")
    library = Path(sysconfig.get_paths()["stdlib"])
    modules = CORE if scope == "core" else sorted(n for n in sys.stdlib_module_names if not n.startswith("_"))
    for name in modules:
        yield from _parsed(library, TWINS.get(name, name), name, unparsed)
        for public, file in EXTRA_SOURCES.get(name, ()):
            yield from _parsed(library, Path(file).stem, public, unparsed)
        for imported in (i for i, public in IMPORTED.items() if public == name and i in sys.stdlib_module_names):
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
            for inner, names in exported(folder, dotted, file) if file.name == "__init__.py" else ():
                yield from syntax_docs(inner, module, inner.relative_to(folder).as_posix(), names)
        except (SyntaxError, ValueError, RecursionError) as error:
            unparsed.add(f"{path} ({error})")


def _topics() -> Iterator[Doc]:
    """The language reference's topics as `help()` shows them, by name."""
    from pydoc_data.topics import topics

    for name, text in sorted(topics.items()):
        text = clean(text)
        lines = [line for line in text.split("\n", 3) if line.strip()]
        underlined = len(lines) > 1 and len(set(lines[1].strip())) == 1 and not lines[1].strip().isalnum()
        title = lines[0].strip() if underlined else name
        body = text.split("\n", 2)[-1].strip() if underlined else text
        yield Doc(f"topic.{name}", "topic", title, body, TOPICS, "pydoc_data/topics.py")


def _package_folder(name: str) -> Path:
    """The folder that holds an installed top-level package or module. Raises SourceError."""
    spec = find_spec(name) if name.isidentifier() else None
    if spec is None:
        raise SourceError(f"no package {name!r} is installed", do="Name an installed top-level package")
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

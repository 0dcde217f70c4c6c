"""Every reader by name, and a source opened by what it is: the one door through which collections come in."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from workbench.errors import BadParameter
from workbench.registry import Entry, entries, lookup, make
from workbench.sources.base import Source, SourceError
from workbench.sources.classic import IR_DATASETS, sgml_files
from workbench.sources.files import FORMATS, format_of, walk
from workbench.sources.judged_sets import PAIRS, corpus_of, is_qmsum, is_squad
from workbench.sources.markdown import SUFFIXES
from workbench.sources.pydoc import pydoc
from workbench.sources.qdrant import is_address
from workbench.sources.replica.readers import notes_replica, replica
from workbench.sources.replica.spec import is_notes_spec
from workbench.sources.trec_smart import first_tag, is_smart

TRUE, FALSE = ("true", "yes", "1", "on"), ("false", "no", "0", "off")


def open_source(spec: str | Path, *, kind: str = "", **options: Any) -> Source:
    """A source by path, URL, or the name `pydoc`; `kind` names its reader where what is there does not tell.

    `options` are the reader's own parameters, as values or as the text of a command line. Raises SourceError for
    a path that is not there, is empty, or is of no known kind; BadParameter for an unknown kind or option and for
    a value of the wrong type.
    """
    name = kind or detect(spec)
    entry = lookup("reader", name)
    if "columns" in options and "columns" not in entry.parameters:
        raise BadParameter(
            f"{name} has no columns to map",
            where=str(spec),
            do="Leave out --map; it is for tables and Qdrant's payloads",
        )
    return make("reader", name, typed(entry, options))(str(spec))


def detect(spec: str | Path) -> str:
    """The name of the reader for what is at a path, URL or name. Raises SourceError that lists the kinds."""
    if str(spec) == pydoc.entry.name:
        return pydoc.entry.name
    if is_address(str(spec)):
        return "qdrant"
    if str(spec).startswith(IR_DATASETS):
        return "ir_datasets"
    path = Path(spec).expanduser()
    if not path.exists():
        raise SourceError(
            "there is nothing to read", where=str(path), do=f"Check the path. {kinds()}"
        )
    found = _folder_kind(path) if path.is_dir() else _file_kind(path)
    if found is None:
        raise SourceError("no known kind of source", where=str(path), do=kinds())
    return found


def kinds() -> str:
    """One line that lists every kind."""
    listed = "; ".join(
        f"{name} ({entry.law.rstrip('.')})" for name, entry in sorted(entries("reader").items())
    )
    return f"The kinds are: {listed}"


def _folder_kind(path: Path) -> str | None:
    if corpus_of(path):
        return "beir"
    if any(path.glob(PAIRS)):
        return "gitbugs"
    first = min(path.rglob("*.json"), default=None)
    if first is not None and is_qmsum(_json(first)):
        return "qmsum"
    notes, tables = (len(walk(path, suffixes).files) for suffixes in (SUFFIXES, FORMATS))
    trec = sgml_files(path)
    if trec and (notes or tables):
        raise SourceError(
            f"{len(trec)} TREC files, {notes} notes and {tables} tables: it is not clear what to read",
            where=str(path),
            do="Name the file of documents, or give --kind trec or markdown",
        )
    if trec:
        return "trec"
    if notes and tables > notes:
        raise SourceError(
            f"{notes} notes and {tables} tables: it is not clear what to read",
            where=str(path),
            do="Name one table, or kind=markdown",
        )
    if notes:
        return "markdown"
    if not any(path.iterdir()):
        raise SourceError("the folder is empty", where=str(path), do=kinds())
    return None


def _file_kind(path: Path) -> str | None:
    if path.stat().st_size == 0:
        raise SourceError("the file is empty", where=str(path), do=kinds())
    if path.suffix.lower() in SUFFIXES:
        return "markdown"
    if format_of(path) in FORMATS.values():
        return "table"
    tag = first_tag(path)
    if tag == "top":
        raise SourceError(
            "these are topics, not documents",
            where=str(path),
            do="Load the documents with -p queries=THIS FILE",
        )
    if tag or is_smart(path):
        return "trec" if tag else "smart"
    if path.suffix.lower() == ".toml":
        return notes_replica.entry.name if is_notes_spec(path) else replica.entry.name
    return "squad" if path.suffix.lower() == ".json" and is_squad(_json(path)) else None


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, OSError, RecursionError):
        return None


def typed(entry: Entry, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options by the types that the reader declares; text is read as a number, a truth or a list where one is
    declared. Raises BadParameter."""
    hints = get_type_hints(entry.function)
    return {
        name: _value(f"{entry.name}: {name}", hints[name], value)
        if name in entry.parameters
        else value
        for name, value in options.items()
    }


def _value(name: str, hint: Any, value: Any) -> Any:
    allowed = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if value is None and NoneType in allowed:
        return None
    for one in allowed:
        fits, read = _fit(one, value)
        if fits:
            return read
    shown = " or ".join("nothing" if one is NoneType else _name(one) for one in allowed)
    raise BadParameter(f"{name} is {value!r}, not {shown}")


def _fit(hint: Any, value: Any) -> tuple[bool, Any]:
    origin = get_origin(hint) or hint
    if origin is Literal:
        return value in get_args(hint), value
    if origin is bool:
        lowered = value.lower() if isinstance(value, str) else value
        return isinstance(value, bool) or lowered in (
            *TRUE,
            *FALSE,
        ), value is True or lowered in TRUE
    if origin is int:
        if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
            return True, int(value)
        return isinstance(value, int) and not isinstance(value, bool), value
    if inspect.isclass(origin) and issubclass(origin, Sequence) and origin is not str:
        if isinstance(value, str):
            return True, tuple(part.strip() for part in value.split(",") if part.strip())
        return isinstance(value, Sequence), value
    return inspect.isclass(origin) and isinstance(value, origin), value


def _name(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(map(repr, get_args(hint)))
    return getattr(hint, "__name__", str(hint))

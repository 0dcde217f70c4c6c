"""Check data of files and parameters against types by pydantic, with errors that name file and key."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from workbench.errors import BadParameter, WorkbenchError

T = TypeVar("T")
_LONGEST = 80
"""Characters of a wrong value that an error shows."""


def checked(kind: type[T], data: Any, where: str, error: type[WorkbenchError] = BadParameter) -> T:
    """`data` as `kind`, a type with annotations. Read strictly, as JSON: a whole number serves as a fraction and a
    list as a tuple or set, nothing else is converted.

    Raises `error`, which lists every fault with its key and value.
    """
    try:
        return TypeAdapter(kind).validate_json(json.dumps(data, default=str), strict=True)
    except ValidationError as found:
        faults = "; ".join(dict.fromkeys(_fault(e) for e in found.errors(include_url=False)))
        raise error(faults, where=where) from found


def read_toml(path: Path, error: type[WorkbenchError] = BadParameter) -> dict[str, Any]:
    """The tables of a TOML file. Raises `error` if the file cannot be read or is not TOML in UTF-8."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as found:
        raise error(f"the file cannot be read: {found}", where=str(path)) from found


def _fault(found: Any) -> str:
    key = ".".join(str(k + 1) if isinstance(k, int) else k for k in found["loc"])
    what = found["type"]
    if what == "missing":
        return f"{key!r} is missing"
    if what in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"unknown {key!r}"
    if what == "value_error":
        return f"{key}: {found['ctx']['error']}" if key else str(found["ctx"]["error"])
    message = found["msg"].replace("Input should be", "must be").lower()
    shown = repr(found["input"])
    return f"{key!r}: {message}, not {shown[:_LONGEST]}{'…' if len(shown) > _LONGEST else ''}"

"""One way to write a value as JSON: equal values give equal bytes, on every machine."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError

_SURROGATE = re.compile(r"[\ud800-\udfff]")


class NotJson(WorkbenchError):
    """A value that JSON cannot hold, or that has no stable order; the path to it is named."""


def plain(value: Any, path: str = "value") -> Any:
    """The value as None, bool, int, float, str, list and dict; numpy values become numbers
    and lists.

    Raises NotJson for NaN, infinities, sets (no order) and foreign objects.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotJson(
                f"{path} is {value}", do="Give a finite number, or None with a note that says why"
            )
        return float(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name), f"{path}.{f.name}") for f in fields(value)}
    if isinstance(value, Mapping):
        return {_key(k, path): plain(v, f"{path}.{k}") for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v, f"{path}[{i}]") for i, v in enumerate(value)]
    if isinstance(value, date | time):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return plain(value.tolist(), path)
    raise NotJson(f"{path} is a {type(value).__name__}, which has no JSON form")


def _key(key: Any, path: str) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key)
    raise NotJson(f"{path} has the key {key!r}", do="Keys are text or whole numbers")


def canonical(value: Any) -> str:
    """Sorted keys, two blanks of indent, one final newline; a lone surrogate stands as its escape."""
    text = json.dumps(plain(value), sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    # A lone surrogate can only stand inside a JSON string, where its escape means the same.
    return _SURROGATE.sub(lambda m: f"\\u{ord(m[0]):04x}", text) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 to a temporary name beside `path` and replace it: a reader sees the old file
    or the new one."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)

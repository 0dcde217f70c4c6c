"""TOML tables read strictly: a missing, mistyped or unknown key is an error that names the file and the key."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from workbench.sources.source import SourceError

_NEEDED = object()


class SpecError(SourceError):
    """An incident file that cannot be built as it stands; names the key."""


class Table:
    """One TOML table: every key is taken once, by type; what is left over at `done()` is an error."""

    def __init__(self, values: dict[str, Any], where: str) -> None:
        self._values, self.where = dict(values), where

    @classmethod
    def read(cls, path: Path) -> Table:
        """The file's root table. Raises SpecError where it is not TOML in UTF-8."""
        try:
            return cls(tomllib.loads(path.read_text(encoding="utf-8")), str(path))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SpecError(f"the incident cannot be read: {error}", where=str(path)) from error

    def fail(self, what: str, do: str = "") -> SpecError:
        return SpecError(what, where=self.where, do=do)

    def take(self, key: str, kind: type | tuple[type, ...], default: Any = _NEEDED) -> Any:
        """The value under `key`; a whole number serves where a fraction is asked, true and false never do."""
        if key not in self._values:
            if default is _NEEDED:
                raise self.fail(f"{key!r} is missing")
            return default
        value = self._values.pop(key)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if float in kinds and type(value) is int:
            value = float(value)
        if type(value) not in kinds:
            raise self.fail(
                f"{key!r} must be {' or '.join(k.__name__ for k in kinds)}, not {value!r}"
            )
        return value

    def number(
        self, key: str, kind: type, least: float, most: float, default: Any = _NEEDED
    ) -> Any:
        """A number within [least, most]."""
        value = self.take(key, kind, default)
        if value is not default and not least <= value <= most:
            raise self.fail(f"{key!r} is {value}, not within {least} to {most}")
        return value

    def words(self, key: str, default: Any = _NEEDED) -> tuple[str, ...]:
        """A list of strings."""
        value = self.take(key, list, default)
        if value is not default and not all(isinstance(v, str) for v in value):
            raise self.fail(f"{key!r} must be a list of strings")
        return tuple(value)

    def pair(self, key: str, kind: type, default: tuple[Any, Any]) -> tuple[Any, Any]:
        """A list of two numbers, the first not above the second."""
        value = self.take(key, list, None)
        if value is None:
            return default
        kinds = (int, float) if kind is float else (int,)
        if len(value) != 2 or not all(type(v) in kinds for v in value) or value[0] > value[1]:
            raise self.fail(f"{key!r} must be two ascending numbers, not {value!r}")
        return kind(value[0]), kind(value[1])

    def table(self, key: str, *, needed: bool = False) -> Table:
        """The sub-table under `key`, an empty one where it is absent and not needed."""
        return Table(self.take(key, dict, _NEEDED if needed else {}), f"{self.where} [{key}]")

    def tables(self, key: str) -> list[Table]:
        """The list of tables under `key`."""
        value = self.take(key, list, [])
        if not all(isinstance(v, dict) for v in value):
            raise self.fail(f"{key!r} must be a list of tables, written [[{key}]]")
        return [Table(v, f"{self.where} [[{key}]] {n}") for n, v in enumerate(value, 1)]

    def mapping(self, kind: type) -> dict[str, Any]:
        """All keys that are left, each of one type."""
        return {key: self.take(key, kind) for key in list(self._values)}

    def done(self) -> None:
        """Raises SpecError where a key was not understood."""
        if self._values:
            raise self.fail(f"unknown {', '.join(map(repr, self._values))}")

    def left(self) -> tuple[str, ...]:
        """The keys that were not taken yet."""
        return tuple(self._values)

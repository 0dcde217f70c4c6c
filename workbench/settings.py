"""Where things live and what was chosen once: the home directory, the project's root, and the user's settings.

The law: an argument beats an environment variable, which beats `<home>/settings.toml`, which beats the default.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from workbench.errors import BadParameter

HOME_VARIABLE = "WORKBENCH_HOME"
HOME_NAME = ".workbench"
SETTINGS_NAME = "settings.toml"
RECORDS = Path("records")
RECORD_FILE = "record.toml"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user may choose once for all loads. Each is also WORKBENCH_<NAME> in the environment.

    `model`: "" is the packaged copy of bge-small-en-v1.5; else a fastembed model's name or a directory.
    `query_prefix`: put before a query's text when it is embedded, never before a document's.
    `fetch`: may a model be fetched from the model hub. `qdrant`: a server's URL; "" is the embedded engine.
    """

    model: str = ""
    query_prefix: str = ""
    fetch: bool = False
    qdrant: str = ""


def home() -> Path:
    """$WORKBENCH_HOME, else the nearest `.workbench` from the working directory upwards, else `./.workbench`.

    The directory need not exist: loading makes it. Raises BadParameter for a file.
    """
    named = os.environ.get(HOME_VARIABLE)
    if named:
        chosen = Path(named).expanduser().absolute()
        if chosen.is_file():
            raise BadParameter(
                "the home is a file", where=str(chosen), do=f"Name a directory by {HOME_VARIABLE}"
            )
        return chosen
    here = Path.cwd()
    for directory in (here, *here.parents):
        if (directory / HOME_NAME).is_dir():
            return directory / HOME_NAME
    return here / HOME_NAME


def project_root() -> Path:
    """The nearest project: a parent of the working directory, else of this package, that has records.

    Raises BadParameter if there is none.
    """
    for start in (Path.cwd(), Path(__file__).resolve().parent):
        if (found := project_above(start)) is not None:
            return found
    raise BadParameter(
        f"no {RECORDS}/*/{RECORD_FILE} here or above",
        where=str(Path.cwd()),
        do="Run it inside the repository",
    )


def project_above(start: Path) -> Path | None:
    """The nearest of `start` and its parents that has a record, or None."""
    for directory in (start, *start.parents):
        if next((directory / RECORDS).glob(f"*/{RECORD_FILE}"), None) is not None:
            return directory
    return None


def settings() -> Settings:
    """The settings of this home, read anew at each call. Raises BadParameter for an unknown or wrong one."""
    path = home() / SETTINGS_NAME
    chosen = _read(path)
    declared = {f.name: type(f.default) for f in fields(Settings)}
    for name, value in chosen.items():
        if name not in declared:
            raise BadParameter(
                f"unknown setting {name!r}", where=str(path), do=f"Known: {', '.join(declared)}"
            )
        if type(value) is not declared[name]:
            raise BadParameter(
                f"setting {name!r} must be {declared[name].__name__}, not {value!r}",
                where=str(path),
            )
    for name, kind in declared.items():
        variable = f"WORKBENCH_{name.upper()}"
        if variable in os.environ:
            text = os.environ[variable]
            chosen[name] = _boolean(variable, text) if kind is bool else text
    return Settings(**chosen)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadParameter(f"the settings cannot be read: {error}", where=str(path)) from error


def _boolean(variable: str, text: str) -> bool:
    words = {
        "1": True,
        "true": True,
        "yes": True,
        "0": False,
        "false": False,
        "no": False,
        "": False,
    }
    if text.strip().lower() not in words:
        raise BadParameter(f"{variable} must be true or false, not {text!r}")
    return words[text.strip().lower()]

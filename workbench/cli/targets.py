"""Where a command is to write: looked at before the work, so that an hour of it is not lost to a wrong path."""

from __future__ import annotations

import os
from pathlib import Path

from workbench.errors import BadParameter


def directory_to_write(path: Path | None) -> None:
    """Raises BadParameter for a path that is a file, lies below one, or may not be written."""
    if path is None:
        return
    standing = next(p for p in (path, *path.absolute().parents) if p.exists())
    if not standing.is_dir():
        raise BadParameter(f"the reports need a directory, and {standing} is a file", do="Name another one")
    if not os.access(standing, os.W_OK):
        raise BadParameter("the directory may not be written", where=str(standing), do="Name another one")


def file_to_write(path: Path) -> None:
    """Raises BadParameter for a path that is a directory, or whose directory is not there or may not be written."""
    if path.is_dir():
        raise BadParameter("a file is to be written, and this is a directory", where=str(path), do="Name a file in it")
    if not path.absolute().parent.is_dir():
        raise BadParameter("the directory of the file is not there", where=str(path.absolute().parent), do="Make it, or name another one")
    if not os.access(path.absolute().parent, os.W_OK):
        raise BadParameter("the directory may not be written", where=str(path.absolute().parent), do="Name another one")

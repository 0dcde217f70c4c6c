"""A folder's files by relative path: hidden ones and links are left out unless asked for, and said."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Walk:
    """Relative paths in code-point order with `/` between folders, and what was left out."""

    files: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    linked: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    special: list[str] = field(default_factory=list)


def walk(root: Path, suffixes: Collection[str] | None, *, hidden: bool = False, follow_links: bool = False) -> Walk:
    """The files below `root` with one of the suffixes (lower case, with the dot), or with any.

    A linked file is read and a linked folder entered only with `follow_links`, and every real one once, so that a loop
    ends. A link that leads nowhere is `broken`; a pipe, socket or device is `special` and never opened. Hidden names start with a dot; a file named so counts where its suffix does.
    """
    found = Walk()
    visited = {os.path.realpath(root)}
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
        except OSError:
            found.broken.append(folder)
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            named = suffixes is None or os.path.splitext(entry.name)[1].lower() in suffixes
            linked = entry.is_symlink()
            try:
                is_folder = entry.is_dir()
                is_file = entry.is_file()
            except OSError:  # a loop of links
                is_folder = is_file = False
            if entry.name.startswith(".") and not hidden and (is_folder or named):
                found.hidden.append(path)
            elif is_folder:
                real = os.path.realpath(entry.path)
                if (linked and not follow_links) or real in visited:
                    found.linked.append(path)
                else:
                    visited.add(real)
                    waiting.append(path)
            elif is_file and named:
                (found.linked if linked else found.files).append(path)
            elif named and linked and not os.path.exists(entry.path):
                found.broken.append(path)
            elif named:
                found.special.append(path)
    if follow_links and found.linked:
        known = {os.path.realpath(root / path) for path in found.files}
        for path in sorted(found.linked):
            real = os.path.realpath(root / path)
            if os.path.isfile(real) and real not in known:
                known.add(real)
                found.files.append(path)
                found.linked.remove(path)
    for paths in (found.files, found.hidden, found.linked, found.broken, found.special):
        paths.sort()
    return found

"""Make a new record from a template: claims, measures, story, notebook and test, ready to run unchanged."""

from __future__ import annotations

import html
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from workbench.analysis.canonical import write_text
from workbench.analysis.ledger.record import record_folder
from workbench.errors import BadParameter, WorkbenchError
from workbench.settings import RECORD_FILE
from workbench.text import Tokenizer, visible, well_formed

_TEMPLATE = Path(__file__).parent / "template"
_ID = re.compile(r"[a-z][a-z0-9-]*")
# A file's name with its ending, and a module's, fit everywhere.
_LONGEST_ID = 60
_LONGEST_TITLE = 200


class AlreadyThere(WorkbenchError):
    """A file of the new record is there already; nothing was written."""


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record that was made: its id, the project's root, and its files relative to that, claims first."""

    id: str
    root: Path
    files: tuple[Path, ...]


def new_record(title: str, root: Path, record_id: str = "") -> NewRecord:
    """Make a working record under `root` and overwrite nothing: all of its five files, or none.

    The id is made of the title's words where it is not given. Its two sample claims are measured on `pydoc`.
    Raises BadParameter for a title or id that cannot name a record, AlreadyThere.
    """
    title = " ".join(visible(well_formed(title)).split())
    if not title or len(title) > _LONGEST_TITLE:
        raise BadParameter(
            f"a title has 1 to {_LONGEST_TITLE} characters, this one has {len(title)}"
        )
    record_id = record_id or id_of(title)
    if not _ID.fullmatch(record_id) or len(record_id) > _LONGEST_ID:
        raise BadParameter(
            f"{record_id!r} cannot be a record's id",
            do=f"Give up to {_LONGEST_ID} small letters, digits and `-`, a letter first",
        )
    folder = record_folder(record_id)
    # The claims come last: without them the rest is no record, so a crash leaves none that is half there.
    made = {
        folder / "measures.py": ("measures.py", _quoted),
        folder / "story.py": ("story.py", _quoted),
        Path("tests") / f"test_{folder.name}.py": ("test.py", _quoted),
        Path("notebooks") / f"{folder.name}.ipynb": ("record.ipynb", _markdown_in_json),
        folder / RECORD_FILE: ("record.toml", _quoted),
    }
    if there := [str(path) for path in made if os.path.lexists(root / path)]:
        raise AlreadyThere(
            f"{', '.join(there)} is there already",
            where=str(root),
            do="Choose another title, or give an id",
        )
    words = {"@ID@": record_id, "@MODULE@": folder.name}
    texts = {
        path: _filled(name, {**words, "@TITLE@": escape(title)})
        for path, (name, escape) in made.items()
    }
    _write(root, texts)
    return NewRecord(record_id, root, tuple(reversed(texts)))


def id_of(title: str) -> str:
    """The title's words, folded to ASCII and joined by `-`, as many as fit; "" where it has none.

    `record` comes first where the first word begins with a digit.
    """
    words = [w for w in Tokenizer(stop="none").words(title) if re.fullmatch("[a-z0-9]+", w)]
    if words and words[0][0].isdigit():
        words.insert(0, "record")
    kept: list[str] = []
    for word in words:
        if len("-".join([*kept, word])) > _LONGEST_ID:
            break
        kept.append(word)
    return "-".join(kept)


def _filled(name: str, words: dict[str, str]) -> str:
    text = (_TEMPLATE / name).read_text(encoding="utf-8")
    return re.sub("|".join(map(re.escape, words)), lambda m: words[m[0]], text)


def _write(root: Path, texts: dict[Path, str]) -> None:
    done: list[Path] = []
    try:
        for path, text in texts.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            write_text(root / path, text)
            done.append(root / path)
    except OSError as error:
        for path in done:
            path.unlink(missing_ok=True)
        raise BadParameter(
            f"the record cannot be written: {error.strerror}", where=str(error.filename)
        ) from error


def _quoted(title: str) -> str:
    """Inside a TOML basic string; its escapes for what a one-line visible title can hold are JSON's."""
    return json.dumps(title, ensure_ascii=False)[1:-1]


def _markdown_in_json(title: str) -> str:
    return _quoted(html.escape(title, quote=False))

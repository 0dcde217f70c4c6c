"""A SQLite connection with FTS5 and sqlite-vec: the extension is loaded where Python allows it, and else registered
through SQLite's own call for extensions that a program brings along."""

from __future__ import annotations

import ctypes
import sqlite3
from datetime import datetime
from pathlib import Path

from workbench.errors import NotAvailable
from workbench.stores.moments import moment_of

NEEDED = (3, 38, 0)
"""SQLite's version that hands a virtual table the whole list of an IN (sqlite3_vtab_in), for filters of several values."""
K_MOST = 4_096
"""sqlite-vec's limit of k (vec0, 0.1)."""


def connect(path: Path | str, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a file with vec0, FTS5 and the function `moment(text)` (seconds since 1970, NULL for no ISO 8601 time).

    Raises NotAvailable where this Python's SQLite is too old or takes no extension.
    """
    if sqlite3.sqlite_version_info < NEEDED:
        raise NotAvailable(f"SQLite {sqlite3.sqlite_version} is older than {'.'.join(map(str, NEEDED))}", do="Use a newer Python")
    target = f"{Path(path).absolute().as_uri()}?mode=ro" if read_only else str(path)
    con = _with_vec0(target, uri=read_only)
    try:
        con.create_function("moment", 1, seconds_of, deterministic=True)
        modules = {name for (name,) in con.execute("SELECT name FROM pragma_module_list")}
        if missing := {"fts5", "vec0"} - modules:
            raise NotAvailable(f"this SQLite has no {' and no '.join(sorted(missing))}", do="Use a Python built with it")
    except BaseException:
        con.close()
        raise
    return con


def seconds_of(text: str | None) -> float | None:
    """The moment that a text names, in seconds since 1970 UTC; None where it names none."""
    found = moment_of(text)
    return None if found is None else datetime.fromisoformat(found.replace("Z", "+00:00")).timestamp()


def _with_vec0(target: str, *, uri: bool) -> sqlite3.Connection:
    import sqlite_vec

    if hasattr(sqlite3.Connection, "enable_load_extension"):
        con = sqlite3.connect(target, uri=uri, check_same_thread=False)
        con.enable_load_extension(True)
        sqlite_vec.load(con)
        con.enable_load_extension(False)
        return con
    register, cancel, entry = _auto_extension()
    register(entry)
    try:
        return sqlite3.connect(target, uri=uri, check_same_thread=False)
    finally:
        cancel(entry)  # other connections of the process are left as they were


def _auto_extension():
    """SQLite's calls for automatic extensions, and the extension's entry; NotAvailable where they are not exported."""
    import _sqlite3

    import sqlite_vec

    try:
        engine = ctypes.CDLL(_sqlite3.__file__)
        register, cancel = engine.sqlite3_auto_extension, engine.sqlite3_cancel_auto_extension
        found = next(Path(sqlite_vec.loadable_path()).parent.glob("vec0.*"))
        entry = ctypes.cast(ctypes.CDLL(str(found)).sqlite3_vec_init, ctypes.c_void_p)
    except (AttributeError, OSError, StopIteration) as error:
        raise NotAvailable(
            f"this Python's SQLite takes no extension: {error}", do="Use a Python built with loadable SQLite extensions"
        ) from error
    return register, cancel, entry

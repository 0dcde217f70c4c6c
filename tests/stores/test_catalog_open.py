"""Opening the catalog: many readers at once, and a file that cannot be read is named with what to do."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest
from helpers.catalog_world import made, numbered, unit_rows

from workbench.stores.catalog.catalog import Catalog
from workbench.stores.catalog.errors import (
    CatalogClosed,
    CatalogDamaged,
    CatalogLocked,
    CatalogMissing,
    CatalogUnreadable,
)

WORDS = [f"w{n}" for n in range(50)]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = random.Random(3)
    texts = [" ".join(draw.choices(WORDS, k=30)) for _ in range(2000)]
    with made(tmp_path_factory.mktemp("open"), numbered(texts), unit_rows(2000, dim=64)) as catalog:
        return catalog.path


@pytest.fixture
def copy(path: Path, tmp_path: Path) -> Iterator[Path]:
    yield Path(shutil.copy(path, tmp_path / "copy.duckdb"))


def everything(path: Path) -> tuple:
    """What reads every block of the file that holds data."""
    with Catalog.open(path) as catalog:
        ids = catalog.ids_where()
        return (
            catalog.chunks(ids), catalog.vectors(ids).tobytes(), catalog.bm25_top(WORDS, {}, 5000),
            catalog.bm25_fields_top(WORDS, {}, 5000), catalog.nearest(unit_rows(1, dim=64)[0], {}, 5000),
            catalog.queries(), catalog.qrels(), catalog.sql("SELECT * FROM dict").rows(),
        )  # fmt: skip


_READ = """
import sys
from workbench.stores.catalog.catalog import Catalog
with Catalog.open(sys.argv[1]) as catalog:
    print("open", flush=True)
    sys.stdin.readline()
    print(catalog.bm25_top(["w1", "w2"], {}, 5), flush=True)
"""


def test_any_number_of_processes_and_threads_read_at_once(path: Path) -> None:
    command = [sys.executable, "-c", _READ, str(path)]
    readers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    assert [r.stdout.readline() for r in readers] == ["open\n"] * 3
    with Catalog.open(path) as one, Catalog.open(path) as two:
        best = one.bm25_top(["w1", "w2"], {}, 5)
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda n: (one, two)[n % 2].bm25_top(["w1", "w2"], {}, 5), range(40)))
        assert found == [best] * 40
        assert [r.communicate("go\n")[0] for r in readers] == [f"{best}\n"] * 3


def test_a_plain_connection_in_the_same_process_is_in_nobodys_way(path: Path) -> None:
    with duckdb.connect(str(path), read_only=True) as before, Catalog.open(path) as catalog:
        with duckdb.connect(str(path), read_only=True) as after:
            counts = [c.execute("SELECT count(*) FROM chunk").fetchall()[0][0] for c in (before, after)]
        assert counts == [catalog.count(())] * 2


def test_a_file_that_was_replaced_is_opened_anew_while_the_earlier_one_is_read(
    copy: Path, tmp_path: Path
) -> None:
    with Catalog.open(copy) as earlier:
        made(tmp_path / "next", numbered(["one"])).close()
        (tmp_path / "next" / "catalog.duckdb").replace(copy)
        with Catalog.open(copy) as later:
            assert (later.n, later.count(())) == (1, 1)
        assert earlier.count(()) == 2000


def test_an_absent_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    for missing in (tmp_path / "catalog.duckdb", tmp_path):
        with pytest.raises(CatalogMissing, match="workbench load") as told:
            Catalog.open(missing)
        assert told.value.where == str(missing)


_WRITE = """
import sys, duckdb
con = duckdb.connect(sys.argv[1])
print("open", flush=True)
sys.stdin.readline()
"""


def test_a_file_open_for_writing_elsewhere_is_locked_by_name_and_free_after(copy: Path) -> None:
    command = [sys.executable, "-c", _WRITE, str(copy)]
    writer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert writer.stdout.readline() == "open\n"
    with pytest.raises(CatalogLocked, match="another process") as told:
        Catalog.open(copy)
    assert told.value.where == str(copy)
    writer.communicate("go\n")
    Catalog.open(copy).close()


def test_a_file_cut_short_anywhere_is_damaged_when_it_is_opened(copy: Path) -> None:
    size = copy.stat().st_size
    for length in [*(size - cut for cut in (1, 4096, 262_144, size // 2)), 12_289, 12_288, 4096, 100, 1, 0]:
        with open(copy, "r+b") as file:
            file.truncate(length)
        with pytest.raises(CatalogDamaged, match="workbench load") as told:
            Catalog.open(copy)
        assert told.value.where == str(copy)


def test_a_changed_byte_is_an_error_by_name_or_changes_no_answer(path: Path, tmp_path: Path) -> None:
    right, size, draw = everything(path), path.stat().st_size, random.Random(8)
    refused = 0
    for at in [0, 9, 5000, 12_300, *(draw.randrange(12_288, size) for _ in range(16))]:
        copy = Path(shutil.copy(path, tmp_path / "changed.duckdb"))
        with open(copy, "r+b") as file:
            file.seek(at)
            (byte,) = file.read(1)
            file.seek(at)
            file.write(bytes([byte ^ 0x40]))
        try:
            assert everything(copy) == right  # the byte was in no block in use
        except CatalogDamaged as error:
            refused += 1
            assert error.where == str(copy) and "workbench load" in error.do
    assert refused >= 10


def test_a_file_that_is_no_catalog_is_damaged_by_name(tmp_path: Path) -> None:
    text, other = tmp_path / "text.duckdb", tmp_path / "other.duckdb"
    text.write_text("not a database " * 1000)
    with duckdb.connect(str(other)) as con:
        con.execute("CREATE TABLE chunk(x INTEGER)")
    with pytest.raises(CatalogDamaged):
        Catalog.open(text)
    with pytest.raises(CatalogDamaged, match="no table corpus"):
        Catalog.open(other)


def test_what_the_system_refuses_is_not_called_damage(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.stores.catalog.errors import named_errors

    with pytest.raises(CatalogUnreadable, match="Permission denied"), named_errors(copy):
        raise duckdb.IOException('IO Error: Cannot open file "…/padlock": Permission denied')


def test_a_closed_catalog_says_that_it_is_closed(path: Path) -> None:
    with Catalog.open(path) as catalog:
        pass
    for ask in (catalog.count, catalog.queries):
        with pytest.raises(CatalogClosed):
            ask(*([()] if ask == catalog.count else []))


def test_nothing_reaches_for_an_extension_a_file_or_another_time_zone(path: Path) -> None:
    names = (
        "autoinstall_known_extensions",
        "autoload_known_extensions",
        "enable_external_access",
        "TimeZone",
    )
    with Catalog.open(path) as catalog:
        found = [catalog.sql("SELECT current_setting(?)::VARCHAR AS s", [n]).item() for n in names]
    assert found == ["false", "false", "false", "UTC"]


def test_importing_the_catalog_starts_neither_duckdb_nor_polars_nor_arrow() -> None:
    heavy = {"duckdb", "polars", "pyarrow"}
    check = f"import sys, workbench.stores.catalog.catalog; print({heavy} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True)
    assert found.stdout == "set()\n"

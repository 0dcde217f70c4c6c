"""The laws of the home: what is complete is found and listed, what is broken is said and not opened."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.made_sources import chunks_of, source_of

from workbench import settings
from workbench.errors import BadParameter, WorkbenchError
from workbench.stores.collections import UnknownCollection, collections, open_stores, place
from workbench.stores.load import load
from workbench.stores.manifest import BrokenCollection


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two collections, `c` and `whole`."""
    directory = tmp_path_factory.mktemp("prepared") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(directory))
        load(source_of(chunks_of("tea", "ferry")), name="c", progress=False)
        load(source_of(chunks_of("coffee")), name="whole", progress=False)
    return directory


@pytest.fixture
def loaded(prepared: Path, home: Path) -> Path:
    """The complete generation of `c`, in a home that links to the prepared one's files: replace, never write into."""
    home.mkdir()
    shutil.copytree(prepared / "collections", home / "collections", copy_function=os.link)
    shutil.copy(prepared / "embeddings.sqlite", home)
    return place("c").current()


def replace(path: Path, content: bytes) -> None:
    path.unlink()
    path.write_bytes(content)


def test_the_home_is_the_variable_else_the_nearest_above_else_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert settings.home() == inner / ".workbench"
    (tmp_path / "a" / ".workbench").mkdir()
    assert settings.home() == tmp_path / "a" / ".workbench"
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "x"))
    assert settings.home() == tmp_path / "x"
    assert not (tmp_path / "x").exists()


def test_the_project_is_found_from_within_or_from_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "records" / "mine").mkdir(parents=True)
    (tmp_path / "records" / "mine" / "record.toml").touch()
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    assert settings.project_root() == tmp_path


@pytest.mark.parametrize(
    ("text", "said"),
    [("mode = 1", "unknown setting 'mode'"), ("fetch = 1", "'fetch' must be bool"), ("model = [", "cannot be read")],
)
def test_a_wrong_setting_is_said_with_its_file(home: Path, text: str, said: str) -> None:
    home.mkdir()
    (home / "settings.toml").write_text(text)
    with pytest.raises(BadParameter, match=rf"{said}.*settings\.toml"):
        settings.settings()


def test_no_home_lists_nothing_and_makes_nothing(home: Path) -> None:
    assert collections() == [] and not home.exists()


def test_an_unknown_collection_is_an_error_that_lists_the_known(loaded: Path) -> None:
    with pytest.raises(UnknownCollection, match="no collection 'd' is loaded.*Loaded: c, whole"):
        open_stores("d")


def test_with_nothing_loaded_the_error_says_how_to_load(home: Path) -> None:
    with pytest.raises(UnknownCollection, match="workbench load SOURCE --as NAME"):
        open_stores("d")


def with_field(generation: Path, name: str, value: int) -> None:
    path = generation / "manifest.json"
    replace(path, json.dumps({**json.loads(path.read_text()), name: value}).encode())


DAMAGES = {
    "no manifest": lambda g: (g / "manifest.json").unlink(),
    "damaged manifest": lambda g: replace(g / "manifest.json", b"{"),
    "a manifest that is a list": lambda g: replace(g / "manifest.json", b"[]"),
    "another version": lambda g: with_field(g, "format", 0),
    "another field": lambda g: with_field(g, "extra", 0),
    "no catalog": lambda g: (g / "catalog.duckdb").unlink(),
    "damaged catalog": lambda g: replace(g / "catalog.duckdb", b"nothing like it" * 9999),
    "a catalog cut short": lambda g: replace(g / "catalog.duckdb", (g / "catalog.duckdb").read_bytes()[:99999]),
    "the catalog of another collection": lambda g: replace(
        g / "catalog.duckdb", (place("whole").current() / "catalog.duckdb").read_bytes()
    ),
    "no points": lambda g: shutil.rmtree(g / "points"),
    "points cut short": lambda g: replace(next((g / "points").rglob("*.mmap")), b""),
    "no generation": shutil.rmtree,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_broken_collection_is_listed_with_the_reason_and_not_opened(loaded: Path, damage: str) -> None:
    DAMAGES[damage](loaded)
    broken, whole = collections()
    assert (broken.name, broken.manifest) == ("c", None) and broken.broken
    assert whole.manifest is not None and not whole.broken
    with pytest.raises(WorkbenchError, match="[Ll]oad (it|the collection) again"):
        open_stores("c")


def test_a_reader_that_meets_the_end_of_a_load_opens_the_new_generation(loaded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.stores.collections import Place

    found = []
    current = Place.current

    def late(self: Place) -> Path | None:
        """The load ends between reading `current` and holding what it names."""
        generation = current(self)
        found.append(generation)
        if len(found) == 1:
            load(source_of(chunks_of("coffee")), name="c", progress=False)
        return generation

    monkeypatch.setattr(Place, "current", late)
    with open_stores("c") as stores:
        assert [p["content"] for _, p, _ in stores.points.all_points()] == ["coffee"]
    assert found[0] == loaded != found[-1] and not loaded.exists()


def test_a_reader_keeps_what_it_opened_while_a_load_ends(loaded: Path) -> None:
    with open_stores("c") as stores:
        load(source_of(chunks_of("coffee")), name="c", progress=False)
        assert [c.text for c in stores.catalog.chunks([0, 1])] == ["tea", "ferry"]
        assert [p.payload["content"] for p in stores.points.scroll([], "any", {}, 10)] == ["tea", "ferry"]
        assert loaded.exists()


def test_a_replaced_generation_goes_with_its_last_reader(loaded: Path) -> None:
    first, second = open_stores("c"), open_stores("c")
    load(source_of(chunks_of("coffee")), name="c", progress=False)
    first.close()
    assert loaded.exists()
    second.close()
    assert not loaded.exists() and len([p for p in loaded.parent.iterdir() if p.is_dir()]) == 1


def test_what_a_reader_that_was_killed_held_goes_at_the_next_load(loaded: Path) -> None:
    command = "import os, workbench.stores.collections as h; s = h.open_stores('c'); print('open', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdout.readline() == b"open\n"
        load(source_of(chunks_of("coffee")), name="c", progress=False)
        assert loaded.exists()
        reader.kill()
    load(source_of(chunks_of("noon")), name="c", progress=False)
    assert not loaded.exists()


def test_a_manifest_that_points_at_nothing_is_broken(home: Path) -> None:
    (home / "collections" / "c").mkdir(parents=True)
    (home / "collections" / "c" / "current").write_text("20260101T000000000000-01234567\n")
    with pytest.raises(BrokenCollection, match="no manifest"):
        open_stores("c")


@pytest.mark.parametrize("content", [b"", b"gone\n", b"\xff\x00", b"../../whole/x"])
def test_a_current_that_names_no_generation_is_broken(loaded: Path, content: bytes) -> None:
    replace(loaded.parent / "current", content)
    with pytest.raises(BrokenCollection, match="does not name a generation"):
        open_stores("c")
    assert [c.name for c in collections() if c.broken] == ["c"]
    assert load(source_of(chunks_of("tea")), name="c", progress=False).counts["chunks"] == 1


def test_any_name_is_refused_before_the_disk_is_touched(home: Path) -> None:
    with pytest.raises(BadParameter, match="cannot name a collection"):
        open_stores("../../etc")

"""The laws of a load: both stores hold the same, all or nothing, the same source again changes nothing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.made_sources import chunks_of, numbered, source_of
from helpers.whole_state import snapshot

from workbench.errors import BadParameter, WorkbenchError
from workbench.sources.base import JudgedQuery, Qrel, SourceError
from workbench.stores.collections import check_collection, collections, open_stores, place
from workbench.stores.load import load
from workbench.stores.locks import Locked, exclusive
from workbench.stores.manifest import BrokenCollection, read_manifest
from workbench.stores.update import update
from workbench.stores.vectors.checks import VectorError
from workbench.stores.vectors.model_files import PACKAGED_EMBEDDER, locate_packaged
from workbench.text import Tokenizer
from workbench.types import Chunk

UUID = "0b85ed4a-0000-4000-8000-00000000000a"
INCIDENTS = Path(__file__).resolve().parents[2] / "data" / "incidents"
EDIT = ("recording/0b85ed4a", "recording/0b85ed4b")


def texts_in(name: str) -> list[str]:
    """The texts in both stores, which must agree."""
    with open_stores(name) as stores:
        points = [(i, payload["content"]) for i, payload, _ in stores.points.all_points()]
        chunks = [(c.id, c.text) for c in stores.catalog.chunks([i for i, _ in points])]
        assert points == chunks and stores.catalog.n == len(points) == stores.manifest.counts["chunks"]
        return [text for _, text in points]


def test_both_stores_hold_the_same_points_with_the_same_ids_texts_and_vectors(home: Path) -> None:
    chunks = [*chunks_of("tea is green", "the harbour", "ședință", first=3), Chunk(UUID, "u", 1, "a ferry", "Title")]
    load(source_of(chunks), name="c", progress=False)
    with open_stores("c") as stores:
        points = list(stores.points.all_points())
        ids = [i for i, _, _ in points]
        assert ids == [3, 4, 5, UUID]
        assert [c.text for c in stores.catalog.chunks(ids)] == [c.text for c in chunks]
        assert [p["content"] for _, p, _ in points] == [c.text for c in chunks]
        expected = stores.embedder.embed([c.text for c in chunks])
        assert np.asarray(stores.catalog.vectors(ids)).tobytes() == expected.tobytes()
        assert np.allclose(np.array([v for _, _, v in points]), expected, atol=1e-6)
        for term in ("tea", "sedinta", "ferry", "harbour"):
            assert stores.points.count([term], "any", {}) == stores.catalog.df([term])[term] == 1


def test_the_manifest_says_what_was_loaded_with_what(home: Path, embedder) -> None:
    queries = (JudgedQuery("q", "tea"),)
    qrels = (Qrel("q", "e0", 1), Qrel("q", "e1", 1), Qrel("q", "gone", 1), Qrel("q", "gone", 0), Qrel("r", "e0", 1))
    source = source_of(chunks_of("tea", "", "harbour " * 600), queries=queries, qrels=qrels, chunk_size=900)
    manifest = load(source, name="c", tokenizer=Tokenizer(stem="porter"), progress=False)
    assert manifest.counts == {
        "chunks": 2, "entities": 2, "queries": 1, "qrels": 5, "unknown_qrel_documents": 1, "unknown_qrel_queries": 1,
        "skipped_empty": 1, "truncated": 1,
    }  # fmt: skip
    assert manifest.model["sha256"] == embedder.model.sha256 and manifest.model["dim"] == 384
    assert manifest.tokenizer == {"name": "words-folded/stop=lucene-en-33/stem=porter", "stop": "lucene-en-33", "stem": "porter"}
    assert manifest.words == Tokenizer(stem="porter")
    assert (manifest.kind, manifest.location, manifest.settings) == ("test", "in a test", {"chunk_size": 900})
    assert set(manifest.engines) == {"duckdb", "qdrant-edge-py"} and all(e["version"] for e in manifest.engines.values())
    assert min(manifest.sizes.values()) > 0 and manifest.vectors == "embedded"
    said = " | ".join(manifest.warnings)
    assert "1 empty chunks are not stored: e1" in said and "1 texts are longer than the model's 512 tokens" in said
    assert "2 judgements name 1 documents" in said and "gone" in said and "1 judgements name 1 queries" in said
    assert manifest == read_manifest(place("c").current())
    with open_stores("c") as stores:
        assert stores.tokenizer == Tokenizer(stem="porter")
        assert stores.catalog.qrels() == qrels and stores.catalog.queries() == queries


def test_an_empty_document_never_ranks_since_it_is_not_stored(home: Path) -> None:
    load(source_of(chunks_of("", "tea", " \n")), name="c", progress=False)
    assert texts_in("c") == ["tea"]


def test_two_texts_that_differ_beyond_the_cut_are_two_chunks_and_the_cut_is_said(home: Path) -> None:
    begin = "harbour " * 520
    manifest = load(source_of(chunks_of(begin + "ferry", begin + "coffee")), name="c", progress=False)
    assert texts_in("c") == [begin + "ferry", begin + "coffee"]
    assert manifest.counts["truncated"] == 2 and "(e0, e1)" in manifest.warnings[0]
    with open_stores("c") as stores:
        assert stores.points.count(["ferry"], "any", {}) == stores.points.count(["coffee"], "any", {}) == 1


def test_the_same_source_again_changes_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load(source_of(numbered(20)), name="c", progress=False)
    before = snapshot(home)
    monkeypatch.setattr("workbench.stores.vectors.embedder.open_model", _refuse)
    assert load(source_of(numbered(20)), name="c", progress=False) == first
    assert snapshot(home) == before


def _refuse(model: object) -> None:
    raise AssertionError("the model was opened")


def test_another_content_replaces_the_collection_and_leaves_one_generation(home: Path) -> None:
    first = load(source_of(chunks_of("tea", "coffee")), name="c", progress=False)
    second = load(source_of(chunks_of("tea", "ferry")), name="c", progress=False)
    assert first.content_hash != second.content_hash and texts_in("c") == ["tea", "ferry"]
    assert sorted(p.name for p in place("c").directory.iterdir()) == sorted([second.generation, "current"])


def test_whatever_a_load_depends_on_makes_it_load_again(home: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(locate_packaged(PACKAGED_EMBEDDER).directory, tmp_path / "model")
    changes = [
        ({}, {}),
        ({}, {"tokenizer": Tokenizer(stop="none")}),
        ({}, {"model": str(copied)}),
        ({"queries": (JudgedQuery("q", "tea"),)}, {}),
        ({"qrels": (Qrel("q", "e0", 1),)}, {}),
        ({"chunk_size": 7}, {}),
        ({"location": "elsewhere"}, {}),
        ({}, {"sparse": True}),
    ]
    loads = [load(source_of(chunks_of("the tea"), **a), name="c", progress=False, **b) for a, b in changes]
    assert len({m.load_key for m in loads}) == len({m.generation for m in loads}) == len(changes)
    assert len({m.content_hash for m in loads}) == len(changes) - 4, "neither settings, place, sparse vectors nor a copy of the model"
    assert loads[-1].engines["qdrant-edge-py"]["sparse"] == {"vector": "bm25", "k1": 1.2, "b": 0.75}


def test_two_collections_live_side_by_side(home: Path) -> None:
    load(source_of(chunks_of("tea")), name="a", progress=False)
    load(source_of(chunks_of("ferry")), name="b", progress=False)
    assert texts_in("a") == ["tea"] and texts_in("b") == ["ferry"]
    assert [c.name for c in collections()] == ["a", "b"]


@pytest.mark.parametrize("earlier", [True, False])
def test_a_bad_chunk_leaves_the_earlier_state_as_it_was(home: Path, earlier: bool) -> None:
    if earlier:
        load(source_of(chunks_of("tea")), name="c", progress=False)
    before = snapshot(home)
    with pytest.raises(SourceError, match="stands twice"):
        load(source_of([*numbered(5), Chunk(4, "x", 0, "again")]), name="c", progress=False)
    assert snapshot(home) == before
    assert [c.name for c in collections()] == (["c"] if earlier else [])


def test_a_source_that_fails_midway_leaves_the_earlier_state_as_it_was(home: Path) -> None:
    def failing():
        yield from numbered(3)
        raise SourceError("line 4 is not JSON", where="corpus.jsonl")

    load(source_of(chunks_of("tea")), name="c", progress=False)
    before = snapshot(home)
    with pytest.raises(SourceError, match=r"line 4 is not JSON \(corpus.jsonl\)"):
        load(source_of(failing), name="c", progress=False)
    assert snapshot(home) == before


def test_nothing_to_load_is_said(home: Path) -> None:
    for nothing in ([], chunks_of("", " ")):
        with pytest.raises(SourceError, match="no text to load"):
            load(source_of(nothing), name="c", progress=False)
    assert collections() == []


def unit(*rows: list[float]) -> np.ndarray:
    found = np.zeros((len(rows), 384), np.float32)
    for n, row in enumerate(rows):
        found[n, : len(row)] = row
    return found


BAD_VECTORS = {
    "zero": (lambda embed: iter([unit([1], [0])]), "row 1 is zero"),
    "nan": (lambda embed: iter([unit([1]), unit([float("nan")])]), "from row 1"),
    "infinite": (lambda embed: iter([unit([float("inf")], [1])]), "row 0 is infinite"),
    "another length": (lambda embed: iter([unit([1], [1])[:, :383]]), "383"),
    "too few": (lambda embed: iter([unit([1])]), "1 vectors for 2 chunks"),
    "too many": (lambda embed: iter([unit([1], [1], [1])]), "more than 2 vectors|more than"),
}


@pytest.mark.parametrize("fault", BAD_VECTORS)
def test_a_vector_of_the_source_that_no_cosine_can_be_taken_of_is_refused(home: Path, fault: str) -> None:
    vectors, said = BAD_VECTORS[fault]
    with pytest.raises(VectorError, match=said):
        load(source_of(chunks_of("tea", "ferry"), vectors=vectors), name="c", progress=False)
    assert collections() == []


def test_composed_vectors_are_kept_as_the_source_made_them_and_marked(home: Path, embedder) -> None:
    def compose(embed):
        parts = embed(["green", "tea"])
        yield parts[:1]
        yield (parts[:1] + parts[1:]) * 3

    manifest = load(source_of(chunks_of("a", "b"), vectors=compose), name="c", progress=False)
    assert manifest.vectors == "composed" and "1 vectors of the source were scaled to unit length" in manifest.warnings
    green, tea = embedder.embed(["green", "tea"])
    with open_stores("c") as stores:
        found = stores.catalog.vectors([0, 1])
    assert found[0].tobytes() == green.tobytes()
    assert found[1] @ ((green + tea) / np.linalg.norm(green + tea)) == pytest.approx(1, abs=1e-6)


def test_a_second_load_of_the_same_name_is_refused_naming_the_first(home: Path) -> None:
    def other(phase: str, done: int, total: int | None) -> None:
        if phase == "build" and not done:
            with pytest.raises(Locked, match=f"process {os.getpid()} .*loading c"):
                load(source_of(chunks_of("ferry")), name="c", progress=False)

    load(source_of(chunks_of("tea")), name="c", progress=other)
    assert texts_in("c") == ["tea"]
    with exclusive(place("c").directory, "loading c", wait=0), pytest.raises(Locked):
        load(source_of(chunks_of("ferry")), name="c", progress=False)


def test_a_source_that_makes_its_vectors_is_heard_while_its_parts_are_embedded(home: Path) -> None:
    heard: list[tuple[str, int, int | None]] = []

    def vectors(embed):
        parts = embed(["tea", "harbour", "ferry"])
        yield parts[:1]
        yield parts[1:2]

    load(source_of(chunks_of("tea", "harbour"), vectors=vectors), name="c", progress=lambda *told: heard.append(told))
    assert [told for told in heard if told[0] in ("parts", "embed")] == [
        ("parts", 0, None), ("parts", 3, None), ("embed", 0, 2), ("embed", 1, 2), ("embed", 2, 2)
    ]  # fmt: skip


def test_the_listener_hears_the_phases_in_order_and_all_that_was_done(home: Path) -> None:
    heard: list[tuple[str, int, int | None]] = []
    load(source_of(numbered(600)), name="c", progress=lambda *told: heard.append(told))
    assert list(dict.fromkeys(phase for phase, _, _ in heard)) == ["read", "embed", "build", "publish"]
    ends = {phase: (done, total) for phase, done, total in heard}
    assert ends == {"read": (600, 600), "embed": (600, 600), "build": (1200, 1200), "publish": (1, 1)}
    for phase in ends:
        counts = [done for p, done, _ in heard if p == phase]
        assert counts == sorted(counts) and counts[0] == 0


def test_progress_is_shown_on_standard_error_only(home: Path, capsys: pytest.CaptureFixture) -> None:
    load(source_of(numbered(3)), name="c")
    out, err = capsys.readouterr()
    assert out == "" and "embedding" in err and "3/3" in err


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "-x", "a b", "x.lock", "é", "x" * 65, "a\x00"])
def test_a_name_that_no_directory_should_have_is_refused(home: Path, name: str) -> None:
    with pytest.raises(BadParameter, match="cannot name a collection"):
        load(source_of(chunks_of("tea")), name=name, progress=False)
    assert not home.exists()


def test_shards_need_a_server(home: Path) -> None:
    with pytest.raises(BadParameter, match="one shard and no replicas"):
        load(source_of(chunks_of("tea")), name="c", shard_number=2, progress=False)
    with pytest.raises(BadParameter, match="at least 1"):
        load(source_of(chunks_of("tea")), name="c", qdrant="http://localhost:1", shard_number=0, progress=False)


def test_a_home_that_is_a_file_is_named(home: Path) -> None:
    home.write_text("a file")
    with pytest.raises(BadParameter, match=str(home)):
        load(source_of(chunks_of("tea")), name="c", progress=False)


def test_a_server_that_does_not_answer_leaves_the_earlier_state(home: Path) -> None:
    load(source_of(chunks_of("tea")), name="c", progress=False)
    before = snapshot(home)
    with pytest.raises(WorkbenchError, match="does not answer"):
        load(source_of(chunks_of("tea", "ferry")), name="c", qdrant="http://127.0.0.1:9", progress=False)
    assert snapshot(home) == before


def test_a_broken_collection_is_loaded_again_from_the_same_source(home: Path) -> None:
    first = load(source_of(chunks_of("tea")), name="c", progress=False)
    (place("c").current() / "catalog.duckdb").write_bytes(b"damaged")
    second = load(source_of(chunks_of("tea")), name="c", progress=False)
    assert second.load_key == first.load_key and second.generation != first.generation
    assert texts_in("c") == ["tea"]


def unit_vectors(*angles: float):
    """A vectors function of a source: one unit vector of 384 dimensions per angle."""
    rows = np.zeros((len(angles), 384), np.float32)
    rows[:, 0], rows[:, 1] = np.cos(angles), np.sin(angles)
    return lambda embed: iter([rows])


def test_other_vectors_of_the_same_chunks_are_another_content(home: Path) -> None:
    """A live collection that was embedded again is loaded again."""
    found = []
    for angles in ((0.1, 0.2), (0.1, 0.2), (0.1, 0.3)):
        manifest = load(source_of(chunks_of("tea", "ferry"), vectors=unit_vectors(*angles)), name="c", progress=False)
        with open_stores("c") as stores:
            assert np.allclose(stores.catalog.vectors([1])[0, :2], [np.cos(angles[1]), np.sin(angles[1])])
        found.append((manifest.content_hash, manifest.generation))
    assert found[0] == found[1] and found[1][0] != found[2][0]


def test_an_update_of_composed_vectors_hashes_them_as_a_load_does(home: Path) -> None:
    vectors = unit_vectors(0.1, 0.2)
    before = load(source_of(chunks_of("tea", "ferry"), vectors=vectors), name="c", progress=False).content_hash
    assert update("c", source_of(chunks_of("noon", first=7)), progress=False).manifest.content_hash != before
    assert update("c", delete=["e7"], progress=False).manifest.content_hash == before


def test_check_names_the_file_that_differs_and_a_load_replaces_it(home: Path) -> None:
    first = load(source_of(chunks_of("tea", "ferry")), name="c", progress=False)
    assert check_collection("c") == first
    path = place("c").current() / "catalog.duckdb"
    with path.open("r+b") as file:
        file.seek(path.stat().st_size - 1)
        file.write(b"\x7f")
    with pytest.raises(BrokenCollection, match="catalog.duckdb is not what was written"):
        check_collection("c")
    assert load(source_of(chunks_of("tea", "ferry")), name="c", progress=False).generation != first.generation
    check_collection("c")


def small_incident(folder: Path) -> Path:
    return Path(shutil.copy(INCIDENTS / "adr-0172-small.toml", folder / "small.toml"))


def _refuse_to_generate(*arguments: object) -> None:
    raise AssertionError("the source is generated")


def _unit_notes(layout: object, embed: object):
    yield unit(*[[1.0]] * 85)


def test_an_unchanged_replica_is_not_generated_again(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.sources.replica.vectors.composed_notes", _unit_notes)
    path, notes = small_incident(tmp_path), INCIDENTS / "notes-search.toml"
    loads = {"c": (path, {}), "n": (notes, {"project": "second", "notes": 10})}
    first = {name: load(spec, name=name, progress=False, **options) for name, (spec, options) in loads.items()}
    before = snapshot(home)
    monkeypatch.setattr("workbench.sources.replica.incident.make_layout", _refuse_to_generate)
    monkeypatch.setattr("workbench.sources.replica.notes_layout.make_notes_layout", _refuse_to_generate)
    monkeypatch.setattr("workbench.stores.vectors.embedder.open_model", _refuse)
    for name, (spec, options) in loads.items():
        assert load(spec, name=name, progress=False, **options) == first[name]
    others = [(path, "c", o) for o in ({"seed": 8}, {"vectors": False}, {"tokenizer": Tokenizer(stop="none")}, {"sparse": True})]
    for spec, name, options in [*others, (notes, "n", {"project": "second", "notes": 30})]:
        with pytest.raises(AssertionError, match="is generated"):
            load(spec, name=name, progress=False, **options)
    assert snapshot(home) == before


@pytest.mark.parametrize("changed", ["its file", "a size", "an update"])
def test_a_replica_is_generated_again_where_it_differs(home: Path, tmp_path: Path, changed: str) -> None:
    path = small_incident(tmp_path)
    first = load(path, name="c", progress=False)
    if changed == "its file":
        stat, text = path.stat(), path.read_text(encoding="utf-8")
        path.write_text(text.replace(*EDIT), encoding="utf-8")
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        assert path.stat().st_size == stat.st_size and path.read_text(encoding="utf-8") != text
    elif changed == "a size":
        with (place("c").current() / "catalog.duckdb").open("ab") as file:
            file.write(b"more")
    else:
        update("c", source_of(chunks_of("noon", first=10_000)), progress=False)
    again = load(path, name="c", progress=False)
    assert again.generation != first.generation
    assert (again.content_hash != first.content_hash) == (changed == "its file")
    check_collection("c")

"""The laws of pass 1: what is staged is what was read, in point-id order, and nothing that a store cannot hold."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from helpers.made_sources import chunks_of, source_of
from hypothesis import given
from hypothesis import settings as tries
from hypothesis import strategies as st

from workbench.stores import staging
from workbench.stores.staging import BadChunk, Staged, parts_of, schema, stage, texts_of
from workbench.text import DEFAULT, Tokenizer
from workbench.types import Chunk, Facets

UUID = "0b85ed4a-0000-4000-8000-00000000000a"


def staged(tmp_path: Path, chunks: list[Chunk], **fields) -> tuple[Staged, list[dict]]:
    found = stage(source_of(chunks, **fields), tmp_path / "parts", DEFAULT, lambda n: None)
    return found, [row for part in parts_of(tmp_path / "parts") for row in pq.read_table(part).to_pylist()]


def test_a_row_holds_the_chunk_and_its_terms(tmp_path: Path) -> None:
    chunk = Chunk(
        7, "n/ă", 2, "The Ferry — ședință RULE-A002", "Title", "path > heading", "observation",
        Facets("p", "note", ("x", "y"), "open", "2026-01-02", "2026-01-03", "n/ă.md", {"b": [1, None], "a": {"é": 1.5}}),
        (("wikilink", "other"),),
    )  # fmt: skip
    found, rows = staged(tmp_path, [chunk])
    assert rows == [
        {
            "cid": 0, "point_id": "7", "entity_id": "n/ă", "chunk_index": 2, "source_type": "observation",
            "title": "Title", "source": "path > heading", "text": "The Ferry — ședință RULE-A002", "project": "p",
            "note_type": "note", "tags": ["x", "y"], "status": "open", "created": "2026-01-02",
            "updated": "2026-01-03", "path": "n/ă.md", "metadata": '{"a":{"é":1.5},"b":[1,null]}',
            "links": [{"kind": "wikilink", "target": "other"}], "terms": "ferry sedinta rule a002",
        }
    ]  # fmt: skip
    assert (found.chunks, found.stored_entities, found.entities, found.warnings) == (1, 1, {"n/ă"}, [])


def test_integers_come_before_uuids_and_cids_are_dense(tmp_path: Path) -> None:
    ids = [0, 9, 10, 2**64 - 1, UUID, UUID[:-1] + "b"]
    _, rows = staged(tmp_path, [Chunk(i, str(i), 0, "tea") for i in ids])
    assert [(r["cid"], r["point_id"]) for r in rows] == list(enumerate(map(str, ids)))


@pytest.mark.parametrize(
    ("chunks", "said"),
    [
        ([Chunk(1, "a", 0, "x"), Chunk(1, "b", 0, "y")], "point id 1 stands twice"),
        ([Chunk(1, "a", 0, "x"), Chunk(2, "a", 0, "y")], "the same document stands twice"),
        ([Chunk(1, "a", 0, ""), Chunk(2, "a", 0, "y")], "the same document stands twice"),
        ([Chunk(2, "a", 0, "x"), Chunk(1, "b", 0, "y")], "point id 1 comes after 2"),
        ([Chunk(UUID, "a", 0, "x"), Chunk(1, "b", 0, "y")], "point id 1 comes after"),
        ([Chunk(-1, "a", 0, "x")], "-1 is neither"),
        ([Chunk(2**64, "a", 0, "x")], "is neither"),
        ([Chunk(True, "a", 0, "x")], "True is neither"),
        ([Chunk(UUID.upper(), "a", 0, "x")], "is neither"),
        ([Chunk("abc", "a", 0, "x")], "'abc' is neither"),
        ([Chunk(1, "", 0, "x")], "no entity id"),
        ([Chunk(1, "a", -1, "x")], "index must be at least 0"),
        ([Chunk(1, "a", 0, "x", source_type="memo")], "unknown source type 'memo'"),
        ([Chunk(1, "a", 0, "x", facets=Facets(metadata={"k": {1: 2, "x": 3}}))], "metadata cannot be kept"),
    ],
)
def test_what_no_store_could_hold_is_refused_with_the_entity(tmp_path: Path, chunks: list[Chunk], said: str) -> None:
    with pytest.raises(BadChunk, match=said) as caught:
        staged(tmp_path, chunks)
    assert repr(chunks[-1].entity_id) in str(caught.value) or "point" in str(caught.value)


def test_entity_7_and_relation_7_are_two(tmp_path: Path) -> None:
    found, rows = staged(tmp_path, [Chunk(1, "7", 0, "tea"), Chunk(2, "7", 0, "tea", source_type="relation")])
    assert len(rows) == 2 and found.stored_entities == 1


def test_an_empty_chunk_is_counted_and_not_stored(tmp_path: Path) -> None:
    found, rows = staged(tmp_path, chunks_of("tea", "", " \t\n\u2003", "?"))
    assert [r["text"] for r in rows] == ["tea", "?"] and [r["cid"] for r in rows] == [0, 1]
    assert found.skipped_empty == 2 and found.stored_entities == 2 and "e1" in found.entities
    assert found.warnings == ["2 empty chunks are not stored: e1, e2"]


def test_half_a_surrogate_pair_becomes_a_replacement_character_and_is_said(tmp_path: Path) -> None:
    found, rows = staged(tmp_path, [Chunk(1, "a\ud800", 0, "x \udfff", facets=Facets(metadata={"k": "\ud800"}))])
    assert rows[0]["entity_id"] == "a\ufffd" and rows[0]["text"] == "x \ufffd" and json.loads(rows[0]["metadata"]) == {"k": "\ufffd"}
    assert found.warnings == ["3 texts held half a surrogate pair, which became U+FFFD"]


def test_a_number_that_json_cannot_hold_is_absent_and_is_said(tmp_path: Path) -> None:
    found, rows = staged(tmp_path, [Chunk(1, "a", 0, "x", facets=Facets(metadata={"n": float("nan"), "i": float("inf"), "k": 1.5}))])
    assert json.loads(rows[0]["metadata"]) == {"k": 1.5}
    assert found.warnings == ["2 metadata values were NaN or infinite and are absent"]


def test_the_hash_does_not_depend_on_the_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = chunks_of(*(f"text {n}" for n in range(25)))
    whole, rows = staged(tmp_path / "a", chunks)
    monkeypatch.setattr(staging, "PART_ROWS", 10)
    parted, same = staged(tmp_path / "b", chunks)
    assert [p.name for p in parts_of(tmp_path / "b" / "parts")] == [f"chunks-0000{n}.parquet" for n in range(3)]
    assert rows == same and whole.digest == parted.digest


def test_a_part_of_long_texts_ends_before_it_is_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "PART_CHARACTERS", 100)
    staged(tmp_path, chunks_of("x" * 60, "y" * 60, "z"))
    assert [pq.read_metadata(p).num_rows for p in parts_of(tmp_path / "parts")] == [2, 1]


CHANGES = [
    {"text": "other"}, {"title": "other"}, {"source": "other"}, {"source_type": "relation"}, {"id": 2}, {"chunk_index": 1},
    {"entity_id": "b"}, {"links": (("a", "b"),)},
    *({"facets": Facets(**f)} for f in (
        {"project": "p"}, {"note_type": "p"}, {"tags": ("p",)}, {"status": "p"}, {"created": "p"}, {"updated": "p"},
        {"path": "p"}, {"metadata": {"p": 1}}, {"metadata": {"p": "1"}},
    )),
]  # fmt: skip


def test_every_field_of_a_chunk_counts_in_the_hash(tmp_path: Path) -> None:
    base = {"id": 1, "entity_id": "a", "chunk_index": 0, "text": "tea"}
    digests = {
        staged(tmp_path / str(n), [Chunk(**{**base, **change})])[0].digest for n, change in enumerate([{}, *CHANGES])
    }
    assert len(digests) == len(CHANGES) + 1


def test_texts_are_read_back_in_order_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "PART_ROWS", 4)
    staged(tmp_path, chunks_of(*(f"t{n}" for n in range(10))))
    batches = list(texts_of(parts_of(tmp_path / "parts"), 3))
    assert [t for _, b in batches for t in b] == [f"t{n}" for n in range(10)]
    assert [e for b, _ in batches for e in b] == [f"e{n}" for n in range(10)]
    assert max(len(b) for _, b in batches) == 3


@given(st.lists(st.text(min_size=1), min_size=1, max_size=8), st.sampled_from(["", "porter"]))
@tries(max_examples=60, deadline=None)
def test_any_text_is_staged_as_it_is_and_its_terms_are_the_tokenizers(tmp_path_factory, texts: list[str], stem: str) -> None:
    tokenizer = Tokenizer(stem=stem)
    folder = tmp_path_factory.mktemp("any") / "parts"
    stage(source_of(chunks_of(*texts)), folder, tokenizer, lambda n: None)
    rows = [row for part in parts_of(folder) for row in pq.read_table(part).to_pylist()]
    kept = [t for t in texts if t.strip()]
    assert [r["text"] for r in rows] == kept
    assert [r["terms"].split() for r in rows] == [tokenizer.terms(t) for t in kept]


def test_the_columns_are_the_pipelines(tmp_path: Path) -> None:
    staged(tmp_path, chunks_of("tea"))
    assert pq.read_schema(parts_of(tmp_path / "parts")[0]).equals(schema())

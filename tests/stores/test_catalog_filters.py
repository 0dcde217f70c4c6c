"""Filters in SQL: one meaning with Qdrant's, values and keys as data, before every limit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from helpers.catalog_world import made, numbered, unit_rows
from helpers.points_corpus import Oracle, admitted, chunks, vectors
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import BadParameter
from workbench.stores.catalog.catalog import Catalog
from workbench.stores.filters.sql import where
from workbench.types import Facets

STORED = chunks()
ROWS = vectors(len(STORED))
ORACLE = Oracle(STORED, ROWS)

# The same filters as the points contract asks of the three Qdrant engines, and keys that Qdrant cannot write.
FILTERS = (
    {"project": "beta"}, {"project": ["alpha", "Beta"]}, {"project": None}, {"project": [None, "beta"]},
    {"project": []}, {"project": "nowhere"}, {"note_type": "note"}, {"tags": "y"}, {"tags": ["x", "z z"]},
    {"tags": "ș"}, {"tags": None}, {"tags": [None, "x"]}, {"status": ""}, {"status": "<b>"},
    {"source_type": ["entity", "relation"]}, {"entity_id": "e7"}, {"path": "docs/*"}, {"path": "docs*"},
    {"path": ["docs/1/*", "docs2.md"]}, {"path": "*"}, {"path": "docs"}, {"created": "2026-01-05"},
    {"created": {"gte": "2026-01-05"}}, {"created": {"gte": "2026-01-05", "lt": "2026-01-06"}},
    {"created": {"gt": "2026-01-05T12:00:00+02:00"}}, {"updated": {"lte": "2026-02-01T08:15:00Z"}},
    {"updated": {"gte": date(2026, 2, 1)}}, {"updated": {"lt": datetime(2026, 1, 5, 11, tzinfo=UTC)}},
    {"updated": None}, {"lang": "en"}, {"lang": "EN"}, {"lang": ["en", "ro"]}, {"lang": None}, {"n": 1},
    {"n": 1.0},
    {"n": 2.5}, {"n": "1"}, {"n": 2**60 + 1}, {"n": 2**60}, {"n": 10**400}, {"n": {"gte": 1, "lt": 3}},
    {"n": [1, "1", None]}, {"ok": True}, {"ok": False}, {"ok": [True, None]}, {"a.b": "dotted"},
    {"two words": "yes"}, {"ünï": "códe"}, {"nobody": "x"}, {"nobody": None}, {"project": "\ud800"},
    {'a"b\\c/d~e': "x"}, {'a"b\\c/d~e': None}, {"": None}, {"\ud800": "x"}, {"\ud800": None},
    {"lang": "\ud800"},
    {"project": "alpha", "tags": "x", "created": {"gte": "2026-01-01"}, "lang": ["en", "ro"]},
)  # fmt: skip


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    with made(tmp_path_factory.mktemp("filters"), STORED, ROWS) as opened:
        yield opened


@pytest.mark.parametrize("filters", FILTERS, ids=ascii)
def test_every_kind_of_filter_admits_what_the_contract_of_points_admits(
    catalog: Catalog, filters: dict[str, Any]
) -> None:
    everything = ORACLE.matching((), "any", filters)
    assert catalog.ids_where(filters) == everything
    assert catalog.ids_where(filters, 3) == everything[:3]
    assert catalog.count((), "all", filters) == len(everything)
    holding = ORACLE.matching(("python", "object"), "any", filters)
    assert catalog.holding(("python", "object"), "any", filters, 1000) == holding
    assert {i for i, _ in catalog.bm25_top(("python", "object"), filters, 1000)} == set(holding)
    assert {i for i, _ in catalog.nearest(ROWS[0], filters, 1000)} == set(everything)


@pytest.mark.parametrize(
    "filters",
    [{"created": {"after": "2026-01-01"}}, {"created": {}}, {"project": {"gte": "a"}}, {"project": 5},
     {"tags": [True]}, {"n": float("nan")}, {"n": float("inf")}, {"n": 1j}, {"n": [["a"]]},
     {"created": {"gte": "yesterday"}}, {"created": {"gte": 5}}, {"n": {"gte": 1, "lt": "2026-01-01"}},
     {"n": {"gte": True}}, {"n": {"gte": float("nan")}}, {"n": {"gte": 10**400}}, {"created": {"gte": None}}],
    ids=str,
)  # fmt: skip
def test_a_filter_that_means_nothing_is_refused_by_name(catalog: Catalog, filters: dict[str, Any]) -> None:
    (name,) = filters
    for ask in (catalog.count, catalog.bm25_top):
        with pytest.raises(BadParameter, match=name):
            ask(["python"], filters=filters)


HOSTILE = (
    "' OR 1=1 --",
    "'; DROP TABLE chunk; --",
    "$f0",
    "{0}",
    "%",
    "_",
    "\x00",
    "a\x00b",
    "*",
    "\u202e",
    "<b>",
)


def test_hostile_values_and_keys_are_data_and_never_statement(tmp_path: Path) -> None:
    facets = [Facets(project=h, tags=(h,), path=h, metadata={h: h}) for h in HOSTILE]
    with made(tmp_path, numbered(["text"] * len(HOSTILE), facets=facets)) as catalog:
        ids = catalog.ids_where()
        for number, hostile in enumerate(HOSTILE):
            for name in ("project", "tags", hostile):
                assert catalog.ids_where({name: hostile}) == [ids[number]], (name, hostile)
            assert len(catalog.ids_where({"path": hostile})) == (len(HOSTILE) if hostile == "*" else 1)
        assert catalog.n == catalog.count(()) == len(HOSTILE)


def test_no_value_and_no_key_of_a_filter_stands_in_the_statement() -> None:
    made_of = where({"project": "SECRET", "tags": ["SECRET"], "path": "SECRET*",
                     "created": {"gte": "2031-01-01"},
                     "SECRET'": "SECRET", "n": {"lt": 31415}})  # fmt: skip
    assert "SECRET" not in made_of.sql
    assert "2031" not in made_of.sql and "31415" not in made_of.sql
    assert where({}).sql == ""


keys = st.text(st.characters(exclude_categories=("Cs",)), max_size=5) | st.sampled_from(
    ["a", "b", "a/b", "~", '"']
)
present = (
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",)), max_size=4)
    | st.sampled_from(["x", "[x]", '["x"]', 1, 1.0])
)  # fmt: skip
metadata = st.dictionaries(keys, st.none() | present | st.lists(present, max_size=3), max_size=4)
asked = st.tuples(keys, st.none() | present | st.lists(st.none() | present, max_size=2))
FACETS_AND_COLUMNS = set(Facets.__dataclass_fields__) | {"entity_id", "source_type"}


@settings(max_examples=16, deadline=None)
@given(st.lists(metadata, min_size=1, max_size=8), st.lists(asked, max_size=5))
def test_any_json_value_under_any_key_is_found_by_itself_and_by_nothing_else(
    held: list[dict[str, Any]], others: list[tuple[str, Any]]
) -> None:
    # What JSON keeps: a float that is whole and large comes back as it was written.
    stored = [json.loads(json.dumps(m)) for m in held]
    made_of = numbered(["text"] * len(stored), facets=[Facets(metadata=m) for m in stored])
    own = [(k, v) for m in stored for k, v in m.items()]
    with TemporaryDirectory() as directory, made(Path(directory), made_of) as catalog:
        for key, value in own + others:
            if key in FACETS_AND_COLUMNS:
                continue
            expected = [c.id for c in made_of if admitted(c, {key: value})]
            assert catalog.ids_where({key: value}) == expected, (key, value)


def test_a_range_of_times_compares_moments_and_text_that_is_none_is_in_no_range(tmp_path: Path) -> None:
    times = ["2026-03-01", "2026-03-01 00:00", "2026-03-01T02:00:00+02:00", "2026-03-01T00:00:00Z",
             "2026-03-01T00:00:00.000+00:00", "epoch", "infinity", "-infinity", "now", "2026-13-45", "", None,
             "2026-03-01 02:00:00 Europe/Bucharest", "20260301", " 2026-03-01"]  # fmt: skip
    facets = [Facets(created=t, updated=t, metadata={"due": t, "all": [t, "x"]}) for t in times]
    with made(tmp_path, numbered(["text"] * len(times), facets=facets)) as catalog:
        same = catalog.ids_where({}, 5)
        for name in ("created", "updated", "due", "all"):
            assert catalog.ids_where({name: {"gte": "2026-03-01", "lte": "2026-03-01T00:00:00Z"}}) == same
            assert catalog.ids_where({name: {"gte": "0001-01-01", "lte": "9999-12-31"}}) == same
            assert catalog.ids_where({name: {"gt": "2026-03-01T01:00:00+01:00"}}) == []
        assert catalog.ids_where({"created": "2026-03-01"}) == same[:1]  # equality is of text


def test_nearer_rows_that_a_filter_rejects_never_hide_those_that_it_admits(tmp_path: Path) -> None:
    query = unit_rows(1)[0]
    nearer = [query + 0.01 * row for row in unit_rows(12, seed=1)]
    rows = np.array([*nearer, *unit_rows(3, seed=2)])
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    facets = [Facets(project="no")] * 12 + [Facets(project="yes")] * 3
    texts = ["tea tea tea"] * 12 + ["tea and some more words"] * 3
    with made(tmp_path, numbered(texts, facets=facets), rows) as catalog:
        assert {i for i, _ in catalog.nearest(query, {}, 10)} <= set(catalog.ids_where({"project": "no"}))
        wanted = set(catalog.ids_where({"project": "yes"}))
        assert len(wanted) == 3
        assert {i for i, _ in catalog.nearest(query, {"project": "yes"}, 10)} == wanted
        assert {i for i, _ in catalog.bm25_top(["tea"], {"project": "yes"}, 10)} == wanted


def test_facets_are_case_sensitive_and_an_unknown_entity_is_no_one(catalog: Catalog) -> None:
    lower, upper = catalog.ids_where({"project": "beta"}), catalog.ids_where({"project": "Beta"})
    assert lower and upper and not set(lower) & set(upper)
    assert catalog.ids_where({"entity_id": "nobody"}) == []

"""The laws of a capture: read-only; a replica built from it keeps every list's order; private keeps no word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import made_live
from helpers.made_live import QUERY, SECRETS, SIZE, TARGET
from helpers.made_sources import source_of
from helpers.qdrant_double import QdrantDouble
from typer.testing import CliRunner

from workbench.analysis.capture.capture import (
    NEUTRAL,
    TOLERANCE,
    VARIANTS,
    capture,
    toml_of,
    write_incident,
)
from workbench.analysis.capture.live import Loaded
from workbench.cli import app
from workbench.errors import BadParameter
from workbench.retrieval.search import Collection, open_collection
from workbench.sources.replica.spec import Incident, SpecError, read_incident, scaled
from workbench.stores.load import load
from workbench.text import DEFAULT
from workbench.types import Query, Result


@pytest.fixture(scope="module")
def live_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the live collection and the two replicas made of its captures."""
    home = tmp_path_factory.mktemp("live-home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(home))
        load(source_of(made_live.chunks()), name="live", progress=False)
        for private in (False, True):
            name = "hidden" if private else "open"
            with open_collection("live") as collection:
                write_incident(home / f"{name}.toml", capture(Loaded(collection), QUERY, TARGET, private=private))
            load(home / f"{name}.toml", name=name, progress=False)
    return home


@pytest.fixture(params=["open", "hidden"])
def replica(request: pytest.FixtureRequest, live_home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("WORKBENCH_HOME", str(live_home))
    return request.param


@pytest.fixture
def incident(replica: str, live_home: Path) -> Incident:
    return read_incident(live_home / f"{replica}.toml")


def places(collection: Collection, result: Result) -> dict[str, list[tuple[int, float]]]:
    """Each list and the fused ranking as (place in point-id order, score)."""
    at = {i: n for n, i in enumerate(collection.stores.catalog.ids_where(), 1)}
    return {r.name: [(at[i], s) for i, s in zip(r.ids, r.scores, strict=True)] for r in (*result.lists, result.fused)}


def same_but_for_ties(a: list[tuple[int, float]], b: list[tuple[int, float]], tolerance: float) -> bool:
    """The same rows in the same order, but that rows whose scores differ by less than the tolerance may change places."""
    if len(a) != len(b) or any(abs(x[1] - y[1]) > tolerance for x, y in zip(a, b, strict=True)):
        return False
    scores = dict(a)
    return all(p in scores and abs(scores[p] - s) <= 2 * tolerance for p, s in b)


@pytest.mark.parametrize("variant", [*VARIANTS, "all_terms_by_id", "all_terms_commonest", "rarest_without_all_terms", "bm25_ranking", "bm25_order"])
def test_a_replica_keeps_every_list_of_the_live_collection(replica: str, incident: Incident, variant: str) -> None:
    with open_collection("live") as live, open_collection(replica) as made:
        a = places(live, live.search(Query(QUERY), variant))
        b = places(made, made.search(Query(incident.queries[0].text), variant))
    assert a.keys() == b.keys()
    assert [len(a[name]) for name in a] == [len(b[name]) for name in a] and len(a["lexical"]) > 200
    for name in ("lexical", "semantic", "verbatim"):
        if name in a:
            # A BM25 score hangs on the average length, which a replica meets to the nearest whole term.
            assert same_but_for_ties(a[name], b[name], 1e-3 if name != "semantic" else TOLERANCE), name


def test_the_targets_ranks_are_those_that_were_recorded(replica: str, incident: Incident) -> None:
    with open_collection(replica) as made:
        for variant in VARIANTS:
            result = made.search(Query(incident.queries[0].text), variant)
            ranks = {r.name: r.ranks().get(incident.target.position) for r in result.lists}
            ranks["fused"] = result.rank_of(incident.target.position)
            assert {n: r for n, r in ranks.items() if r} == dict(incident.captured.ranks[variant])
    recorded = incident.captured.ranks
    assert "lexical" not in recorded["adr_0005"] and recorded["two_lists"]["fused"] > 8 and recorded["adr_0172"]["fused"] == 1


def test_sizes_and_counts_are_the_live_ones(replica: str, incident: Incident) -> None:
    with open_collection("live") as live, open_collection(replica) as made:
        assert live.stores.catalog.n == made.stores.catalog.n == SIZE
        assert made.stores.catalog.avgdl == pytest.approx(live.stores.catalog.avgdl, abs=1 / SIZE)
        terms, neutral = DEFAULT.query_terms(QUERY), DEFAULT.query_terms(incident.queries[0].text)
        for a, b in zip(terms, neutral, strict=True):
            assert live.stores.points.count([a], "all", {}) == made.stores.points.count([b], "all", {}) > 100
        for a, b in ((terms[:2], neutral[:2]), (terms, neutral), (terms[2:], neutral[2:])):
            assert live.stores.points.count(a, "all", {}) == made.stores.points.count(b, "all", {})


def test_a_private_file_holds_no_word_of_the_content(live_home: Path) -> None:
    text = (live_home / "hidden.toml").read_text()
    words = {w for c in made_live.chunks() for w in DEFAULT.terms(f"{c.text} {c.title} {c.facets.project}")}
    # What is left is TOML's keys, our own words and figures: no word with a letter of any chunk but `log`'s like.
    ours = {"source", "target", "a", "of", "is", "the", "by", "and", "before", "left", "it", "was", "at"}
    kept = {w for w in words - ours if w.isalpha() and re.search(rf"\b{re.escape(w)}\b", text.casefold())}
    assert not kept
    assert not any(s.casefold() in text.casefold() for s in SECRETS)
    assert "2024-03-17" not in text and QUERY not in text and all(n in text for n in NEUTRAL[:5])


def test_a_file_without_private_names_query_title_and_projects(live_home: Path) -> None:
    text = (live_home / "open.toml").read_text()
    assert QUERY in text and "museum" in text and "vermouth" not in text


def test_a_captured_file_reads_back_as_the_same_incident(incident: Incident, tmp_path: Path) -> None:
    write_incident(tmp_path / "again.toml", incident)
    assert read_incident(tmp_path / "again.toml") == incident


def test_a_captured_incident_keeps_its_size_and_its_vectors(live_home: Path, incident: Incident) -> None:
    from workbench.sources.readers import open_source

    with pytest.raises(SpecError, match="keeps its size"):
        scaled(incident, 100)
    for options in ({"vectors": "exact"}, {"decoy": True}, {"size": 100}):
        with pytest.raises(SpecError, match="has its own size, target and vectors"):
            open_source(live_home / "open.toml", **options)


def test_hostile_names_come_back_as_they_were(incident: Incident, tmp_path: Path) -> None:
    from dataclasses import replace

    title = 'a "quoted" \\ <script>\x1b[31m \x7f \u202e 💥\nline'
    changed = replace(incident, target=replace(incident.target, title=title, project='p"]\n[x]'))
    write_incident(tmp_path / "hostile.toml", changed)
    assert read_incident(tmp_path / "hostile.toml") == changed


@pytest.mark.parametrize(
    ("query", "target", "depth", "said"),
    [
        ("", TARGET, 256, "the query has 0 terms"), ("the of", TARGET, 256, "the query has 0 terms"),
        ("a1 b1 c1 d1 e1 f1 g1 h1 i1 j1 k1", TARGET, 256, "the query has 11 terms"),
        (QUERY, 11, 256, "no point has the id 11"), (QUERY, TARGET, 10, "a depth of 10 does not cover"),
    ],
)  # fmt: skip
def test_what_cannot_be_captured_is_said(
    live_home: Path, monkeypatch: pytest.MonkeyPatch, query: str, target: int, depth: int, said: str
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(live_home))
    with open_collection("live") as collection, pytest.raises(BadParameter, match=said):
        capture(Loaded(collection), query, target, depth=depth)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[QdrantDouble]:
    with QdrantDouble(tmp_path / "server") as double:
        yield double


def test_a_capture_by_url_only_reads_and_keeps_the_ranks(
    live_home: Path, server: QdrantDouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is a loopback double over the embedded engine: it shows the wire, not a real server's behaviour."""
    monkeypatch.setenv("WORKBENCH_HOME", str(live_home))
    manifest = load(source_of(made_live.chunks()), name="served", qdrant=server.url, progress=False)
    url = f"{server.url}/collections/{manifest.engines['qdrant']['collection']}"
    del server.requests[:]
    out = tmp_path / "served.toml"
    shown = CliRunner().invoke(app, ["capture", url, QUERY, "--target", str(TARGET), "-o", str(out), "--private"], catch_exceptions=False)
    assert shown.exit_code == 0 and "adr_0172: target" in shown.stdout
    asked = {(method, path.rsplit("/", 1)[-1]) for method, path, _ in server.requests if method != "GET"}
    assert asked == {("POST", "scroll"), ("POST", "count"), ("POST", "query"), ("POST", "points")}  # the last reads by id
    served, exact = read_incident(out), read_incident(live_home / "hidden.toml")
    assert served.captured.ranks == exact.captured.ranks
    assert served.terms == exact.terms and served.size == exact.size
    load(out, name="from-url", progress=False)
    with open_collection("from-url") as made:
        result = made.search(Query(served.queries[0].text), "adr_0172")
        assert result.rank_of(served.target.position) == 1


def test_the_command_writes_a_file_or_nothing(live_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(live_home))
    out = tmp_path / "i.toml"
    with pytest.raises(BadParameter, match="is no point id"):
        CliRunner().invoke(app, ["capture", "live", QUERY, "--target", "x", "-o", str(out)], catch_exceptions=False)
    assert not out.exists()
    CliRunner().invoke(app, ["capture", "live", QUERY, "--target", str(TARGET), "-o", str(out)], catch_exceptions=False)
    assert toml_of(read_incident(out)) == out.read_text()

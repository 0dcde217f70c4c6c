"""A replay says what changed on the first page, in what order of badness, and why, by commands that are true."""

from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.replay.query_log import Log, Logged
from workbench.analysis.replay.replay import POINTS, SHOWN, Answer, _changes, _pair, replay
from workbench.errors import BadParameter
from workbench.reporting.pages.replay import replay_page, write_replay
from workbench.retrieval.custom import channel
from workbench.retrieval.search import open_collection
from workbench.types import Query


def log_of(*queries: Logged) -> Log:
    return Log("log.jsonl", tuple(Logged(n, q.text, q.time, q.filters, q.shown, q.times) for n, q in enumerate(queries, 1)),
               sum(q.times for q in queries), ())  # fmt: skip


@pytest.fixture
def collection(tiny):
    with open_collection(tiny) as opened:
        yield opened


def page(collection, text, spec, first=3, **fields):
    ids = collection.search(Query(text, limit=first, **fields), spec).fused.ids[:first]
    return tuple(dict.fromkeys(collection.stores.catalog.entities(ids))) if ids else ()


def test_a_variant_against_itself_changes_nothing(collection):
    from workbench.retrieval.variant import variant

    found = replay(collection, log_of(Logged(1, "green tea"), Logged(2, "")), ["adr_0172", variant("adr_0172").replace(name="same")])
    (pair,) = found.pairs
    assert (pair.queries, pair.changed, pair.kept, pair.rbo) == (2, 0, 1.0, 1.0) and found.changes[pair.a, pair.b] == ()


def test_pages_are_what_a_search_of_that_limit_shows(collection):
    found = replay(collection, log_of(Logged(1, "ferry harbour"), Logged(2, "tea")), ["lexical_bm25", "semantic"], first=3)
    for c in found.changes["lexical_bm25", "semantic"]:
        assert c.pages == (page(collection, c.query.text, "lexical_bm25"), page(collection, c.query.text, "semantic"))
        assert set(c.left) == set(c.pages[0]) - set(c.pages[1]) and set(c.came) == set(c.pages[1]) - set(c.pages[0])


def test_then_is_compared_with_now_and_what_is_gone_keeps_its_place(collection):
    now = page(collection, "green tea", "adr_0172", 2)
    log = log_of(
        Logged(1, "green tea", shown=now), Logged(2, "ferry", shown=("gone", *page(collection, "ferry", "adr_0172", 1))),
        Logged(3, "coffee"),
    )  # fmt: skip
    found = replay(collection, log, ["adr_0172"], first=2)
    (pair,) = found.pairs
    assert (pair.a, pair.b, pair.queries, pair.changed) == (SHOWN, "adr_0172", 2, 1)
    (change,) = found.changes[SHOWN, "adr_0172"]
    assert change.left == ("gone",) and change.query.text == "ferry"
    assert found.reasons[SHOWN, "adr_0172"][0][0].told == "it is not in the collection"
    said = "\n".join(found.notes)
    assert "not known what was shown: 1" in said and "are no documents of the collection: 1 of 4" in said


def test_a_log_that_is_shorter_than_a_page_is_compared_as_far_as_it_goes(collection):
    now = page(collection, "green tea", "adr_0172", 3)
    log = log_of(Logged(1, "green tea", shown=now[:2]), Logged(2, "ferry", shown=()), Logged(3, "tea", shown=("gone",)))
    found = replay(collection, log, ["adr_0172"], first=3)
    (pair,) = found.pairs
    assert len(now) == 3 and (pair.queries, pair.changed, pair.filled) == (3, 2, 1)
    changed = {c.query.text: c for c in found.changes[SHOWN, "adr_0172"]}
    assert set(changed) == {"ferry", "tea"} and len(changed["tea"].came) == 1
    assert any("fewer than 3 ids, compared no further than it goes: 2" in note for note in found.notes)


def test_points_that_were_shown_are_their_documents_and_a_wrong_kind_is_told(collection):
    ids = [str(i) for i in collection.search("ferry", "adr_0172", limit=3).fused.ids[:3]]
    log = log_of(Logged(1, "ferry", shown=tuple(ids)))
    assert replay(collection, log, ["adr_0172"], first=3, shown=POINTS).pairs[0].changed == 0
    wrong = replay(collection, log, ["adr_0172"], first=3)
    assert wrong.pairs[0].changed == 1 and any("--shown points" in n for n in wrong.notes)


def test_new_empties_come_first_and_are_counted(collection):
    found = replay(collection, log_of(Logged(1, "tea ferry"), Logged(2, "zzz qqq")), ["semantic", "lexical_bm25"], first=3)
    (pair,) = found.pairs
    assert pair.emptied == 1
    first = found.changes["semantic", "lexical_bm25"][0]
    assert first.emptied and first.query.text == "zzz qqq"
    assert [c["empty"] for c in found.costs] == [0, 1]


def test_filters_of_the_log_hold(collection):
    log = log_of(Logged(1, "tea", filters={"source_type": "observation"}), Logged(2, "tea", filters={"source_type": "entity"}))
    found = replay(collection, log, ["adr_0172"])
    pages = [found.answers["adr_0172"][q.key].page for q in log.queries]
    assert pages[0] == () and pages[1]


def test_a_query_that_fails_is_counted_and_stops_nothing(collection):
    @channel(name="breaks_on_tea")
    def breaks_on_tea(query, ctx):
        if "tea" in query.text:
            raise ValueError("no tea")
        return [(1, 1.0)]

    found = replay(collection, log_of(Logged(1, "tea"), Logged(2, "ferry")), ["adr_0172", "adr_0172+breaks_on_tea"])
    assert found.failed["adr_0172+breaks_on_tea"][0] == 1 and "no tea" in found.failed["adr_0172+breaks_on_tea"][1]
    assert found.pairs[0].queries == 1 and found.costs[1]["queries"] == 1
    assert "answered 1 query with an error" in replay_page(found)


def test_each_reason_is_what_its_command_explains(collection):
    from workbench.analysis.evaluate.compare import explained
    from workbench.analysis.explain.explain import explain
    from workbench.cli.search import parse_filters

    log = log_of(Logged(1, "-tea's ferry", filters={"source_type": "entity"}), Logged(2, "harbour ferry"))
    found = replay(collection, log, ["lexical_bm25(limit=1)", "semantic(limit=2)"], first=2, explained=1)
    reasons = found.reasons["lexical_bm25(limit=1)", "semantic(limit=2)"]
    assert reasons[0] and all(r.told for r in reasons[0]) and all(not r.told and "entity:" in r.command for r in reasons[1])
    by_text = {q.text: q for q in log.queries}
    for reason in reasons[0]:
        words = shlex.split(reason.command)
        filters = parse_filters([words[n + 1] for n, w in enumerate(words) if w == "--filter"])
        assert filters == dict(by_text[words[-1]].filters)
        variant, target = words[words.index("--variant") + 1], words[words.index("--target") + 1]
        result = collection.search(Query(words[-1], filters, limit=2), variant)
        assert explained(explain(collection, result, int(target.removeprefix("point:")))) == reason.told


def test_a_variant_that_counts_time_counts_from_the_query(collection, monkeypatch):
    from workbench.retrieval import variant as priors

    asked = []
    original = priors.moment
    monkeypatch.setattr(priors, "moment", lambda now, ctx, field: asked.append(now) or original(now, ctx, field))
    found = replay(collection, log_of(Logged(1, "tea", "2026-01-02T00:00:00Z"), Logged(2, "ferry")), ["adr_0172", "adr_0172+recency"])
    assert asked[:2] == ["2026-01-02T00:00:00Z", ""] and found.answers["adr_0172+recency"]


def test_stages_that_variants_share_run_once_a_query(collection, monkeypatch):
    from workbench.retrieval.context import Context

    calls = []
    nearest = Context.nearest
    monkeypatch.setattr(Context, "nearest", lambda self, query, *rest: calls.append(query.text) or nearest(self, query, *rest))
    replay(collection, log_of(Logged(1, "tea"), Logged(2, "ferry")), ["adr_0172", "adr_0005", "two_lists"], explained=0)
    assert calls == ["tea", "ferry"]


def test_it_is_written_whole_and_its_texts_are_data(collection, tmp_path):
    hostile = "<script>alert(1)</script>\u202e\ud800 tea"
    log = log_of(Logged(1, hostile, filters={"<b>": "\x1b[1m"}, shown=("<i>gone</i>",), times=3), Logged(2, "ferry"))
    found = replay(collection, log, ["lexical_bm25", "semantic"], first=3)
    written = write_replay(tmp_path, found).read_text(encoding="utf-8")
    assert "<script>alert" not in written and "<i>gone" not in written and "\u202e" not in written and "\x1b" not in written
    lines = [json.loads(line) for line in (tmp_path / "changes.jsonl").read_text().splitlines()]
    assert len(lines) == sum(map(len, found.changes.values())) and {x["times"] for x in lines if x["line"] == 1} <= {3}
    assert json.loads((tmp_path / "replay.json").read_text())["queries"] == 2


@pytest.mark.parametrize("bad", [{"first": 0}, {"shown": "rows"}])
def test_a_bad_parameter_is_refused(collection, bad):
    with pytest.raises(BadParameter):
        replay(collection, log_of(Logged(1, "tea")), ["adr_0172"], **bad)


pages = st.lists(st.sampled_from("abcde"), unique=True, max_size=4).map(tuple)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(pages, pages, st.integers(1, 9)), max_size=6))
def test_the_counts_of_a_pair_follow_from_its_pages(rows):
    queries = [Logged(n, str(n), times=times) for n, (_, _, times) in enumerate(rows, 1)]
    sides = {
        name: {q.key: Answer(row[side]) for q, row in zip(queries, rows, strict=True)} for side, name in enumerate(("a", "b"))
    }
    changes = _changes(queries, ("a", "b"), sides)
    pair = _pair(("a", "b"), changes)
    assert pair.queries == len(rows) and pair.changed == sum(a != b for a, b, _ in rows)
    assert pair.reordered == sum(a != b and set(a) == set(b) for a, b, _ in rows)
    assert pair.emptied == sum(bool(a) and not b for a, b, _ in rows) and pair.filled == sum(bool(b) and not a for a, b, _ in rows)
    assert pair.first_changed == sum(a[:1] != b[:1] for a, b, _ in rows)
    assert pair.asked_changed == sum(t for a, b, t in rows if a != b) and pair.asked == sum(t for _, _, t in rows)
    worst = sorted((c for c in changes if c.first), key=lambda c: c.order)
    assert [c.emptied for c in worst] == sorted((c.emptied for c in worst), reverse=True)
    kept = [c.kept for c in worst if not c.emptied]
    assert kept == sorted(kept)

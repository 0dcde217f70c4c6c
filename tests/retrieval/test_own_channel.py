"""A channel of one's own: composed, explained and compared like ours, and what it returns is checked by name."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.analysis.explain import absences as why
from workbench.analysis.explain.explain import explain
from workbench.analysis.runs import run_variants
from workbench.errors import BadParameter
from workbench.registry import entries
from workbench.retrieval.custom import (
    BadAnswer,
    ChannelFailed,
    OwnFileFailed,
    channel,
    run_own,
    run_own_from_environment,
)
from workbench.retrieval.frozen import freeze
from workbench.retrieval.fusions import max_min, single
from workbench.retrieval.variant import alone, extended, variant
from workbench.sources.base import JudgedQuery
from workbench.types import Query, Ranking

UNKNOWN = 10**9


def returning(found, **options):
    """A stage whose channel returns this."""

    @channel(name="mine", **options)
    def mine(query, ctx, *, limit: int = 100):
        return found(query, ctx) if callable(found) else found

    return mine()


def searched(collection, found, query="alpha beta", **options):
    stage = returning(found, **options)
    return collection.search(query, extended(variant("adr_0172"), stage))


@pytest.mark.parametrize(
    "found",
    [[(7, 0.5), (3, 0.9), (5, 0.5)], {7: 0.5, 3: 0.9, 5: 0.5}, (p for p in [(5, 0.5), (3, 0.9), (7, 0.5)]),
     Ranking("any", (3, 5, 7), (0.9, 0.5, 0.5)), [(7, np.float32(0.5)), (3, 0.9), (5, np.float64(0.5))]],
)  # fmt: skip
def test_pairs_a_mapping_and_a_ranking_are_one_list_by_score_then_id(collection, found):
    result = searched(collection, found)
    (mine,) = [r for r in result.lists if r.name == "mine"]
    assert mine.ids == (3, 5, 7) and mine.scores == (0.9, 0.5, 0.5)


def test_ids_alone_keep_their_order(collection):
    (mine,) = [r for r in searched(collection, [9, 2, 4]).lists if r.name == "mine"]
    assert (mine.ids, mine.scores) == ((9, 2, 4), (3.0, 2.0, 1.0))


def test_its_list_counts_like_any_other_and_explains_itself(collection):
    result = searched(collection, [(400, 1.0)], "alpha")
    told = explain(collection, result, 400)
    assert told.ranks["mine"] == 1 and told.contributions["mine"] == pytest.approx(1 / 61)
    assert math.fsum(told.contributions.values()) == told.score
    absent = explain(collection, result, next(i for i in range(1, 400) if result.rank_of(i) is None))
    assert any(a.reason == why.OWN and a.where == "mine" for a in absent.absences)
    assert result.calls("own")[0].rows == 1


def test_alone_it_is_its_own_ranking_and_turned_knobs_weigh_it(collection):
    stage = returning([(9, 2.0), (2, 1.0)])
    assert collection.search("x", alone(stage)).fused.ids == (9, 2)
    heavy = variant("adr_0172(weight.mine=50)+mine")
    assert heavy.name == "adr_0172(weight.mine=50)+mine"
    assert set(collection.search("alpha beta", heavy).fused.ids[:2]) == {9, 2}


def test_variants_that_share_it_ask_it_once_a_query(collection):
    asked = []

    def found(query, ctx):
        asked.append(query.text)
        return [(1, 1.0)]

    returning(found)
    ran = run_variants(collection, [JudgedQuery("a", "alpha"), JudgedQuery("b", "beta")], ["mine", "adr_0172+mine", "adr_0005+mine"])
    assert asked == ["alpha", "beta"] and ran.runs["mine"] == {"a": ("e1",), "b": ("e1",)}


def test_frozen_lists_hold_it(collection):
    frozen = freeze(collection, Query("alpha beta"), extended(variant("adr_0172"), returning([(3, 1.0)])), depth=300)
    assert frozen.replay("adr_0172(k=1)+mine").fused.ids == collection.search("alpha beta", "adr_0172(k=1)+mine").fused.ids


def test_rows_that_the_filters_reject_are_left_out_and_counted(collection):
    result = collection.search(
        Query("alpha", {"project": "even"}), extended(variant("adr_0172"), returning([(1, 3.0), (2, 2.0), (3, 1.0)]))
    )
    (mine,) = [r for r in result.lists if r.name == "mine"]
    (span,) = result.calls("own")
    assert mine.ids == (2,) and (span.limit, span.dropped) == ("filters", 2)


def test_documents_stand_for_their_first_chunk(collection):
    result = searched(collection, [("e7", 1.0), ("e3", 2.0)], ids="documents")
    assert next(r for r in result.lists if r.name == "mine").ids == (3, 7)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "None, which is no ranking"),
        ("text", "'text', which is no ranking"),
        ([(1, math.nan)], "the score nan .row 1."),
        ([(1, 0.5), (2, math.inf)], "the score inf .row 2."),
        ([(1, 10**400)], "the score inf"),
        ([(1, "0.5")], "the score '0.5'"),
        ([(1, True)], "the score True"),
        ([(1, None)], "the score None"),
        ([(1, 0.5), (1, 0.4)], "the id 1 twice"),
        ([1, 1], "the id 1 twice"),
        ([(UNKNOWN, 0.5)], f"no point {UNKNOWN}"),
        ([(-1, 0.5)], "no point -1"),
        ([("7", 0.5)], "no point '7'.*a number or a UUID"),
        ([("e7", 0.5)], "no point 'e7'.*say ids=documents"),
        ([(1.5, 0.5)], "the id 1.5"),
        ([(True, 0.5)], "the id True"),
        ([(1, 0.5), 2], "returned pairs and 2"),
    ],
)
def test_what_is_no_ranking_of_the_collection_is_refused_by_name(collection, found, said):
    with pytest.raises(BadAnswer, match=f"'mine'.*{said}"):
        searched(collection, found)


@pytest.mark.parametrize("found", [[(7, 1.0)], [("7", 1.0)], [("gone", 1.0)]])
def test_an_unknown_document_is_refused_by_name(collection, found):
    with pytest.raises(BadAnswer, match="no document"):
        searched(collection, found, ids="documents")


def test_an_error_in_it_names_the_channel_and_the_line(collection):
    def broken(query, ctx):
        return [(1, 1 / 0)]

    def broken_later(query, ctx):
        yield (1, 1 / 0)

    for found in (broken, broken_later):
        with pytest.raises(ChannelFailed, match=r"'mine' failed: ZeroDivisionError.*test_own_channel.py:\d+"):
            searched(collection, found)


@pytest.mark.parametrize("name", ["lexical", "semantic", "verbatim", "lexical_bm25", "endpoint"])
def test_a_name_of_ours_is_refused_and_ours_stays(name):
    before = dict(entries("channel"))
    with pytest.raises(BadParameter, match=name):
        channel(lambda query, ctx: [], name=name)
    assert entries("channel") == before


def test_a_cell_run_again_replaces_its_channel(collection):
    assert searched(collection, [(1, 1.0)]).lists[-2].ids == (1,)
    assert searched(collection, [(2, 1.0)]).lists[-2].ids == (2,)


def test_a_fusion_that_would_not_count_it_is_refused(collection):
    for fusion in (max_min(), single(name="lexical")):
        with pytest.raises(BadParameter, match=f"{fusion.name} counts no custom list"):
            extended(variant("adr_0172").replace(fusion=fusion), returning([]))


def test_a_file_of_ones_own_registers_and_its_faults_name_their_line(tmp_path, monkeypatch):
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text("from workbench.retrieval.custom import channel\n@channel\ndef from_a_file(query, ctx):\n    return []\n")
    bad.write_text("x = 1\nraise KeyError('x')\n")
    monkeypatch.setenv("WORKBENCH_OWN", str(good))
    run_own_from_environment()
    assert "from_a_file" in entries("channel") and variant("adr_0172+from_a_file").own[0].name == "from_a_file"
    with pytest.raises(OwnFileFailed, match="KeyError.*bad.py:2"):
        run_own(bad)
    bad.write_text("def (\n")
    with pytest.raises(OwnFileFailed, match="not Python.*bad.py:1"):
        run_own(bad)
    with pytest.raises(OwnFileFailed, match="not there"):
        run_own(tmp_path / "none.py")

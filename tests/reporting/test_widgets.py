"""The investigation without a browser: its state is its traits, its figures are those of direct calls."""

from __future__ import annotations

import re

import pytest
from helpers.made_collection import Document, made_collection

from workbench.analysis.explain.counterfactual import counterfactuals
from workbench.analysis.explain.explain import explain
from workbench.errors import BadParameter
from workbench.reporting import words
from workbench.reporting.widgets.bench import Bench
from workbench.reporting.widgets.investigation import Investigation, investigate
from workbench.reporting.widgets.session import Session, filters_of, filters_text
from workbench.retrieval.frozen import freeze
from workbench.retrieval.search import open_collection
from workbench.retrieval.variant import with_knobs
from workbench.types import Query

QUERY = "when does the ferry leave the harbour"


@pytest.fixture
def opened(tiny):
    with open_collection(tiny) as collection:
        yield collection


@pytest.fixture
def asked(opened) -> Investigation:
    return Investigation(Bench(opened), Session("tiny", QUERY, first=2))


# By words the first stand before the last, by vectors the other way round.
CROSSED = [Document(n, "red" + " blue" * (n - 1), f"e{n}", "a", 15 * (7 - n)) for n in range(1, 8)]


@pytest.fixture
def crossed() -> Investigation:
    return Investigation(Bench(made_collection(CROSSED)), Session("made", "red", first=2))


def point(collection, entity):
    return collection.stores.catalog.entity(entity)[0]


def rank_of(collection, target, knobs=(), query=QUERY):
    return collection.search(query, with_knobs("adr_0172", dict(knobs)), with_chunks=False).rank_of(target)


def test_the_table_is_the_page_of_a_direct_search_and_what_stands_at_its_door(asked, opened):
    direct = opened.search(QUERY, limit=6)
    assert [(r.rank, r.chunk.id, r.score, r.ranks) for r in asked.view.rows] == [(h.rank, h.id, h.score, h.ranks) for h in direct.hits]
    rows = re.findall(r'data-row="(\d+)"', asked._table.html)
    assert rows == [str(h.id) for h in direct.hits] and "The first 2 end here" in asked._table.html


def test_a_knob_is_answered_from_frozen_lists_and_gives_the_rank_of_a_direct_search(asked, opened):
    target = point(opened, "tea")
    asked.pin(target)
    for knobs in ({"k": 3}, {"k": 3, "weight.lexical": 0.0}, {"k": 3, "weight.lexical": 0.0, "cap": 1}):
        (name, value) = list(knobs.items())[-1]
        view = asked.turn(name, value)
        assert view.again == "" and view.pinned.rank == rank_of(opened, target, knobs.items())
        assert dict(asked.session.knobs) == knobs
    assert asked.trail[-1] == view.pinned.rank and len(asked.trail) == 4
    asked.turn("k", 60)
    assert "k" not in asked.session.knobs  # where the variant has it


def test_a_new_query_filter_policy_or_deeper_limit_retrieves_and_says_so(asked):
    assert asked.view.again == "the first look"
    assert asked.ask(query="green tea").again == "a new query"
    assert asked.ask(query=QUERY).again == ""  # kept from before
    assert asked.ask(filters={"project": "nowhere"}).again == "another filter"
    assert asked.ask(filters={}).again == ""
    assert asked.turn("policy", "any_term").again == "another reading"
    assert "Retrieved: another reading" in asked._status.value
    shallow = Investigation(asked.bench, Session("tiny", QUERY, first=2, depth=2, knobs={"semantic_limit": 2}))
    assert "beyond the frozen depth" in shallow.turn("semantic_limit", 3).again


def test_a_click_explains_the_row_as_direct_calls_do(asked, opened):
    target = asked.view.rows[2].chunk.id
    asked._clicked("row", str(target))
    told = explain(opened, asked.view.result, target)
    html = asked._panels["Explanation"].html
    assert asked.selected == target and f"It is ranked {told.rank} of" in html
    frozen = freeze(opened, Query(QUERY, limit=2), "adr_0172")
    expected = [(c.knob, c.verdict, c.plain) for c in counterfactuals(frozen, target, first=2)]
    assert [(c.knob, c.verdict, c.plain) for c in asked._told[1]] == expected
    assert html.count("<tr class=") == len(expected) and 'aria-selected="true"' in asked._table.html


def test_turning_what_would_bring_it_in_brings_it_in(crossed):
    helped = 0
    for row in crossed.view.rows[2:]:
        crossed.explain(row.chunk.id)
        for found in [c for c in crossed._told[1] if c.verdict == "found"]:
            assert f'data-apply="{found.knob}"' in crossed._panels["Explanation"].html
            crossed._clicked("apply", found.knob)
            assert crossed.session.knobs == {found.knob: found.plain}
            assert crossed.view.result.rank_of(row.chunk.id) == found.plain_rank <= 2
            crossed.ask(knobs={})
            helped += 1
    assert helped > 3


def test_a_document_is_pinned_by_name_by_click_and_unpinned(asked, opened):
    asked._pinned_by_name("RULE-A002")
    assert asked.session.pinned == asked.selected == point(opened, "rule") and "RULE-A002" in asked._watch.value
    asked._clicked("pin", "")
    assert asked.session.pinned is None and asked._watch.value == ""
    key = asked.view.rows[0].key
    asked._clicked("pin", key)
    assert str(asked.session.pinned) == key and 'data-rank="1"' in asked._watch.value


@pytest.mark.parametrize(("kind", "value"), [("row", "99999"), ("pin", "99999"), ("apply", "k"), ("nonsense", "1"), ("row", "")])
def test_what_the_page_says_of_rows_that_are_not_there_does_nothing(asked, kind, value):
    before = asked.session, asked.selected
    asked._clicked(kind, value)
    assert (asked.session, asked.selected) == before and asked.problem == ""


def test_an_error_is_said_and_the_last_good_look_stays(asked):
    view = asked.view
    for act, said in ((lambda: asked._asked({"filters": "no equals"}), "not of the form field=value"),
                      (lambda: asked._pinned_by_name("no such"), "nothing is named"),
                      (lambda: asked.ask(knobs={"nope": 1}), "has no knob"),
                      (lambda: asked._asked({"filters": "projet=json"}), "no row has a field"),
                      (lambda: asked.ask(filters={"created": {"gte": "soon"}}), "is no date or time"),
                      (lambda: asked.ask(other="nope"), "nope")):  # fmt: skip
        act()
        assert said in asked.problem and said in asked._status.value and asked.view is view
        asked.ask(knobs={}, other="")
        view = asked.view


def test_after_an_error_the_session_and_the_form_are_those_of_the_look_that_is_shown(asked):
    view, k = asked.view, asked._controls["k"]
    asked._form.variant.value = "adr_0172_multilingual"  # tiny has no vectors of the second model
    assert asked.problem and asked.view is view and asked.session == view.session
    assert asked._form.variant.value == "adr_0172" and "has no vectors of the model" in asked._status.value
    asked._form.filters.value = "no equals"
    assert "not of the form" in asked.problem and asked._form.filters.value == ""
    asked.ask(other="notes_rrf")
    assert asked._form.other.value == "" and "notes_rrf" not in [v for _, v in asked._form.other.options]
    assert "k" in asked._controls and asked._controls["k"].value == k.value
    asked.turn("k", 5)
    assert asked.problem == "" and asked.view.session.knobs == {"k": 5}


def test_another_stage_has_other_knobs_and_the_choice_can_be_taken_back(asked):
    assert "weight.lexical" in asked._controls and "bonus" not in asked._controls
    asked.turn("k", 5)
    asked.turn("fusion", "max_min(bonus=0.3)")
    assert dict(asked.session.knobs) == {"fusion": "max_min(bonus=0.3)"} and "bonus" in asked._controls and "k" not in asked._controls
    asked.turn("bonus", 0.9)
    asked.turn("fusion", "rrf(k=60)")
    assert dict(asked.session.knobs) == {} and asked._controls["k"].value == 60


def test_turning_an_element_turns_the_knob_and_setting_the_session_sets_the_element(asked):
    asked._controls["k"].value = 7.0
    assert asked.session.knobs == {"k": 7.0}
    asked.ask(knobs={"k": 21.0, "cap": 3})
    assert (asked._controls["k"].value, asked._controls["cap"].value) == (21.0, 3)
    asked._form.reset.click()
    assert asked.session.knobs == {} and asked._controls["k"].value == 60
    assert asked._controls["floor"].description == "floor (-1: none)"
    asked._controls["floor"].value = 0.5
    assert asked.session.knobs == {"floor": 0.5}
    asked._controls["floor"].value = -1.0
    assert asked.session.knobs == {}


def test_the_form_asks(asked):
    asked._form.query.value = "green tea"
    assert asked.session.query == "green tea"
    asked._form.variant.value = "adr_0005"
    assert asked.session.variant == "adr_0005"
    asked._form.first.value = 1
    asked._form.filters.value = "project=nowhere"
    assert asked.view.rows == () and "Nothing was found" in asked._table.html
    asked._form.other.value = "two_lists"
    assert asked.view.comparison.right == "two_lists"


def test_what_changed_names_what_was_turned_and_which_rows_moved(crossed):
    before = crossed.view.result.fused.ids[:2]
    crossed.turn("weight.lexical", 0.0)
    after = crossed.view.result.fused.ids[:2]
    said = crossed._panels["What changed"].value
    assert "weight of the lexical list as it was → 0" in said and before != after
    assert said.count("<tr>") == len(set(before) | set(after)) - sum(a == b for a, b in zip(before, after, strict=True))
    assert '<span class="up"' in crossed._table.html and '<span class="down"' in crossed._table.html


def test_a_new_question_has_nothing_to_compare_with_and_a_pin_changes_nothing(asked, opened):
    asked.ask(query="green tea")
    asked.pin(point(opened, "tea"))
    said = asked._panels["What changed"].value
    assert "Nothing to compare with yet" in said and "Nothing was turned" not in said
    asked.turn("k", 3)
    turned = asked._panels["What changed"].value
    asked.pin(point(opened, "ferry"))
    assert asked._panels["What changed"].value == turned and "k as it was → 3" in turned


def test_the_pinned_line_has_the_reason_the_best_answer_and_no_rank_twice_in_a_row(crossed):
    crossed.pin(4)
    for k in (59, 58, 57):
        crossed.turn("k", k)
    said = crossed._watch.value
    assert len(set(crossed.trail)) == 1 and "before:" not in said
    told, answers = explain(crossed.bench.collection, crossed.view.result, 4), crossed.bench.answers(crossed.view, 4)
    assert words.reason_texts(told)[0] in said and words.best_answer(answers) in said
    crossed.turn("weight.lexical", 0.0)
    crossed.turn("k", 56)
    first, last = crossed.trail[0], crossed.trail[-1]
    assert first != last and f"before: {first}</span>" in crossed._watch.value


def test_an_entry_of_a_menu_is_as_wide_as_the_menu():
    from workbench.reporting.widgets.form import _short

    assert _short(["rrf(k=60)", "rrf_priors(priors=('recency', 'project'))"]) == ["rrf(k=60)", "rrf_priors(…)"]
    alike = ["max_min(bonus=0.3, half_life=7)", "max_min(bonus=0.4, half_life=7)"]
    assert _short(alike) == alike


def test_the_compared_columns_are_named_now_and_beside(asked):
    asked.ask(knobs={"k": 3}, other="adr_0005")
    said = asked._panels["Compare"].value
    assert ">now</text>" in said and ">beside</text>" in said and "Now: adr_0172 (k=3" in said and "Beside: adr_0005" in said


def test_the_cell_of_code_gives_this_ranking_and_this_session(asked, opened, tiny):
    asked.ask(knobs={"k": 3, "distinct": True}, filters={"source_type": "entity"}, pinned=point(opened, "tea"))
    code = asked.session.code()
    names: dict = {}
    lines = code.split("\n")
    plain = "\n".join(lines[lines.index("# The same ranking without a widget:") :])
    head, last = plain.rsplit("\n", 1)
    exec(head, names)
    found = eval(last, names)
    assert [(rank, score) for rank, _, score, _ in found] == [(r.rank, r.score) for r in asked.view.rows if r.rank <= 2]
    exec("\n".join(lines[:1]), names)
    again = eval(lines[2], names)
    assert again.session == asked.session.replace(collection="tiny")
    again.bench.close()


def test_a_document_may_be_named_when_an_investigation_opens(tiny):
    made = investigate("tiny", QUERY, pinned="tea", first=3)
    assert made.view.pinned.chunk.entity_id == "tea" and made.selected == made.session.pinned
    made.bench.close()


@pytest.mark.parametrize("asked_for", [{"variant": "notes_rrf"}, {"other": "notes_rrf"}])
def test_a_variant_that_no_frozen_lists_answer_is_not_offered_and_is_refused_by_name(tiny, asked_for):
    made = investigate("tiny", QUERY, first=3)
    assert "adr_0172" in made._form.variant.options and not any("notes_" in str(o) for o in made._form.variant.options)
    look = made.view
    made.ask(**asked_for)
    assert "notes_rrf is searched as a whole" in made.problem and made.view is look
    made.bench.close()


def test_an_incident_file_is_written_for_the_pinned_document(asked, opened, tmp_path):
    with pytest.raises(BadParameter, match="about a document"):
        asked.write_incident(tmp_path / "x.toml")
    asked.pin(point(opened, "ferry"))
    asked._form.path.value = str(tmp_path / "ferry.toml")
    asked._form.save.click()
    assert "Written" in asked._form.saved.value
    from workbench.sources.replica.spec import read_incident

    assert read_incident(tmp_path / "ferry.toml").queries[0].text == QUERY
    asked.ask(filters={"project": "x"})
    asked._form.save.click()
    assert "has no filters" in asked._form.saved.value


@pytest.mark.parametrize("text", ["", "project=json", 'note_type="a b" tags=x tags=y', "status="])
def test_filters_are_read_as_they_are_written(text):
    filters = filters_of(text)
    assert filters_of(filters_text(filters)) == filters


def test_filters_read_as_declared():
    assert filters_of('a="b c" t=x t=y n=') == {"a": "b c", "t": ["x", "y"], "n": None}
    for wrong in ('a="b', "=x", "alone"):
        with pytest.raises(BadParameter):
            filters_of(wrong)


def test_looks_do_not_hold_on_to_all_looks_before_them(asked):
    for k in range(1, 6):
        asked.turn("k", k)
    assert asked.view.before is not None and asked.view.before.before is None

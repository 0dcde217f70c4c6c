"""The cascade: order of the tiers, what each serves, what goes to review, and what the log says of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helpers.matching import said

from workbench.errors import BadParameter
from workbench.matching.call_log import read_log
from workbench.matching.cascade import ask, cascade_of, replay
from workbench.matching.library import ADR_0003, SOURCES, Library, MatchingSettings
from workbench.matching.queue import approve, candidates, reject
from workbench.matching.request import Message, Part, RecordedRequest, Tool, plain
from workbench.registry import entries

TALL, TALL_TURNED = "Is A taller than B?", "Is B taller than A?"


@pytest.fixture
def library():
    with Library(settings=ADR_0003) as made:
        yield made


def test_the_tiers_are_registered_in_the_records_order_and_print_as_a_plan():
    assert list(entries("tier")) == ["exact", "normalised", "alias", "lexical", "embedding"]
    plan = [str(stage) for stage in cascade_of(replace(ADR_0003, embeddings=True))]
    assert plan[:3] == ["exact()", "normalised()", "alias()"]
    assert "serve=1.0, review=0.6, proposals=10, index=fts5" in plan[3]
    assert "serve=None, review=0.75" in plan[4]
    assert len(cascade_of(ADR_0003)) == 4


def test_each_tier_answers_what_those_before_it_cannot(library):
    library.record(plain("Tell Ann at 2026-11-11T09:58:01Z that the boat is late"), said("told"))
    outcomes = {
        "exact": plain("Tell Ann at 2026-11-11T09:58:01Z that the boat is late"),
        "normalised": plain("Tell Ann at 2027-01-01T00:00:00Z that  the boat is late"),
        "lexical": plain("Tell Ann at 2027-01-01T00:00:00Z, that the boat is late!"),
    }
    for tier, request in outcomes.items():
        found = ask(library, request)
        assert (found.served, found.tier, found.score, found.answer.text) == (True, tier, 1.0, "told")
        assert [s.tier for s in found.steps] == ["exact", "normalised", "alias", "lexical"][
            : len(found.steps)
        ]
        assert [s.verdict for s in found.steps] == ["miss"] * (len(found.steps) - 1) + ["served"]
    near = ask(library, plain("Tell Ann that the boat is late"))
    assert not near.served and near.candidates
    approve(library, near.candidates[0])
    assert ask(library, plain("Tell Ann that the boat is late")).tier == "alias"


def test_hello_never_answers_bye(library):
    library.record(plain("hello"), said("hello to you"))
    found = ask(library, plain("bye"))
    assert not found.served and not found.candidates and found.answer is None


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [(TALL, TALL_TURNED), ("dog bites man", "man bites dog"), ("What is 10 + 10?", "What is 10 - 10?")],
)
def test_the_records_own_settings_serve_a_turned_question_and_the_gates_send_it_to_review(recorded, asked):
    with Library(settings=ADR_0003) as library:
        library.record(plain(recorded), said("first"))
        found = ask(library, plain(asked))
        assert (found.served, found.tier, found.score) == (True, "lexical", 1.0)
    with Library() as library:
        library.record(plain(recorded), said("first"))
        found = ask(library, plain(asked))
        assert not found.served and found.score == 1.0
        assert candidates(library)[0].broken in (("same_order",), ("same_marks",))


def test_a_changed_question_is_not_served_at_any_of_the_defaults(library):
    library.record(plain("What is 10 + 10?"), said("20"))
    found = ask(library, plain("What is 8 * 7?"))
    assert not found.served


def shaped(text: str = "What is the weather in Rome today", **changes) -> RecordedRequest:
    made = plain(text, system="Be brief.", api="openai-chat", model="m")
    made = replace(made, tools=(Tool("weather", "Look.", "{}"),))
    return replace(made, **changes) if changes else made


ASKED = "what is the weather in Rome, today"
BROKEN = {
    "tools": {"tools": (Tool("weather", "Look.", '{"x":1}'),)},
    "no tools": {"tools": ()},
    "params": {"params": {"api": "openai-chat", "model": "other"}},
    "attachments": {
        "messages": (Message("user", (Part("text", ASKED), Part("media", "sha256:aa", "image/png"))),)
    },
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_same_words_in_another_shape_go_to_review_with_the_condition_named(library, name):
    library.record(shaped(), said("sunny"))
    assert ask(library, shaped(ASKED)).tier == "lexical"
    found = ask(library, shaped(ASKED, **BROKEN[name]))
    assert not found.served and found.score == 1.0
    (waiting,) = candidates(library)
    assert waiting.broken == (name.removeprefix("no "),)
    assert waiting.broken[0] in found.steps[-1].why


def test_other_speakers_are_not_even_a_candidate(library):
    library.record(shaped(), said("sunny"))
    other = shaped(messages=(Message("assistant", (Part("text", ASKED),)),))
    without = shaped(ASKED, system="")
    longer = shaped(messages=(*shaped().messages, Message("user", (Part("text", "please"),))))
    for asked in (other, without, longer):
        found = ask(library, asked)
        assert not found.served and not found.candidates and found.score is None
        assert "speakers" in found.steps[-1].why


def test_tail_n_lets_longer_conversations_of_the_same_last_turns_match():
    with Library(settings=replace(ADR_0003, tail_n=1)) as library:
        library.record(
            plain("And in Rome?", answer_to=[("user", "Weather in Paris?"), ("assistant", "rain")]),
            said("sun"),
        )
        assert ask(library, plain("And in Rome?")).tier == "normalised"
        assert ask(library, plain("and in Rome")).tier == "lexical"
        library.change(tail_n=2)
        assert not ask(library, plain("And in Rome?")).served
        asked = plain("And in Rome?", answer_to=[("assistant", "rain")])
        assert ask(library, asked).tier == "normalised"


def test_serve_097_tolerates_one_word_in_35_and_the_default_does_not(library):
    words = [f"w{i}" for i in range(35)]
    library.record(plain(" ".join(words)), said("yes"))
    longer = plain(" ".join([*words, "more"]))
    assert not ask(library, longer).served
    library.change(serve=0.97)
    found = ask(library, longer)
    assert (found.tier, found.score) == ("lexical", 70 / 71)


@pytest.mark.parametrize(("review", "waits"), [(0.0, True), (0.5, True), (0.51, False), (1.0, False)])
def test_the_review_threshold_is_a_floor_that_its_own_value_passes(library, review, waits):
    library.record(plain("a b c d"), said("x"))
    library.change(review=review)
    assert bool(ask(library, plain("a b y z")).candidates) == waits


def test_a_serve_threshold_of_none_never_serves_and_of_zero_serves_whatever_shares_a_word(library):
    library.record(plain("a b c d"), said("x"))
    library.change(serve=None)
    assert not ask(library, plain("d c b a")).served
    library.change(serve=0.0)
    assert ask(library, plain("a y z")).served
    assert not ask(library, plain("y z")).served


def test_a_rejected_pair_is_never_served_or_queued_again_by_any_looser_tier(library):
    library.record(plain("build 1234 failed on ann"), said("fix"))
    asked = plain("build 9999 failed on ann")
    (waiting,) = ask(library, asked).candidates
    reject(library, waiting, "ann")
    for serve in (1.0, 0.5, 0.0):
        library.change(serve=serve)
        found = ask(library, asked)
        assert not found.served and not found.candidates
    library.add_rule("scrubbing", {"name": "build", "pattern": r"build \d+", "replace": "build <n>"})
    found = ask(library, asked)
    assert not found.served and "rejected" in found.steps[1].why
    assert len(candidates(library, None)) == 1


def test_every_call_is_logged_with_tier_score_thresholds_and_why_not_the_tier_before(library):
    library.record(plain("red dog here"), said("x"))
    asked = [
        plain("red dog here"),
        plain("red  dog here"),
        plain("Red dog, here"),
        plain("red dog there"),
        plain("none"),
    ]
    outcomes = [ask(library, request) for request in asked]
    library.log.flush()
    rows = list(reversed(read_log(library.db)))
    assert [(r.outcome, r.tier, r.score) for r in rows] == [
        ("served", "exact", 1.0), ("served", "normalised", 1.0), ("served", "lexical", 1.0),
        ("review", "lexical", 2 / 3), ("miss", "", None),
    ]  # fmt: skip
    for row, outcome in zip(rows, outcomes, strict=True):
        assert row.steps == tuple((s.tier, s.verdict, s.score, s.why) for s in outcome.steps)
        assert all(why for *_, why in row.steps)
    assert (rows[2].serve, rows[2].review) == (rows[3].serve, rows[3].review) == (1.0, 0.6)
    assert [r.id for r in read_log(library.db, 2)] == [5, 4]
    assert [r.id for r in read_log(library.db, 2, before=4)] == [3, 2]


def test_the_log_of_a_file_is_whole_after_closing_and_shared_by_two_openings(tmp_path):
    with Library(tmp_path / "l.sqlite") as one, Library(tmp_path / "l.sqlite") as other:
        one.record(plain("hello"), said("hi"))
        for _ in range(200):
            assert ask(one, plain("hello")).served and ask(other, plain("hello")).served
    with Library(tmp_path / "l.sqlite") as again:
        assert again.counts()["calls"] == 400


def test_a_replay_serves_the_same_and_writes_nothing(library):
    library.record_many([(plain(t), said(t), "", 0) for t in ("red dog here", "blue man there")])
    asked = [plain(t) for t in ("red dog here", "here dog red", "red dog there", "nothing")]
    before = library.db.total_changes
    replayed = list(replay(library, asked))
    assert library.db.total_changes == before
    assert [(o.served, o.tier, o.score) for o in replayed] == [
        (o.served, o.tier, o.score) for o in (ask(library, r) for r in asked)
    ]


def test_the_oldest_of_several_equal_entries_is_served_and_that_is_said(library):
    library.record(plain("run at 2026-01-01T00:00:00Z"), said("old"))
    library.record(plain("run at 2026-02-02T00:00:00Z"), said("new"))
    found = ask(library, plain("run at 2026-03-03T00:00:00Z"))
    assert found.answer.text == "old" and "oldest of 2" in found.steps[-1].why
    tied = ask(library, plain("Run, at 2026-03-03T00:00:00Z"))
    assert tied.answer.text == "old" and "2 entries tie" in tied.steps[-1].why


def test_every_setting_has_a_source_and_the_records_values():
    assert SOURCES.keys() == MatchingSettings.__dataclass_fields__.keys()
    made = MatchingSettings()
    assert (made.serve, made.review, made.proposals, made.max_candidates) == (1.0, 0.6, 10, 3)
    assert (made.embeddings, made.embedding_serve, made.embedding_review, made.embedding_tokens) == (
        False,
        None,
        0.75,
        128,
    )
    assert replace(made, gates=()) == ADR_0003


@pytest.mark.parametrize(
    "wrong",
    [{"serve": 1.1}, {"serve": "1"}, {"review": None}, {"review": float("nan")}, {"proposals": 0}, {"tail_n": 0}, {"gates": ["x"]},
     {"likeness": "x"}, {"index": "x"}, {"colour": 1}, {"max_candidates": True}],
)  # fmt: skip
def test_a_wrong_setting_is_refused_by_name_and_nothing_changes(library, wrong):
    before = library.settings
    with pytest.raises(BadParameter, match=next(iter(wrong))):
        library.change(**wrong)
    assert library.settings == before


def test_settings_are_the_projects_own_and_stay(tmp_path):
    with Library(tmp_path / "l.sqlite") as made:
        made.change(serve=0.9, gates=["same_numbers"], tail_n=2)
    with Library(tmp_path / "l.sqlite", settings=MatchingSettings(serve=0.5)) as again:
        assert (again.settings.serve, again.settings.gates, again.settings.tail_n) == (
            0.9,
            ("same_numbers",),
            2,
        )

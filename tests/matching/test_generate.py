"""Generated recordings: deterministic by seed, of every kind, and true by construction."""

from __future__ import annotations

from collections import Counter

import pytest

from records.adr_0003.hard_cases import HARD, KINDS, SAME, generate
from records.adr_0003.templates import BadTemplate, templates
from workbench.matching.cascade import replay
from workbench.matching.library import ADR_0003, Library, MatchingSettings


@pytest.fixture(scope="module")
def made():
    return generate(seed=5, instances=3)


def test_a_seed_makes_the_same_recordings_and_another_makes_others(made):
    assert generate(seed=5, instances=3) == made
    assert generate(seed=6, instances=3).recorded != made.recorded


def test_every_kind_is_there_and_every_template_gives_some(made):
    kinds = Counter(c.kind for c in made.asked)
    assert set(kinds) == set(KINDS)
    assert {c.template for c in made.recorded} == {t.name for t in templates()[0]}


def test_the_truth_is_in_the_instances(made):
    for call in made.asked:
        if call.kind in SAME:
            assert call.instance in made.instances and call.near == call.instance
        elif call.kind in HARD:
            assert call.instance != call.near and call.near in made.instances
        else:
            assert call.instance not in made.instances
    assert len({c.instance for c in made.recorded}) == len(made.recorded)
    recorded_too = [c for c in made.asked if c.kind in HARD and c.instance in made.instances]
    assert 0 < len(recorded_too) < len([c for c in made.asked if c.kind in HARD])


def test_no_volatile_value_belongs_to_an_instance(made):
    for call in made.recorded:
        assert "<" not in call.instance and "2026-" not in call.instance and "/tmp" not in call.instance


def outcomes(made, settings: MatchingSettings) -> Counter:
    with Library(settings=settings) as library:
        ids = library.record_many((c.request, c.answer, "", i) for i, c in enumerate(made.recorded))
        instance = dict(zip(ids, (c.instance for c in made.recorded), strict=True))
        found = Counter()
        for call, outcome in zip(made.asked, replay(library, [c.request for c in made.asked]), strict=True):
            right = outcome.served and instance[outcome.entry_id] == call.instance
            found[call.kind, "right" if right else "wrong" if outcome.served else "not served"] += 1
        return found


def test_repeats_and_volatile_values_are_always_served_right(made):
    found = outcomes(made, ADR_0003)
    for kind in ("repeat", "volatile"):
        assert found[kind, "wrong"] == found[kind, "not served"] == 0 < found[kind, "right"]


def test_the_records_settings_serve_turned_questions_wrong_and_the_gates_serve_nothing_wrong(made):
    record, gated = outcomes(made, ADR_0003), outcomes(made, MatchingSettings())
    assert record["reversed", "wrong"] > 0 and record["operator", "wrong"] > 0
    # What scrubbing hides no gate can see: a question about another ticket's id is equal after scrubbing.
    assert {kind for kind, verdict in gated if verdict == "wrong"} == {"identifier"}
    assert record["negated", "wrong"] == record["tools", "wrong"] == record["params", "wrong"] == 0


def test_an_unknown_pool_is_refused_by_name(tmp_path):
    path = tmp_path / "t.toml"
    path.write_text(
        '[pools]\na = ["x"]\n[systems]\ns = "S"\n[[template]]\nname = "t"\nsystem = "s"\nask = "{colour}?"\n'
    )
    with pytest.raises(BadTemplate, match="unknown pool 'colour'"):
        templates(path)

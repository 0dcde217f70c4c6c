"""The law of a replica's texts: every count exact under the tokenizer, the target where it stood, by seed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from helpers.made_incident import incident_file
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.bm25 import term_weight
from workbench.settings import project_root
from workbench.sources.readers import open_source
from workbench.sources.replica.incident import Layout, make_layout
from workbench.sources.replica.render import chunks
from workbench.sources.replica.spec import (
    Cell,
    Filler,
    Incident,
    IncidentQuery,
    SpecError,
    Target,
    TargetChunk,
    read_incident,
    scaled,
)
from workbench.text import DEFAULT, verbatim_key
from workbench.types import Chunk

ADR_0172 = project_root() / "data" / "incidents" / "adr-0172.toml"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Incident, list[Chunk]]:
    path = incident_file(tmp_path_factory.mktemp("incident"))
    return read_incident(path), list(open_source(path).chunks())


@pytest.fixture(scope="module")
def incident_20k() -> Layout:
    incident = scaled(read_incident(ADR_0172), 20_000)
    return make_layout(incident, incident.seed)


def held(chunk: Chunk, counted: object) -> frozenset[str]:
    return frozenset(DEFAULT.terms(chunk.text)) & frozenset(counted)


def test_every_counted_term_stands_in_exactly_as_many_chunks_as_asked(made: tuple[Incident, list[Chunk]]) -> None:
    incident, found = made
    assert Counter(t for c in found for t in held(c, incident.terms)) == incident.terms


def test_terms_stand_together_as_asked_and_nowhere_else(made: tuple[Incident, list[Chunk]]) -> None:
    incident, found = made
    together = Counter(held(c, incident.terms) for c in found if len(held(c, incident.terms)) > 1)
    target = [held(c, incident.terms) for c in found if c.entity_id == "call-1"]
    asked = Counter({c.holds: c.rows for c in incident.cells}) + Counter(h for h in target if len(h) > 1)
    assert together == asked


def test_only_the_target_holds_all_terms_of_the_title(made: tuple[Incident, list[Chunk]]) -> None:
    incident, found = made
    wanted = set(DEFAULT.terms(incident.query("title").text))
    assert [c.id for c in found if wanted <= set(DEFAULT.terms(c.text))] == [590]


def test_the_target_stands_in_its_chunks_at_its_place(made: tuple[Incident, list[Chunk]]) -> None:
    incident, found = made
    assert [c.id for c in found] == list(range(1, 601))
    first, second = found[589], found[590]
    assert (first.entity_id, first.chunk_index, second.entity_id, second.chunk_index) == ("call-1", 0, "call-1", 1)
    assert first.text.startswith("Call 2025-04-04 08:35\n") and "harbour" in first.text
    assert 1500 <= len(first.text) < 1800 and 900 <= len(second.text) < 1200
    assert first.source == "recording/call-1" and first.facets.project == "calls"


def test_the_first_chunk_is_as_many_average_lengths_long_as_asked(made: tuple[Incident, list[Chunk]]) -> None:
    lengths = [len(DEFAULT.terms(c.text)) for c in made[1]]
    assert 2.2 <= lengths[589] / np.mean(lengths) <= 2.4


def test_the_phrase_stands_verbatim_in_as_many_chunks_as_asked(made: tuple[Incident, list[Chunk]]) -> None:
    assert sum("tea break" in verbatim_key(c.text) for c in made[1]) == 12


def test_groups_stand_within_their_places_and_in_their_projects(made: tuple[Incident, list[Chunk]]) -> None:
    titled = [c for c in made[1] if c.title.startswith("Call 20") and c.entity_id != "call-1"]
    assert len(titled) == 30 and {c.facets.project for c in titled} == {"desk"} and max(c.id for c in titled) <= 300


def test_the_same_seed_gives_the_same_chunks_and_another_one_others(tmp_path: Path) -> None:
    path = incident_file(tmp_path)
    first, again, other = (list(open_source(path, seed=s).chunks()) for s in (1, 1, 2))
    assert first == again
    assert sum(a.text == b.text for a, b in zip(first, other, strict=True)) < 30


def test_a_source_streams_from_the_start_at_every_call(tmp_path: Path) -> None:
    source = open_source(incident_file(tmp_path))
    assert [c.text for c in source.chunks()] == [c.text for c in source.chunks()]


def test_a_decoy_holds_all_terms_without_the_phrase_and_the_counts_stay(tmp_path: Path) -> None:
    path = incident_file(tmp_path)
    incident, found = read_incident(path), list(open_source(path, decoy=True).chunks())
    phrase = incident.query("title").text
    wanted = set(DEFAULT.terms(phrase))
    all_terms = [c for c in found if wanted <= set(DEFAULT.terms(c.text))]
    assert len(all_terms) == 2 and sum(verbatim_key(phrase) in verbatim_key(c.text) for c in all_terms) == 1
    assert Counter(t for c in found for t in held(c, incident.terms)) == incident.terms


def test_the_target_grows_to_the_length_asked_while_the_others_stay(tmp_path: Path) -> None:
    path = incident_file(tmp_path)
    plain, grown = (make_layout(read_incident(path), 7, target_averages=a) for a in (None, 9.0))
    target = grown.target[0]
    assert 8.5 < grown.length[target] / grown.average < 9.5
    others = np.arange(len(plain.length)) != plain.target[0]
    assert abs(plain.length[others].mean() - grown.length[others].mean()) < 3


def test_another_collections_texts_serve_as_filler(tmp_path: Path) -> None:
    texts = [f"The lantern number {n} hangs over door {n}. Its owner paints it every spring, mostly in green." for n in range(300)]
    path = incident_file(tmp_path)
    found = list(open_source(path, filler="other", filler_texts=lambda: texts).chunks())
    incident = read_incident(path)
    assert Counter(t for c in found for t in held(c, incident.terms)) == incident.terms
    assert sum("lantern" in c.text for c in found) > 400
    assert not any("Keep in mind for the budget" in c.text for c in found)


def test_filler_without_texts_or_with_too_few_is_refused(tmp_path: Path) -> None:
    path = incident_file(tmp_path)
    with pytest.raises(SpecError, match="filler needs a loaded collection's texts"):
        open_source(path, filler="other")
    with pytest.raises(SpecError, match="only 1 sentences"):
        list(open_source(path, filler="other", filler_texts=lambda: ["One sentence of seven words is here."]).chunks())


def test_near_duplicates_are_as_many_as_asked(tmp_path: Path) -> None:
    def shared(near: float, exact: float) -> float:
        changes = ("shortest = 20", f"shortest = 20\nnear_duplicates = {near}\nexact_duplicates = {exact}")
        layout = make_layout(read_incident(incident_file(tmp_path, changes)), 3)
        sentences = [frozenset(layout.parts_of(i)[1:].tolist()) for i in range(len(layout.length))]
        twins = {x for a, b in combinations(range(len(sentences)), 2) if len(sentences[a]) > 3 and
                 len(sentences[a] & sentences[b]) >= 0.7 * len(sentences[a] | sentences[b]) for x in (a, b)}  # fmt: skip
        return len(twins) / len(sentences)

    assert shared(0.0, 0.0) < 0.05  # short chunks share a sentence or two by chance
    assert 0.2 < shared(0.25, 0.0) < 0.55  # a duplicate and its original both count


def test_counts_that_the_texts_do_not_hold_are_an_error_at_the_end(tmp_path: Path) -> None:
    layout = make_layout(read_incident(incident_file(tmp_path)), 7)
    layout.parts.texts[int(layout.parts_of(int(layout.order[0]))[0])] += " harbour"
    with pytest.raises(SpecError, match="the texts hold harbour in"):
        list(chunks(layout))


def test_bm25_of_a_layout_is_the_law_on_its_texts(made: tuple[Incident, list[Chunk]]) -> None:
    incident, found = made
    layout = make_layout(incident, incident.seed)
    scores = layout.bm25(incident.query("title").text)
    terms = [DEFAULT.terms(c.text) for c in found]
    average = np.mean([len(t) for t in terms])
    for place in (0, 17, 589):
        expected = sum(term_weight(600, incident.terms[t], terms[place].count(t), len(terms[place]) / average)
                       for t in DEFAULT.query_terms(incident.query("title").text) if t in terms[place])  # fmt: skip
        assert scores[layout.order[place]] == pytest.approx(expected, abs=1e-9)


def test_the_small_adr_0172_keeps_the_target_lexically_first_and_its_length(incident_20k: Layout) -> None:
    target = incident_20k.target[0]
    scores = incident_20k.bm25("Meeting 2026-11-11 09:58")
    assert (scores >= scores[target]).sum() == 1
    assert 2.2 <= incident_20k.length[target] / incident_20k.average <= 2.4
    assert len(incident_20k.target) == 2 and incident_20k.length[incident_20k.target[1]] > 1.5 * incident_20k.length[target]


def test_the_small_adr_0172_has_more_transcripts_than_meetings(incident_20k: Layout) -> None:
    assert incident_20k.incident.terms["transcript"] > incident_20k.incident.terms["meeting"]


def test_the_first_points_with_any_term_do_not_hold_the_meeting_and_are_another_projects(incident_20k: Layout) -> None:
    terms = DEFAULT.query_terms("Meeting 2026-11-11 09:58")
    columns = [list(incident_20k.incident.terms).index(t) for t in terms]
    holds_any = (incident_20k.tf[:, columns] > 0).any(1)
    first = incident_20k.order[holds_any[incident_20k.order]][:256]
    assert incident_20k.target[0] not in first
    projects = Counter(incident_20k.projects[incident_20k.project[i]] for i in first)
    assert projects["field-ops"] > 0.9 * 256


TERMS = ("2024", "03", "17", "lamp", "river", "märz", "日本")


@settings(max_examples=25, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**31))
def test_any_counts_that_can_be_met_are_met_exactly(data: st.DataObject, seed: int) -> None:
    terms = tuple(DEFAULT.terms(" ".join(TERMS)))
    cells = data.draw(st.lists(
        st.builds(lambda h, r: Cell(frozenset(h), r), st.sets(st.sampled_from(terms), min_size=2), st.integers(0, 9)), max_size=6
    ))  # fmt: skip
    singles = {t: data.draw(st.integers(0, 20)) for t in terms}
    df = {t: singles[t] + sum(c.rows for c in cells if t in c.holds) + (t == "lamp") for t in terms}
    df = {t: n for t, n in df.items() if n}
    incident = Incident(
        "any", "", sum(singles.values()) + sum(c.rows for c in cells) + data.draw(st.integers(1, 30)), seed,
        (IncidentQuery("q", "lamp"),), df, Target("t", "Lamp", "s", "p", 1, (TargetChunk(300),), language="en"),
        Filler(("p", "q"), average_terms=30.0, shortest=5), tuple(replace(c) for c in cells if c.rows),
    )  # fmt: skip
    found = list(chunks(make_layout(incident, seed)))
    assert len(found) == incident.size
    assert Counter(t for c in found for t in held(c, df)) == df
    assert found[0].entity_id == "t"

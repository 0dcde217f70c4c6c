"""The replica of a project of notes: exact counts, text within its caps, vectors in the order of the chunks."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from workbench.settings import project_root
from workbench.sources.readers import open_source
from workbench.sources.replica.readers import ELSEWHERE, notes_replica, queries
from workbench.sources.replica.spec import SpecError, read_notes_spec
from workbench.types import content_hash

FILE = project_root() / "data" / "incidents" / "notes-search.toml"
NOTES = 60


def hashed(texts):
    """A unit vector a text, by its hash alone."""
    rows = np.stack([np.random.default_rng(int(content_hash(t)[:12], 16)).normal(size=24) for t in texts])
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def made():
    return list(notes_replica(notes=NOTES)(FILE).chunks())


def test_the_file_says_what_the_document_says():
    large, second = read_notes_spec(FILE).projects
    assert (large.notes, large.chunks, large.characters) == (7136, 373_000, 41_522)
    assert round(large.chunks / large.notes) == 52 and second.notes < large.notes


def test_notes_chunks_and_average_length_are_exact(made):
    project = read_notes_spec(FILE).project().scaled(NOTES)
    sections = defaultdict(list)
    for c in made:
        if c.source_type == "entity":
            sections[c.entity_id].append(c.text)
    assert len(made) == project.chunks and len(sections) == NOTES
    assert round(sum(len("\n\n".join(s)) for s in sections.values()) / NOTES) == 41_522
    kinds = Counter(c.source_type for c in made)
    assert (kinds["observation"], kinds["relation"]) == (round(0.03 * len(made)), round(0.02 * len(made)))


def test_note_lengths_have_a_wide_spread(made):
    sizes = Counter(c.entity_id for c in made if c.source_type == "entity")
    logs = np.log(list(sizes.values()))
    assert 0.6 < logs.std() < 1.2 and min(sizes.values()) < 26 < 104 < max(sizes.values())


def test_no_section_is_longer_than_a_chunk_and_ids_ascend(made):
    assert all(0 < len(c.text) <= 900 for c in made)
    assert [c.id for c in made] == list(range(1, len(made) + 1))
    for entity in {c.entity_id for c in made}:
        own = [c.chunk_index for c in made if c.entity_id == entity]
        assert own == list(range(len(own)))


def test_titles_are_distinct_and_open_their_note(made):
    first = [c for c in made if c.source_type == "entity" and c.chunk_index == 0]
    assert len({c.title for c in first}) == len(first) and all(c.text.startswith(c.title + "\n\n") for c in first)


def test_an_observation_stands_in_its_note_and_as_a_chunk_of_its_own(made):
    notes = defaultdict(str)
    for c in made:
        if c.source_type == "entity":
            notes[c.entity_id] += c.text + "\n"
    said = [c for c in made if c.source_type != "entity"]
    for c in said:
        note = c.facets.metadata["note"]
        if c.source_type == "observation":
            assert f"\n- {c.text}\n" in notes[note]
        else:
            name, target = c.links[0]
            assert f"\n- {name} [[" in notes[note] and target in notes and c.text.startswith(c.title)
    assert {c.source_type for c in said} == {"observation", "relation"}


def test_facets_stand_on_every_chunk_of_a_note(made):
    by_path = defaultdict(set)
    for c in made:
        f = c.facets
        by_path[f.path].add((f.project, f.note_type, f.tags, f.status, f.created))
    assert len(by_path) == NOTES and all(len(found) == 1 for found in by_path.values())


def test_the_same_seed_makes_the_same_collection_and_another_seed_another(made):
    assert list(notes_replica(notes=NOTES)(FILE).chunks()) == made
    other = list(notes_replica(notes=NOTES, seed=2)(FILE).chunks())
    assert len(other) == len(made) and [c.text for c in other] != [c.text for c in made]


def test_vectors_are_of_unit_length_and_stand_in_the_order_of_their_chunks(made):
    source = notes_replica(notes=NOTES)(FILE)
    batches = list(source.vectors(hashed))
    rows = np.concatenate(batches)
    assert rows.shape == (len(made), 24) and np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    again = np.concatenate(list(notes_replica(notes=NOTES)(FILE).vectors(hashed)))
    assert (rows == again).all()
    # An observation's vector is its own text's, moved a little: the order of rows can be read from it.
    said = [n for n, c in enumerate(made) if c.source_type == "observation"]
    own = (rows[said] * hashed([made[n].text for n in said])).sum(1)
    assert own.min() > 0.85


def test_sections_of_one_note_are_nearer_to_each_other_than_to_other_notes(made):
    rows = np.concatenate(list(notes_replica(notes=NOTES)(FILE).vectors(hashed)))
    by_note = defaultdict(list)
    for n, c in enumerate(made):
        if c.source_type == "entity":
            by_note[c.entity_id].append(n)
    centres = np.stack([rows[ns].mean(0) for ns in by_note.values()])
    within = np.mean([rows[ns] @ c / np.linalg.norm(c) for (ns, c) in zip(by_note.values(), centres, strict=True) for ns in [ns[0]]])
    across = np.mean([rows[ns[0]] @ c / np.linalg.norm(c) for i, ns in enumerate(by_note.values()) for j, c in enumerate(centres) if i != j])
    assert within > across + 0.1


def test_queries_are_distinct_seeded_and_of_every_kind():
    found = queries(240, 5)
    kinds = Counter(q.attributes["kind"] for q in found)
    assert len({q.text for q in found}) == len(found) and found == queries(240, 5) != queries(240, 6)
    assert kinds["question"] == 96 and kinds["statement"] == kinds["words"] == 60 and kinds["elsewhere"] == len(ELSEWHERE)


def test_the_second_project_is_read_by_name_and_an_unknown_one_is_refused():
    source = open_source(FILE, project="second", notes=40)
    assert source.kind == "notes_replica" and source.settings["project"] == "second"
    assert {c.facets.project for c in source.chunks()} == {"second"}
    with pytest.raises(SpecError, match="no project 'third'.*large, second"):
        open_source(FILE, project="third")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("notes = 7136", "notes = 0"), "notes': must be greater"),
        (("chunks = 373000", "chunks = 7000"), "fewer than 7136 notes"),
        (("spread = 0.9", "wide = 0.9"), "spread' is missing"),
        (("queries = 240", "queries = 240\nasked = 1"), "unknown 'asked'"),
        (("[shape]", "[shape"), "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_built_names_its_fault(tmp_path, change, fault):
    path = tmp_path / "notes.toml"
    path.write_text(FILE.read_text().replace(*change))
    with pytest.raises(SpecError, match=fault):
        read_notes_spec(path)


def test_a_length_that_the_chunks_cannot_hold_is_refused(tmp_path):
    path = Path(tmp_path) / "notes.toml"
    path.write_text(FILE.read_text().replace("characters = 41522", "characters = 90000"))
    with pytest.raises(SpecError, match="give notes of .* characters, not 90000"):
        list(notes_replica(notes=20)(path).chunks())

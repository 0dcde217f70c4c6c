"""The laws of an incident file: read strictly, every fault named; another size keeps the proportions."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.made_incident import TEXT, incident_file

from workbench.settings import project_root
from workbench.sources.readers import open_source
from workbench.sources.replica.incident import make_layout
from workbench.sources.replica.spec import SpecError, read_incident, scaled
from workbench.text import DEFAULT

INCIDENTS = sorted((project_root() / "data" / "incidents").glob("adr-*.toml"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("size = 600", "size = 0"), "'size': must be greater than or equal to 1, not 0"),
        (("size = 600", 'size = "many"'), "'size': must be a valid integer, not 'many'"),
        (("size = 600", "size = true"), "'size': must be a valid integer, not True"),
        (("seed = 7", "sead = 7"), "unknown 'sead'"),
        (("[terms]\n", "[terms]\nCall = 3\n"), "'Call' is no term of the tokenizer; it makes ['call'] of it"),
        (("harbour = 9", "harbour = 0"), "'harbour' must occur in at least one chunk"),
        (("harbour = 9\n", ""), "query 'words' has terms without a count: harbour"),
        (("35 = 50", "35 = 5000"), "'35' cannot occur in 5000 of 600 chunks"),
        (("35 = 50", "35 = 3"), "'35' is asked for in 3 chunks, but groups, cells and target hold 5"),
        (('holds = ["2025", "04"]', 'holds = ["2025", "1999"]'), "'1999' is not among the counted terms"),
        (('holds = ["2025", "04"]', 'holds = ["2025"]'), "'cell.1.holds'"),
        (("rows = 30\n[[cell]]", "rows = -1\n[[cell]]"), "rows': must be greater than or equal to 0, not -1"),
        (("position = 590", "position = 600"), "the target ends at place 601 of 600"),
        (("average_by_target = 2.3", ""), "give one of 'average_by_target' and 'average_terms'"),
        (("within = [0.0, 0.5]", "within = [0.5, 0.1]"), "must be two ascending numbers"),
        (("within = [0.0, 0.5]", "within = [0.0, 0.02]"), "30 chunks do not fit in places 0 to 12"),
        (('lexically_first = ["title"]', 'lexically_first = ["nothing"]'), "unknown query 'nothing'"),
        (("With {person}.", "With {nobody}."), "nothing is known of {nobody}"),
        (('["Talk {year}', '["Call {year}'), "no heading of group 'dated' holds exactly 2025"),
        (('"No {phrase} in {file}."', '"No such thing."'), "must be one or more texts that hold {phrase}"),
        (('project = "calls"\ncreated', 'project = "calls"\nlanguage = "xx"\ncreated'), "'target.language': must be 'ro' or 'en', not 'xx'"),
    ],
)  # fmt: skip
def test_a_fault_is_named(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    with pytest.raises(SpecError) as caught:
        incident = read_incident(incident_file(tmp_path, change))
        make_layout(incident, incident.seed)
    assert said in str(caught.value)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"name = ", b"name = 3\n", b"\x00"])
def test_a_file_that_is_no_incident_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(SpecError) as caught:
        open_source(path)
    assert "bad.toml" in str(caught.value)


def test_another_size_keeps_the_proportions_and_the_least(tmp_path: Path) -> None:
    incident = read_incident(incident_file(tmp_path, ("[limits]", "[least]\nharbour = 8\n[limits]")))
    half = scaled(incident, 300)
    assert half.terms == {"call": 30, "2025": 75, "04": 70, "08": 45, "35": 25, "about": 50, "harbour": 8}
    assert [g.rows for g in half.groups] == [30, 15] and [c.rows for c in half.cells] == [15, 2, 10]
    assert half.target.position == 295 and scaled(incident, 600) is incident
    double = scaled(incident, 1200)
    assert double.terms["call"] == 120 and double.target.position == 1180


@pytest.mark.parametrize("path", INCIDENTS, ids=lambda p: p.stem)
def test_every_incident_of_the_repository_reads_and_says_what_the_target_is(path: Path) -> None:
    incident = read_incident(path)
    assert incident.name == path.stem
    source = open_source(path)
    assert source.kind == "replica" and source.count == incident.size
    assert [q.id for q in source.queries] == [q.id for q in incident.queries]
    assert {r.entity_id for r in source.qrels} == {incident.target.entity}


def test_the_incident_of_adr_0172_states_the_records_own_figures() -> None:
    incident = read_incident(project_root() / "data" / "incidents" / "adr-0172.toml")
    assert incident.size == 384_885
    terms = DEFAULT.query_terms(incident.query("title").text)
    assert [incident.terms[t] for t in terms] == [1_180, 34_395, 34_860, 18_735, 11_300]
    assert (incident.limits.lexical, incident.limits.semantic) == (256, 256)
    assert sum(c.characters for c in incident.target.chunks) == 6_000


@pytest.mark.parametrize(("option", "value"), [("vectors", "half"), ("size", "x"), ("size", 10**9), ("seed", 1.5)])
def test_an_option_of_the_wrong_kind_is_refused(tmp_path: Path, option: str, value: object) -> None:
    from workbench.errors import WorkbenchError

    with pytest.raises(WorkbenchError):
        open_source(incident_file(tmp_path), **{option: value})


def test_the_made_incident_of_these_tests_stands() -> None:
    assert TEXT.count("[[group]]") == 2

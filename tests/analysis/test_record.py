"""Records: a file is right, or every fault in it is named with its claim."""

import pytest
from helpers.made_record import RECORD, enter_project

from workbench.analysis.ledger.record import BadRecord, load_record, record_folder, record_ids

GOOD = RECORD.format(notebook="plain", second="calls")


@pytest.fixture
def project(tmp_path, monkeypatch):
    return enter_project(monkeypatch, tmp_path, "plain")


def write(project, text, name="made-up"):
    (project / record_folder(name) / "record.toml").write_text(text, encoding="utf-8")


def test_a_record_is_read_as_it_stands(project):
    record = load_record("made-up")
    assert [c.id for c in record.claims] == ["M01", "M02", "M03"]
    assert record.claim("M02").args == {"calls": 8} and record.claim("M02").tolerance == 0
    assert record.notebook == "notebooks/plain.ipynb" and record.parameters == {"limit": "results on a page"}
    assert record_ids() == ["made-up"]


def test_the_hash_follows_the_content_and_not_its_layout(project):
    before = load_record("made-up").hash
    write(project, "# a comment\n" + GOOD.replace("score = 0.0164", "score   =   0.0164"))
    assert load_record("made-up").hash == before
    write(project, GOOD.replace("0.0164 }", "0.0165 }"))
    assert load_record("made-up").hash != before


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('title = "Made', 'titel = "Made', "unknown key 'titel'"),
        ('title = "Made', 'titel = "Made', "'title' is missing"),
        ('text = "It says *three* things."', 'text = " "', "'text' must be a text that is not empty"),
        ("notebooks/plain", "../plain", "'notebook' must be a path inside the project"),
        ("notebooks/plain", "/plain", "'notebook' must be a path inside the project"),
        ('limit = "results on a page"', "limit = 8", "parameters.limit must be a text"),
        ('kind = "arith"', 'kind = "arit"', "claim M01: unknown kind 'arit'"),
        ('kind = "arith"', "kind = 3", "claim M01: 'kind' must be a text"),
        ('id = "M02"', 'id = "M01"', "claim M01: the id stands twice"),
        ('id = "M02"', 'id = "M 2"', "claim M 2: the id must be a letter"),
        ("expected = 7", "expects = 7", "claim M02: unknown key 'expects'"),
        ("expected = 7", "expects = 7", "claim M02: 'expected' is missing"),
        ("tolerance = 0.00005", "tolerance = -1", "claim M01: tolerance -1 must not be negative"),
        ("tolerance = 0.00005", 'tolerance = "small"', "claim M01: tolerance must be a number"),
        ("tolerance = 0.00005", "tolerance = { rank = 1 }", "claim M01: tolerance names 'rank'"),
        ("tolerance = 0.00005", "tolerance = { score = { rel = -1 } }", "must hold numbers that are not negative"),
        ('measure = "made_measures:calls"', 'measure = "made_measures.calls"', '"dotted.path:function"'),
        ("args = { calls = 8 }", "args = { run = 8 }", "'args' must be a table without the name `run`"),
        ("between = [0.0, 1e9]", "between = [2, 1]", "expected.between cannot be [2, 1]"),
        ("between = [0.0, 1e9]", 'at_most = "8"', "expected.at_most cannot be '8'"),
        ("between = [0.0, 1e9]", "at_most = 8, at_least = 2", "'at_most' must be the only key"),
        ("{ between = [0.0, 1e9] }", "1.5", "claim M03: a ratio is never exact"),
        ("{ between = [0.0, 1e9] }", "{ share = 1.5 }", "claim M03: a ratio is never exact"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_claim(project, old, new, fault):
    assert old in GOOD
    write(project, GOOD.replace(old, new, 1))
    with pytest.raises(BadRecord) as raised:
        load_record("made-up")
    assert fault in str(raised.value)
    assert "records/made_up/record.toml" in str(raised.value)


def test_all_faults_are_told_at_once(project):
    write(project, GOOD.replace('kind = "arith"', 'kind = "x"').replace("expected = 7", "expects = 7"))
    with pytest.raises(BadRecord, match="^3 faults: .*kind 'x'.*'expects'.*'expected'"):
        load_record("made-up")


def test_a_ratio_with_a_tolerance_may_expect_a_number(project):
    write(project, GOOD.replace("{ between = [0.0, 1e9] }", "1.5\ntolerance = { rel = 0.2 }"))
    assert load_record("made-up").claim("M03").expected == 1.5


@pytest.mark.parametrize("name", ["../made-up", "", "nothing", "made-up.toml", "/etc/passwd"])
def test_an_unknown_record_lists_the_known_ones(project, name):
    with pytest.raises(BadRecord, match="Known: made-up"):
        load_record(name)


@pytest.mark.parametrize("text", ["title = ", "\x00", "[[claims]]\n[claims]"])
def test_a_file_that_is_no_toml_is_refused_by_name(project, text):
    write(project, text)
    with pytest.raises(BadRecord, match="not TOML.*made_up"):
        load_record("made-up")


def test_a_record_without_claims_is_refused(project):
    write(project, GOOD.split("[[claims]]")[0].replace("[parameters]", "claims = []\n[parameters]"))
    with pytest.raises(BadRecord, match="there are no claims"):
        load_record("made-up")


@pytest.mark.parametrize(
    ("measure", "fault"),
    [("nowhere_at_all:f", "no measure nowhere_at_all:f"), ("json:nothing", "no measure json:nothing"),
     ("textwrap:dedent", "cannot be called as f")],
)  # fmt: skip
def test_a_measure_that_cannot_be_called_names_its_claim(project, measure, fault):
    write(project, GOOD.replace("made_measures:calls", measure))
    claim = load_record("made-up").claim("M02")
    with pytest.raises(BadRecord, match=f"{fault}.*claim M02"):
        claim.function(project)

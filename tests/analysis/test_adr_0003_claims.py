"""ADR 0003's measures: each quick one gives what the record expects, or says where it differs; the same in every run."""

from __future__ import annotations

import json

import pytest

from workbench.analysis.ledger.run import Run, open_run

SEED = 20261020
# The others time the model or embed thousands of texts; `make reproduce` runs them.
QUICK = {
    "C01": "HOLDS", "C03": "HOLDS", "C04": "HOLDS", "C05": "HOLDS", "C06": "HOLDS", "C07": "HOLDS", "C09": "HOLDS",
    "C12": "HOLDS", "C13": "HOLDS", "C17": "HOLDS",
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return open_run("adr-0003", size="small", seed=SEED, out=tmp_path_factory.mktemp("run"))


def test_every_claim_of_part_c_is_there_once_and_its_measure_is_found(run):
    assert [c.id for c in run.record.claims] == [f"C{i:02}" for i in range(1, 18)]
    for claim in run.record.claims:
        assert claim.statement and callable(claim.function(run.record.root))


@pytest.mark.parametrize(("claim", "verdict"), QUICK.items())
def test_the_quick_measures_give_their_verdict_and_say_where(run, home, claim, verdict):
    row = run.measure(claim)
    assert row.verdict == verdict, row.note
    told = json.dumps([row.measured, row.note, row.where])
    assert row.where and "/tmp/" not in told and "NaN" not in told


@pytest.mark.parametrize("claim", ["C03", "C05", "C06", "C07", "C12"])
def test_two_runs_measure_the_same(run, home, tmp_path, claim):
    again = open_run("adr-0003", size="small", seed=SEED, out=tmp_path).measure(claim)
    assert again == run.measure(claim)

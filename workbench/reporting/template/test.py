"""The record @ID@ as a test: every claim is measured, and the ones that must hold do."""

from __future__ import annotations

from pathlib import Path

from workbench.analysis.ledger.record import load_record
from workbench.reporting.launcher import launch

ROOT = Path(__file__).resolve().parents[1]
HOLD = ("C01", "C02")


def test_every_claim_has_a_verdict_and_those_that_must_hold_do(tmp_path: Path) -> None:
    report = launch(load_record("@ID@", ROOT), {}, tmp_path)
    assert report.ledger.whole, [str(row) for row in report.ledger.failed]
    assert {claim: report.ledger.row(claim).verdict for claim in HOLD} == dict.fromkeys(HOLD, "HOLDS")

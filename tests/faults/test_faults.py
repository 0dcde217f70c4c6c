"""The table of faults covers every claim, and its quick faults are noticed."""

from __future__ import annotations

import pytest

from faults import MODULES, faults, put_in, quick_faults
from workbench.analysis.ledger.record import load_record


@pytest.mark.parametrize("record", MODULES)
def test_every_claim_has_a_fault_that_it_must_notice(record):
    claims = [c.id for c in load_record(record).claims]
    named = {c for fault in faults(record) for c in fault.claims}
    assert [c for c in claims if c not in named] == [] and named <= set(claims)


@pytest.mark.parametrize("record", MODULES)
def test_every_fault_can_be_put_in(record):
    for fault in faults(record):
        with pytest.MonkeyPatch.context() as patch:
            fault.put_in(patch)


@pytest.mark.parametrize("record", MODULES)
def test_the_quick_faults_are_noticed(record, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))
    missed = [
        (fault.name, [str(o) for o in found])
        for fault, found in put_in(record, quick_faults(record))
        if not all(o.noticed for o in found)
    ]
    assert missed == []

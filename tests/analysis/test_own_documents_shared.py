"""On a public collection whose queries are duplicates of its documents, a query's own document is left out."""

from __future__ import annotations

import pytest

from workbench.analysis.evaluate.compare import compare_variants
from workbench.stores.load import load

pytestmark = pytest.mark.shared


def test_gitbugs_is_evaluated_without_each_querys_own_document(home, shared_data):
    load(str(shared_data("gitbugs-hadoop")), name="ghb", vectors=False, progress=False)
    values = {}
    for keep in (False, True):
        found = compare_variants("ghb", ["lexical_bm25"], metrics=["nDCG@10", "RR"], keep_own=keep)
        values[keep] = {r["metric"]: r["value"] for r in found.comparison.per_variant.to_dicts()}
    assert values[False]["nDCG@10"] == pytest.approx(0.5897, abs=5e-4)
    assert values[True]["nDCG@10"] < values[False]["nDCG@10"] - 0.1
    assert values[True]["RR"] < values[False]["RR"]

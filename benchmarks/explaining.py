"""Knobs over frozen lists, and what would bring a row in, on the full incident where it is loaded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median

from benchmarks.harness import Row, at_most, benchmark
from benchmarks.searching import incident, queries

TURNS = 9
KNOB_MILLISECONDS = 100
"""Issue 6: a knob within the frozen depth answers within 100 ms on a full-size collection."""

DEEP = 2048
TURNED = (
    {"k": 10}, {"weight.verbatim": 0.5}, {"floor": 0.5}, {"fusion": "max_min(bonus=0.3)"}, {"fusion": "verbatim_first(k=60)"},
    {"third_list": "all_terms"}, {"third_list": "none"}, {"distinct": True}, {"cap": DEEP}, {"semantic_limit": DEEP},
    {"cap": DEEP, "semantic_limit": DEEP}, {"cap": DEEP, "semantic_limit": DEEP, "k": 1e9},
)  # fmt: skip
RANK = 12
"""The row that the counterfactuals are asked for: at the door of the first page."""


@benchmark("explaining")
def explaining() -> Iterator[Row]:
    """A knob of frozen lists at its slowest setting, a look of the investigation, and every knob's counterfactual."""
    from workbench.analysis.explain.counterfactual import counterfactuals
    from workbench.reporting.widgets.bench import Bench
    from workbench.reporting.widgets.panels import table_html
    from workbench.reporting.widgets.session import Session
    from workbench.retrieval.frozen import DEPTH, freeze
    from workbench.retrieval.variant import with_knobs
    from workbench.types import Query

    collection = incident()
    on = f"{collection.stores.catalog.n:,} memories, {DEPTH:,} deep, processor time"
    settings, looks, answers = [], [], []
    bench = Bench(collection)
    for text in queries():
        frozen = freeze(collection, Query(text), "adr_0172")
        for turned in TURNED:
            chosen = with_knobs("adr_0172", turned)
            settings.append(median(_milliseconds(lambda f=frozen, c=chosen: f.replay(c)) for _ in range(TURNS)))
        session = Session(collection.name, text)
        view = bench.look(session)
        for k in range(1, TURNS + 1):
            looks.append(_milliseconds(lambda s=session, k=k, v=view: table_html(bench.look(s.replace(knobs={"k": float(k)}), v))))
        target = view.result.fused.ids[RANK - 1]
        answers.append(_milliseconds(lambda f=frozen, t=target: counterfactuals(f, t)))
    yield Row("explaining/a knob at its slowest", max(settings), "ms", at_most(KNOB_MILLISECONDS), on, len(settings) * TURNS)
    yield Row("explaining/a knob", median(settings), "ms", None, on, len(settings) * TURNS)
    yield Row("explaining/a knob, with its table", median(looks), "ms", at_most(KNOB_MILLISECONDS), on, len(looks))
    yield Row("explaining/every knob's counterfactual", median(answers), "ms", None, on, len(answers))


def _milliseconds(act: Callable[[], object]) -> float:
    start = time.process_time()
    act()
    return (time.process_time() - start) * 1e3

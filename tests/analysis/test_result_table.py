"""Verdicts, warnings and the table of a comparison: every run is judged, and no name breaks a form of the table."""

from itertools import combinations

import pytest

from workbench.analysis.evaluate.comparison import compare
from workbench.analysis.evaluate.judged import judge
from workbench.analysis.evaluate.result_table import ResultTable
from workbench.sources.base import Qrel

HOSTILE = r"<b>\end{tabular}&%$#_^~{}</b>" + "\x1b\u202e"


def runs_of(ranks):
    """Run name to rank of the relevant document, query by query; 0 is absent."""
    n = len(next(iter(ranks.values())))
    judged = judge(None, [Qrel(f"q{i}", "good", 1) for i in range(n)])
    runs = {
        name: {f"q{i}": [*(f"bad{j}" for j in range(rank - 1)), "good"] if rank else [] for i, rank in enumerate(of)}
        for name, of in ranks.items()
    }
    return runs, judged


def compared(ranks, metrics=("RR",), **options):
    runs, judged = runs_of(ranks)
    return compare(runs, judged, metrics, resamples=options.pop("resamples", 999), **options)


GOOD, BAD = [1] * 40, [4] * 40


def test_every_run_has_a_verdict_and_the_best_is_named_first():
    found = compared({"low": BAD, "mid": [2] * 40, "top": GOOD, "last": [0] * 40})
    said = [text for text, _ in found.verdicts()]
    assert said[0] == "Best: top, RR 1.000." and len(said) == 4
    assert [s.split()[0] for s in said[1:]] == ["mid", "low", "last"]
    assert all("is worse than top" in s and "after correction for 6 tests" in s for s in said[1:])


def test_against_the_first_only_each_is_judged_against_it():
    found = compared({"base": BAD, "top": GOOD, "mid": [2] * 40}, pairs=[("base", "top"), ("base", "mid")])
    said = [text for text, _ in found.verdicts()]
    assert said[0].startswith("Best: top") and "mid is better than base" in said[1] and "base is worse than top" in said[2]


def test_what_only_the_interval_shows_is_not_significant_and_says_how_many_tests():
    mixed = [1] * 31 + [2] * 7 + [1] * 2
    other = [1] * 31 + [1] * 7 + [2] * 2
    names = {"a": mixed, "b": other, **{f"c{i}": GOOD for i in range(6)}}
    found = compared(names)
    row = found.pair("a", "b", "RR")
    said = found._verdict(row, "b")
    outcomes = {found.outcome(r) for r in found.per_pair.to_dicts()}
    assert found.tests == 28 and "chance" not in said
    for r in found.per_pair.to_dicts():
        text = found._verdict(r, r["b"])
        if found.outcome(r) == "not after correction":
            assert "not significant" in text and "28 tests" in text and "excludes 0" in text
    assert "not after correction" in outcomes and "tied" in outcomes


def test_no_difference_names_the_pair_s_own_resolution():
    wide, narrow = [1, 2] * 20, [2, 1] * 20
    found = compared({"a": wide, "b": narrow, "c": [1, 2] * 19 + [2, 1]})
    rows = found.per_pair.to_dicts()
    said = {(r["a"], r["b"]): found._verdict(r, r["b"]) for r in rows if found.outcome(r) == "none"}
    assert len(said) == 3 and len({r["resolution"] for r in rows}) > 1
    for r in rows:
        assert f"resolves ±{r['resolution']:.3f} for this pair" in said[r["a"], r["b"]]


@pytest.mark.parametrize(("n", "said"), [(9, "no interval"), (24, "unreliable below 25"), (25, None)])
def test_few_queries_are_a_warning(n, said):
    warnings = [w for w in compared({"a": [1] * n, "b": [2] * n}).warnings if w.startswith("Only")]
    assert (said is None and not warnings) or said in warnings[0]


def test_few_judged_documents_are_a_warning_that_names_the_run():
    found = compared({"whole": [1] * 30, "holes": [4] * 30})
    assert found.judged_at_10 == {"whole": 1.0, "holes": 0.25}
    assert found.warnings == (
        "Judged@10 is 25% for holes: most of the first 10 documents were never judged and count as not relevant.",
    )


def test_letters_name_the_runs_that_are_significantly_worse():
    table = ResultTable(compared({"low": BAD, "top": GOOD, "same": GOOD}, ["RR", "Success@8"]), {})
    frame = table.to_frame()
    assert frame["letter"].to_list() == ["a", "b", "c"]
    assert frame["RR better than"].to_list() == ["", "a", "a"] and frame["RR"].to_list() == [0.25, 1, 1]
    assert frame["Success@8 better than"].to_list() == ["", "", ""]
    assert "1.0000</strong><sup" in table.to_html() and r"\textbf{1.0000}\textsuperscript{a}" in table.to_latex()


def test_letters_go_on_behind_z():
    table = ResultTable(compared({f"r{i}": GOOD for i in range(28)}, resamples=9), {})
    assert list(table.letters.values())[24:] == ["y", "z", "aa", "ab"]


def test_a_hostile_name_breaks_no_form_of_the_table():
    table = ResultTable(compared({HOSTILE: GOOD, "b": BAD}), {})
    page, latex, text = table.to_html(), table.to_latex(), table.to_text()
    for form in (page, latex, text):
        assert "\x1b" not in form and "\u202e" not in form
    assert "<b>" not in page and latex.count(r"\end{tabular}") == 1
    row = next(line for line in latex.splitlines() if line.startswith("a & "))
    assert row.count(" & ") == 3 and r"\&\%\$\#\_\textasciicircum{}\textasciitilde{}\{\}" in row


def test_numbers_stand_below_each_other_and_no_name_is_cut():
    names = ["a", "dense(model=bge-small-en-v1.5,limit=256)+recency" * 2]
    lines = ResultTable(compared(dict(zip(names, (GOOD, BAD), strict=True))), {}).to_text().splitlines()
    assert lines[1].index("1.0000") == lines[2].index("0.2500") and names[1] in lines[2]


def test_one_run_alone_has_a_table_and_one_verdict():
    found = compared({"only": GOOD})
    assert found.verdicts() == (("Best: only, RR 1.000.", "The highest mean of 1 run over 40 queries."),)
    assert ResultTable(found, {}).legend == ""


def test_all_pairs_of_a_comparison_fit_their_outcomes():
    found = compared({"low": BAD, "top": GOOD, "same": GOOD})
    kinds = {(a, b): found.outcome(found.pair(a, b, "RR")) for a, b in combinations(found.variants, 2)}
    assert kinds == {("low", "top"): "detected", ("low", "same"): "detected", ("top", "same"): "tied"}

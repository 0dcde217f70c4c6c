"""The page of a comparison: whole without network, its texts data, every difference one click from its reason."""

from __future__ import annotations

import re

import pytest

from workbench.analysis.evaluate.compare import compare_variants
from workbench.reporting.pages.brief import Section, brief_page, command, notes
from workbench.reporting.pages.comparison import comparison_page, file_name, write_comparison

HOSTILE = "<script>alert(1)</script>\u202e\x1b[31m\ud800 “x” & ']]>"


@pytest.fixture
def compared(tiny):
    return compare_variants(tiny, ["adr_0172", "semantic(floor=0.9)"], "titles", metrics=["RR"], resamples=99)


@pytest.mark.browser
def test_it_opens_without_network_draws_its_charts_and_opens_a_case(compared, tmp_path, open_page):
    opened = open_page(write_comparison(tmp_path, compared))
    assert (opened.requests, opened.errors) == ([], []) and opened.overflow() <= 0
    cases = opened.page.locator("details.case")
    assert cases.count() == len(compared.differences) > 1
    second = cases.nth(1)
    assert not second.locator(".command").first.is_visible()
    second.locator("summary").click()
    assert second.locator(".command").first.is_visible()
    assert second.locator(".command").first.inner_text() == compared.differences[1].a.command


def test_warnings_stand_first_then_a_verdict_for_every_variant(tiny):
    variants = ["adr_0172", "two_lists", "semantic(floor=0.9)", "lexical_bm25"]
    compared = compare_variants(tiny, variants, "titles", metrics=["RR"], resamples=99)
    page = _words(comparison_page(compared))
    assert 0 < page.index("Only 7 queries") < page.index("Best: ") < page.index("too few queries to tell (7)")
    lines = re.findall(r'<p class="finding">(.*?)<small>', page)
    assert len(lines) == len(variants) and all(any(v in line for line in lines) for v in variants)


def _words(page):
    return re.sub(r"\s+", " ", page)


def test_the_page_calls_variants_by_name_and_counts_queries_whole(compared, tiny):
    page, (a, b) = _words(comparison_page(compared)), compared.comparison.variants
    assert f"<h1>{a} and {b}</h1>" in page
    assert f'"{b} better"' in page and f'"{a} better"' in page and '"tickMinStep":1' in page.replace(" ", "")
    for unclear in ("b − a", "b better", "value_a", ">p_holm<", "p_holm is"):
        assert unclear not in page
    for header in ("metric", f"mean of {a}", f"mean of {b}", "p (Holm)", "queries"):
        assert re.search(rf"<th[^>]*>{re.escape(header)}</th>", page)


def test_of_more_pairs_each_is_named_where_it_stands(tiny):
    three = compare_variants(tiny, ["adr_0172", "two_lists", "semantic(floor=0.9)"], "titles", metrics=["RR"], resamples=99)
    page = _words(comparison_page(three))
    assert "<h1>adr_0172, two_lists and semantic(floor=0.9)</h1>" in page
    for header in ("variant", "against", "difference"):
        assert re.search(rf"<th[^>]*>{header}</th>", page)
    assert '"two_lists against adr_0172, RR"' in page and '"the first better"' in page


def test_hostile_texts_are_data_and_commands_are_whole():
    long = "x" * 5_000
    page = brief_page(
        eyebrow=HOSTILE, title=HOSTILE, findings=[HOSTILE], facts={HOSTILE: HOSTILE},
        sections=[Section(HOSTILE, (notes([HOSTILE]), command(HOSTILE), command(long)))], footer=HOSTILE,
    )  # fmt: skip
    assert "<script>alert" not in page and "\x1b" not in page and "\u202e" not in page and "\ud800" not in page
    assert long in page and page.encode("utf-8")


def test_equal_inputs_equal_page(compared):
    first, second = (re.sub(r"\s", "", comparison_page(compared)) for _ in range(2))
    assert first == second


def test_a_variants_name_is_a_file_name_anywhere():
    assert file_name("adr_0172(k=10)+endpoint(url=http://x/y)") == "adr_0172_k_10__endpoint_url_http___x_y_"
    assert file_name("../..") == "_" and file_name("…") == "_"

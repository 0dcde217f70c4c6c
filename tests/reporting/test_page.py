"""The page as text: hostile text is text, the bundle and each spec stand once, nothing is asked for."""

import html.parser
import json
import re
from dataclasses import replace

import pytest
from helpers.made_report import CHARTS, HOSTILE, SCRIPT, write_report

from workbench.analysis.ledger.ledger import BadLedger, Ledger
from workbench.reporting.html import expected_html, measured_html, number_text
from workbench.reporting.pages.record import BadReport, _hash, _on, _told, write_page

# What makes a browser ask for something while a page loads.
ASKING = {"src", "srcset", "poster", "data", "background", "action", "ping", "manifest"}
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Elements(html.parser.HTMLParser):
    """Elements, attributes and the text of scripts, as an HTML parser sees them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.scripts, self.open = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, k, v or "") for k, v in attributes]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("home")))
        return write_page(write_report(tmp_path_factory.mktemp("report"))).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def elements(text):
    return Elements(text)


def test_the_page_is_well_formed(elements):
    assert elements.open == []


def test_no_text_of_a_user_becomes_an_element_or_an_attribute(elements):
    assert "img" not in elements.tags
    assert [a for a in elements.attributes if a[1].startswith("on")] == []
    # One theme, one bundle, one page script, and one spec a chart.
    assert len(elements.scripts) == 3 + CHARTS
    assert not any(s.strip() == "window.hacked = 1" for s in elements.scripts)


def test_the_page_asks_for_nothing(text, elements):
    assert [a for a in elements.attributes if a[1] in ASKING] == []
    links = [v for tag, k, v in elements.attributes if tag == "link" and k == "href"]
    assert links == ["data:,"]
    css = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert "url(" not in css and "@import" not in css
    assert "default-src 'none'" in text and "connect-src" not in text


def test_links_that_run_or_reveal_are_no_links(elements):
    targets = [v for tag, k, v in elements.attributes if tag == "a" and k == "href"]
    beside = ("ledger.json", "charts.json", "notebook.ipynb")
    assert [t for t in targets if not t.startswith(("#", "https:", "http:")) and t not in beside] == []


def test_the_bundle_stands_once_and_each_spec_once(text, elements):
    assert text.count("window.vegaEmbed=") == 1
    specs = [json.loads(s) for s in elements.scripts if s.startswith("{") and '"$schema"' in s]
    assert len(specs) == CHARTS
    assert len({json.dumps(s) for s in specs}) == len(specs)


def test_a_page_without_charts_carries_no_bundle(tmp_path, home):
    page = write_page(write_report(tmp_path, with_charts=False)).read_text(encoding="utf-8")
    assert "window.vegaEmbed=" not in page and 'id="theme"' not in page


def test_every_hostile_text_is_shown_and_a_long_one_is_cut(text):
    plain = html.unescape(text)
    assert (
        SCRIPT in plain and "\\x1b[31mred" in plain and "abc\\x202edcba" in plain and "\\xd800 half" in plain
    )
    assert "👩‍🔬 ședință" in plain and "{{ 7 * 7 }}" in plain
    assert "\x1b" not in text and "\u202e" not in text
    assert "(1,000,000 characters)" in plain
    assert re.search("x{601}", text) is None


def test_every_claim_has_its_row_with_its_verdict(text):
    for verdict, count in {
        "HOLDS": 1 + len(HOSTILE),
        "DIFFERS": 1,
        "DIFFERS BY A DURATION": 1,
        "SUPERSEDED": 1,
        "INCONCLUSIVE": 1,
        "NOT MEASURABLE HERE": 1,
    }.items():
        assert text.count(f'data-verdict="{verdict}"') == count
    assert 'id="claim-M04"' in text and "No server" in text


def test_the_summary_counts_every_verdict_in_words(text):
    words = " ".join(
        re.sub(r"<[^>]+>", "", re.search(r'<p class="verdict-line">.*?</p>', text, re.DOTALL)[0]).split()
    )
    assert words == (
        "Of 15 claims (13 measured, 1 on paper, 1 not measurable here), 10 hold, 1 differs, 1 differs by a duration only, "
        "1 is inconclusive, 1 is not measurable here, 1 is superseded."
    )


def test_rows_link_to_their_figures_and_figures_back(text):
    assert '<a href="#figure-line">Figure 1</a> <a href="#figure-bars">Figure 2</a>' in text
    assert '<a href="#figure-bars">Figure 2</a> <a href="#table-values">Table 1</a>' in text
    assert 'id="figure-bars"' in text and 'id="table-values"' in text
    assert '<a href="#claim-M01">M01</a> <a href="#claim-M02">M02</a>' in text


def test_what_was_run_is_told(text):
    for told in (
        "ab" * 8,
        "cd" * 8,
        "results on a page",
        "3.11.7",
        "1 min 1 s",
        "11 November 2026, 09:58 UTC",
        "23.5",
    ):
        assert told in text


def test_a_seed_is_no_count_and_a_hash_with_an_ending_is_cut():
    seed, plain, key = _told("seed", 20261111), _told("memories", 20261111), _hash("ab" * 32 + "/128")
    assert (seed, ">20,261,111<" in plain) == ("20261111", True)
    assert key.endswith(f">{'ab' * 8}…/128</code>") and "ab" * 32 in key


def test_few_inputs_are_named_and_many_are_counted():
    assert _on(("recordings", "recordings, another seed")) == "recordings · recordings, another seed"
    assert _on([f"c{i}" for i in range(30)]) == '<a href="#run">30 inputs</a>'


def test_what_was_run_is_folded(text):
    run = text[text.index('<section id="run"') :]
    assert run.index('<details class="fold">') < run.index('class="groups"') < run.index("</details>") < run.index("Evidence beside")


def test_a_failed_build_says_so_on_top_and_shows_all_rows(tmp_path, home):
    page = write_page(write_report(tmp_path, failed=True)).read_text(encoding="utf-8")
    assert "This build failed: 1 of 16 claims without a verdict." in page
    assert page.index("This build failed") < page.index('id="ledger"')
    assert page.count("data-verdict=") == 16 and 'data-verdict="NO VERDICT"' in page


def test_a_whole_build_says_nothing_of_failure(text):
    assert "This build failed" not in text


def test_equal_inputs_give_an_equal_page(tmp_path, home):
    first = write_page(write_report(tmp_path / "a")).read_bytes()
    assert write_page(write_report(tmp_path / "b")).read_bytes() == first


def test_without_its_files_a_page_is_refused_by_name(tmp_path, home):
    with pytest.raises(BadReport, match="charts.json"):
        write_page(tmp_path)
    write_report(tmp_path, with_charts=False)
    (tmp_path / "ledger.json").unlink()
    with pytest.raises(BadLedger):
        write_page(tmp_path)
    assert not (tmp_path / "index.html").exists()


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (2026, "2026"), (384885, "384,885"), (0, "0"), (-34395, "−34,395"), (1 / 61, "0.0163934"), (5e-05, "0.00005"),
        (1e-9, "1e−09"), (2.0, "2"), (41522.25, "41,522.2"), (0.1 + 0.2, "0.3"), (1e300, "1e+300"), (-0.5, "−0.5"),
    ],
)  # fmt: skip
def test_numbers_are_told_as_they_are_read(value, told):
    assert number_text(value) == told


def test_what_does_not_agree_is_marked_and_expected_keys_come_first():
    shown = measured_html({"b": 1, "c": 2}, {"a": 9, "b": 1, "c": 3}, 0)
    assert shown.index(">b<") < shown.index(">c<") < shown.index(">a<")
    assert re.findall(r'class="off"><span class="number">(\d)', shown) == ["3"]


def test_bounds_and_tolerances_are_signs():
    assert "≤ 8" in expected_html({"at_most": 8}, 0)
    assert "0.9 – 1.1" in expected_html({"between": [0.9, 1.1]}, 0)
    assert "absent" in expected_html({"rank": {"absent": True}}, 0)
    assert "± 0.00005" in expected_html({"score": 0.0164}, {"score": 0.00005})
    assert "± 5 %" in expected_html(3.5, {"rel": 0.05})


def test_rows_are_grouped_by_evidence_and_explained(text):
    groups = [text.index(f">{name}</th>") for name in ("Measured", "On paper", "Not measurable here")]
    assert groups == sorted(groups) and text.index('id="claim-M05"') < groups[1] < text.index('id="claim-M06"')
    assert "It takes 1 s longer, which decides nothing." in text and "SUPERSEDED by adr-0200" in text


def test_a_reduced_run_says_so_on_top_and_in_its_facts(tmp_path, home):
    write_report(tmp_path)
    full = Ledger.read(tmp_path)
    rows = [replace(r, needs_full=("at_most",)) if r.id == "M03" else r for r in full.rows]
    Ledger(full.header | {"parameters": {"size": "small"}}, tuple(rows)).write(tmp_path)
    page = write_page(tmp_path).read_text(encoding="utf-8")
    banner = re.search(r'<p class="reduced".*?</p>', page, re.DOTALL)[0]
    assert "size small" in banner and 'href="#claim-M03"' in banner
    assert "small, reduced" in page[page.index('class="facts"') :]


def test_a_full_run_has_no_banner(text):
    assert 'class="reduced"' not in text

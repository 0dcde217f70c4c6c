"""The page in Chromium without network: all charts drawn and alive, at every width, on paper, and without script."""

import re

import pytest
from helpers.made_report import CHARTS, SCRIPT, write_report
from playwright.sync_api import expect

from workbench.reporting.pages.record import write_page

pytestmark = pytest.mark.browser

DESKTOP, PHONE, TABLET = (1280, 900), (390, 844), (820, 1180)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("home")))
        return write_page(write_report(tmp_path_factory.mktemp("report")))


@pytest.mark.parametrize("size", [DESKTOP, TABLET, PHONE, (320, 640)])
def test_all_charts_are_drawn_without_a_request_an_error_or_an_overflow(open_page, report, size):
    opened = open_page(report, size)
    assert (opened.requests, opened.errors) == ([], [])
    assert opened.page.locator(".chart svg.marks").count() == CHARTS
    assert opened.page.locator(".broken").count() == 0
    assert opened.overflow() == 0
    widest = opened.page.evaluate(
        "Math.max(...[...document.querySelectorAll('.chart svg.marks')].map((s) => s.getBoundingClientRect().right))"
    )
    assert widest <= size[0] + 1


def test_hostile_text_runs_nowhere_and_is_read_as_text(open_page, report):
    page = open_page(report).page
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert SCRIPT in page.locator("td[headers~=ledger-statement]").nth(4).inner_text()
    assert page.locator("#figure-names svg text", has_text="</script>").count() >= 1


def test_a_click_on_a_legend_changes_the_chart(open_page, report):
    page = open_page(report).page
    bars = "#figure-bars .chart svg .mark-rect.role-mark path"
    before = page.eval_on_selector_all(bars, "all => all.map((p) => p.getAttribute('opacity'))")
    page.locator("#figure-bars svg .role-legend-symbol path").first.click(force=True)
    page.wait_for_timeout(200)
    after = page.eval_on_selector_all(bars, "all => all.map((p) => p.getAttribute('opacity'))")
    assert len(before) == 8 and before != after and after.count("0.1") == 4


def test_a_verdict_button_shows_its_rows_and_a_link_to_a_hidden_row_shows_all(open_page, report):
    page = open_page(report).page
    rows = page.locator("#ledger tbody tr:visible")
    every = rows.count()
    page.locator("button[data-show=DIFFERS]").click()
    assert rows.count() == 1 and "M02" in rows.first.inner_text()
    page.locator("#figure-line .claims a").click()
    expect(rows).to_have_count(every)
    assert page.locator("#claim-M01").is_visible()


def test_rows_lead_to_their_figures(open_page, report):
    page = open_page(report).page
    page.locator("tr:has(#claim-M01) .figures a").nth(1).click()
    expect(page).to_have_url(re.compile("#figure-bars$"))


def test_what_was_run_unfolds_for_who_is_led_there(open_page, report):
    page = open_page(report).page
    assert not page.locator("#run .groups").is_visible()
    page.locator("nav a[href='#run']").click()
    expect(page.locator("#run .groups")).to_be_visible()


def test_nothing_shows_through_the_menu(open_page, report):
    page = open_page(report).page
    page.evaluate("document.documentElement.style.scrollBehavior = 'auto'; document.querySelector('#figure-line .vega-embed, #figure-line').scrollIntoView()")
    page.evaluate("scrollBy(0, document.querySelector('#figure-line summary').getBoundingClientRect().top - 10)")
    covering = """() => {
        const box = document.querySelector('#figure-line summary').getBoundingClientRect();
        return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2).closest('nav') !== null;
    }"""
    assert page.evaluate(covering)
    assert page.locator("nav").evaluate("n => getComputedStyle(n).backgroundColor") == "rgb(255, 255, 255)"


def test_a_frame_that_scrolls_shows_a_shadow_and_a_narrow_legend_one_entry_a_line(open_page, report):
    page = open_page(report, PHONE).page
    assert page.locator("#table-wide .scroll").evaluate("s => s.scrollWidth > s.clientWidth && getComputedStyle(s).backgroundImage.includes('gradient')")
    tops = page.eval_on_selector_all("#figure-line .role-legend-symbol path", "all => all.map((p) => p.getBoundingClientRect().top)")
    assert len(tops) == 2 and len(set(tops)) == 2


def test_charts_are_drawn_anew_when_the_window_changes(open_page, report):
    opened = open_page(report, DESKTOP)
    opened.page.set_viewport_size({"width": 390, "height": 844})
    opened.page.wait_for_function(
        "[...document.querySelectorAll('.chart')].every((c) => +c.dataset.drawn < 400)"
    )
    assert opened.overflow() == 0 and opened.errors == []
    assert opened.page.locator(".chart svg.marks").count() == CHARTS


def test_side_by_side_stands_below_each_other_on_a_phone(open_page, report):
    def tall(size):
        box = open_page(report, size).page.locator("#figure-pair svg.marks").bounding_box()
        return box["height"] / box["width"]

    assert tall(DESKTOP) < 1 < tall(PHONE)


def test_without_script_every_chart_tells_its_data_as_text(open_page, report):
    page = open_page(report, script=False).page
    assert page.locator(".without-script:visible").count() == CHARTS
    assert page.locator(".filters:visible").count() == 0
    assert "0.0163934" in page.locator("#figure-line").inner_text()
    assert "8 of 8 rows" in page.locator("#figure-line").inner_text()


def test_on_paper_there_are_no_buttons_and_nothing_is_cut(open_page, report):
    opened = open_page(report)
    opened.page.emulate_media(media="print")
    opened.page.set_viewport_size({"width": 794, "height": 1123})
    assert opened.page.locator("nav:visible, .filters:visible, .vega-embed summary:visible").count() == 0
    assert opened.overflow() == 0
    assert len(re.findall(rb"/Type ?/Page\b", opened.page.pdf(format="A4"))) > 1


def test_a_chart_that_cannot_be_drawn_says_so_and_the_others_are_drawn(open_page, report, tmp_path):
    broken = tmp_path / "index.html"
    text = report.read_text(encoding="utf-8")
    broken.write_text(text.replace('"type":"bar"', '"type":"no-such-mark"', 1), encoding="utf-8")
    page = open_page(broken).page
    assert "could not be drawn" in page.locator(".broken").inner_text()
    assert page.locator(".chart svg.marks").count() == CHARTS - 1

"""The report as a browser shows it: desktop and phone, light and dark, with nothing on the console and nothing on the wire."""

import csv
import io
from functools import cache

import pytest

from browser import SCHEMES, WIDTHS, needs_chromium, opening
from dialin.evidence.why_verdict import explain
from dialin.report.render import html
from fixtures import example_reasons, example_studies
from fixtures.example_evidence import unseen
from fixtures.example_readings import with_histograms, with_readings
from fixtures.profiles import profiled
from live import only_with_all

pytestmark = [needs_chromium, pytest.mark.timeout(180)]

UNLIKE = [("winner", "phone", "light"), ("hostile", "desktop", "dark")]
EVERYWHERE = [
    pytest.param(name, why, width, scheme, marks=() if (name, width, scheme) in UNLIKE else only_with_all)
    for name, why in (("winner", example_reasons.full), ("hostile", example_reasons.hostile))
    for width in WIDTHS
    for scheme in SCHEMES
]
DRAWN_ALIKE = {"a_a", "by_stability", "inconclusive", "no_difference", "safe_choice", "tie", "unfinished", "weaker_durability"}
"""Kinds of studies whose reports have the charts of another kind's."""
SHOWN = {"failed_candidate"}
"""Kinds whose reports other tests draw."""
OTHER_KINDS = [
    pytest.param(name, marks=only_with_all if name in DRAWN_ALIKE | SHOWN else ())
    for name in sorted(set(example_studies.EVERY) - {"winner", "hostile"})
]
DRAWN = "[...document.querySelectorAll('.drawing')].every((one) => one.querySelector('svg .xtick'))"
CUT_OFF = """[...document.querySelectorAll('.drawing svg text')].filter((text) => {
  const inner = text.getBoundingClientRect(), outer = text.closest('svg').getBoundingClientRect();
  return inner.width && (inner.left < outer.left - 1 || inner.right > outer.right + 1);
}).map((text) => text.textContent)"""
"""Texts of charts that leave the drawing, where nobody sees them."""
INK = "getComputedStyle(document.querySelector('#forest .xtick text')).fill"


@cache
def page_of(name, why):
    record = with_histograms(with_readings(example_studies.EVERY[name]()))
    return html.render(record, why(record) if why else None)


@pytest.fixture
def report(tmp_path):
    def written(name, why=None):
        path = tmp_path / f"{name}.html"
        path.write_text(page_of(name, why), encoding="utf-8")
        return path

    return written


@pytest.fixture(scope="module")
def shown(chromium, tmp_path_factory):
    """A report's page, opened once for the tests that leave it to the next one as they found it, or nearly so."""
    with opening(chromium) as open_page:

        @cache
        def show(name, why=None, width="desktop", scheme="light"):
            path = tmp_path_factory.mktemp("shown") / f"{name}.html"
            path.write_text(page_of(name, why), encoding="utf-8")
            one = open_page(path, width, scheme)
            one.drawn()
            return one

        yield show


@pytest.fixture
def winner(shown):
    one = shown("winner")
    yield one
    assert one.complaints == []


@pytest.fixture
def hostile(shown):
    return shown("hostile", example_reasons.hostile, "desktop", "dark")


@pytest.fixture
def dark(winner):
    """The same page on a desk that is dark for a while."""
    light = winner.page.evaluate(INK)
    winner.page.emulate_media(color_scheme="dark")
    winner.until(f"{INK} !== {light!r}")
    yield winner
    winner.page.emulate_media(color_scheme="light")
    winner.until(f"{INK} === {light!r}")


@pytest.mark.parametrize(("name", "why", "width", "scheme"), EVERYWHERE)
def test_every_chart_is_drawn_quietly_and_nobody_is_shut_out(shown, name, why, width, scheme):
    one = shown(name, why, width, scheme)
    assert one.violations() == []
    assert one.complaints == []
    assert one.asked_of_others == []
    assert one.page.evaluate(DRAWN)
    assert one.page.evaluate(CUT_OFF) == []
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"


@pytest.mark.parametrize("name", OTHER_KINDS)
def test_the_report_of_every_kind_of_study_is_drawn(opened, report, name):
    one = opened(report(name))
    one.drawn()
    assert one.page.evaluate(DRAWN)
    assert one.complaints == []
    assert one.asked_of_others == []


def test_a_term_is_explained_at_the_pointer_and_at_the_focus_and_escape_hides_it(winner):
    one = winner  # it stands first of those that share the page: no mouse has clicked, and the keyboard makes its focus visible
    tip = one.page.locator(".tip")
    one.page.locator("#candidates-table [data-term=cv]").hover()
    assert tip.inner_text().startswith("coefficient of variation")
    one.page.mouse.move(1, 1)
    one.page.locator(".order-table [data-term=block]").focus()
    assert tip.inner_text().startswith("trials close together in time")
    one.page.keyboard.press("Escape")
    assert not tip.is_visible()


def test_charts_follow_the_page_from_light_to_dark(winner):
    light = winner.page.evaluate(INK)
    winner.page.emulate_media(color_scheme="dark")
    winner.until(f"{INK} !== {light!r}")
    winner.page.emulate_media(color_scheme="light")
    winner.until(f"{INK} === {light!r}")


def test_a_column_sorts_the_table_by_mouse_and_by_keyboard(winner):
    first = "document.querySelector('.sortable tbody th').textContent"
    column = winner.page.locator(".sortable thead button").nth(1)
    assert winner.page.evaluate(first) == "1"
    column.click()
    assert winner.page.evaluate(first) == "16"
    assert winner.page.locator(".sortable thead th").nth(1).get_attribute("aria-sort") == "descending"
    column.press("Enter")
    assert winner.page.evaluate(first) == "1"


def test_figures_that_are_missing_sort_last_both_ways(shown):
    one = shown("failed_candidate")
    for _ in range(2):
        one.page.locator(".sortable thead button").nth(1).click()
        assert one.page.evaluate("[...document.querySelectorAll('.sortable tbody tr')].at(-1).cells[1].textContent") == "–"


def test_a_candidate_can_be_switched_off_in_the_combined_chart_and_on_again(winner):
    points = "document.querySelector('#combined').data.reduce((sum, trace) => sum + (trace.x || []).length, 0)"
    button = winner.page.locator("[data-chart=combined]").first
    before = winner.page.evaluate(points)
    button.click()
    winner.until(f"{points} < {before}")
    assert button.get_attribute("aria-pressed") == "false"
    button.press("Space")
    winner.until(f"{points} === {before}")


def menu_of(one, key):
    """Open the menu of a chart or a table."""
    summary = one.page.locator(f"details[data-key='{key} menu'] summary")
    summary.click()
    return summary


def test_a_report_of_seven_candidates_has_few_buttons_and_its_menus_are_accessible(shown):
    one = shown("winner", example_reasons.full, "phone", "light")
    visible = "[...document.querySelectorAll('main button')].filter((button) => button.checkVisibility())"
    of_content = f"{visible}.filter((button) => !button.closest('.legend, thead, .copyable, .copies, .measures'))"
    assert one.page.evaluate(f"{of_content}.map((button) => button.textContent)") == []
    menu_of(one, "over-time-1")
    assert one.page.evaluate(f"{of_content}.map((button) => button.textContent)") == ["Save as PNG", "Save as SVG"]
    assert one.violations(".menu[open]") == []


def test_a_menu_closes_with_escape_and_with_a_click_beside_it(winner):
    opened_menus = "document.querySelectorAll('.menu[open]').length"
    for close in (lambda: winner.page.keyboard.press("Escape"), lambda: winner.page.locator("h1").click()):
        menu_of(winner, "combined")
        assert winner.page.evaluate(opened_menus) == 1
        close()
        assert winner.page.evaluate(opened_menus) == 0


def test_a_single_trial_can_be_switched_off_in_its_candidate_s_chart(winner):
    words = "document.querySelector('#over-time-1').data.flatMap((trace) => trace.text || []).join()"
    menu_of(winner, "over-time-1")
    button = winner.page.locator("[data-chart=over-time-1]").first
    name = button.get_attribute("aria-label")
    assert name in winner.page.evaluate(words)
    button.click()
    winner.until(f"!{words}.includes({name + ','!r})")
    button.click()
    winner.until(f"{words}.includes({name + ','!r})")
    winner.page.keyboard.press("Escape")


def test_the_charts_over_time_turn_to_latency(winner):
    title = "document.querySelector('#over-time-1 .ytitle').textContent"
    assert winner.page.evaluate(title) == "transactions/s"
    winner.page.get_by_role("button", name="Latency, p95").click()
    winner.drawn()
    assert winner.page.evaluate(title) == "p95 latency, ms"
    assert winner.page.evaluate(DRAWN)
    winner.page.get_by_role("button", name="Throughput", exact=True).click()
    winner.drawn()
    assert winner.page.evaluate(title) == "transactions/s"


def test_actions_of_the_reader_stay_when_the_page_is_made_anew(opened, report):
    one = opened(report("winner"))
    one.drawn()
    page = one.page
    page.locator("[data-chart=combined]").nth(2).click()
    page.get_by_role("button", name="Latency, p95").click()
    page.locator("details[data-key=trials] > summary").click()
    page.locator(".sortable thead button").nth(1).click()
    page.evaluate("scrollTo({ top: 900, behavior: 'instant' })")
    page.evaluate(
        """() => {
          window.data = JSON.parse(document.getElementById("dialin-data").textContent);
          const main = document.querySelector("main").cloneNode(true);
          main.querySelectorAll(".drawing").forEach((one) => { one.innerHTML = ""; one.className = "drawing"; });
          main.querySelectorAll("details").forEach((one) => { one.open = false; });
          const body = main.querySelector(".sortable tbody");
          body.append(...[...body.rows].sort((a, b) => a.cells[0].dataset.order - b.cells[0].dataset.order));
          document.documentElement.dataset.charts = "";
          dialin.show(window.data, main.innerHTML.replace(/aria-pressed="false"/g, 'aria-pressed="true"'));
        }"""
    )
    one.drawn()
    assert page.locator("[data-chart=combined]").nth(2).get_attribute("aria-pressed") == "false"
    assert page.get_by_role("button", name="Latency, p95").get_attribute("aria-pressed") == "true"
    assert page.evaluate("document.querySelector('details[data-key=trials]').open")
    assert page.evaluate("document.querySelector('.sortable tbody th').textContent") == "16"
    assert page.evaluate("scrollY") == 900
    assert page.evaluate("document.activeElement.dataset.key").startswith("sort")
    assert page.evaluate(DRAWN)
    assert one.complaints == []


TOO_SMALL = """
[...document.querySelectorAll("main button, main select, main summary, main td a, main th a, .masthead nav a")]
  .filter((one) => one.checkVisibility())
  .map((one) => [one.textContent.trim(), one.getBoundingClientRect()])
  .filter(([, box]) => box.width < 24 || box.height < 24)
  .map(([text, box]) => `${text}: ${box.width} x ${box.height}`)
"""


@pytest.mark.parametrize("width", ["phone", pytest.param("desktop", marks=only_with_all)])
def test_targets_of_a_finger_are_24_pixels_wide_and_high(shown, width):
    one = shown("winner", example_reasons.full, width, "light")
    one.page.evaluate("document.querySelectorAll('main details').forEach((fold) => { fold.open = true; })")
    assert one.page.evaluate(TOO_SMALL) == []


def test_the_metrics_of_another_trial_are_shown_with_one_crosshair(winner):
    tps = "document.querySelector('#server-metrics').data.find((trace) => trace.meta.metric === 'tps').y.join()"
    first = winner.page.evaluate(tps)
    winner.page.locator("[data-choice=server-metrics]").select_option("7")
    winner.until(f"{tps} !== {first!r}")
    box = winner.page.locator("#server-metrics .nsewdrag").first
    box.scroll_into_view_if_needed()
    place = box.bounding_box()
    winner.page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    winner.until("document.querySelectorAll('#server-metrics .spikeline').length > 0")
    winner.until("document.querySelectorAll('#server-metrics .hoverlayer .legend .traces').length >= 9")


def test_a_trial_leads_to_its_row_and_its_row_to_its_metrics(winner):
    page = winner.page
    page.locator(".order-table td a").nth(3).click()
    row = page.evaluate("document.activeElement.id")
    assert row.startswith("trial-")
    assert page.evaluate("document.querySelector('details[data-key=trials]').open")
    page.locator(f"#{row} th a").click()
    assert page.locator("[data-choice=server-metrics]").input_value() == row.removeprefix("trial-")
    assert page.evaluate("document.activeElement.id") == "server-metrics-title"


def test_a_click_on_a_trial_s_line_leads_to_its_row(winner):
    winner.page.evaluate("document.activeElement.blur()")  # an earlier test may have come to a row
    mark = winner.page.locator("#combined .scatterlayer .points path").first
    mark.scroll_into_view_if_needed()
    place = mark.bounding_box()
    winner.page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    winner.page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    winner.until("document.activeElement.id.startsWith('trial-')")


def test_a_failed_trial_s_state_leads_to_the_end_of_its_log(shown):
    one = shown("failed_candidate")
    one.page.evaluate("document.querySelector('details[data-key=trials]').open = true")
    one.page.locator("a[href^='#failure-']").first.click()
    assert one.page.evaluate("document.activeElement.id").startswith("failure-")
    assert one.page.evaluate("document.activeElement.checkVisibility()")


def test_a_chart_can_be_saved_as_a_picture_on_white(dark):
    one, saved = dark, {}
    menu_of(one, "forest")
    for form in ("png", "svg"):
        with one.page.expect_download() as waiting:
            one.page.locator(f"[data-image=forest][data-format={form}]").click()
        assert waiting.value.suggested_filename == f"forest.{form}"
        saved[form] = waiting.value.path().read_bytes()
    assert saved["png"].startswith(b"\x89PNG")
    assert saved["svg"].startswith(b"<svg")
    assert b"Throughput against the baseline" in saved["svg"]
    assert b"rgb(29, 33, 37)" in saved["svg"], "the ink of paper"
    assert not one.page.evaluate("document.documentElement.classList.contains('paper')")
    assert one.complaints == []


def test_a_table_can_be_saved_as_csv_that_no_spreadsheet_obeys(hostile):
    one = hostile
    one.page.evaluate("document.querySelector('#candidates-table tbody th').textContent = '=1+1, \"x\"'")
    menu_of(one, "candidates-table")
    with one.page.expect_download() as waiting:
        one.page.locator("[data-csv=candidates-table]").click()
    one.page.keyboard.press("Escape")
    rows = list(csv.reader(io.StringIO(waiting.value.path().read_text(encoding="utf-8-sig"))))
    assert rows[0][0] == "candidate"
    assert rows[1][0] == '\'=1+1, "x"'
    assert len({len(row) for row in rows}) == 1
    assert not [cell for row in rows for cell in row if cell[:1] in "=@" and cell]


def test_a_table_can_be_copied_as_markdown_in_which_nothing_is_markup(hostile):
    one = hostile
    kept = "{value: {writeText: async (text) => { window.copied = text; }}, configurable: true}"
    one.page.evaluate(f"Object.defineProperty(navigator, 'clipboard', {kept})")
    one.page.evaluate("document.querySelector('#candidates-table tbody th').textContent = 'a|b <i> @all'")
    menu_of(one, "candidates-table")
    one.page.locator("[data-markdown=candidates-table]").click()
    one.page.keyboard.press("Escape")
    one.until("window.copied !== undefined")
    head, rule, first, *others = one.page.evaluate("window.copied").splitlines()
    assert head.startswith("| candidate ")
    assert first.startswith("| a&#124;b &#60;i&#62; &#64;all | ")
    assert set(rule) == {"|", "-"}
    assert {line.count("|") for line in (head, rule, first, *others)} == {head.count("|")}


def test_a_zoomed_chart_can_be_set_back(winner):
    button = winner.page.locator("[data-reset=combined]")
    assert not button.is_visible()
    box = winner.page.locator("#combined .nsewdrag").first
    box.scroll_into_view_if_needed()
    place = box.bounding_box()
    span = "document.querySelector('#combined').layout.xaxis.range.join()"
    before = winner.page.evaluate(span)
    winner.page.mouse.move(place["x"] + 100, place["y"] + 40)
    winner.page.mouse.down()
    winner.page.mouse.move(place["x"] + 400, place["y"] + 160, steps=5)
    winner.page.mouse.up()
    winner.until(f"{span} !== {before!r}")
    button.click()
    winner.until(f"{span} === {before!r}")
    assert not button.is_visible()


def test_a_script_that_got_in_would_not_run(hostile):
    one = hostile
    one.page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.got_in = 1'; document.body.append(s); }"
    )
    assert one.page.evaluate("window.got_in") is None
    assert "<script>alert('x')</script>" in one.page.locator("h1").inner_text()


def test_it_prints_in_light_colours_and_goes_back(dark):
    ink = dark.page.evaluate(INK)
    dark.page.evaluate("() => { dispatchEvent(new Event('beforeprint')) }")
    dark.until(f"{INK} !== {ink!r}")
    dark.page.evaluate("() => { dispatchEvent(new Event('afterprint')) }")
    dark.until(f"{INK} === {ink!r}")
    assert dark.complaints == []


def test_it_can_be_printed(winner):
    assert len(winner.page.pdf(format="A4")) > 100_000


def test_a_browser_that_cannot_unpack_the_charts_shows_their_words(report, chromium):
    context = chromium.new_context()
    page = context.new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.add_init_script("delete window.DecompressionStream")
    page.goto(report("winner").as_uri())
    page.wait_for_selector("html[data-charts=none]", state="attached")
    assert page.locator("#forest-text").inner_text().startswith("Bars are")
    assert not page.locator("#forest").is_visible()
    assert page.locator(".undrawn").is_visible()
    assert page.locator("#candidates-table tbody tr").count() == 7
    assert complaints == []
    context.close()


def test_a_chart_that_cannot_be_drawn_leaves_its_words_and_the_other_charts(report, chromium):
    page = chromium.new_context().new_page()
    path = report("winner")
    path.write_text(path.read_text(encoding="utf-8").replace('"forest":{"data":', '"forest":{"other":'), encoding="utf-8")
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-charts=drawn]", state="attached")
    assert not page.locator("#forest").is_visible()
    assert page.locator("#forest-text").is_visible()
    assert page.locator(".undrawn").is_visible()
    assert page.locator("#combined .scatterlayer").count() == 1
    page.context.close()


def test_without_scripts_everything_but_the_charts_is_there(report, chromium):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report("winner").as_uri())
    assert page.locator("noscript").inner_text().startswith("Charts need JavaScript")
    assert page.locator(".sortable tbody tr").count() == 7
    context.close()


def test_a_function_that_is_gone_has_a_bar_in_the_difference_alone(opened, tmp_path):
    record = profiled(unseen(), "16", 5, {"function_58": 0.0})
    path = tmp_path / "profile.html"
    path.write_text(html.render(record, explain(record)), encoding="utf-8")
    one = opened(path)
    one.drawn()
    gone = "[...document.querySelectorAll('.flame-graph button')].find((bar) => /function_58/.test(bar.title))"
    assert one.page.evaluate(f"{gone}.getBoundingClientRect().width") > 0
    assert one.page.evaluate(f"{gone}.dataset.change") == "less"
    assert "(gone with " in one.page.evaluate(f"{gone}.title")
    assert one.page.evaluate(f"{gone}.style.getPropertyValue('--left')") == "0%"
    one.page.locator("[data-flame-view]").select_option("second")
    assert one.page.evaluate(f"{gone}.hidden")
    one.page.locator("[data-flame-view]").select_option("first")
    assert not one.page.evaluate(f"{gone}.hidden")
    assert one.complaints == []

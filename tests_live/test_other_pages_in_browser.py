"""The pages of suites, of analyses of logs, and of studies under the server's own traffic, as a browser shows them."""

from pathlib import Path

import pytest

from browser import SCHEMES, WIDTHS, needs_chromium
from dialin.evidence.why_verdict import explain
from dialin.logs.analyze_runs import analyze
from dialin.logs.beside_logs import read_beside
from dialin.logs.judgement import Request
from dialin.logs.log_folder import load
from dialin.report.charts.analysis_charts import RunSeries, looks
from dialin.report.document.analysis_document import analysis_document
from dialin.report.render import html, suite_files
from fixtures.example_suites import mixed
from fixtures.live_studies import Live, live_record
from live import only_with_all

pytestmark = [needs_chromium, pytest.mark.timeout(180)]

LOGS = Path(__file__).parents[1] / "tests" / "fixtures" / "log_folders"
FOLDERS = {"alternatives": "no-comma", "suite of logs": "summary-only", "scaling": "one-server", "ramp": "rate-ramp"}


def _analysis(name):
    path = LOGS / FOLDERS[name]
    folder = load([path])
    found = analyze(folder, Request(), read_beside({run.name: run.path for run in folder.runs}, [path]))
    series = [RunSeries(run.name, run.log.times.tolist(), run.log.tps.tolist()) for run in folder.runs]
    body = html.document_body(analysis_document(found, series), looks(found))
    return html.page_of(body, "analysis of logs")


def _suite(_name):
    return suite_files.texts(mixed())["report.html"]


def _live(_name):
    record = live_record(Live(effects={"400": 1.2}))
    return html.render(record, explain(record))


PAGES = {**dict.fromkeys(FOLDERS, _analysis), "suite": _suite, "live traffic": _live}
ALWAYS = {("alternatives", "desktop", "light"), ("suite", "phone", "dark"), ("live traffic", "phone", "light")}
EVERYWHERE = [
    pytest.param(name, width, scheme, marks=() if (name, width, scheme) in ALWAYS else only_with_all)
    for name in PAGES
    for width in WIDTHS
    for scheme in SCHEMES
]


@pytest.mark.parametrize(("name", "width", "scheme"), EVERYWHERE)
def test_it_is_drawn_quietly_and_nobody_is_shut_out(opened, tmp_path, name, width, scheme):
    page = tmp_path / "page.html"
    page.write_text(PAGES[name](name), encoding="utf-8")
    one = opened(page, width, scheme)
    one.drawn()
    assert one.violations() == []
    assert one.complaints == []
    assert one.asked_of_others == []
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"

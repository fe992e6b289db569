"""The live page of real studies, in a real browser: to their end, after a kill, and stopped from the page."""

import os
import re
import sys
import time
from pathlib import Path

import psutil
import pytest

from browser import needs_chromium
from dialin.store.lock import holder
from dialin.store.store import Store
from live import EASY, FAST, LIMIT, SHORT, Dialin, interrupt, kill, measuring, only_with_all, until

pytestmark = [needs_chromium, pytest.mark.timeout(600)]

SWEEP = [
    "sweep",
    "read_buffer_size=128K,256K",
    "--server",
    FAST,
    *SHORT,
    *EASY,
    "--goal",
    "latency",
    "--worthwhile",
    "0.1%",
    "--confidence",
    "0.999",
    "--minutes",
    "60",
]
"""A study that does not end before its test has seen what it wants to see, however slow the machine is."""

LINK = re.compile(r"http://127\.0\.0\.1:\d+/[\w-]{8}/\?t=[\w-]{32}")

STATE = "document.documentElement.dataset.state"
HEADLINE = "document.querySelector('main h1')?.textContent"


def link_of(stream):
    """The link that a process prints."""
    for line in stream:
        if found := LINK.search(line):
            return found[0]
    raise AssertionError("no link was printed")


def page_of(directory):
    """The process that serves the page of a study."""
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "watch" in words and str(directory) in words:
            return process
    return None


def link_for_another(one):
    """A link for another viewer: each lets in one."""
    one.page.locator("#share").click()
    one.until("document.getElementById('share-dialog').open")
    link = one.page.locator("#share-link").text_content()
    one.page.locator("#share-dialog button[value=close]").click()
    return link


def is_state(*states):
    return f"{list(states)}.includes({STATE})"


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """The directory of a study that runs as long as there are tests which only look at it."""
    dialin = Dialin(tmp_path_factory.mktemp("running"))
    out = dialin.directory / "study"
    dialin.start(*SWEEP, "--measure", "6", "--out", out)
    measuring(out, position=2)
    yield out
    dialin.end()


@pytest.fixture
def watched(dialin):
    """Watches a study with a process of its own; returns that and the link."""

    def watch(out):
        process = dialin.start("watch", out)
        return process, link_of(process.stdout)

    return watch


def test_the_page_follows_a_study_to_its_end_on_a_desk_and_on_a_phone(dialin, opened):
    out = dialin.directory / "study"
    process = dialin.start(*SWEEP, "--out", out, "--watch")
    link = link_of(process.stderr)
    pages = [opened(link, "phone", "dark")]
    if "DIALIN_TEST_ALL" in os.environ:  # a desk sees a study that is killed, below
        pages.append(opened(link_for_another(pages[0]), "desktop", "light"))
    for one in pages:
        one.until("location.search === ''")  # the token is not kept in the address
        one.until(is_state("running"))
        one.until("document.documentElement.dataset.live === 'drawn'")
        one.until("document.querySelectorAll('#rows tr.runs').length === 1")
        one.until(f"{HEADLINE}")
        assert one.violations() == []
        assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"
    measuring(out, block=2)
    interrupt(process)
    with Store.open(out) as store:
        spent = sum(trial.seconds for trial in store.trials()) / 60
    dialin("resume", out, "--minutes", max(0.5, spent + 0.1), code=dialin.any_code)  # it comes to its verdict
    for one in pages:
        one.until(is_state("finished"))
        one.until(f"document.querySelector('.outcome') && !document.querySelector('.outcome.none') && {HEADLINE} !== ''")
        one.drawn()
        assert one.page.evaluate(
            "[...document.querySelectorAll('main .drawing')].every((one) => one.querySelector('svg .xtick'))"
        ), "every chart of the report is drawn"
        assert one.violations() == []
        assert one.complaints == []
        assert one.asked_of_others == []
    page_of(out).terminate()


@only_with_all  # test_report_in_browser.py shows it of a page that is made anew
def test_actions_of_the_reader_stay_while_the_page_grows(opened, running, watched):
    one = opened(watched(running)[1])
    one.until("document.documentElement.dataset.report >= 1")
    switch = one.page.locator("main button[data-chart=combined]").first
    switch.click()
    before = one.page.evaluate("document.documentElement.dataset.report")
    one.until(f"document.documentElement.dataset.report > {before}")
    one.drawn()
    assert switch.get_attribute("aria-pressed") == "false"
    assert one.page.evaluate("scrollY") > 0, "it is where the reader was"
    assert one.complaints == []


def test_a_study_that_is_killed_is_shown_dead_goes_on_and_stops_after_its_block_from_the_page(dialin, opened, watched):
    out = dialin.directory / "study"
    process = dialin.start(*SWEEP, "--out", out)
    measuring(out)
    watching, link = watched(out)
    one = opened(link)
    one.until(is_state("running"))
    kill(process.pid)
    process.communicate()
    one.until(is_state("dead"))
    assert one.page.locator("#command-text").text_content() == f"dialin resume {out}"
    assert one.page.locator("#stop-now").is_hidden()
    assert "Dead" in one.page.locator("#announced").text_content()

    resumed = dialin.start("resume", out)
    one.until(is_state("running"))
    one.page.locator("#after-block").click()
    _, err = resumed.communicate(timeout=LIMIT)
    assert resumed.returncode == 130, err
    assert "Stopped after a block, as requested" in err
    assert f"dialin resume {out}" in err
    one.until(is_state("stopped"))
    assert one.page.locator("#command-text").text_content() == f"dialin resume {out}"

    err = interrupt(watching)
    assert watching.returncode == 0, err
    assert "Traceback" not in err
    one.until(is_state("lost"))
    assert one.page.locator("#command-text").text_content() == f"dialin watch {out}"


def test_a_stop_after_the_block_is_taken_back_and_the_study_is_stopped_at_once_after_a_question(dialin, opened, watched):
    out = dialin.directory / "study"
    process = dialin.start(*SWEEP, "--measure", "300", "--out", out)  # no block ends between two clicks
    measuring(out)
    one = opened(watched(out)[1], "phone")
    one.until(is_state("running"))
    announced = "document.getElementById('sentence').textContent.includes('The study stops after this block')"
    one.page.locator("#after-block").click()
    one.until(announced)
    one.page.locator("#after-block").click()
    one.until(f"!{announced}")
    one.page.locator("#stop-now").click()
    assert one.page.locator("#stop-command").text_content() == f"dialin resume {out}"
    one.page.keyboard.press("Escape")
    assert holder(out).pid == process.pid
    one.page.locator("#stop-now").click()
    one.page.locator("#stop-dialog button[value=stop]").click()
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, err
    assert f"dialin resume {out}" in err
    one.until(is_state("stopped"))
    assert one.complaints == []


@only_with_all  # tests/dashboard shows what several viewers get
def test_several_viewers_are_served_from_the_store_by_one_reader_that_gives_way(opened, running, watched):
    watching, link = watched(running)
    first = opened(link)
    first.until("document.documentElement.dataset.report >= 1")
    viewers = [first, opened(link_for_another(first))]
    for one in viewers:
        one.until(is_state("running"))
    page = psutil.Process(watching.pid)
    assert page.nice() >= 10
    of_python = {Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()}  # it may be loading a module just now
    opened_files = [Path(file.path) for file in page.open_files()]
    assert {path.parent for path in opened_files if not of_python & {*path.parents}} <= {running, Path("/dev")}
    here = page.net_connections("inet")
    assert {entry.laddr.port for entry in here} == {int(link.rpartition(":")[2].partition("/")[0])}
    assert not [entry for entry in page.net_connections("unix") if "mysql" in str(entry.laddr)]

    def share():
        used, began = sum(page.cpu_times()[:2]), time.monotonic()
        time.sleep(5)
        return (sum(page.cpu_times()[:2]) - used) / (time.monotonic() - began)

    # Of one CPU, with both viewers, between two times that it makes the report, each of which takes a while.
    until(lambda: share() < 0.25)

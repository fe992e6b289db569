"""The report as a browser shows it: desktop and phone, light and dark, with nothing on the console and nothing on the wire."""

import json
import os
import shutil
import subprocess
import time
from contextlib import suppress

import pytest

from dialin.report import html
from dialin.testing import records

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
]  # fmt: skip

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH: apt-get install chromium"),
    pytest.mark.timeout(120),
]


class Browser:
    """A headless Chromium, spoken to over the pipe of its debugging protocol."""

    def __init__(self, profile):
        child_reads, self._out = os.pipe()
        self._in, child_writes = os.pipe()
        script = f'exec 3<&{child_reads} 4>&{child_writes} && exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(child_reads, child_writes),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(child_reads)
        os.close(child_writes)
        self._buffer, self._number, self._session, self.events = b"", 0, None, []

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _next(self):
        while b"\0" not in self._buffer:
            piece = os.read(self._in, 1 << 20)
            assert piece, "chromium went away"
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(line)

    def open(self, path, width, scheme):
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.events.clear()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        self.prefer(scheme)
        self.call("Page.navigate", url=path.as_uri())
        self.wait_for("document.documentElement?.dataset.charts === 'drawn'")

    def prefer(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def run(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_for(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not self.run(condition):
            assert time.monotonic() < end, f"{condition} did not come true"
            time.sleep(0.05)

    def heard(self, *methods):
        return [event["params"] for event in self.events if event.get("method") in methods]

    def close(self):
        with suppress(OSError, AssertionError):
            self._session = None
            self.call("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    one = Browser(tmp_path_factory.mktemp("profile"))
    yield one
    one.close()


@pytest.fixture
def report(tmp_path):
    def written(name):
        path = tmp_path / f"{name}.html"
        path.write_text(html.render(records.EVERY[name]()), encoding="utf-8")
        return path

    return written


def complaints(browser):
    return browser.heard(
        "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening"
    )


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        *((name, 1280, "light") for name in sorted(records.EVERY)),
        *(("hostile", width, scheme) for width, scheme in ((1280, "dark"), (390, "light"), (390, "dark"))),
        ("winner", 390, "light"),
    ],
)
def test_every_chart_is_drawn_quietly_and_nothing_is_asked_of_the_network(browser, report, name, width, scheme):
    browser.open(report(name), width, scheme)
    assert complaints(browser) == []
    asked = [event["request"]["url"] for event in browser.heard("Network.requestWillBeSent")]
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert browser.run("[...document.querySelectorAll('.drawing')].every((one) => one.querySelector('svg .xtick'))")
    assert browser.run("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"


def test_charts_follow_the_page_from_light_to_dark(browser, report):
    ink = "getComputedStyle(document.querySelector('#forest .xtick text')).fill"
    browser.open(report("winner"), 1280, "light")
    light = browser.run(ink)
    browser.prefer("dark")
    browser.wait_for(f"{ink} !== {light!r}")
    assert complaints(browser) == []


def test_a_click_on_a_column_sorts_the_table(browser, report):
    browser.open(report("winner"), 1280, "light")
    first = "document.querySelector('.sortable tbody th').textContent"
    assert browser.run(first) == "1"
    browser.run("document.querySelectorAll('.sortable thead button')[1].click()")
    assert browser.run(first) == "16"
    assert browser.run("document.querySelectorAll('.sortable thead th')[1].getAttribute('aria-sort')") == "descending"
    browser.run("document.querySelectorAll('.sortable thead button')[1].click()")
    assert browser.run(first) == "1"


def test_figures_that_are_missing_sort_last_both_ways(browser, report):
    browser.open(report("failed_candidate"), 1280, "light")
    last = "[...document.querySelectorAll('.sortable tbody tr')].at(-1).cells[1].textContent"
    for _ in range(2):
        browser.run("document.querySelectorAll('.sortable thead button')[1].click()")
        assert browser.run(last) == "–"


def test_a_candidate_can_be_switched_off_in_the_combined_chart(browser, report):
    browser.open(report("winner"), 1280, "light")
    lines = "document.querySelectorAll('#combined .scatterlayer .trace').length"
    before = browser.run(lines)
    browser.run("document.querySelector('.legend button').click()")
    browser.wait_for(f"{lines} === {before - 1}")
    assert browser.run("document.querySelector('.legend button').getAttribute('aria-pressed')") == "false"
    assert complaints(browser) == []


def test_a_script_that_got_in_would_not_run(browser, report):
    browser.open(report("hostile"), 1280, "light")
    browser.run(
        "{const s = document.createElement('script'); s.textContent = 'window.got_in = 1'; document.body.append(s); undefined}"
    )
    assert browser.run("window.got_in") is None
    assert "<script>alert('x')</script>" in browser.run("document.querySelector('h1').textContent")


def test_it_prints_in_light_colours_and_goes_back(browser, report):
    browser.open(report("winner"), 1280, "dark")
    ink = "getComputedStyle(document.querySelector('#forest .xtick text')).fill"
    dark = browser.run(ink)
    browser.run("dispatchEvent(new Event('beforeprint'))")
    browser.wait_for(f"{ink} !== {dark!r}")
    browser.run("dispatchEvent(new Event('afterprint'))")
    browser.wait_for(f"{ink} === {dark!r}")
    assert complaints(browser) == []

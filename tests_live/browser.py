"""Pages in a real browser: the system's Chromium, headless, at a desk's and a phone's width, in light and dark.

What a page complains of and what it asks for is kept from its first byte on, so that a test can say that there was nothing.
"""

import shutil
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import playwright
import pytest

from live import LIMIT

# The shell takes a quarter less CPU: it draws pages, and no windows around them.
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))), None
)
WIDTHS = {"desktop": 1280, "phone": 390}
SCHEMES = ("light", "dark")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update"]

NODE = Path(playwright.__file__).parent / "driver" / "node"


def _find_missing() -> str:
    """Return what a browser lacks on this machine, and how to install it; empty where it lacks nothing."""
    if CHROMIUM is None:
        return "no chromium on PATH: apt-get install chromium-headless-shell"
    if subprocess.run([NODE, "--version"], capture_output=True).returncode:
        return "Playwright's Node.js does not run: apt-get install libatomic1"
    return ""


MISSING = _find_missing()
needs_chromium = pytest.mark.skipif(bool(MISSING), reason=MISSING)

_LOCAL = ("file:", "data:", "blob:", "about:", "http://127.0.0.1:", "http://localhost:", "http://[::1]:")


@dataclass
class Opened:
    """A page, with all that it complained of and asked for.

    Attributes:
        page: Playwright's page.
        complaints: messages on the console, exceptions that nobody caught, and dialogs.
        asked: the address of every request.
    """

    page: Any
    complaints: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    @property
    def asked_of_others(self) -> list[str]:
        """The requests that left the machine."""
        return [url for url in self.asked if not url.startswith(_LOCAL)]

    def drawn(self) -> None:
        """Wait until every chart of a report is drawn."""
        self.page.wait_for_selector("html[data-charts=drawn]", state="attached", timeout=1000 * LIMIT)

    def until(self, condition: str) -> None:
        """Wait until an expression is true in the page; Playwright's own way of waiting is not let in by a page's policy."""
        end = time.monotonic() + LIMIT
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"{condition} did not come true"
            time.sleep(0.2)

    def violations(self, within: str | None = None) -> list[str]:
        """Return what axe-core finds serious or critical: the rule, and the elements that break it.

        It takes seconds of CPU for a whole report; `within` selects an element of it.
        """
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page, within).response["violations"]
        return [
            f"{one['id']} ({one['impact']}): {[node['target'] for node in one['nodes']]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]


@pytest.fixture(scope="module")
def chromium():
    """A headless Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def opening(chromium):
    """Opens pages, by file or address, at a width (`desktop`, `phone`) and in a scheme (`light`, `dark`), until it ends."""
    contexts = []

    def open_page(where, width="desktop", scheme="light") -> Opened:
        context = chromium.new_context(
            viewport={"width": WIDTHS[width], "height": 900 if width == "desktop" else 844},
            color_scheme=scheme,
            has_touch=width == "phone",
            is_mobile=width == "phone",
        )
        context.set_default_timeout(1000 * LIMIT)
        contexts.append(context)
        one = Opened(context.new_page())
        one.page.on("console", lambda message: one.complaints.append(f"{message.type}: {message.text}"))
        one.page.on("pageerror", lambda error: one.complaints.append(f"exception: {error}"))
        one.page.on("request", lambda request: one.asked.append(request.url))

        def refuse(dialog):
            one.complaints.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        one.page.on("dialog", refuse)
        one.page.goto(where.as_uri() if isinstance(where, Path) else where)
        return one

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def opened(chromium):
    with opening(chromium) as open_page:
        yield open_page

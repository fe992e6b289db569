"""Writes docs/images: reports and the live page of the stored example studies, and analyses of logs, as people see them.

    python scripts/screenshots.py [--only report|live|tie|...] [--out docs/images]

The studies are real ones, stored in docs/example. Their reports are opened in headless Chromium on a desktop and on a phone, in
light and dark. For the live page the first study is written again up to the middle of one of its trials, with its clock
set so that this is now, and `dialin watch` serves the page. The analyses are of folders of logs in tests/fixtures.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dialin.evidence.measured import figures_of
from dialin.evidence.proof_view import proof_view
from dialin.evidence.server_metrics import READINGS
from dialin.evidence.why_verdict import explain
from dialin.model.evidence import PointColumns
from dialin.model.progress import Progress, SessionState
from dialin.model.record import StudyRecord
from dialin.model.trial import Step, TrialState
from dialin.report import files
from dialin.store.lock import sole_runner
from dialin.store.store import Store
from dialin.verdict.reach_verdict import standings

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "docs" / "example"
CUT_AT = 0.55
"""How far the study is, as the live page's picture shows it."""


@dataclass(frozen=True)
class Shot:
    """A picture: of which page, how wide and high, in which scheme, and what of it is at the top.

    The page is `live`, or the name of a stored study, whose report it is, or of a folder of logs; `report` is that of the first
    study.
    """

    name: str
    page: str
    width: int
    height: int
    scheme: str = "light"
    top: str = ""


SHOTS = (
    Shot("report", "report", 1280, 800),
    Shot("report-dark", "report", 1280, 800, "dark"),
    Shot("report-candidates", "report", 1280, 800, top="#candidates"),
    Shot("report-over-time", "report", 1280, 800, top="#over-time"),
    Shot("report-latency", "report", 1280, 800, top="#transaction-latency-title"),
    Shot("report-server-metrics", "report", 1280, 800, top="#server-metrics-title"),
    Shot("failure-dark", "failure", 1280, 800, "dark"),
    Shot("tune", "tune", 1280, 800, top="#search"),
    Shot("tune-variables", "tune", 1280, 760, top="#tune-responses-title"),
    Shot("live", "live", 1280, 800),
    Shot("analyze-alternatives", "alternatives", 1280, 600, top="#over-time"),
    Shot("analyze-suite", "suite", 1280, 700),
    Shot("analyze-scaling", "scaling", 1280, 600, top="#over-time"),
    Shot("analyze-ramp", "ramp", 1280, 560),
)
LOGS = {"alternatives": "no-comma", "suite": "summary-only", "scaling": "one-server", "ramp": "rate-ramp"}
"""The folder of logs of each page that shows an analysis."""


def example(directory: Path, name: str) -> StudyRecord:
    """Unpack a stored study and return it."""
    with tarfile.open(EXAMPLES / f"{name}.tar.xz") as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
        packed.extractall(directory)  # noqa: S202 - it is of this repository
    with Store.open(next(directory.iterdir())) as store:
        return proof_view(store.read(readings=READINGS))


@contextmanager
def running(record: StudyRecord, directory: Path) -> Iterator[Path]:
    """Write the study as it stood in the middle of a trial, as if that were now and this process ran it."""
    last = int(CUT_AT * len(record.trials))
    trial = record.trials[last]
    seconds = record.samples[trial.id]
    upto = seconds[: int(0.8 * len(seconds))]
    shift = time.time() - upto[-1].at
    with Store.create(
        directory,
        record.spec,
        created=record.created + shift,
        dialin_version=record.dialin_version,
        command=record.command,
        host=record.host,
        servers=record.servers,
        catalogues=record.catalogues,
    ) as store:
        store.begin_session()
        for block in record.blocks:
            store.begin_block(block)
        for one in record.trials[: last + 1]:
            begun = replace(one, started=one.started + shift, state=TrialState.RUNNING)
            store.begin_trial(begun)
            for sample in upto if one is trial else record.samples.get(one.id, ()):
                store.add_sample(begun.id, replace(sample, at=sample.at + shift))
            if one is not trial:
                store.save_trial(replace(begun, state=one.state))
                store.save_watched(begun.id, record.watched.get(one.id, {}).values(), PointColumns())
        for line in record.log:
            if line.at + shift < time.time():
                store.add_line(replace(line, at=line.at + shift))
        store.save_progress(_progress(record, last, shift))
    with sole_runner(directory, "a picture of one"):
        yield directory


def _progress(record: StudyRecord, last: int, shift: float) -> Progress:
    trial, before = record.trials[last], record.trials[:last]
    measured = next(sample.at for sample in record.samples[trial.id] if sample.step is Step.MEASURE)
    ends = record.trials[-1].started + sum(record.trials[-1].steps.values())
    return Progress(
        SessionState.RUNNING,
        began=record.created + shift,
        blocks=max(one.block for one in record.trials),
        ends=ends + shift,
        step=Step.MEASURE,
        step_began=measured + shift,
        standings=standings(record.spec, before, figures_of(record, before)),
    )


@contextmanager
def watched(directory: Path) -> Iterator[str]:
    """Serve the live page of a study; yields a link that opens it once."""
    with subprocess.Popen(
        [sys.executable, "-m", "dialin", "watch", directory],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    ) as process:
        try:
            yield next(line.strip() for line in process.stdout or () if line.startswith("http"))
        finally:
            process.send_signal(signal.SIGINT)


def analyzed(directory: Path, name: str) -> Path:
    """Analyze a folder of logs and return the page."""
    page = directory / "page.html"
    folder = ROOT / "tests" / "fixtures" / "log_folders" / LOGS[name]
    command = [sys.executable, "-m", "dialin", "analyze", str(folder), "--html", str(page)]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    return page


def take(shot: Shot, browser: Any, address: str, out: Path) -> None:
    """Open a page and write its picture."""
    context = browser.new_context(
        viewport={"width": shot.width, "height": shot.height}, color_scheme=shot.scheme, is_mobile=shot.width < 600
    )
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("html[data-charts=drawn]", state="attached", timeout=60_000)
    if shot.page == "live":
        page.wait_for_selector("html[data-live=drawn]", state="attached", timeout=60_000)
    if shot.top:
        page.evaluate(f"document.querySelector('{shot.top}').scrollIntoView({{ behavior: 'instant' }})")
    page.wait_for_timeout(300)
    page.screenshot(path=out / f"{shot.name}.png")
    print(f"{shot.name}.png  {(out / f'{shot.name}.png').stat().st_size // 1024} KiB")  # noqa: T201
    context.close()


def main() -> None:
    """Write the pictures."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=sorted({shot.page for shot in SHOTS}))
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    chromium = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")))
    )
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        pages: dict[str, list[Shot]] = {}
        for shot in SHOTS:
            if options.only in (None, shot.page):
                pages.setdefault(shot.page, []).append(shot)
        for page, shots in pages.items():
            (directory := Path(scratch) / page).mkdir()
            if page in LOGS:
                written = analyzed(directory, page)
                for shot in shots:
                    take(shot, browser, written.as_uri(), options.out)
                continue
            record = example(directory / "stored", "study" if page in ("report", "live") else page)
            if page != "live":
                files.write_all(record, directory, explain(record))
                for shot in shots:
                    take(shot, browser, (directory / "report.html").as_uri(), options.out)
                continue
            (written := directory / "live").mkdir()
            with running(record, written):
                for shot in shots:
                    with watched(written) as link:
                        take(shot, browser, link, options.out)
        browser.close()


if __name__ == "__main__":
    main()

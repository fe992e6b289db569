"""Prints how large the report of a long study is, and how soon a browser shows it.

    PYTHONPATH=tests python benchmarks/report.py [--repeat 5] [--keep FILE] [--check]

The study has 7 candidates, 5 blocks and 10,000 measured seconds in each trial, each with stalls and peaks. Told are the file's
size, how long writing it took, and in headless Chromium, each time in a new profile: when its text stood there (first
contentful paint), when its first chart was drawn, when all of them were, and for how long at most it did not answer (the
longest task). The limits are 6 MiB, and 2 s until all charts are drawn; with --check it fails beyond them.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from dialin.model.record import StudyRecord
from dialin.model.trial import Sample, Step
from dialin.report.render import html
from fixtures import example_reasons, example_studies

CANDIDATES, BLOCKS, WARM_UP, SECONDS = 7, 5, 600, 10_000
LIMIT_MIB, LIMIT_SECONDS = 6.0, 2.0

MOMENTS = """() => new Promise((resolve) => {
  const tasks = [];
  new PerformanceObserver((list) => tasks.push(...list.getEntries().map((one) => one.duration)))
    .observe({ type: "longtask", buffered: true });
  setTimeout(() => resolve({
    text: performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
    first: performance.getEntriesByType("mark")[0].startTime,
    all: performance.getEntriesByType("mark").at(-1).startTime,
    longest: Math.max(0, ...tasks),
  }), 100);
})"""


def long_study() -> StudyRecord:
    """Return the winner's study as if each trial had been measured for hours."""

    rng = np.random.default_rng(1)
    record = example_studies.winner()
    trials = [
        replace(
            trial, steps={**trial.steps, Step.WARM_UP: float(WARM_UP), Step.MEASURE: float(SECONDS)}, started=20_000.0 * place
        )
        for place, trial in enumerate(record.trials[: CANDIDATES * BLOCKS])
    ]
    samples = {}
    for trial in trials:
        level = np.mean([sample.tps for sample in record.samples[trial.id]])
        tps = level * (1 + 0.06 * rng.standard_normal(WARM_UP + SECONDS))
        tps[:WARM_UP] *= np.linspace(0.4, 1.0, WARM_UP)
        tps[rng.integers(0, len(tps), 20)] *= rng.uniform(0.01, 2.0, 20)
        latency = 27_200 / np.maximum(tps, 1.0)
        samples[trial.id] = [
            Sample(
                second,
                trial.started + second,
                Step.WARM_UP if second <= WARM_UP else Step.MEASURE,
                round(float(speed), 2),
                14.0,
                4.0,
                2.0,
                round(float(wait), 2),
                0.0,
                0.0,
            )
            for second, (speed, wait) in enumerate(zip(tps, latency, strict=True), start=1)
        ]
    return replace(record, trials=trials, samples=samples)


def opened(path: Path, chromium: str, repeat: int) -> list[dict[str, float]]:
    """Return the moments of each time that a page was opened, milliseconds from where its loading began."""
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as playwright:
        for _ in range(repeat):
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(path.as_uri(), wait_until="commit")
            page.wait_for_selector("html[data-charts=drawn]", state="attached", timeout=120_000)
            found.append(page.evaluate(MOMENTS))
            browser.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    record = long_study()
    why = example_reasons.full(record)
    html.assets()
    began = time.perf_counter()
    text = html.render(record, why).encode()
    took = time.perf_counter() - began
    size = len(text) / 1024**2
    seconds = sum(map(len, record.samples.values()))
    print(f"report of {len(record.trials)} trials, {seconds:,} seconds: {size:.2f} MiB (limit {LIMIT_MIB:g})")
    print(f"  compressed, as a mail or a web server may send it: {len(gzip.compress(text)) / 1024**2:.2f} MiB")
    print(f"  written in {took:.2f} s")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as directory:
        path = options.keep or Path(directory) / "report.html"
        path.write_bytes(text)
        moments = opened(path.absolute(), chromium, options.repeat) if chromium else []
    if not moments:
        print("  no chromium on PATH: how soon it opens was not measured")
        return int(options.check and size > LIMIT_MIB)
    for key, words in (
        ("text", "its text stands there"),
        ("first", "the first chart is drawn"),
        ("all", "all charts are drawn"),
        ("longest", "longest time without an answer"),
    ):
        times = [one[key] / 1000 for one in moments]
        print(f"  {words}: {statistics.median(times):.2f} s (median of {len(times)}; {min(times):.2f} to {max(times):.2f})")
    slow = statistics.median(one["all"] for one in moments) / 1000 > LIMIT_SECONDS
    return int(options.check and (size > LIMIT_MIB or slow))


if __name__ == "__main__":
    sys.exit(main())

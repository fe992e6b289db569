"""One quantity, one estimator: a reader who divides, adds up or compares figures of a report gets what is printed."""

import io
import json
import math
import re
import tarfile
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from rich.console import Console

from dialin import json_documents
from dialin.errors import UserError
from dialin.evidence.measured import figures_of
from dialin.evidence.proof_view import proof_view
from dialin.evidence.server_metrics import READINGS
from dialin.evidence.why_verdict import explain
from dialin.frames import tables
from dialin.measures.of_verdict import deciding
from dialin.measures.table import MEASURES, measure_of_study
from dialin.model.study import Goal
from dialin.model.trial import Purpose, TrialState
from dialin.model.why import ReasonKind
from dialin.report.document import parts
from dialin.report.document.diff_document import diff_document
from dialin.report.document.study_document import study_document
from dialin.report.render import html
from dialin.report.render.markdown import to_markdown
from dialin.report.render.terminal import print_document
from dialin.store import read_only
from dialin.text import number, percent
from dialin.verdict.reach_verdict import reach_verdict, standings
from dialin.verdict.study_diff import compare_studies
from evidence.recording import RECORDED, load
from fixtures import example_evidence, example_studies
from fixtures.example_readings import with_histograms
from fixtures.generated_studies import generated
from fixtures.live_studies import Live, live_record
from fixtures.long_form import IS_LONG
from fixtures.report_page import Page
from fixtures.tuned import tuned

EXAMPLES = Path(__file__).parents[2] / "docs" / "example"
GENERATED = range(24 if IS_LONG else 4)
OF_SERVERS = sorted(RECORDED.glob("*.json"))[:: 1 if IS_LONG else 3]
TIMED = ("winner", "safe_choice", "by_latency", "failed_candidate")
LIVE = {
    "live": Live(effects={"400": 0.8, "9000": 0.5}, trips=("9000",)),
    "live-load": Live(effects={"400": 0.8}, on_load={"400": 1.1}),
    "live-cost": Live(effects={"400": 1.0}, costs={"400": 0.7}, goal=Goal.CPU),
    "live-throughput": Live(effects={"400": 0.9}, goal=Goal.THROUGHPUT, busy=0.99),
}

FIGURE = r"[−+]?\d[\d,]*(?:\.\d+)?"
UNIT = r"(?: %| [KMGT]iB| B| ms| µs| s\b)?"
SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def judged(record):
    return replace(record, verdict=reach_verdict(replace(record, verdict=None)).verdict)


def stored(name):
    """Return an example study as `dialin report` reads it."""
    with TemporaryDirectory() as scratch:
        with tarfile.open(EXAMPLES / f"{name}.tar.xz") as packed:
            packed.extraction_filter = getattr(tarfile, "data_filter", None)
            packed.extractall(scratch)
        (directory,) = Path(scratch).iterdir()
        return proof_view(read_only.read(directory, lambda store: store.read(readings=READINGS)))


STUDIES = {
    **{
        f"example {path.name.partition('.')[0]}": lambda path=path: stored(path.name.partition(".")[0])
        for path in EXAMPLES.glob("*.tar.xz")
    },
    **{f"invented {name}": make for name, make in example_studies.EVERY.items()},
    **{f"timed {name}": lambda name=name: with_histograms(example_studies.EVERY[name]()) for name in TIMED},
    **{f"watched {name}": lambda make=make: judged(make()) for name, make in example_evidence.EVERY.items()},
    **{f"recorded {path.stem}": lambda path=path: judged(load(path.stem)) for path in OF_SERVERS},
    **{f"tune {gain}": lambda gain=gain: tuned(gain=gain) for gain in (True, False)},
    **{name: lambda live=live: live_record(live) for name, live in LIVE.items()},
    **{f"generated {seed}": lambda seed=seed: generated(seed) for seed in GENERATED},
}


@cache
def study(name):
    record = STUDIES[name]()
    return record, explain(record)


@cache
def document(name):
    return study_document(*study(name))


@cache
def renderings(name):
    """Return the text of a study in each rendering, without line ends."""
    record, why = study(name)
    wide, narrow = io.StringIO(), io.StringIO()
    print_document(document(name), Console(file=wide, width=4000, highlight=False))
    print_document(document(name), Console(file=narrow, width=80, highlight=False))
    texts = {
        "terminal": wide.getvalue(),
        "narrow terminal": narrow.getvalue(),
        "markdown": to_markdown(document(name)),
        "page": Page(html.render(record, why)).words,
    }
    return {name: re.sub(r"[\s\u200b\\*]+", " ", text) for name, text in texts.items()}


every_study = pytest.mark.parametrize("name", sorted(STUDIES))
every_judged = pytest.mark.parametrize("name", sorted(set(STUDIES) - {"invented unfinished"}))


class Shown:
    """A figure as text: the values that it may stand for."""

    def __init__(self, text):
        found = re.search(FIGURE, text)
        digits = found[0].replace(",", "").replace("−", "-")
        unit = text[found.end() :].strip().split(" ")[0] if text[found.end() :].strip() else ""
        factor = SIZES.get(unit, 1)
        half = 0.5 * 10 ** -len(digits.partition(".")[2])
        self.text, self.low, self.high = text, (float(digits) - half) * factor, (float(digits) + half) * factor


def divides(before, after, change):
    """Return whether a change, in percent, is what two levels may differ by, as far as their digits say."""
    a, b, c = Shown(before), Shown(after), Shown(change)
    if a.low <= 0:
        return True
    tolerance = 1e-9 * max(abs(c.low), 1)
    return 100 * (b.low / a.high - 1) <= c.high + tolerance and 100 * (b.high / a.low - 1) >= c.low - tolerance


def contains(low, mean, high):
    return Shown(low).low <= Shown(mean).high and Shown(mean).low <= Shown(high).high


def test_the_reader_of_the_test_divides_as_a_person_would():
    assert divides("48.8", "44.2", "−9.4 %")
    assert not divides("48.8", "44.2", "−7.4 %")
    assert not divides("48.8", "49.8", "+6.9 %")
    assert divides("654 MiB", "1.0 GiB", "+56.6 %")
    assert divides("0", "3", "+10.0 %"), "nothing can be said of a level that may be zero"
    assert contains("4.9", "5", "5.2 ms")
    assert not contains("4.9", "5.4 ms", "5.2")


@every_study
def test_figures_before_and_after_differ_by_the_change_beside_them(name):
    pattern = re.compile(rf"({FIGURE}{UNIT}) → ({FIGURE}{UNIT})(?: [\w/]+)?[.,]? \(?([−+]{FIGURE} %|0\.0 %)")
    for where, text in renderings(name).items():
        for before, after, change in pattern.findall(text):
            assert divides(before, after, change), (where, before, after, change)


@every_study
def test_each_interval_contains_its_figure(name):
    patterns = [
        rf"({FIGURE})( %| [KMGT]?i?B)? \(({FIGURE})(?:\2)? to ({FIGURE})(?:\2)?\)",
        rf"([−+]{FIGURE})( %), \d+ % CI ([−+]?{FIGURE}) % to ([−+]?{FIGURE}) %",
        rf"([−+]{FIGURE})( %); ([−+]?{FIGURE}) % to ([−+]?{FIGURE}) %",
    ]
    for where, text in renderings(name).items():
        for pattern in patterns:
            for mean, unit, low, high in re.findall(pattern, text):
                assert contains(low, mean, high) or unit.endswith("B"), (where, mean, low, high)  # ends may have other units


@every_study
def test_the_figures_of_a_reason_are_those_of_its_chart_and_differ_by_its_change(name):
    record, _ = study(name)
    labels = document(name).candidates
    reason = re.compile(
        rf": ({FIGURE}{UNIT}) .*? with .*?, (none|{FIGURE}{UNIT}) with (.*?)(?: \(([−+]{FIGURE} %);| \({FIGURE} times|[.;])"
    )
    for card in (card for part in every(name, parts.Reasons) for card in part.cards if card.kind is ReasonKind.MOVED):
        if (found := reason.search(card.text)) is None:
            continue
        before, after, other, change = found.groups()
        shown = {row.label: row.figure for row in card.dots.rows}
        assert numbers(shown[labels[record.spec.baseline]]) == numbers(before), card.text
        if after != "none" and other in shown:
            assert numbers(shown[other]) == numbers(after), card.text
        if change:
            assert divides(before, after, change), card.text


@every_study
def test_a_cost_differs_from_the_baseline_s_by_the_change_beside_it(name):
    record, _ = study(name)
    for key in ("cost-per-query", "cost-per-transaction"):
        for table in (part for part in every(name, parts.Table) if part.key == key):
            rows = {row.cells[0].candidate: row.cells[1:] for row in table.rows}
            for candidate, cells in rows.items():
                for base, cell in zip(rows.get(record.spec.baseline, cells), cells, strict=True):
                    changes = [text for text in cell.detail if text.rstrip("*").endswith("%")]
                    if changes and candidate != record.spec.baseline:
                        assert divides(base.text, cell.text, changes[0].rstrip("*")), (key, candidate, cell.full, base.full)


@every_judged
def test_a_level_of_a_candidate_is_that_of_the_baseline_times_the_ratio_beside_it(name):
    record, _ = study(name)
    (table,) = (part for part in every(name, parts.Table) if part.key == "candidates-table")
    titles_of = [column.title for column in table.columns]
    by_title = dict(zip(titles_of, range(len(titles_of)), strict=True))
    decisive = next(place for title, place in by_title.items() if title.endswith("to baseline"))
    levels = [by_title[title] for title in (measure_of_study(record.spec).title,) if title in by_title]
    rows = {row.cells[0].candidate: row.cells for row in table.rows}
    base = rows[record.spec.baseline]
    for cells in rows.values():
        change = cells[decisive].text
        for place in levels:
            if re.fullmatch(rf"{FIGURE} %", change) and re.search(FIGURE, base[place].text):
                assert divides(base[place].text, cells[place].text, change), [cell.full for cell in cells]


@every_judged
def test_a_candidate_has_one_value_of_each_quantity_in_all_views(name):
    values = defaultdict(dict)
    for candidate, quantity, text, where in every_value(name):
        values[candidate, quantity].setdefault(text, []).append(where)
    assert len(values) > 1
    several = {key: texts for key, texts in values.items() if len(texts) > 1}
    assert several == {}


@every_judged
def test_json_has_levels_that_divide_to_its_ratios_and_intervals_that_contain_their_figures(name):
    record, why = study(name)
    verdict = json.loads(json_documents.render_verdict(record.verdict))
    explained = json.loads(json_documents.render(why))
    for estimate in (*estimates(verdict), *estimates(explained)):
        if estimate["low"] is not None:
            assert estimate["low"] <= estimate["mean"] * (1 + 1e-9), estimate
            assert estimate["mean"] <= estimate["high"] * (1 + 1e-9), estimate
    by_name = {one["name"]: one for one in verdict["candidates"]}
    base = by_name[verdict["baseline"]]
    goal_level = {"latency": "latency_ms", "stability": "cv", "throughput": "tps"}.get(verdict["goal"], "cost")
    pairs = (("tps", "ratio"), (goal_level, "goal_ratio"), ("latency_ms", "latency_ratio"))
    for one in by_name.values():
        for level, ratio in pairs:
            if one.get(ratio) and one[level] and base[level]:
                assert one[level]["mean"] / base[level]["mean"] == pytest.approx(one[ratio]["mean"]), (one["name"], level)
        if one.get("qps"):
            assert one["qps"]["mean"] == pytest.approx(one["tps"]["mean"] * one["queries_per_transaction"])
    for cost in explained["costs"]:
        for per in ("per_query", "per_transaction"):
            check_compared(cost[per], verdict["baseline"])
        for candidate, each in cost["per_query"].items():
            queries = by_name[candidate]["queries_per_transaction"] or 1.0
            assert each["level"]["mean"] * queries == pytest.approx(cost["per_transaction"][candidate]["level"]["mean"])
    check_compared(explained["memory"], verdict["baseline"])
    for kind in {one["transaction"] for one in explained["latencies"]}:
        of_kind = {one["candidate"]: one for one in explained["latencies"] if one["transaction"] == kind}
        for percentile in ("p50_ms", "p95_ms", "p99_ms", "p999_ms"):
            check_compared({c: one[percentile] for c, one in of_kind.items() if one[percentile]}, verdict["baseline"])


@every_judged
def test_parts_add_up_and_counts_are_what_they_count(name):
    record, why = study(name)
    verdict = record.verdict
    for candidate in record.spec.names:
        rows = [one for one in why.latencies if one.candidate == candidate]
        whole, kinds = [one for one in rows if not one.transaction], [one for one in rows if one.transaction]
        if kinds:
            assert sum(one.transactions for one in kinds) == whole[0].transactions
            assert math.fsum(one.per_second for one in kinds) == pytest.approx(whole[0].per_second)
    raced = [one for one in record.trials if one.purpose is Purpose.RACE and one.state is TrialState.DONE]
    assert {one.name: one.trials for one in verdict.candidates} == {
        one.name: sum(trial.candidate == one.name for trial in raced) for one in verdict.candidates
    }
    assert verdict.trials == sum(one.trials for one in verdict.candidates if str(one.state) != "unsafe")
    moved = sum(one.kind is ReasonKind.MOVED for one in why.reasons)
    if found := re.search(r"(\d+) metrics changed.*; the (\d+) strongest", why.summary):
        assert int(found[1]) > int(found[2]) == moved
    (every_trial,) = (part for part in every(name, parts.Table) if part.key == "trials-table")
    assert len(every_trial.rows) == len(record.trials)


@every_judged
def test_frames_and_the_figures_so_far_are_the_verdict_s(name):
    record, _ = study(name)
    verdict = record.verdict
    rows = {row["candidate"]: row for row in tables.verdict(verdict).to_dicts()}
    for one in verdict.candidates:
        for column in ("tps", "ratio", "qps", "goal_ratio", "cv", "latency_ms"):
            estimate = getattr(one, column)
            assert rows[one.name][column] == (estimate.mean if estimate else None)
    if record.course is None:
        so_far = standings(record.spec, record.trials, figures_of(record, record.trials))
        for one in verdict.candidates:
            ratio = deciding(one, verdict)
            assert so_far[one.name].tps == pytest.approx(one.tps.mean if one.tps else None)
            assert so_far[one.name].ratio == pytest.approx(ratio.mean if ratio else None)


@every_judged
def test_a_diff_has_the_levels_of_the_verdict_and_changes_that_follow_from_them(name):
    record, _ = study(name)
    shorter = replace(record, trials=[trial for trial in record.trials if trial.block > 1])
    try:
        diff = compare_studies(record, shorter)
    except UserError as error:
        pytest.skip(str(error))
    for one in diff.candidates:
        level = MEASURES[diff.goal].level(record.verdict.candidate(one.name))
        assert one.level_a.mean == pytest.approx(level.mean)
        assert one.level_b.mean == pytest.approx(one.level_a.mean * one.level_change.mean)
        assert one.ratio_b.mean == pytest.approx(one.ratio_a.mean * one.ratio_change.mean)
        for estimate in (one.level_a, one.level_b, one.level_change, one.ratio_a, one.ratio_b, one.ratio_change):
            assert estimate.low is None or estimate.low <= estimate.mean <= estimate.high
    shown = diff_document(diff, record.spec)
    (levels,) = (part for section in shown.sections for part in section.parts if getattr(part, "key", "") == "levels-table")
    show = percent if diff.goal is Goal.STABILITY else number
    for one, row in zip(diff.candidates, levels.rows, strict=True):
        assert row.cells[1].text == show(one.level_a.mean)
        assert divides(*(cell.text for cell in row.cells[1:]))


def every(name, kind):
    return [part for section in document(name).sections for part in parts.every_part(section.parts) if isinstance(part, kind)]


def numbers(text):
    return re.findall(FIGURE, text)


def estimates(value):
    """Yield every figure with an interval that a document has."""
    if isinstance(value, dict):
        if set(value) == {"mean", "low", "high"}:
            yield value
        for inner in value.values():
            yield from estimates(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from estimates(inner)


def check_compared(figures, baseline):
    for one in figures.values():
        if one["ratio"] is not None:
            expected = figures[baseline]["level"]["mean"] * one["ratio"]["mean"]
            assert one["level"]["mean"] == pytest.approx(expected)


def every_value(name):
    """Yield each figure that a report shows of a candidate: the candidate, the quantity, its text, and where it stands."""
    record, _ = study(name)
    verdict = record.verdict
    latency = f"p{verdict.percentile}" if verdict.percentile else "mean"
    by_run = record.spec.workload.traits.runs is not None and record.spec.workload.traits.runs.of != "recording"
    for one in verdict.candidates:
        for quantity, estimate, show in (
            ("tps", one.tps, number),
            ("qps", one.qps, number),
            ("cv", one.cv, percent),
            (latency, None if by_run else one.latency_ms, number),
        ):
            if estimate is not None:
                yield one.name, quantity, show(estimate.mean), "verdict.json"
    yield from of_main_figures(name)
    yield from of_tables(name, latency)
    labels = {label: candidate for candidate, label in document(name).candidates.items()}
    memory = [
        card
        for part in every(name, parts.Reasons)
        for card in part.cards
        if card.dots and "resident on average" in card.dots.title
    ]
    for row in (row for card in memory for row in card.dots.rows):
        yield labels[row.label], "memory", row.figure, "reason"


def of_main_figures(name):
    """Yield the figures of the first table, and check that two levels differ by the change beside them."""
    quantities = {"Queries QPS": "qps", "Variation (CV)": "cv", "Server CPU per query µs": "server CPU µs a query"}
    quantities |= {"Server memory (RSS)": "memory", "Mean latency ms": "mean"}
    quantities |= {f"{one} latency ms": one for one in ("p50", "p95", "p99")}
    for table in (part for part in every(name, parts.Table) if part.key == "main-figures"):
        for title, *cells in ([cell.text for cell in row.cells] for row in table.rows):
            quantity = "tps" if title.startswith(("Throughput", "Offered load")) else quantities.get(title)
            for column, text in zip(table.columns[1:3], cells, strict=False):
                if quantity and text:
                    yield column.candidate, quantity, text, f"main figures, {title}"
            if len(cells) == 3 and cells[1] and re.match(FIGURE, cells[2]):
                assert divides(*cells), (title, cells)


def of_tables(name, latency):
    for table in every(name, parts.Table):
        titles = [column.title for column in table.columns]
        for row in table.rows:
            candidate = next((cell.candidate or cell.text for cell in row.cells if cell.candidate), row.cells[0].text)
            for title, column, cell in zip(titles, table.columns, row.cells, strict=True):
                quantity = {
                    ("candidates-table", "tps"): "tps",
                    ("candidates-table", "CV"): "cv",
                    ("candidates-table", f"{latency} ms"): latency,
                    ("tune-trade-off-table", "tps"): "tps",
                    ("tune-trade-off-table", f"{latency}, ms"): latency,
                    ("latency-table", "per second"): "tps",
                    **{("latency-table", f"{each} ms"): each for each in ("p50", "p95", "p99")},
                    ("cost-per-query", "server CPU µs"): "server CPU µs a query",
                }.get((table.key, title))
                kind = row.cells[0].text if titles[0] == "transaction" else "all"
                if quantity and kind == "all" and re.search(FIGURE, cell.text) and column.is_figure:
                    yield candidate, quantity, cell.text, table.key

"""What each chart shows, in words and figures: for those who cannot see it, and for those who read first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.cause_sentences import with_advice
from dialin.model.measure import band, capital, deciding, measure_of
from dialin.model.record import StudyRecord
from dialin.model.trial import TrialState, seconds_of
from dialin.model.verdict import Verdict
from dialin.model.workload import latency_name
from dialin.report.charts.style import Style
from dialin.report.charts.trial_series import Series, measured
from dialin.report.trade_off import PairComparison, pareto_candidates, plotted_candidates, trade_off
from dialin.sentences.changes import change_with_interval, with_interval
from dialin.sentences.load_units import SECONDS, units_of_verdict
from dialin.sentences.verdict_sentences import lost_seconds_text
from dialin.stats.boxes import BoxFigures, at_share, box
from dialin.text import change, counted, duration, number, percent, span, visible


def forest(verdict: Verdict, style: Mapping[str, Style]) -> str:
    """Return the forest plot in words: the highest and lowest candidate, which way is better, the band, missing intervals."""
    others = [one for one in verdict.candidates if one.name != verdict.baseline]
    ratios = [(deciding(one, verdict), style[one.name].label, one.trials) for one in others]
    rated = sorted(((ratio, label, trials) for ratio, label, trials in ratios if ratio), key=lambda one: one[0].mean)
    aim = measure_of(verdict)
    low, high = band(verdict)
    shaded = f"The shaded band, {change(low)} to {change(high)}, is too small to matter."
    better = "" if aim.higher_is_better else f"{capital(aim.noun)}: {aim.direction}. "
    if not rated:
        return f"{better}No candidate can be compared with the baseline. {shaded}"
    ends = [f"{label} at {change_with_interval(ratio, trials)}" for ratio, label, trials in (rated[-1], rated[0])]
    parts = [f"Highest is {ends[0]}", f"lowest is {ends[1]}"] if len(rated) > 1 else [ends[0]]
    bare = sum(1 for ratio, *_ in rated if ratio.low is None)
    hollow = f" A hollow mark has no interval yet ({bare} of {len(rated)})." if bare else ""
    return f"{better}{'; '.join(parts)}. {shaded}{hollow}"


def pareto(verdict: Verdict, style: Mapping[str, Style], ends: PairComparison) -> str:
    """Return throughput against steadiness in words: the candidates to choose between, with the figures of each."""
    labels = {name: look.label for name, look in style.items()}
    best = pareto_candidates(verdict)
    reading = "No other candidate is better in both than a filled mark; lines through a mark are its intervals."
    figures = "; ".join(
        f"{labels[one.name]}: {with_interval(one.tps)} {units_of_verdict(verdict).rate}, CV {with_interval(one.cv, percent)}"
        for one in (best or plotted_candidates(verdict))
    )
    summary = ""
    if len(best) == 1:
        summary = f"{labels[best[0].name]} has both the highest throughput and the lowest CV. "
    elif not trade_off(verdict, labels, ends):
        summary = "Which is faster and which is steadier is inconclusive. "
    return f"{summary}{reading} {figures}."


def key(series: Sequence[Series]) -> str:
    """Return what the marks in the charts over time mean."""
    marks = [
        (f"A triangle marks a {_noun(series)} that the host lost, which is excluded.", any(one.lost for one in series)),
        ("A circle marks the end of a trial that did not become steady.", any(not one.steady for one in series)),
        ("A cross marks where a trial failed.", any(one.trial.state is TrialState.FAILED for one in series)),
        ("Dotted lines are confirmation trials that confirm the choice.", any(one.is_fresh for one in series)),
    ]
    window = next((one.window for one in series if one.window), None)
    mean = f"Thick: the rolling mean of {window} s. " if window else ""
    return mean + " ".join(text for text, is_drawn in marks if is_drawn)


def _noun(series: Sequence[Series]) -> str:
    return series[0].units.one if series else SECONDS.one


def over_time(series: Sequence[Series]) -> str:
    """Return one candidate's trials in words: how many, their medians and lowest second, and remarks on some of them."""
    parts = [counted(len(series), "trial")]
    if medians := _middles(series):
        lowest = number(min(box.worst for one in series for box in one.boxes.values()))
        parts.append(f"{medians}, lowest {lowest} {series[0].units.rate}")
    return "; ".join([*parts, *_remarks(series)]) + "."


def latency_over_time(series: Sequence[Series], record: StudyRecord) -> str:
    parts = [counted(len(series), "trial")]
    latencies = [
        [sample.latency_ms for sample in measured(record.samples.get(one.trial.id, ())) if sample.latency_ms > 0]
        for one in series
        if one.trial.state is TrialState.DONE
    ]
    if any(latencies):
        highest = number(max(max(values) for values in latencies if values))
        middle = span([of_trial.median for values in latencies if (of_trial := box(values))], number)
        parts.append(
            f"{latency_name(record.spec.workload.percentile)} of the median {_noun(series)} {middle} ms, highest {highest} ms"
        )
    return "; ".join([*parts, *_remarks(series)]) + "."


def combined(series: Sequence[Series]) -> str:
    if not any(one.tps.points for one in series):
        return f"No {_noun(series)} was measured yet."
    sessions = len({one.trial.session for one in series})
    resumed = f" It was resumed {counted(sessions - 1, 'time')}; the pauses are left out." if sessions > 1 else ""
    fresh = sum(one.is_fresh for one in series)
    shaded = f", {fresh} of them to confirm the choice (shaded)" if fresh else ""
    words = f"{counted(len(series), 'trial')} in {duration(seconds_of(one.trial for one in series))} of trials{shaded}."
    words += " A mark shows each trial's mean, of latency its median."
    worst = min(((box.worst, one.trial.id) for one in series for box in one.boxes.values()), default=None)
    if worst is not None:
        words += f" The lowest measured {_noun(series)}, {number(worst[0])} {series[0].units.rate}, is in trial {worst[1]}."
    if lost_seconds := sum(one.lost_seconds for one in series):
        words += f" {lost_seconds_text(lost_seconds)}, in {counted(sum(one.lost_seconds > 0 for one in series), 'trial')}."
    return words + resumed


def windows(
    series: Sequence[Series], shown: Mapping[str, Sequence[tuple[str, BoxFigures]]], style: Mapping[str, Style], of: str
) -> str:
    """Return the box plots in words: how to read them, and the medians by candidate."""
    parts = []
    for name, boxes in shown.items():
        if boxes and boxes[0][0]:
            medians = ", ".join(f"{number(box.median)} with {threads}" for threads, box in boxes)
            parts.append(f"{style[name].label}: {medians} threads")
        elif boxes:
            parts.append(f"{style[name].label}: {span([box.median for _, box in boxes], number)}")
    noun = _noun(series)
    reading = f"A box holds the middle half of the {noun}s of a {of}, its whiskers 90 %; the tick is the lowest {noun}."
    if of == "trial" and any(one.is_fresh for one in series):
        reading += " A shaded box is a confirmation trial that confirms the choice."
    if any(one.lost_seconds for one in series):
        reading += " Seconds of host stalls are left out."
    return f"{reading} Medians: {'; '.join(parts) or 'none yet'}."


def latency(latencies: Mapping[str, Sequence[float]], style: Mapping[str, Style], percentile: int, threads: int | None) -> str:
    figures = "; ".join(
        f"{style[name].label}: {', '.join(number(at_share(values, share)) for share in (0.5, 0.99, 1.0))}"
        for name, values in latencies.items()
    )
    alone = f" Only seconds with {threads:,} threads." if threads else ""
    return (
        f"The {latency_name(percentile)} of each second, sorted: the worst seconds are on the right.{alone} "
        f"Milliseconds in the median second, the 99th percentile of seconds and the worst second: {figures}."
    )


def _middles(series: Sequence[Series]) -> str:
    """Return the medians of the trials, for each number of threads; empty if no trial completed."""
    medians_by_threads: dict[int, list[float]] = {}
    for one in series:
        for threads, of_trial in one.boxes.items():
            medians_by_threads.setdefault(threads, []).append(of_trial.median)
    if len(medians_by_threads) < 2:
        return "".join(f"median {_noun(series)} {span(medians, number)}" for medians in medians_by_threads.values())
    parts = [f"{span(medians, number)} with {threads:,}" for threads, medians in sorted(medians_by_threads.items())]
    return f"median {_noun(series)} {', '.join(parts)} threads"


def _remarks(series: Sequence[Series]) -> list[str]:
    failed = [one.trial for one in series if one.trial.state is TrialState.FAILED]
    parts = []
    if lost_seconds := sum(one.lost_seconds for one in series):
        parts.append(lost_seconds_text(lost_seconds))
    if unsteady := sum(not one.steady for one in series):
        parts.append(f"{unsteady} did not become steady")
    if fresh := sum(one.is_fresh for one in series):
        parts.append(counted(fresh, "confirmation trial"))
    if failed:
        reasons = dict.fromkeys(visible(with_advice(trial.failure.cause)) for trial in failed if trial.failure)
        parts.append(f"{len(failed)} failed: {', '.join(reasons) or 'reason not available'}")
    return parts

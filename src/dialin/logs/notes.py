"""The notes on the verdict on logs: findings, confounds and warnings, each a code, a sentence and its figures. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from statistics import fmean, median

from dialin.logs import factors
from dialin.logs.assignment import AssignedRuns
from dialin.logs.error_logs import ErrorLog
from dialin.logs.log_folder import Run, natural_order
from dialin.logs.run_figures import RunFigures
from dialin.logs.server_starts import ServedBy
from dialin.logs.stamps import Stamp, day_of, hour_of_day
from dialin.measures.table import MEASURES
from dialin.model.analysis import RunAnalysis
from dialin.model.setting import whole_number
from dialin.model.study import Goal
from dialin.model.verdict import Note
from dialin.stats.intervals import stall_seconds_per_1000
from dialin.stats.runs import START_SD, Comparison, all_below, spread
from dialin.text import counted, duration, listed, number, percent, size, span

_HOUR = 1.0
_LENGTHS = 1.5
"""The ratio of the longest run to the shortest from which different lengths have a note."""
_AS_MUCH = 0.5
"""The share of the difference between candidates from which a difference between runs of one of them has a note."""
_NUMBERING = 100
"""Numbers below this may only number the runs."""
_MOST_STEADIER = 3
"""The number of steadier candidates that each candidate is compared with, the steadiest first."""
MOST_UNSORTED = 12
"""Where each log is its own candidate, the most candidates that are compared in steadiness."""
_SHOWN = 12
_ERRORS = 0.01
"""The share of failed transactions above which errors have a note, and the difference in that share between candidates that has
one."""


def incomplete(text: str) -> Note:
    return Note(code="incomplete", text=text)


def unfinished(runs: Sequence[Run]) -> list[Note]:
    """Return a note on the runs that sysbench ended by force while transactions were running."""
    counts = {run.name: run.log.unfinished for run in runs if run.log.unfinished}
    if not counts:
        return []
    least, most = min(counts.values()), max(counts.values())
    where = next(iter(counts)) if len(counts) == 1 else counted(len(counts), "run")
    many = least if least == most else f"{least} to {most}"
    text = f"{where}: {many} transactions did not finish before sysbench forced its end"
    return [Note(code="unfinished", text=text, data=counts)]


def shared_starts(runs: Sequence[RunAnalysis], served: Mapping[str, ServedBy]) -> Iterator[Note]:
    """Yield a note on each candidate of which one start of its server served several repeats."""
    for name in dict.fromkeys(run.candidate or "" for run in runs if run.shared_start):
        sharing = [run for run in runs if run.candidate == name and run.shared_start]
        starts = sum({run.shared_start: served[run.file].count for run in sharing}.values())
        text = (
            f"By its {sharing[0].starts_shown_by}, the server of {name} started {'once' if starts == 1 else f'{starts} times'} "
            f"for {counted(len(sharing), 'run')}: runs of one start are no repeats, and count as one"
        )
        data = {"candidate": name, "starts": starts, "runs": len(sharing), "by": sharing[0].starts_shown_by}
        yield Note(code="shared_start", text=text, data=data)


def contradicted_restarts(served: Mapping[str, ServedBy]) -> Iterator[Note]:
    """Yield notes on what shows that the server was not started before each run, where the user says that it was."""
    for against in sorted({one.against for one in served.values() if one.against}):
        names = [name for name, one in served.items() if one.against == against]
        text = (
            f"--restarted counts, although by the {against}, one start served several repeats "
            f"({counted(len(names), 'run')}): without it they would count as one"
        )
        yield Note(code="restarts_contradicted", text=text, data={"by": against, "runs": len(names)})


def assumptions(runs: Sequence[RunAnalysis], comparison: Comparison, stamps: Mapping[str, Stamp]) -> Iterator[Note]:
    """Yield what a claim about repeated candidates rests on and no file shows: their starts, their hosts, their order."""
    repeated = [run for run in runs if run.candidate in comparison.repeated]
    if len(comparison.repeated) > 1 and comparison.allows_for_starts:
        text = (
            f"starts of one server differ by {percent(START_SD)} (SD), which the intervals allow for; --restarted if each run "
            "had a start of its own"
        )
        yield Note(code="starts_unknown", text=text, data={"sd": START_SD})
    if not all(run.host for run in repeated):
        yield Note(code="hosts_unknown", text="all candidates ran on one host")
    if not all(stamps.get(run.file, Stamp()).form for run in repeated):
        yield Note(code="order_unknown", text="candidates took turns, at the same hours")


def server_warnings(runs: Sequence[RunAnalysis], error_logs: Mapping[str, ErrorLog]) -> Iterator[Note]:
    """Yield notes on what servers warned of in their error logs: a full redo log, and faults."""
    logs = {
        error_logs[run.file].path: (error_logs[run.file], run.candidate or run.label) for run in runs if run.file in error_logs
    }
    if waiting := {name: log for log, name in logs.values() if log.redo_waits}:
        shown = "; ".join(
            f"{name} {counted(log.redo_waits, 'time')}" + (f", with {size(log.redo_capacity)}" if log.redo_capacity else "")
            for name, log in itertools.islice(waiting.items(), _SHOWN)
        )
        others = "; others had no such warning" if len(waiting) < len(logs) else ""
        text = f"The redo log was full and writes waited for it, by the error logs ({shown}){others}"
        yield Note(code="redo_log_full", text=text, data={name: log.redo_waits for name, log in waiting.items()})
    if faults := {name: log.faults for log, name in logs.values() if log.faults}:
        shown = "; ".join(f"{name}: {counted(count, 'line')}" for name, count in itertools.islice(faults.items(), _SHOWN))
        yield Note(code="server_faults", text=f"Error logs show crashes or failed allocations ({shown})", data=faults)


def never_ended(runs: Sequence[Run]) -> list[Note]:
    """Return a note on each run that stood still from some moment on and never ended."""
    return [
        Note(
            code="never_ended",
            text=(
                f"{run.name} never ended: from {number(silence.begin)} s on, {duration(silence.seconds)} without a transaction "
                f"and {counted(silence.threads_gone, 'thread')} gone, which are left out"
            ),
            data={"run": run.name, "begin": silence.begin, "seconds": silence.seconds, "threads_gone": silence.threads_gone},
        )
        for run in runs
        if (silence := run.log.silence)
    ]


def errors(runs: Sequence[RunAnalysis]) -> list[Note]:
    """Return a note on the runs in which more than 1 % of the transactions failed."""
    many = [run for run in runs if error_share(run) > _ERRORS]
    if not many:
        return []
    shown = listed([f"{run.label} {number(run.errors_per_s)}" for run in many[:_SHOWN]])
    text = f"More than {percent(_ERRORS)} of the transactions failed; errors per second: {shown}"
    return [Note(code="errors", text=text, data={run.file: run.errors_per_s for run in many})]


def more_errors(runs: Sequence[RunAnalysis], names: Sequence[str], baseline: str, comparison: Comparison) -> Iterator[Note]:
    """Yield notes on candidates whose transactions failed more often than the baseline's, or less often, in every cell.

    In each cell that the two share, every run of one has a failed share that exceeds every run of the other by more than 1 %
    of the transactions.
    """
    for name in names:
        cells = comparison.shared(name, baseline) if name != baseline else ()
        shares = [
            tuple([error_share(run) for run in runs if run.candidate == one and run.cell == cell] for one in (name, baseline))
            for cell in cells
        ]
        if shares and all(min(of) > max(base) + _ERRORS for of, base in shares):
            more, less = name, baseline
        elif shares and all(min(base) > max(of) + _ERRORS for of, base in shares):
            more, less = baseline, name
        else:
            continue
        means = {one: fmean(share for pair in shares for share in pair[index]) for index, one in enumerate((name, baseline))}
        text = (
            f"More transactions of {more} failed ({percent(means[more])} against {percent(means[less])} of {less}): "
            "throughput counts only those that succeeded"
        )
        yield Note(code="more_errors", text=text, data={"candidate": more, "other": less, "shares": means})


def error_share(run: RunAnalysis) -> float:
    attempted = run.tps + run.errors_per_s
    return run.errors_per_s / attempted if attempted > 0 else 0.0


def differing_factors(runs: Sequence[RunAnalysis], names: Sequence[str], comparison: Comparison) -> Iterator[Note]:
    """Yield a note for each factor whose values are not the same for all candidates; a crossed factor is no confound."""
    for key in runs[0].conditions if len(names) > 1 else ():
        values = {
            name: sorted({run.conditions[key] for run in runs if run.candidate == name}, key=natural_order) for name in names
        }
        if len(set(map(tuple, values.values()))) == 1:
            continue
        shown = "; ".join(f"{name}: {', '.join(levels)}" for name, levels in itertools.islice(values.items(), _SHOWN))
        shared = set.intersection(*map(set, values.values()))
        consequence = f"only runs of the same {key} are compared" if comparison.names else "nothing can be compared"
        if not shared and not comparison.names:
            consequence = f"a difference may come from either (if {key} changes nothing: --ignore {key!r})"
        data = {"name": key, "values": values}
        yield Note(code="differs_too", text=f"{key} differs between candidates ({shown}): {consequence}", data=data)


def differing_options(assigned: AssignedRuns) -> Iterator[Note]:
    options = assigned.options
    differing = [key for key in options.values and factors.keys(options.values) if key not in options.defining]
    if differing:
        shown = "; ".join(
            f"{key}: {', '.join(factors.factor_levels(options.values, key))}{_same(key, assigned)}"
            for key in differing[:_SHOWN]
        )
        text = f"Log headers or option files next to the logs set options differently ({shown}): "
        text += "only runs with the same options are compared"
        data = {"values": {key: factors.factor_levels(options.values, key) for key in differing}}
        yield Note(code="options_differ", text=text, data=data)
    if options.defining:
        shown = "; ".join(f"{key}: {_by_candidate(assigned, key)}" for key in options.defining[:_SHOWN])
        text = f"According to log headers and option files next to the logs, candidates differ in {shown}"
        if len(options.defining) > 1:
            text += ": the result is the effect of all of these together"
        yield Note(code="candidates_differ_in", text=text, data={"names": list(options.defining)})


Pair = frozenset[str]
"""Two candidates."""


def one_after_the_other(runs: Sequence[RunAnalysis], assigned: AssignedRuns, comparison: Comparison) -> Iterator[Pair]:
    """Yield the pairs of repeated candidates where, in each shared cell, all runs of one came before those of the other.

    Only dates of the most frequent form are compared. A cell without such dates, or with the same dates for both, is skipped.
    """
    for a, b in itertools.combinations(comparison.repeated, 2):
        cells = comparison.shared(a, b)
        both = [run for run in runs if run.candidate in (a, b) and run.cell in cells]
        dates = factors.comparable_stamps([run.file for run in both], assigned.stamps)
        orders = set()
        for cell in cells:
            first, second = (
                [dates[run.file] for run in both if run.candidate == name and run.cell == cell and run.file in dates]
                for name in (a, b)
            )
            if first and second and {*first} != {*second}:
                orders.add("before" if max(first) <= min(second) else "after" if max(second) <= min(first) else "mixed")
        if orders in ({"before"}, {"after"}):
            yield frozenset({a, b})


def at_other_hours(runs: Sequence[RunAnalysis], assigned: AssignedRuns, comparison: Comparison) -> Iterator[Pair]:
    """Yield the pairs of repeated candidates that ran at other hours of the day, an hour apart or more, on several days.

    What else the machine does, or its neighbours, repeats every day.
    """
    for a, b in itertools.combinations(comparison.repeated, 2):
        hours, days = dict[str, list[float]](), set[tuple[int, ...]]()
        for run in runs:
            stamp = assigned.stamps.get(run.file)
            if run.candidate in (a, b) and stamp is not None and (hour := hour_of_day(stamp)) is not None:
                hours.setdefault(run.candidate or "", []).append(hour)
                days.add(day_of(stamp))
        if len(hours) == 2 and len(days) > 1 and min(map(len, hours.values())) > 1:
            first, second = sorted(hours.values(), key=min)
            if min(second) - max(first) >= _HOUR:
                yield frozenset({a, b})


def of_other_lengths(runs: Sequence[RunAnalysis], comparison: Comparison) -> Iterator[Pair]:
    """Yield the pairs of repeated candidates of which one has the longer runs in every cell that they share.

    A longer run is another part of the way to the steady state, and wears the data and the device more.
    """
    for a, b in itertools.combinations(comparison.repeated, 2):
        longer = set()
        for cell in comparison.shared(a, b):
            one, other = ([run.seconds for run in runs if run.candidate == name and run.cell == cell] for name in (a, b))
            longer.add(a if min(one) >= _LENGTHS * max(other) else b if min(other) >= _LENGTHS * max(one) else "")
        if len(longer) == 1 and "" not in longer:
            yield frozenset({a, b})


def on_other_hosts(runs: Sequence[RunAnalysis], comparison: Comparison) -> Iterator[Pair]:
    """Yield the pairs of repeated candidates that ran on different hosts, by the files beside their logs.

    Where the names of candidates have those of their hosts, hosts are what is compared.
    """
    hosts: dict[str, set[str]] = {}
    for run in runs:
        hosts.setdefault(run.candidate or "", set()).add(run.host)
    for a, b in itertools.combinations(comparison.repeated, 2):
        is_named_by = all(host.lower() in name.lower() for name in (a, b) for host in hosts[name])
        if "" not in hosts[a] | hosts[b] and not hosts[a] & hosts[b] and not is_named_by:
            yield frozenset({a, b})


BARS = {
    "one_after_the_other": (
        "By their dates, all runs of one candidate precede those of the other ({}): the difference may be drift"
    ),
    "at_other_hours": "By their dates, candidates ran at other hours of the day ({}): the difference may be that of the hours",
    "of_other_lengths": "All runs of one candidate are longer than those of the other ({}): they are not compared",
    "on_other_hosts": "By the files beside their logs, candidates ran on different hosts ({}), which may be the difference",
}
"""Why nothing is claimed about pairs of candidates, by the code of its note."""


def order_notes(barred: Mapping[str, Collection[Pair]]) -> Iterator[Note]:
    """Yield a note for each reason why nothing is claimed about pairs of candidates; the keys are those of `BARS`."""
    for code, pairs_of in barred.items():
        if pairs := sorted(sorted(pair, key=natural_order) for pair in pairs_of):
            shown = "; ".join(f"{a} and {b}" for a, b in pairs[:_SHOWN])
            yield Note(code=code, text=BARS[code].format(shown), data={"pairs": pairs})


def less_steady(figures: Sequence[RunFigures], names: Sequence[str], comparison: Comparison, alpha: float) -> list[Note]:
    """Return notes on candidates that stalled more, or varied more, than a steadier candidate, in every cell they share."""
    by_candidate = {name: [one for one in figures if one.run.candidate == name] for name in names}
    steadiest_first = sorted(names, key=lambda name: median(one.run.cv or 0.0 for one in by_candidate[name]))
    notes: list[Note] = []
    for name in names:
        steadier = (other for other in steadiest_first[: steadiest_first.index(name)] if comparison.shared(name, other))
        compared = (
            _less_steady_than(by_candidate, name, other, comparison, alpha)
            for other in itertools.islice(steadier, _MOST_STEADIER)
        )
        notes += itertools.islice((note for note in compared if note), 1)
    return notes


def _less_steady_than(
    by_candidate: Mapping[str, Sequence[RunFigures]], name: str, steadier: str, comparison: Comparison, alpha: float
) -> Note | None:
    cells = comparison.shared(name, steadier)
    by_cell, steadier_by_cell = (
        {cell: [one for one in by_candidate[each] if one.run.cell == cell] for cell in cells} for each in (name, steadier)
    )
    varies = all(
        all_below(_cvs(steadier_by_cell[cell]), _cvs(by_cell[cell]), MEASURES[Goal.STABILITY].worthwhile) for cell in cells
    )
    shares = [_stalled(by_cell[cell], steadier_by_cell[cell], alpha / len(cells)) for cell in cells]
    stalls = any(clearly for _, _, clearly in shares) and all(share >= other for share, other, _ in shares)
    if not (varies or stalls):
        return None
    runs, steadier_runs = ([one.run for cell in cells for one in grouped[cell]] for grouped in (by_cell, steadier_by_cell))
    per_1000 = [
        1000 * sum(run.stall_seconds for run in group) / sum(run.measured_seconds for run in group)
        for group in (runs, steadier_runs)
    ]
    differences = []
    if stalls:
        differences.append(f"more stalls ({number(per_1000[0])} against {number(per_1000[1])} seconds per 1000)")
    if varies:
        cvs = [span([run.cv or 0.0 for run in group], percent) for group in (runs, steadier_runs)]
        differences.append(f"a higher coefficient of variation ({cvs[0]} against {cvs[1]})")
    where = f"in {counted(len(runs), 'run')} of {name} and {len(steadier_runs)} of {steadier}"
    where = "in one run each" if len(runs) == len(steadier_runs) == 1 else where
    where += f", in each of {len(cells)} cells" if len(cells) > 1 else ""
    return Note(
        code="less_steady",
        text=f"{name} had {' and '.join(differences)} than {steadier}, {where}",
        data={
            "candidate": name,
            "steadier": steadier,
            "cv": [run.cv for run in runs],
            "steadier_cv": [run.cv for run in steadier_runs],
            "stall_seconds_per_1000": per_1000[0],
            "steadier_stall_seconds_per_1000": per_1000[1],
        },
    )


def _stalled(runs: Sequence[RunFigures], steadier: Sequence[RunFigures], alpha: float) -> tuple[float, float, bool]:
    """Return the stalled seconds per 1000 of two candidates in a cell, and whether the interval of the first lies above."""
    longest = max((length for one in (*runs, *steadier) for length in one.stalls), default=0.0)
    stalled, stalled_steadier = (
        stall_seconds_per_1000(
            [length for one in group for length in one.stalls], sum(one.run.measured_seconds for one in group), longest, alpha
        )
        for group in (runs, steadier)
    )
    is_above = stalled_steadier.high is not None and stalled.low is not None and stalled_steadier.high < stalled.low
    return stalled.mean, stalled_steadier.mean, is_above


def single_runs(names: Sequence[str], runs: Sequence[RunAnalysis], comparison: Comparison) -> list[Note]:
    """Return a note on candidates without a second run in any cell, with the factors that may only number the runs."""
    single = [name for name in names if name not in comparison.repeated and comparison.met[name]]
    if not single or len(names) < 2:
        return []
    who = f"{listed(single)} {'has' if len(single) == 1 else 'have'}" if len(single) < len(names) else "Each candidate has"
    compared = {name: sum(run.candidate == name and run.cell in comparison.cells for run in runs) for name in single}
    if max(compared.values()) == 1:
        total = {name: sum(run.candidate == name for run in runs) for name in single}
        of = f" (of {total[single[0]]})" if len(single) == 1 and total[single[0]] > 1 else ""
        start = f"{who} one run to compare{of}"
    else:
        start = f"{who} one run per cell, and cells are no repeats, since one server start may have served several"
    text = f"{start}: run-to-run noise is unknown, so ratios have no interval and no winner is claimed"
    numbering = _numbering(runs)
    if numbering:
        text += f". If {listed(numbering)} only number{'s' if len(numbering) == 1 else ''} the runs, add "
        text += " ".join(f"--ignore {key!r}" for key in numbering)
    return [Note(code="single_runs", text=text, data={"candidates": single, "ignore": numbering})]


def _numbering(runs: Sequence[RunAnalysis]) -> list[str]:
    """Return the factors without which some runs would be repeats, and whose values are small numbers or differ in each run."""
    numbering = []
    for key in runs[0].conditions:
        values = [run.conditions[key] for run in runs]
        rest = [(run.candidate, *(value for other, value in run.conditions.items() if other != key)) for run in runs]
        counts = [whole_number(value) for value in values]
        may_number = key.startswith("number") and all(count is not None and count < _NUMBERING for count in counts)
        if (may_number or len(set(values)) == len(values)) and len(set(rest)) < len(rest):
            numbering.append(key)
    return numbering


def moved_between_runs(
    runs: Sequence[RunAnalysis], assigned: AssignedRuns, comparison: Comparison, *, by_file: bool
) -> Iterator[Note]:
    """Yield notes on runs of one setting that differ at least half as much as candidates do: the level moved between them."""
    cells: dict[tuple[str, ...], list[RunAnalysis]] = {}
    for run in runs:
        values = assigned.settings[run.file] if by_file else assigned.conditions[run.file]
        cell = tuple(f"{key} {value}" for key, value in values.items())
        cells.setdefault(cell if by_file else (run.candidate or "", *cell), []).append(run)
    if by_file:
        between = spread([median(run.tps for run in group) for group in cells.values()])
    else:
        ratios = (comparison.ratio(name, comparison.names[0], 0.5) for name in comparison.names)
        between = spread([ratio.mean for ratio in ratios if ratio])
    for cell, group in cells.items():
        within = spread([run.tps for run in group])
        if within < MEASURES[Goal.THROUGHPUT].worthwhile or within < _AS_MUCH * between:
            continue
        levels = listed([f"{number(run.tps)} ({run.label})" for run in group[:_SHOWN]])
        than = f", while {'settings' if by_file else 'candidates'} differ by {percent(between)}" if between else ""
        where = ", ".join(cell) or "same conditions"
        text = f"Runs of one setting differ ({where}): {levels} {group[0].unit}, a difference of {percent(within)}{than}"
        data = {"setting": list(cell), "runs": [run.file for run in group], "apart": within, "between_candidates": between}
        yield Note(code="moved_between_runs", text=text, data=data)


def not_random(runs: Sequence[RunAnalysis], ordered: Sequence[str] | None, names: Sequence[str]) -> list[Note]:
    """Return the note that dialin did not randomize the order of these runs, with the order where the names hold it."""
    if len(names) < 2:
        return []
    text = "The order of these runs was not randomized by dialin: anything that changed between them counts as a difference"
    of = {run.file: run.candidate or "" for run in runs}
    if ordered is not None and len(ordered) <= _SHOWN and len(names) < len(ordered):
        text += f". Order by their dates: {', '.join(of[name] for name in ordered)}"
    return [Note(code="not_randomised", text=text, data={"order": [of[name] for name in ordered or ()]})]


def different_logs(runs: Sequence[RunAnalysis]) -> Iterator[Note]:
    """Yield notes on report intervals, percentiles and lengths that differ between logs."""
    intervals = sorted({run.interval for run in runs if run.interval})
    if len(intervals) > 1:
        shown = listed([f"{value:g} s" for value in intervals])
        text = f"The logs report every {shown}: variation and stalls are compared only between equal intervals"
        yield Note(code="different_intervals", text=text, data={"intervals": intervals})
    percentiles = sorted({run.percentile for run in runs if run.percentile is not None})
    if len(percentiles) > 1:
        shown = listed([str(percentile) for percentile in percentiles])
        text = f"The logs report different percentiles of latency ({shown}); they are not compared"
        yield Note(code="different_percentiles", text=text, data={"percentiles": percentiles})
    lengths = [run.seconds for run in runs if run.seconds] or [1.0]
    if max(lengths) >= _LENGTHS * min(lengths):
        text = f"The runs are of different lengths, from {duration(min(lengths))} to {duration(max(lengths))}"
        yield Note(code="different_lengths", text=text, data={"shortest": min(lengths), "longest": max(lengths)})


def _same(key: str, assigned: AssignedRuns) -> str:
    twin = assigned.options.same_as.get(key)
    return f" (with {twin})" if twin else ""


def _by_candidate(assigned: AssignedRuns, key: str) -> str:
    values = factors.column(assigned.options.values, key)
    of = {assigned.candidate_of[name]: value for name, value in values.items()}
    return ", ".join(f"{of[name]} ({name})" for name in assigned.names[:_SHOWN])


def _cvs(figures: Sequence[RunFigures]) -> list[float]:
    return [one.run.cv or 0.0 for one in figures]

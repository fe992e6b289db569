"""What is not alike in runs beside the candidate: factors of names, of the logs, and of the files beside them. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dialin.logs.log_folder import natural_order
from dialin.logs.run_names import NONE, NUMBER, WORDING
from dialin.logs.stamps import Stamp, take_stamps

THREADS = "threads"
_NO_SETTINGS = ("Number of threads", "time")
"""Entries of a log's header that are no options of the run."""

Values = Mapping[str, Mapping[str, str]]
"""The value of each factor, by the run's name."""


@dataclass(frozen=True, slots=True)
class DifferingOptions:
    """DifferingOptions of run scripts and option files that are not alike in all runs.

    Attributes:
        values: their values in each run.
        factors: those that no other factor stands for and that differ between runs of one candidate: they make cells.
        same_as: of those that another factor stands for, which one; `candidate` where that is the candidate.
        defining: those that differ between candidates and are alike in all runs of each.
    """

    values: Values
    factors: tuple[str, ...]
    same_as: Mapping[str, str]
    defining: tuple[str, ...]


def with_threads(
    factors: Values, threads: Mapping[str, str], of: Mapping[str, str], ignored: Collection[str]
) -> dict[str, dict[str, str]]:
    """Return factors with the threads that the logs report, where these are not alike and no other factor stands for them."""
    extended = {name: dict(values) for name, values in factors.items()}
    if (
        len(set(threads.values())) < 2
        or THREADS in ignored
        or _groups({name: of[name] for name in threads}) == _groups(threads)
    ):
        return extended
    named = column(factors, THREADS)
    twin = next((key for key in keys(factors) if _groups(column(factors, key)) == _groups(threads)), None)
    if twin is not None and not twin.startswith((NUMBER, WORDING)):
        return extended
    if twin is not None:  # a name without a key, such as `64th`: the log says what it is
        return {
            name: {THREADS if key == twin else key: threads[name] if key == twin else value for key, value in values.items()}
            for name, values in factors.items()
        }
    key = f"{THREADS} (log)" if named else THREADS
    for name, value in threads.items():
        extended[name][key] = value
    return extended


def differing_headers(headers: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return what the logs' own headers say differently: the version of sysbench, and options such as a rate.

    Threads have a factor of their own, and a length of time is no setting. A log without a header says nothing, so only values
    that two logs have and that differ count.
    """
    named = dict.fromkeys(key for header in headers.values() for key in header if key not in _NO_SETTINGS)
    differing = [key for key in named if len({header[key] for header in headers.values() if key in header}) > 1]
    return {name: {key: header[key] for key in differing if key in header} for name, header in headers.items()}


def sort_options(options: Values, factors: Values, of: Mapping[str, str], ignored: Collection[str]) -> DifferingOptions:
    """Return the options that differ between runs, and which of them make cells.

    An option that holds a date or the log's own name differs in each run and says nothing of the server; it is left out.
    `factors` are the other differences between these runs, `of` has the candidate of each, and `ignored` names options that
    change nothing.
    """
    runs = list(factors)
    values: dict[str, dict[str, str]] = {}
    for key in sorted({key for name in runs for key in options.get(name, {})} - set(ignored)):
        of_runs = {name: options.get(name, {}).get(key, NONE) for name in runs}
        if len(set(of_runs.values())) > 1 and not any(_names_its_run(value, name) for name, value in of_runs.items()):
            values[key] = of_runs
    candidates = {name: of[name] for name in runs}
    same_as, defining, making = {}, [], []
    for key, of_runs in values.items():
        if _groups(of_runs) == _groups(candidates):
            same_as[key] = "candidate"
        if _is_function(of_runs, candidates):
            defining.append(key)
        elif twin := next((other for other in keys(factors) if _groups(column(factors, other)) == _groups(of_runs)), None):
            same_as[key] = twin
        else:
            making.append(key)
    table = {name: {key: of_runs[name] for key, of_runs in values.items()} for name in runs}
    return DifferingOptions(table, tuple(making), same_as, tuple(defining))


def with_options(factors: Values, options: DifferingOptions) -> dict[str, dict[str, str]]:
    return {name: {**values, **{key: options.values[name][key] for key in options.factors}} for name, values in factors.items()}


def keys(factors: Values) -> list[str]:
    return list(next(iter(factors.values()), {}))


def column(factors: Values, key: str) -> dict[str, str]:
    """Return the value of one factor in each run; empty where there is no such factor."""
    return {name: values[key] for name, values in factors.items() if key in values}


def factor_levels(factors: Values, key: str) -> list[str]:
    return sorted(set(column(factors, key).values()), key=natural_order)


def propose_by(factors: Values) -> list[tuple[str, tuple[str, ...]]]:
    """Return expressions for `--by` with the candidates that they find, the one that fits best first.

    One fits the better the more runs it leaves with a run of another candidate to be compared with, all else alike; then the
    more repeats there are; then the fewer candidates.
    """
    proposals = []
    for key in keys(factors):
        candidates = column(factors, key)
        expression = _expression(key, candidates)
        if expression is None:
            continue
        rest = {name: tuple(value for other, value in values.items() if other != key) for name, values in factors.items()}
        cells: dict[tuple[str, ...], dict[str, int]] = {}
        for name, cell in rest.items():
            counts = cells.setdefault(cell, {})
            counts[candidates[name]] = counts.get(candidates[name], 0) + 1
        met = sum(sum(counts.values()) for counts in cells.values() if len(counts) > 1)
        repeats = sum(count - 1 for counts in cells.values() if len(counts) > 1 for count in counts.values())
        proposals.append(((-met, -repeats, len(set(candidates.values()))), expression, tuple(factor_levels(factors, key))))
    return [(expression, values) for _, expression, values in sorted(proposals, key=lambda one: one[0])]


def comparable_stamps(runs: Sequence[str], stamps: Mapping[str, Stamp]) -> dict[str, tuple[int, ...]]:
    """Return the dates of those runs whose dates have the form that most of them have."""
    forms = [stamps[name].form for name in runs if stamps[name].form]
    if not forms:
        return {}
    common = max(dict.fromkeys(forms), key=forms.count)
    return {name: stamps[name].key for name in runs if stamps[name].form == common}


def _expression(key: str, values: Mapping[str, str]) -> str | None:
    """Return a regular expression that finds the value of a factor in every name; None if there is no plain one."""
    alternatives = set(values.values())
    if NONE in alternatives:
        return None
    if key == WORDING:
        if any(" " in value for value in alternatives):
            return None
        tried = [f"({'|'.join(sorted(map(re.escape, alternatives), key=len, reverse=True))})"]
    else:
        number = r"\d+" if all(value.isdigit() for value in alternatives) else r"\d+(?:\.\d+)*[KMGTkmgtiBb]*"
        tried = [f"{re.escape(key)}{between}({number})" for between in ("", "[=_-]", "/", "[^A-Za-z0-9]*")]
    return next((one for one in tried if all(_finds(one, name, value) for name, value in values.items())), None)


def _finds(expression: str, name: str, value: str) -> bool:
    match = re.search(expression, name)
    return match is not None and match[1] == value


def _groups(values: Mapping[str, str]) -> frozenset[frozenset[str]]:
    groups: dict[str, set[str]] = {}
    for name, value in values.items():
        groups.setdefault(value, set()).add(name)
    return frozenset(map(frozenset, groups.values()))


def _is_function(values: Mapping[str, str], of: Mapping[str, str]) -> bool:
    return len({(of[name], value) for name, value in values.items()}) == len({of[name] for name in values})


def _names_its_run(value: str, name: str) -> bool:
    file = name.rpartition("/")[2].partition(".")[0]
    return bool(take_stamps(value)[0].form) or (len(file) > 3 and file in value)

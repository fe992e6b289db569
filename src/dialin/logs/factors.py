"""Finds the factors in which runs differ besides the candidate: in names, in logs, and in files beside the logs. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dialin.logs.log_folder import natural_order
from dialin.logs.run_names import LOAD, NONE, NUMBER, THREADS, WORDING
from dialin.logs.stamps import Stamp, take_stamps

RATE = "Target transaction rate"
"""The entry of a log's header with the transactions per second that it requested."""
PROGRAM = "sysbench"
"""The entry with the version of sysbench."""
STATEMENTS = "statements"
UNIT = "unit"
LOAD_OPTIONS = ("script", STATEMENTS, UNIT)
"""Entries that tell loads apart. Runs that differ in one of these or in the rate are compared by no candidate."""
_NO_SETTINGS = ("Number of threads", "time")
"""Entries of a log's header that are not compared as options."""

OF_PLACES = re.compile(r"(?:^|_)(?:port|socket|pid_file|server_id)$")
"""Options that only say which server it is."""

Values = Mapping[str, Mapping[str, str]]
"""The value of each factor, by the run's name."""


@dataclass(frozen=True, slots=True)
class DifferingOptions:
    """The options of log headers, run scripts and option files that differ between runs.

    Attributes:
        values: the values of these options in each run.
        factors: the options that differ between runs of one candidate and group the runs as no other factor does: they make
            cells.
        same_as: for an option that groups the runs as another factor does, that factor; `candidate` for the candidate.
        defining: the options that have one value within each candidate, so that they only differ between candidates.
    """

    values: Values
    factors: tuple[str, ...]
    same_as: Mapping[str, str]
    defining: tuple[str, ...]


def with_threads(
    factors: Values, threads: Mapping[str, str], candidate_of: Mapping[str, str], ignored: Collection[str]
) -> dict[str, dict[str, str]]:
    """Return factors with the threads that the logs report, where these differ and no factor groups the runs as they do."""
    extended = {name: dict(values) for name, values in factors.items()}
    if (
        len(set(threads.values())) < 2
        or THREADS in ignored
        or groups({name: candidate_of[name] for name in threads}) == groups(threads)
    ):
        return extended
    named = column(factors, THREADS)
    twin = next((key for key in keys(factors) if groups(column(factors, key)) == groups(threads)), None)
    if twin is not None and not twin.startswith((NUMBER, WORDING)):
        return extended
    if twin is not None:  # a factor without a name of its own, such as `64th`: the log shows that it is the threads
        return {
            name: {THREADS if key == twin else key: threads[name] if key == twin else value for key, value in values.items()}
            for name, values in factors.items()
        }
    key = f"{THREADS} (log)" if named else THREADS
    for name, value in threads.items():
        extended[name][key] = value
    return extended


def load_factors(factors: Values, threads: Mapping[str, str], rates: Mapping[str, str]) -> list[str]:
    """Return the factors that only say how load was applied: the load, the threads and the requested rate.

    `threads` and `rates` are those in the logs, by the run's name.
    """
    return [
        key
        for key in keys(factors)
        if key == LOAD or any(same_numbers(column(factors, key), numbers) for numbers in (threads, rates))
    ]


def same_numbers(values: Mapping[str, str], numbers: Mapping[str, str]) -> bool:
    """Return whether values are these numbers; where several of them are in names, some names may have none."""
    named = {name: value for name, value in values.items() if value != NONE}
    is_enough = len(named) == len(values) or len(set(named.values())) > 1
    return is_enough and all(numbers.get(name) == value for name, value in named.items())


def differing_headers(headers: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return the entries in which the logs' headers differ: the version of sysbench, and options such as a rate.

    Threads are a separate factor, and the length of a run is not a setting. A log without an entry is not compared: an entry
    differs only where two logs have it with different values.
    """
    named = dict.fromkeys(key for header in headers.values() for key in header if key not in _NO_SETTINGS)
    differing = [key for key in named if len({header[key] for header in headers.values() if key in header}) > 1]
    return {name: {key: header[key] for key in differing if key in header} for name, header in headers.items()}


def find_differing_options(
    options: Values, factors: Values, candidate_of: Mapping[str, str], ignored: Collection[str]
) -> DifferingOptions:
    """Return the options that differ between runs, and which of them make cells.

    An option whose value contains a date or the name of its log differs in each run and says nothing about the server; it is
    left out. `factors` are the other differences between these runs, and `ignored` names
    options without an effect.
    """
    runs = list(factors)
    values: dict[str, dict[str, str]] = {}
    named = {key for name in runs for key in options.get(name, {}) if not OF_PLACES.search(key)}
    for key in sorted(named - set(ignored)):
        of_runs = {name: options.get(name, {}).get(key, NONE) for name in runs}
        if key in LOAD_OPTIONS and LOAD in keys(factors) and _is_function(of_runs, column(factors, LOAD)):
            continue
        if len(set(of_runs.values())) > 1 and not any(_names_its_run(value, name) for name, value in of_runs.items()):
            values[key] = of_runs
    candidates = {name: candidate_of[name] for name in runs}
    same_as, defining, making = {}, [], []
    for key, of_runs in values.items():
        if groups(of_runs) == groups(candidates):
            same_as[key] = "candidate"
        if _is_function(of_runs, candidates) and key not in (RATE, *LOAD_OPTIONS):
            defining.append(key)
        elif twin := next((other for other in keys(factors) if groups(column(factors, other)) == groups(of_runs)), None):
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
    """Return expressions for `--by`, each with the candidates that it finds, the best expression first.

    The best one lets the most runs be compared with a run of another candidate in the same cell; of equal ones, that with the
    most repeats, then that with the fewest candidates.
    """
    proposals = []
    for key in keys(factors):
        candidates = column(factors, key)
        expression_for = expression(key, candidates)
        if expression_for is None:
            continue
        rest = {name: tuple(value for other, value in values.items() if other != key) for name, values in factors.items()}
        cells: dict[tuple[str, ...], dict[str, int]] = {}
        for name, cell in rest.items():
            counts = cells.setdefault(cell, {})
            counts[candidates[name]] = counts.get(candidates[name], 0) + 1
        met = sum(sum(counts.values()) for counts in cells.values() if len(counts) > 1)
        repeats = sum(count - 1 for counts in cells.values() if len(counts) > 1 for count in counts.values())
        proposals.append(((-met, -repeats, len(set(candidates.values()))), expression_for, tuple(factor_levels(factors, key))))
    return [(found, values) for _, found, values in sorted(proposals, key=lambda one: one[0])]


def comparable_stamps(runs: Sequence[str], stamps: Mapping[str, Stamp]) -> dict[str, tuple[int, ...]]:
    """Return the dates of the runs whose dates have the most frequent form."""
    forms = [stamps[name].form for name in runs if name in stamps and stamps[name].form]
    if not forms:
        return {}
    common = max(dict.fromkeys(forms), key=forms.count)
    return {name: stamps[name].key for name in runs if name in stamps and stamps[name].form == common}


def expression(key: str, values: Mapping[str, str]) -> str | None:
    """Return a regular expression that finds the value of a factor in every name; None if no simple one does."""
    alternatives = set(values.values())
    if NONE in alternatives:
        return None
    if key == WORDING:
        if any(" " in value for value in alternatives):
            return None
        expressions = [any_of(map(re.escape, alternatives))]
    elif key.startswith(NUMBER) and all("." in value for value in alternatives):  # versions
        expressions = [rf"(?<![^\W_]){any_of(map(re.escape, alternatives))}(?![^\W_])"]
    else:
        number = r"\d+" if all(value.isdigit() for value in alternatives) else r"\d+(?:\.\d+)*[KMGTkmgtiBb]*"
        number = "[A-Za-z]" if all(len(value) == 1 and value.isalpha() for value in alternatives) else number
        expressions = [f"{re.escape(key)}{between}({number})" for between in ("", "[=_-]", "/", "[^A-Za-z0-9]*")]
    return next((one for one in expressions if all(_finds(one, name, value) for name, value in values.items())), None)


def any_of(expressions: Iterable[str]) -> str:
    """Return an expression whose group is what any of these finds, the longest first."""
    return f"({'|'.join(sorted(set(expressions), key=lambda one: (-len(one), one)))})"


def _finds(expression: str, name: str, value: str) -> bool:
    match = re.search(expression, name)
    return match is not None and match[1] == value


def groups(values: Mapping[str, str]) -> frozenset[frozenset[str]]:
    groups: dict[str, set[str]] = {}
    for name, value in values.items():
        groups.setdefault(value, set()).add(name)
    return frozenset(map(frozenset, groups.values()))


def _is_function(values: Mapping[str, str], candidate_of: Mapping[str, str]) -> bool:
    return len({(candidate_of[name], value) for name, value in values.items()}) == len({candidate_of[name] for name in values})


def _names_its_run(value: str, name: str) -> bool:
    file = name.rpartition("/")[2].partition(".")[0]
    return bool(take_stamps(value)[0].form) or (len(file) > 3 and file in value)

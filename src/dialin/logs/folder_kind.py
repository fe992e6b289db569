"""Decides what runs are to each other, and what tells their candidates apart, before anything is compared. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dialin.logs import factors, run_names
from dialin.logs.assignment import AssignmentRule, assign_candidates
from dialin.logs.factors import Values
from dialin.logs.log_folder import Run, natural_order, rate_of
from dialin.logs.run_names import LOAD, NONE, NUMBER, WORDING, is_counting
from dialin.logs.stamps import take_stamps
from dialin.model.analysis import FolderKind
from dialin.text import counted, listed

_FEWEST, _FEWEST_REPEATS = 2, 3
_IN_FILE = re.compile(r"#\d+$")
"""What tells the runs of one file apart."""
_ENDINGS = re.compile(r"(?:\.[A-Za-z]\w*)+$")
_OF_DATES = r"[-_.:\dTZ]*"
"""What dates in the name of a directory consist of."""
_SHOWN, _SHOWN_OPTIONS = 8, 2


@dataclass(frozen=True, slots=True)
class FolderReading:
    """What runs are to each other.

    Attributes:
        rule: assigns runs to candidates: as requested, or as found.
        is_found: whether the candidates were found, and not asked for.
        loads: the load of each run; empty texts where all have the same.
        taken_as: what was taken for what, in sentences.
    """

    kind: FolderKind
    rule: AssignmentRule
    is_found: bool
    loads: Mapping[str, str]
    taken_as: tuple[str, ...]


def read_folder(runs: Sequence[Run], rule: AssignmentRule, options: Values) -> FolderReading:
    """Decide what kind of folder these runs are.

    - Without anything that may tell candidates apart, runs at several rates are a ramp, else runs with several numbers of
      threads a scaling of one server, else runs of several loads a suite of one candidate.
    - If one thing tells the runs apart, and lets some of them be compared, it names the candidates. Words with numbers of which
      each name has one are one thing, and so is a directory that, with how load was applied, determines all else. Where names
      at most count the runs, it is what the files beside them set differently.
    - Candidates that ran two loads or more are a suite. Rates are never candidates.

    `options` are what the logs and the files beside them say of each run.
    """
    single = [run for run in runs if run.copy_of is None]
    threads = {run.name: str(run.log.threads) for run in single}
    rates = {run.name: rate_of(run) for run in single}
    candidate_of = {} if rule.by_file else assign_candidates(single, rule)
    loads = _loads(single, rule, options)
    how, is_found = "", False
    if rule.by_file:
        parts = {run.name: run_names.read_name(run.name, None) for run in single}
        rule = replace(rule, ignored=(*rule.ignored, *run_names.find_ids(parts)))
        named = run_names.find_factors(parts, rule.ignored, threads)
        conditions = factors.load_factors(named, threads, rates)
        all_groupings = _groupings(named, conditions)
        groupings = [keys for keys in all_groupings if not _counts_runs(keys, named)]
        applied = {name: (threads[name], rates[name], loads[name]) for name in threads}
        expression: str | None = None
        if not groupings and (beside := _told_beside(options, applied)):
            counts = [key for keys in all_groupings for key in keys]
            rule, how = replace(rule, found=beside, ignored=(*rule.ignored, *counts)), " (by the files beside the logs)"
        elif len(groupings := _one_of_each(groupings or all_groupings, named)) == 1:
            expression = _found(groupings[0], named, applied)
        elif groupings and (expression := _by_directory(named, applied)):
            told = [key for key in factors.keys(named) if key not in conditions]
            rule = replace(rule, ignored=(*rule.ignored, *told))
        elif not groupings and (kind := _kind_of_one(threads, rates, loads)) is not None:
            taken_as = _taken_as(kind, {}, threads, rates, loads, "", {})
            return FolderReading(kind, rule, is_found=False, loads=loads, taken_as=taken_as)
        if expression:
            rule, how = replace(rule, by=expression), f" (found: --by '{expression}')"
        is_found = not rule.by_file
        candidate_of = assign_candidates(single, rule) if is_found else {}
    repeats = {} if rule.by_file else _repeat_numbers(single, rule, threads, candidate_of)
    rule = replace(rule, ignored=(*rule.ignored, *repeats))
    kind = _kind_of_several(candidate_of, rates, loads)
    taken_as = _taken_as(kind, candidate_of, threads, rates, loads, how, repeats)
    return FolderReading(kind, rule, is_found=is_found, loads=loads, taken_as=taken_as)


def _kind_of_one(threads: Mapping[str, str], rates: Mapping[str, str], loads: Mapping[str, str]) -> FolderKind | None:
    if len(set(rates.values())) >= _FEWEST:
        return FolderKind.RATE_RAMP
    if len(set(threads.values())) >= _FEWEST:
        return FolderKind.SCALING
    return FolderKind.SUITE if len(set(loads.values())) >= _FEWEST else None


def _kind_of_several(candidate_of: Mapping[str, str], rates: Mapping[str, str], loads: Mapping[str, str]) -> FolderKind:
    pairs = {(candidate_of[name], rates[name]) for name in candidate_of}
    if len(pairs) >= _FEWEST and len({name for name, _ in pairs}) == len({rate for _, rate in pairs}) == len(pairs):
        return FolderKind.RATE_RAMP
    ran: dict[str, set[str]] = {}
    for name, candidate in candidate_of.items():
        ran.setdefault(loads[name], set()).add(candidate)
    is_suite = sum(len(candidates) >= _FEWEST for candidates in ran.values()) >= _FEWEST
    return FolderKind.SUITE if is_suite else FolderKind.ALTERNATIVES


def _loads(runs: Sequence[Run], rule: AssignmentRule, options: Values) -> dict[str, str]:
    """Return the load of each run: by its name, the script in its log, and what its statements do, as far as these differ."""
    parts = {run.name: run_names.read_name(run.name, rule.by) for run in runs}
    named = factors.column(run_names.find_factors(parts, rule.ignored), LOAD)
    table = [named, *({run.name: options.get(run.name, {}).get(key, "") for run in runs} for key in factors.LOAD_OPTIONS)]
    labels = {run.name: "" for run in runs}
    for values in table:
        joined = {name: ", ".join(filter(None, (label, values.get(name, "")))) for name, label in labels.items()}
        if len(set(joined.values())) > len(set(labels.values())):
            labels = joined
    return labels


def _groupings(named: Values, conditions: Sequence[str]) -> list[list[str]]:
    """Return the factors that may tell candidates apart, those together that group the runs in the same way."""
    groupings: dict[frozenset[frozenset[str]], list[str]] = {}
    for key in factors.keys(named):
        if key not in conditions:
            groupings.setdefault(factors.groups(factors.column(named, key)), []).append(key)
    return list(groupings.values())


def _counts_runs(keys: Sequence[str], named: Values) -> bool:
    """Return whether numbers without a word may only count the runs; they stay conditions, and are no candidates."""
    return all(key.startswith(NUMBER) and is_counting(set(factors.column(named, key).values())) for key in keys)


def _one_of_each(groupings: list[list[str]], named: Values) -> list[list[str]]:
    """Return the groupings as one where they are words with numbers, of which each run has one: `mysql1` and `proxy124`."""
    together = [key for keys in groupings for key in keys]
    is_one = all(sum(row[key] != NONE for key in together) == 1 for row in named.values())
    return [together] if len(groupings) > 1 and is_one else groupings


def _repeat_numbers(
    runs: Sequence[Run], rule: AssignmentRule, threads: Mapping[str, str], candidate_of: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return the numbers without a word that count repeats, with their values: each candidate has all of them in each cell."""
    parts = {run.name: run_names.read_name(run.name, rule.by) for run in runs if run.name in candidate_of}
    named = run_names.find_factors(parts, rule.ignored, threads)
    repeats = {}
    for key in factors.keys(named):
        values = sorted(set(factors.column(named, key).values()), key=natural_order)
        if not key.startswith(NUMBER) or len(values) < _FEWEST_REPEATS or not is_counting(values):
            continue
        cells: dict[tuple[str, ...], list[str]] = {}
        for name, row in named.items():
            others = (value for other, value in row.items() if other != key)
            cells.setdefault((candidate_of[name], threads[name], *others), []).append(row[key])
        if all(sorted(cell, key=natural_order) == values for cell in cells.values()):
            repeats[key] = values
    return repeats


def _found(keys: Sequence[str], named: Values, conditions: Mapping[str, tuple[str, ...]]) -> str | None:
    """Return the expression for the candidates that factors tell apart; None if there is none or nothing can be compared."""
    candidates = {name: " ".join(f"{key}{row[key]}" for key in keys if row[key] != NONE) for name, row in named.items()}
    levels: dict[tuple[str, ...], set[str]] = {}
    for name, candidate in candidates.items():
        levels.setdefault(conditions[name], set()).add(candidate)
    is_numbering = all(key.startswith(NUMBER) for key in keys) and len(set(candidates.values())) == len(candidates)
    if is_numbering or all(len(of) < _FEWEST for of in levels.values()):
        return None
    found = {key: factors.expression(key, factors.column(named, key)) for key in keys}
    of_words = next((one for key, one in found.items() if one and not key.startswith(NUMBER)), None)
    return of_words or _by_path(candidates) or _by_word(keys, named) or next(filter(None, found.values()), None)


def _by_path(candidates: Mapping[str, str]) -> str | None:
    """Return an expression for the directory, or the file with several runs, that groups runs in the same way; None without."""
    paths = {name: _ENDINGS.sub("", _IN_FILE.sub("", name)).split("/") for name in candidates}
    for parts, are_dated in _parts(paths):
        if factors.groups(parts) == factors.groups(candidates):
            return _expression_of(parts, "(?=[/#.])", are_dated=are_dated)
    return None


def _parts(paths: Mapping[str, Sequence[str]]) -> Iterator[tuple[dict[str, str], bool]]:
    """Yield the part of each path at each depth without its dates, and whether any had some; none that are dates alone."""
    for depth in range(min(map(len, paths.values()))):
        stamped = {name: take_stamps(path[depth]) for name, path in paths.items()}
        parts = {name: rest.strip("-_.:/ ") if stamp.form else rest for name, (stamp, rest) in stamped.items()}
        if all(parts.values()):
            yield parts, any(stamp.form for stamp, _ in stamped.values())


def _expression_of(parts: Mapping[str, str], end: str, *, are_dated: bool) -> str | None:
    """Return an expression for these parts of names, followed by `end`; None where it finds another part of a name."""
    expression = factors.any_of(map(re.escape, parts.values()))
    dated = f"(?<![^\\W_]){expression}(?={_OF_DATES}{end})"
    expression = dated if are_dated else f"(?:^|/){expression}{end}"
    is_right = all((match := re.search(expression, name)) and match[1] == part for name, part in parts.items())
    return expression if is_right else None


def _by_directory(named: Values, applied: Mapping[str, tuple[str, ...]]) -> str | None:
    """Return an expression for the directories that determine all that names say but how load was applied; None without.

    Two of them must have applied the same load. Directories that are dates are none; in the names of others dates do not count.
    """
    for parts, are_dated in _parts({name: name.split("/")[:-1] for name in named}):
        met: dict[tuple[str, ...], set[str]] = {}
        for name, part in parts.items():
            met.setdefault(applied[name], set()).add(part)
        known = {(part, applied[name]) for name, part in parts.items()}
        rows = {(part, applied[name], tuple(named[name].values())) for name, part in parts.items()}
        if len(rows) == len(known) and max(map(len, met.values())) >= _FEWEST:
            return _expression_of(parts, "/", are_dated=are_dated)
    return None


def _told_beside(options: Values, applied: Mapping[str, tuple[str, ...]]) -> dict[str, str] | None:
    """Return candidates by what the files beside runs set differently, in one way; None where nothing can be compared."""
    groupings: dict[frozenset[frozenset[str]], list[str]] = {}
    values: dict[str, dict[str, str]] = {}
    for key in sorted({key for name in applied for key in options.get(name, {})}):
        values[key] = {name: options.get(name, {}).get(key, NONE) for name in applied}
        grouping = factors.groups(values[key])
        is_setting = key not in (factors.RATE, factors.PROGRAM, *factors.LOAD_OPTIONS) and not factors.OF_PLACES.search(key)
        if is_setting and _FEWEST <= len(grouping) < len(applied):
            groupings.setdefault(grouping, []).append(key)
    if len(groupings) != 1:
        return None
    (keys,) = groupings.values()
    found = {name: ", ".join(f"{key}={values[key][name]}" for key in keys[:_SHOWN_OPTIONS]) for name in applied}
    pairs = {(load, found[name]) for name, load in applied.items()}
    return found if len(pairs) > len(set(applied.values())) else None


def _by_word(keys: Sequence[str], named: Values) -> str | None:
    """Return an expression where each candidate has a word and a number of its own, as `mysql84` and `mariadb114` have."""
    alternatives = set()
    for row in named.values():
        own = [(key, row[key]) for key in keys if row[key] != NONE]
        if len(own) != 1 or own[0][0] in (LOAD, WORDING, NUMBER):
            return None
        alternatives.add("[=_-]?".join(map(re.escape, own[0])))
    return factors.any_of(alternatives)


def _taken_as(
    kind: FolderKind,
    candidate_of: Mapping[str, str],
    threads: Mapping[str, str],
    rates: Mapping[str, str],
    loads: Mapping[str, str],
    how: str,
    repeats: Mapping[str, Sequence[str]],
) -> tuple[str, ...]:
    """Return two sentences: what kind of folder it is, and what was taken for what."""
    names = sorted(set(candidate_of.values()), key=natural_order)
    what = {
        FolderKind.ALTERNATIVES: "Alternatives: runs that differ in one thing, and are compared under the same conditions",
        FolderKind.SUITE: (
            "A suite: each load is compared on its own, with no average over unlike loads"
            if len(names) > 1
            else "Several loads on one server: nothing is compared"
        ),
        FolderKind.SCALING: "A scaling of one server over numbers of threads: nothing is compared",
        FolderKind.RATE_RAMP: "A ramp of requested rates on one server: nothing is compared, and a higher rate never wins",
    }[kind]
    facts = []
    if names and kind is not FolderKind.RATE_RAMP:
        facts.append(f"candidates {_few(names)}{how}")
    for noun, values in (("threads", threads), ("requested rate", rates), ("load", loads)):
        levels = sorted(set(values.values()), key=natural_order)
        if len(levels) > 1:
            facts.append(f"{noun} {_few([level or 'none' for level in levels])}")
    facts += [f"{key} {_few(values)} as the count of runs" for key, values in repeats.items()]
    if not facts:
        facts.append("each log is a candidate" if not names else "all runs have the same threads and load")
    return f"{what}.", f"Taken as: {'; '.join(facts)}."


def _few(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= _SHOWN else f"{', '.join(names[:_SHOWN])} and {counted(len(names) - _SHOWN, 'other')}"

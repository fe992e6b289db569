"""Assigns each run to a candidate, selects the runs that count, and finds what else differs between them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from dialin.errors import UserError
from dialin.logs import factors, run_names
from dialin.logs.factors import DifferingOptions, Values
from dialin.logs.log_folder import Run, natural_order, rate_of
from dialin.logs.stamps import Spans, Stamp, date_of, run_spans
from dialin.model.verdict import Note
from dialin.text import counted, listed

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class AssignmentRule:
    """Assigns runs to candidates by the names of their logs: by `by` or by `table`; without either, each run is a candidate.

    Attributes:
        by: a regular expression that finds the candidate in a name.
        table: patterns of names, by candidate.
        where: the file that holds the table, for error messages.
        ignored: factors that vary between runs but have no effect.
        found: the candidate of each run, by its name, where the files beside the logs tell it.
    """

    by: str | None = None
    table: Mapping[str, Sequence[str]] | None = None
    where: str = ""
    ignored: tuple[str, ...] = ()
    found: Mapping[str, str] | None = None

    @property
    def by_file(self) -> bool:
        return self.by is None and self.table is None and self.found is None


@dataclass(frozen=True, slots=True)
class AssignedRuns:
    """Runs by candidate.

    Attributes:
        names: the candidates that have runs, in order.
        labels: a short label of each run, by the run's name.
        candidate_of: the candidate of each run that counts or is a copy of one that does, by the run's name.
        settings: the factors that differ between the runs that count, with the value in each run.
        conditions: the part of `settings` in which runs must agree to be compared: the cell.
        options: the options that differ between the logs' headers, or between the files beside the logs.
        stamps: the dates of the runs that count, by their names, else by their files.
        spans: when these runs began and ended; empty where that is not known.
        ordered: the names of these runs in the order of their dates; None where the order is unknown.
        confounds: notes on factors that differ between candidates together.
        warnings: notes on the runs that were left out or counted once, and why.
    """

    names: tuple[str, ...]
    labels: Mapping[str, str]
    candidate_of: Mapping[str, str]
    settings: Values
    conditions: Values
    options: DifferingOptions
    stamps: Mapping[str, Stamp]
    spans: Spans
    ordered: Sequence[str] | None
    confounds: Sequence[Note]
    warnings: Sequence[Note]

    def only(self, runs: Collection[str]) -> AssignedRuns:
        """Return the same with these runs only."""
        candidates = {self.candidate_of[name] for name in runs}
        return replace(
            self,
            names=tuple(name for name in self.names if name in candidates),
            settings={name: values for name, values in self.settings.items() if name in runs},
            conditions={name: values for name, values in self.conditions.items() if name in runs},
        )


def assign(runs: Sequence[Run], rule: AssignmentRule, options: Values | None = None) -> AssignedRuns:
    """Assign runs to candidates. A copy does not count, nor does its original where the two belong to different candidates.

    `options` are the options of each log's header and of the files beside it, by the run's name.

    Raises:
        UserError: an expression or a pattern is invalid or matches nothing, or no run is left.
    """
    labels = run_names.short_labels([run.name for run in runs])
    candidate_of = assign_candidates(runs, rule, labels)
    ambiguous = _ambiguous_runs(runs, candidate_of)
    warnings = _copy_notes(runs, candidate_of, labels, ambiguous)
    warnings += (
        [_unassigned([run.name for run in runs if run.name not in candidate_of], labels)]
        if len(candidate_of) < len(runs)
        else []
    )
    candidate_of = {name: candidate for name, candidate in candidate_of.items() if name not in ambiguous}
    counting = [run for run in runs if run.copy_of is None and run.name in candidate_of]
    if not counting:
        raise UserError(warnings[0].text, "Remove the copies: a run belongs to one candidate")
    parts = {run.name: run_names.read_name(run.name, rule.by) for run in counting}
    threads = {run.name: str(run.log.threads) for run in counting}
    named = factors.with_threads(run_names.find_factors(parts, rule.ignored, threads), threads, candidate_of, rule.ignored)
    differing_options = factors.find_differing_options(options or {}, named, candidate_of, rule.ignored)
    settings = factors.with_options(named, differing_options)
    conditions: Values
    if rule.by_file:
        rates = {run.name: rate_of(run) for run in counting}
        kept = {run_names.THREADS, factors.RATE, *factors.LOAD_OPTIONS, *factors.load_factors(settings, threads, rates)}
        conditions = {name: {key: value for key, value in row.items() if key in kept} for name, row in settings.items()}
    else:
        conditions = _without_names_of_candidates(settings, candidate_of)
    confounds: list[Note] = []
    if rule.table is not None or rule.found is not None:
        conditions, confounds = _without_defining_factors(settings, candidate_of)
    order = list(rule.table) if rule.table is not None else sorted(set(candidate_of.values()), key=natural_order)
    stamps = {name: name_parts.stamp for name, name_parts in parts.items()}
    spans = run_spans(counting, stamps)
    if not any(stamp.form for stamp in stamps.values()):
        stamps = {name: date_of(begin) for name, (begin, _) in spans.items()}
    return AssignedRuns(
        names=tuple(name for name in order if any(candidate_of[run.name] == name for run in counting)),
        labels=labels,
        candidate_of=candidate_of,
        settings=settings,
        conditions=conditions,
        options=differing_options,
        stamps=stamps,
        spans=spans,
        ordered=run_names.in_order(stamps),
        confounds=confounds,
        warnings=warnings,
    )


def assign_candidates(runs: Sequence[Run], rule: AssignmentRule, labels: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the candidate of each run that has one; `labels` name the candidates of a rule that makes each run one.

    Raises:
        UserError: an expression or a pattern is invalid or matches nothing.
    """
    names = [run.name for run in runs]
    if rule.by is not None:
        return run_names.by_expression(names, rule.by)
    if rule.table is not None:
        return run_names.by_patterns(names, rule.table, rule.where)
    if rule.found is not None:
        return {run.name: rule.found[run.copy_of or run.name] for run in runs}
    return {run.name: (labels or {}).get(run.copy_of or run.name, run.name) for run in runs}


def _ambiguous_runs(runs: Sequence[Run], candidate_of: Mapping[str, str]) -> set[str]:
    """Return the runs with a copy in another candidate, and these copies: it is unknown which candidate they belong to."""
    ambiguous = set()
    for run in runs:
        if (
            run.copy_of is not None
            and candidate_of.get(run.name) != candidate_of.get(run.copy_of)
            and run.name in candidate_of
            and run.copy_of in candidate_of
        ):
            ambiguous |= {run.copy_of, *(other.name for other in runs if other.copy_of == run.copy_of)}
    return ambiguous


def _copy_notes(
    runs: Sequence[Run], candidate_of: Mapping[str, str], labels: Mapping[str, str], ambiguous: Collection[str]
) -> list[Note]:
    notes = []
    for original in runs:
        copies = [run for run in runs if run.copy_of == original.name]
        if not copies:
            continue
        alike = "byte for byte" if all(run.exact for run in copies) else "in every figure"
        copy_labels, label = listed([labels[run.name] for run in copies]), labels[original.name]
        are = "is a copy" if len(copies) == 1 else "are copies"
        text = f"{copy_labels} {are} of {label}, {alike}: counted as one run"
        data = {"run": original.name, "copies": [run.name for run in copies], "exact": all(run.exact for run in copies)}
        if original.name in ambiguous:
            candidates = listed(
                sorted({candidate_of[run.name] for run in (original, *copies) if run.name in candidate_of}, key=natural_order)
            )
            text = f"{copy_labels} {are} of {label}, {alike}, but they are assigned to {candidates}: left out"
        notes.append(Note(code="copy_in_two_candidates" if original.name in ambiguous else "copies", text=text, data=data))
    return notes


def _unassigned(files: Sequence[str], labels: Mapping[str, str]) -> Note:
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    shown = ", ".join(labels[name] for name in files[:_SHOWN])
    text = f"{counted(len(files), 'log')} without a candidate, left out: {shown}{more}"
    return Note(code="left_out", text=text, data={"files": files})


def _without_names_of_candidates(settings: Values, candidate_of: Mapping[str, str]) -> Values:
    """Remove numbers and words without a name that differ as the candidates do, such as `8.4.5` below `mysql`."""
    candidates = factors.groups({name: candidate_of[name] for name in settings})
    same = [
        key
        for key in factors.keys(settings)
        if key.startswith((run_names.NUMBER, run_names.WORDING)) and factors.groups(factors.column(settings, key)) == candidates
    ]
    return {name: {key: value for key, value in row.items() if key not in same} for name, row in settings.items()}


def _without_defining_factors(
    settings: Values, candidate_of: Mapping[str, str]
) -> tuple[dict[str, dict[str, str]], list[Note]]:
    """Remove the factors that are constant within each candidate, which define it; return a note where there are several."""
    defining = []
    for key in factors.keys(settings):
        values: dict[str, set[str]] = {}
        for name, row in settings.items():
            values.setdefault(candidate_of[name], set()).add(row[key])
        if all(len(row) == 1 for row in values.values()):
            defining.append(key)
    remaining = {name: {key: value for key, value in row.items() if key not in defining} for name, row in settings.items()}
    if len(defining) < 2:
        return remaining, []
    text = f"{listed(defining)} differ together between candidates: the result is their combined effect"
    return remaining, [Note(code="differ_together", text=text, data={"names": defining})]

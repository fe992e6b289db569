"""Reaches the verdict on runs from their logs: which runs can be compared, and what may be claimed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import cached_property

from dialin.logs import analysis_sentences, beside_logs, cells, course_notes, factors, notes, one_server
from dialin.logs.assignment import AssignedRuns, assign
from dialin.logs.beside_logs import Beside
from dialin.logs.factors import Values
from dialin.logs.folder_kind import FolderReading, read_folder
from dialin.logs.judgement import Judgement, Request, baseline_of, judge
from dialin.logs.log_folder import Folder, Run, incomplete, rate_of
from dialin.logs.run_figures import RunFigures, sum_up_run
from dialin.logs.server_starts import ServedBy, find_starts
from dialin.logs.sibling_files import is_secret
from dialin.logs.status_listings import differing_shares
from dialin.model.analysis import (
    Analysis,
    CandidateAnalysis,
    CellAnalysis,
    FileEntry,
    FileStatus,
    FolderKind,
    RateRamp,
    RunAnalysis,
    ScalingCurve,
    Starts,
    SuiteRow,
)
from dialin.model.setting import whole_number
from dialin.model.verdict import Note, Outcome
from dialin.readers.sysbench_log import RunLog

_FEWEST = 2
_THREADS = ("virtual_users", "threads", "terminals", "connections")
"""Parameters that say how many connections applied load."""


@dataclass(frozen=True)
class _Material:
    """The runs of a folder, read, assigned to candidates and summed up."""

    folder: Folder
    request: Request
    reading: FolderReading
    assigned: AssignedRuns
    figures: Sequence[RunFigures]
    beside: Mapping[str, Beside]
    served: Mapping[str, ServedBy]

    @property
    def is_compared(self) -> bool:
        kind = self.reading.kind
        return kind is FolderKind.ALTERNATIVES or (kind is FolderKind.SUITE and not self.reading.rule.by_file)

    @cached_property
    def curves(self) -> list[ScalingCurve]:
        """The curves over threads, by candidate where candidates are compared; none where each log is one."""
        if self.is_compared and self.request.rule.by_file:
            return []
        return one_server.scaling_curves(self.counted, by_candidate=self.is_compared)

    @cached_property
    def ramps(self) -> list[RateRamp]:
        return one_server.rate_ramps(self.folder.runs, self.figures, by_candidate=self.is_compared)

    @property
    def alternatives(self) -> Values:
        """The factors that may tell candidates apart: all but those that only say how load was applied."""
        runs = {run.name: run for run in self.runs}
        threads = {name: str(run.log.threads) for name, run in runs.items()}
        conditions = factors.load_factors(self.assigned.settings, threads, {name: rate_of(run) for name, run in runs.items()})
        return {
            name: {key: value for key, value in row.items() if key not in conditions}
            for name, row in self.assigned.settings.items()
        }

    @property
    def counted(self) -> list[RunAnalysis]:
        return [one.run for one in self.figures if one.run.file in self.assigned.settings]

    @property
    def unit(self) -> str:
        """The unit of throughput; several, where runs differ, which are not compared."""
        return ", ".join(dict.fromkeys(run.unit for run in self.counted))

    @property
    def runs(self) -> list[Run]:
        return [run for run in self.folder.runs if run.name in self.assigned.settings]


@dataclass(frozen=True, slots=True)
class _Result:
    """What is said of a folder: the fields of its analysis that its kind decides."""

    headline: str
    reason: str
    verdict: Outcome | None = None
    winners: Sequence[str] = ()
    baseline: str = ""
    run_noise: float | None = None
    candidates: Sequence[CandidateAnalysis] = ()
    suite: Sequence[SuiteRow] = ()
    cells: Sequence[CellAnalysis] = ()
    proposals: Sequence[str] = ()
    assumptions: Sequence[Note] = ()
    findings: Sequence[Note] = ()
    confounds: Sequence[Note] = ()
    warnings: Sequence[Note] = ()


def analyze(folder: Folder, request: Request, beside: Mapping[str, Beside] | None = None) -> Analysis:
    """Judge runs by their logs, and by what lies beside them, by the run's name.

    Raises:
        UserError: a candidate, an expression or a pattern matches nothing, or the logs lack the figure that the goal compares.
    """
    beside = {run.name: (beside or {}).get(run.name, Beside()) for run in folder.runs}
    folder = replace(folder, runs=tuple(_with_parameters(run, beside[run.name].options) for run in folder.runs))
    run_options = _options(folder.runs, beside)
    reading = read_folder(folder.runs, request.rule, run_options)
    request = replace(request, rule=reading.rule)
    assigned = assign(folder.runs, request.rule, run_options)
    figures = [
        sum_up_run(
            run,
            assigned.labels[run.name],
            assigned.candidate_of.get(run.name),
            assigned.conditions.get(run.name, {}),
            request.skip,
        )
        for run in folder.runs
    ]
    counted = [one.run for one in figures if one.run.file in assigned.settings]
    served = find_starts(counted, beside, assigned.spans, restarted=request.restarted)
    figures = [_with_server(one, served.get(one.run.file, ServedBy()), beside[one.run.file].host) for one in figures]
    material = _Material(folder, request, reading, assigned, figures, beside, served)
    if not material.is_compared:
        return _analysis(material, _one_server(material))
    baseline = baseline_of(request.baseline, assigned)
    judgement = judge(figures, assigned, request, baseline, 1 - request.confidence)
    if reading.kind is FolderKind.SUITE and len(assigned.names) > 1:
        return _analysis(material, _suite(material, judgement))
    return _analysis(material, _alternatives(material, judgement))


def _with_server(figures: RunFigures, served: ServedBy, host: str) -> RunFigures:
    shared = served.start if served.state is Starts.SHARED else None
    facts = {"starts": served.state, "starts_shown_by": served.by, "shared_start": shared, "host": host}
    return replace(figures, run=figures.run.model_copy(update=facts))


def _with_parameters(run: Run, options: Mapping[str, str]) -> Run:
    """Return a run whose log does not say its threads or its length as the parameters beside it do."""
    log, summary = run.log, run.log.summary
    threads = next((count for key in _THREADS if (count := whole_number(options.get(key, "")))), 0)
    if not log.threads and threads:
        log = replace(log, threads=threads)
    seconds = whole_number(options.get("duration_seconds", ""))
    if summary is not None and summary.seconds is None and seconds is not None:
        log = replace(log, summary=replace(summary, seconds=float(seconds)))
    return run if log is run.log else replace(run, log=log)


def _options(runs: Sequence[Run], beside: Mapping[str, Beside]) -> Values:
    headers = factors.differing_headers({run.name: _conditions(run.log) for run in runs if run.copy_of is None})
    return {run.name: {**headers.get(run.name, {}), **beside[run.name].options} for run in runs}


def _conditions(log: RunLog) -> dict[str, str]:
    """Return under which conditions a run was made, by its own log: its options, and whether it reads or writes."""
    statements = {factors.STATEMENTS: log.statements} if log.statements else {}
    told = {key: value for key, value in log.header.items() if not is_secret(key, value)}
    return {**told, **statements, factors.UNIT: log.unit}


def _analysis(material: _Material, result: _Result) -> Analysis:
    request, assigned = material.request, material.assigned
    result = replace(result, warnings=[*result.warnings, *_notes_on_runs(material)])
    return Analysis(
        kind=material.reading.kind,
        taken_as=list(material.reading.taken_as),
        unit=material.unit,
        goal=request.goal,
        confidence=request.confidence,
        worthwhile=request.smallest,
        scaling=material.curves,
        ramps=material.ramps,
        factors=cells.analyze_factors(assigned.settings, assigned.candidate_of, assigned.names if result.baseline else ()),
        runs=[one.run for one in material.figures],
        files=[_beside(entry) for entry in material.folder.files],
        **{each.name: getattr(result, each.name) for each in fields(result)},
    )


def _beside(entry: FileEntry) -> FileEntry:
    """Return the entry of a file; a file beside the logs that is read for what it says of them is no failure."""
    if entry.status is FileStatus.NO_LOG and any(
        fnmatchcase(entry.file.rpartition("/")[2].lower(), one) for one in beside_logs.PATTERNS
    ):
        return entry.model_copy(update={"status": FileStatus.BESIDE, "detail": ""})
    return entry


def _notes_on_runs(material: _Material) -> list[Note]:
    """Return the notes on each run alone, whatever it is compared with."""
    runs, counted = material.runs, material.counted
    return [
        *course_notes.unsettled(counted),
        *course_notes.long_warm_up(counted),
        *course_notes.faster_starts(counted),
        *course_notes.courses(counted),
        *course_notes.dips(counted),
        *notes.different_logs(counted),
        *(notes.incomplete(text) for run in runs for text in incomplete(run)),
        *notes.unfinished(runs),
        *notes.never_ended(runs),
        *notes.errors(counted),
        *notes.server_warnings(counted, {name: log for name, one in material.beside.items() if (log := one.error_log)}),
    ]


def _one_server(material: _Material) -> _Result:
    """Return the result of runs that nothing is compared in."""
    kind = material.reading.kind
    if kind is FolderKind.RATE_RAMP:
        headline = analysis_sentences.ramp_headline(material.ramps)
    elif kind is FolderKind.SCALING:
        headline = analysis_sentences.scaling_headline(material.curves, material.unit)
    else:
        loads = len(set(material.reading.loads.values()))
        headline = f"One server under {loads} loads: nothing is compared."
    return _Result(headline, analysis_sentences.NOTHING_COMPARED, warnings=material.assigned.warnings)


def _suite(material: _Material, overall: Judgement) -> _Result:
    """Return the result of a suite: each load is judged on its own, all of them together at the confidence."""
    assigned, request = material.assigned, material.request
    loads = {name: material.reading.loads[name] for name in assigned.settings}
    names = list(dict.fromkeys(loads.values()))
    alpha = (1 - request.confidence) / len(names)
    rows = []
    for load in names:
        part = assigned.only([name for name, of in loads.items() if of == load])
        if overall.baseline in part.names and len(part.names) >= _FEWEST:
            judged = judge(material.figures, part, request, overall.baseline, alpha)
            standings = judged.standings
            rows.append(_row(load, standings.outcome, standings.winners, judged.candidates))
        else:
            alone = judge(material.figures, part, request, part.names[0], alpha)
            rows.append(_row(load, None, (), alone.candidates))
    outcomes = {(row.verdict, tuple(row.winners)) for row in rows if row.verdict}
    (verdict, winners), *others = sorted(outcomes) or [(Outcome.INCONCLUSIVE, ())]
    if others or verdict is None:
        verdict, winners = Outcome.INCONCLUSIVE, ()
    return _Result(
        verdict=verdict,
        headline=analysis_sentences.suite_headline(request.goal, rows, overall.baseline, verdict),
        reason=analysis_sentences.SUITE_REASON,
        assumptions=_assumptions(material, overall),
        winners=winners,
        baseline=overall.baseline,
        run_noise=overall.compared.decisive.sd,
        suite=rows,
        cells=cells.analyze_cells(overall.cells, overall.runs, assigned.names, overall.baseline),
        findings=[
            *notes.more_errors(overall.runs, assigned.names, overall.baseline, overall.compared.throughput),
            *_differing_shares(material, overall),
        ],
        confounds=_confounds(material, overall),
        warnings=_warnings(material, overall),
    )


def _row(load: str, verdict: Outcome | None, winners: Sequence[str], candidates: Sequence[CandidateAnalysis]) -> SuiteRow:
    return SuiteRow(load=load, verdict=verdict, winners=list(winners), candidates=list(candidates))


def _alternatives(material: _Material, judgement: Judgement) -> _Result:
    assigned, request, names = material.assigned, material.request, material.assigned.names
    standings, table, baseline = judgement.standings, judgement.cells, judgement.baseline
    runs, compared = judgement.runs, judgement.compared
    failing = list(notes.more_errors(runs, names, baseline, compared.throughput))
    by_file = request.rule.by_file
    is_unsorted = (by_file or material.reading.is_found) and len(names) > notes.MOST_UNSORTED
    proposals = factors.propose_by(material.alternatives) if by_file and len(assigned.settings) > 1 else []
    less_steady = (
        notes.less_steady(compared.counted, names, compared.throughput, 1 - request.confidence)
        if compared.same_interval and not is_unsorted
        else []
    )
    return _Result(
        verdict=standings.outcome,
        headline=analysis_sentences.headline(
            request.goal,
            standings,
            judgement.candidates,
            baseline,
            table,
            judgement.bars,
            failing,
            {run.candidate or "" for run in runs if run.shared_start},
            material.unit,
        ),
        reason=analysis_sentences.reason(
            standings, request.smallest, proposals, by_cell=analysis_sentences.is_by_cell(standings, table)
        ),
        winners=standings.winners,
        baseline=baseline,
        run_noise=compared.decisive.sd,
        candidates=judgement.candidates,
        cells=cells.analyze_cells(table, runs, names, baseline) if compared.decisive.names else [],
        proposals=[expression for expression, _ in proposals],
        assumptions=_assumptions(material, judgement),
        findings=[
            *cells.dependence(table, names, baseline, judgement.barred),
            *less_steady,
            *failing,
            *([] if by_file else _differing_shares(material, judgement)),
        ],
        confounds=_confounds(material, judgement),
        warnings=_warnings(material, judgement),
    )


def _differing_shares(material: _Material, judgement: Judgement) -> list[Note]:
    shares = {name: beside.shares for name, beside in material.beside.items()}
    return differing_shares(judgement.runs, material.assigned.names, shares)


def _assumptions(material: _Material, judgement: Judgement) -> list[Note]:
    """Return what a claim rests on; without a claim, that intervals allow for starts, which may be why there is none."""
    assumed = notes.assumptions(judgement.runs, judgement.compared.decisive, material.assigned.stamps)
    return [note for note in assumed if judgement.claims or note.code == "starts_unknown"]


def _confounds(material: _Material, judgement: Judgement) -> list[Note]:
    return [
        *notes.shared_starts(judgement.runs, material.served),
        *material.assigned.confounds,
        *notes.differing_factors(judgement.runs, material.assigned.names, judgement.compared.decisive),
        *notes.differing_options(material.assigned),
        *notes.order_notes(judgement.bars),
    ]


def _warnings(material: _Material, judgement: Judgement) -> list[Note]:
    """Return the notes on what keeps runs from being compared as repeats."""
    assigned, runs, names = material.assigned, judgement.runs, material.assigned.names
    by_file = material.request.rule.by_file
    return [
        *assigned.warnings,
        *notes.contradicted_restarts(material.served),
        *notes.single_runs(names, runs, judgement.compared.decisive),
        *notes.moved_between_runs(runs, assigned, judgement.compared.throughput, by_file=by_file),
        *notes.not_random(runs, assigned.ordered, names),
    ]

"""The list of studies below a directory, for scripts, for the terminal, and as tables of workloads and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from dialin.errors import MachineError, UserError
from dialin.evidence.proof_view import proof_view
from dialin.measures.of_verdict import deciding, measure_of
from dialin.model.record import StudyRecord
from dialin.model.setting import as_number
from dialin.model.studies import ListedStudy, StudyList
from dialin.model.suite import Suite
from dialin.model.trial import TrialState
from dialin.model.verdict import Estimate, Outcome, Verdict
from dialin.report.board import study_title, what_else
from dialin.report.render.markdown_text import prose, table
from dialin.report.render.terminal_page import Page
from dialin.sentences.changes import change_or_no_interval
from dialin.sentences.names import naming
from dialin.sentences.state_sentences import OUTCOMES
from dialin.sentences.tune_words import brief_setting
from dialin.store import is_suite, read_only
from dialin.store.read_only import find_studies
from dialin.text import NOTHING, counted, listed, visible

CandidateTexts = Mapping[str, str]
"""The figure of each candidate, by its value."""

_DATE = 12
"""Columns of a date and the space after it."""


class StudyLister:
    """Reads the studies in a directory and below it, each once, without their samples."""

    def __init__(self, directory: Path) -> None:
        search = find_studies(directory)
        records: list[tuple[str, StudyRecord]] = []
        self._directory = directory
        self._problems = [(str(place), reason) for place, reason in search.problems]
        for place in search.studies:
            try:
                record = read_only.read(place, lambda store: store.read(samples=False))
                records.append((str(place), proof_view(record)))
            except UserError as error:
                self._problems.append((str(place), error.what))
        self._records = sorted(records, key=lambda each: each[1].created)

    def document(self) -> StudyList:
        studies = [_listed(directory, record) for directory, record in self._records]
        problems = [ListedStudy(directory=directory, problem=reason) for directory, reason in self._problems]
        return StudyList(directory=str(self._directory), studies=[*studies, *problems])

    def relative(self) -> str:
        """Return a Markdown table for each question: studies × values, the goal's measure as a ratio to the baseline's.

        Below them are the studies without a verdict, and those that cannot be read.
        """
        questions: dict[_Question, list[tuple[str, CandidateTexts]]] = {}
        for _, record in self._records:
            if record.verdict is not None:
                questions.setdefault(_question(record, record.verdict), []).append(_row(record, record.verdict))
        tables = [_relative_table(question, rows) for question, rows in questions.items()]
        none = f"No study with a verdict is in {visible(self._directory)} or below it."
        left_out = [(directory, "no verdict yet") for directory, record in self._records if record.verdict is None]
        lines = [f"- {prose(f'{visible(directory)}: {visible(why)}')}" for directory, why in [*left_out, *self._problems]]
        return "\n\n".join([*(tables or [none]), *(["Left out:\n\n" + "\n".join(lines)] if lines else [])])

    def print_on(self, console: Console, read_suite: Callable[[Path], Suite]) -> None:
        """Print three lines for each study, its date first, and one line for each that cannot be read.

        The studies of a suite are one entry, with its result when it last ended, as `read_suite` returns it.
        """
        page, suites = Page(console), self._suites(read_suite)
        if not self._records and not self._problems:
            page.text(f"No study is in {visible(self._directory)} or below it.")
        indent, printed = " " * _DATE, set[Path]()
        for name, record in self._records:
            directory = Path(name)
            workload, result, is_over = visible(record.spec.workload.asked), _verdict(record), record.verdict is not None
            if (suite := suites.get(directory.parent)) is not None:
                directory = directory.parent
                if directory in printed:
                    continue
                printed.add(directory)
                workload, is_over = counted(len(suite.plan.members), "workload"), bool(suite.headline)
                result = visible(suite.headline) or "No result yet"
            date = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%d")
            page.text(f"{date:{_DATE}}{result}", "bold" if is_over else "", hanging=indent)
            page.text(f"{study_title(record.spec)}, {workload}", "", indent)
            page.copyable(f"{indent}{visible(directory)}", "dim")
        for place, reason in self._problems:
            text = reason if place in reason else f"{place}: {reason}"
            page.copyable(f"{NOTHING:{_DATE}}{visible(text)}", "yellow")

    def _suites(self, read_suite: Callable[[Path], Suite]) -> dict[Path, Suite]:
        """Return the suites of the studies by their directories; without those that cannot be read."""
        suites = dict[Path, Suite]()
        for place in dict.fromkeys(Path(directory).parent for directory, _ in self._records):
            with suppress(UserError, MachineError):
                suites |= {place: read_suite(place)} if is_suite(place) else {}
        return suites


class _Question(NamedTuple):
    """What studies of one table have in common, in words."""

    variables: str
    baseline: str
    measure: str


def _question(record: StudyRecord, verdict: Verdict) -> _Question:
    spec = record.spec
    variables = listed(sorted(spec.variables_under_test)) or what_else(spec)
    return _Question(variables, naming(spec).labels[verdict.baseline], measure_of(verdict).noun)


def _row(record: StudyRecord, verdict: Verdict) -> tuple[str, CandidateTexts]:
    spec, labels = record.spec, naming(record.spec).labels
    builds = listed(sorted({candidate.server for candidate in spec.candidates}))
    figures = {
        labels[one.name]: "1" if one.name == verdict.baseline else _ratio_text(deciding(one, verdict))
        for one in verdict.candidates
    }
    return f"{spec.workload.asked}, {counted(spec.workload.threads, 'thread')}, {builds}", figures


def _ratio_text(ratio: Estimate | None) -> str:
    if ratio is None:
        return NOTHING
    ends = "" if ratio.low is None or ratio.high is None else f" ({ratio.low:.3f} to {ratio.high:.3f})"
    return f"{ratio.mean:.3f}{ends}"


def _relative_table(question: _Question, rows: Sequence[tuple[str, CandidateTexts]]) -> str:
    values = list(dict.fromkeys(value for _, figures in rows for value in figures))
    numbers = {value: number for value in values if (number := as_number(value)) is not None}
    if len(numbers) == len(values):
        values.sort(key=lambda value: numbers[value])
    # The baseline comes first, as in every table of a report.
    values.sort(key=lambda value: value != question.baseline)
    cells = [[prose(label), *(prose(figures.get(value, NOTHING)) for value in values)] for label, figures in rows]
    drawn = table(["workload", *map(prose, values)], cells, f"l{'r' * len(values)}")
    head = f"{question.variables}: {question.measure} as a ratio to that with {question.baseline}"
    return f"**{prose(head)}**\n\n{drawn}"


def _listed(directory: str, record: StudyRecord) -> ListedStudy:
    spec, verdict = record.spec, record.verdict
    return ListedStudy(
        directory=directory,
        began=datetime.fromtimestamp(round(record.created), UTC),
        variables=list(spec.variables_under_test),
        builds=list(dict.fromkeys(candidate.server for candidate in spec.candidates)),
        workload=spec.workload.describe(),
        goal=spec.goal,
        trials=_completed(record),
        verdict=verdict.verdict if verdict else None,
        baseline=spec.baseline,
        recommended_candidate=verdict.recommended_candidate if verdict else None,
        recommended=dict(verdict.recommended) if verdict else {},
        gain=deciding(verdict.chosen, verdict) if verdict else None,
    )


def _verdict(record: StudyRecord) -> str:
    verdict = record.verdict
    if verdict is None:
        return f"No verdict yet: {counted(_completed(record), 'trial')} completed"
    outcome, labels = OUTCOMES[verdict.verdict], naming(record.spec).labels
    name = verdict.recommended_candidate
    if name != verdict.baseline:
        ratio = deciding(verdict.chosen, verdict)
        gain = f", {measure_of(verdict).noun} {change_or_no_interval(ratio)}" if ratio else ""
        what = brief_setting(verdict.tune.recommended) if verdict.tune else labels[name]
        return f"{outcome}: {what}{gain}"
    if verdict.verdict in (Outcome.NO_WORTHWHILE_DIFFERENCE, Outcome.INCONCLUSIVE):
        return outcome
    if verdict.winners and name not in verdict.winners:
        best = listed([labels[winner] for winner in verdict.winners])
        return f"{outcome}: {best}, with weaker durability; recommended: the baseline"
    return f"{outcome}: {labels[name]}, the baseline"


def _completed(record: StudyRecord) -> int:
    return sum(trial.state is TrialState.DONE for trial in record.trials)

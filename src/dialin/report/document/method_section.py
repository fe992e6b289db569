"""The section on how the study was made: order, time, trials, variables, failures, machine, and how to repeat it."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.evidence.server_metrics import ServerMetrics
from dialin.model.record import StudyRecord
from dialin.model.trial import Purpose, TrialState
from dialin.report.charts.trial_series import Series
from dialin.report.document import facts, metrics_section, variables_shown
from dialin.report.document.glossary import TERMS, Word
from dialin.report.document.parts import (
    Beside,
    Cell,
    Code,
    Column,
    Fold,
    Group,
    Link,
    Log,
    Pairs,
    Paragraph,
    Part,
    Row,
    RowRole,
    Section,
    SectionKey,
    Table,
    Terms,
    text_table,
)
from dialin.report.load_units import units_in
from dialin.report.names import Naming
from dialin.report.studyfile import study_file
from dialin.text import counted, number, visible, without_secrets

_ORDER = {
    Purpose.RACE: "",
    Purpose.CONFIRM: ", fresh",
    Purpose.WAITS: ", for waits",
    Purpose.SEARCH: ", of the search",
    Purpose.OBSERVE: ", to observe",
}
"""What stands behind the number of a block, by what its trials are for."""


def method_section(record: StudyRecord, series: Sequence[Series], names: Naming, metrics: ServerMetrics) -> Section:
    """Return the section; `series` are all trials, and `metrics` those of their servers, which it links to."""
    parts: list[Part] = [
        Group("order", "Order of trials", _order(record, series, names)),
        Group("time", "Time spent", _time(record)),
        Group("effective", "Requested and effective", [_effective(record)]),
        Group("differing", "Variables that differed", [_differing(record)]),
        *_not_default(record),
        *_failures(record, names),
        Group("every-trial", "Every trial", [_trials(record, series, names, metrics)]),
        Beside(
            [
                Group("machine", "Machine", [Pairs(facts.machine(record))]),
                Group("servers", "Servers", _servers(record)),
                Group("study", "Study", [Pairs(facts.settings(record))]),
            ]
        ),
        Group("repeat", "Repeat the study", _repeat(record)),
        Group("log", "Log", [Log(facts.log_lines(record))]),
        Group("terms", "Terms", [Terms(TERMS)]),
    ]
    return Section(SectionKey.HOW, "How it was made", parts)


def _order(record: StudyRecord, series: Sequence[Series], names: Naming) -> list[Part]:
    blocks: dict[tuple[str, int], list[Series]] = {}
    for one in series:
        blocks.setdefault((_ORDER[one.trial.purpose], one.trial.block), []).append(one)
    longest = max(map(len, blocks.values()), default=0)
    columns = [
        Column("block", "block", term=Word.BLOCK),
        *(Column(f"place-{place}", str(place)) for place in range(1, longest + 1)),
    ]
    rows = []
    for (kind, block), placed in sorted(blocks.items()):
        cells = [_placed(one, names) for one in placed] + [Cell("")] * (longest - len(placed))
        rows.append(Row([Cell(f"block {block}{kind}"), *cells]))
    caption = (
        "Each block runs its candidates in random order, left to right. The figure is the mean of the trial, "
        f"{units_in(record).rate}."
    )
    return [Table("order-table", caption, columns, rows, "No trial has started yet.")]


def row_key(trial: int) -> str:
    """Return what the row of a trial is called in the table of every trial; a page's script knows it."""
    return f"trial-{trial}"


def _placed(one: Series, names: Naming) -> Cell:
    figure = str(one.trial.state) if one.mean is None else number(one.mean)
    failed = one.trial.state is TrialState.FAILED
    return Cell(
        names.labels[one.trial.candidate],
        [figure],
        candidate=one.trial.candidate,
        is_marked=failed,
        link=Link(row_key(one.trial.id)),
    )


def _time(record: StudyRecord) -> list[Part]:
    sentence = Paragraph(facts.time_sentence(record.trials))
    spent = facts.time_spent(record.trials)
    if not spent:
        return [sentence]
    columns = [Column("step", "step"), Column("time", "time", is_figure=True), Column("share", "share", is_figure=True)]
    rows = [Row([Cell(one.name), Cell(one.time), Cell(one.shown, share=one.share)]) for one in spent]
    return [sentence, Table("time-table", "Wall-clock time of each step, over all trials.", columns, rows)]


def _effective(record: StudyRecord) -> Table:
    columns = [
        Column("candidates", "candidates"),
        Column("variable", "variable", is_code=True),
        Column("requested", "requested"),
        Column("effective", "effective"),
        Column("same", "same"),
    ]
    rows = [
        Row(
            [Cell(one.candidates), Cell(one.name), Cell(one.requested), Cell(one.in_force), Cell(one.same)],
            RowRole.BAD if one.is_other else RowRole.PLAIN,
        )
        for one in facts.requested_and_effective(record)
    ]
    caption = "What candidates set, and what their servers reported after boot."
    return Table("effective-table", caption, columns, rows, "No candidate sets a variable.")


def _differing(record: StudyRecord) -> Table:
    columns = [
        Column("variable", "variable", is_code=True),
        Column("tested", "under test"),
        Column("value", "value", is_code=True),
        Column("candidates", "candidates"),
    ]
    rows = [
        Row([Cell(one.name), Cell("yes" if one.under_test else "no"), Cell(value), Cell(owners)])
        for one in variables_shown.differing(record)
        for value, owners in one.values
    ]
    caption = (
        "Every variable whose value differed between candidates, except those that only identify an instance, such as ports "
        "and directories."
    )
    return Table("differing-table", caption, columns, rows, "None.")


def _not_default(record: StudyRecord) -> list[Part]:
    builds = variables_shown.not_default(record)
    caption = (
        "The default is the value that the server had before the study."
        if record.spec.attachment
        else "The default is the value that the build has when it is started with no option set."
    )
    groups = []
    for place, build in enumerate(builds, start=1):
        title = f"Variables not at their default{f': {build.build}' if len(builds) > 1 else ''}"
        rows = [(one.name, one.default, one.in_force) for one in build.rows]
        table = text_table(f"changed-{place}-table", caption, ("variable", "default", "effective"), rows, "None.")
        summary = f"{counted(len(build.rows), 'variable')}, as {build.candidate} had them"
        groups.append(Group(f"changed-{place}", title, [Fold(f"changed {build.build}", summary, [table])]))
    return list(groups)


def failure_key(trial: int) -> str:
    """Return what the end of the log of a failed trial is called."""
    return f"failure-{trial}"


def _failures(record: StudyRecord, names: Naming) -> list[Part]:
    folds = []
    for one in facts.failures(record.trials):
        summary = f"Trial {one.id}, block {one.block}, {names.labels[one.candidate]}: {one.reason}"
        tail = Code(failure_key(one.id), one.log_tail or "Nothing was logged.", "The end of the server's log", is_copied=False)
        folds.append(Fold(f"failure {one.id}", summary, [tail]))
    return [Group("failures", "Failed trials", folds)] if folds else []


def _trials(record: StudyRecord, series: Sequence[Series], names: Naming, metrics: ServerMetrics) -> Fold:
    figures = ("id", "block", "lost", "tps", "server", "driver")
    titles = {
        "id": "trial",
        "block": "block",
        "candidate": "candidate",
        "purpose": "for",
        "state": "state",
        "started": "began",
        "warm_up": "warm-up",
        "measured": "measured",
        "lost": "lost s",
        "tps": units_in(record).title,
        "server": "server CPUs",
        "driver": "driver",
    }
    ranks = {"lost": 5, "started": 7, "warm_up": 6, "measured": 4, "server": 2, "driver": 3}
    terms = {"block": Word.BLOCK, "lost": Word.LOST}
    columns = [
        Column(key, title, ranks.get(key, 0), is_figure=key in figures, term=terms.get(key, ""))
        for key, title in titles.items()
    ]
    logged = {one.id for one in facts.failures(record.trials)}
    rows = [
        Row(
            [
                Cell(str(one.id), link=metrics_section.link(metrics, one.id)),
                Cell(str(one.block)),
                Cell(names.labels[one.candidate], candidate=one.candidate),
                Cell(one.purpose),
                Cell(one.state, link=Link(failure_key(one.id)) if one.id in logged else None),
                *map(Cell, (one.started, one.warm_up, one.measured)),
                *map(Cell, (one.lost, one.tps, one.server_cpu, one.driver_cpu)),
            ],
            key=row_key(one.id),
        )
        for one in facts.trial_rows(series)
    ]
    caption = (
        "Trials in the order in which they ran; those for `race` decide, those for `confirm` are fresh. Times of day are UTC; "
        "CPU of the server is in CPUs, CPU of the driver is a share of its CPUs."
    )
    table = Table("trials-table", caption, columns, rows, "No trial has started yet.")
    return Fold("trials", f"{counted(len(rows), 'trial')} with their times and CPU", [table])


def _servers(record: StudyRecord) -> list[Part]:
    return [
        Group(f"server-{place}", visible(name), [Pairs(facts.inventory(known))])
        for place, (name, known) in enumerate(record.servers.items(), start=1)
    ]


def _repeat(record: StudyRecord) -> list[Part]:
    command = visible(without_secrets(record.command))
    return [
        Paragraph("Run this command, or the study file below with dialin run FILE."),
        Code("command", command, "The command that began the study", "sh"),
        Fold("study file", "The study file", [Code("study-file", study_file(record.spec), "The study file", "toml")]),
    ]

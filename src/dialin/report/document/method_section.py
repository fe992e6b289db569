"""The section on how the study was made: order, time, trials, variables, failures, machine, and how to repeat it."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.evidence.server_metrics import ServerMetrics
from dialin.model.record import StudyRecord
from dialin.report.charts.trial_series import Series
from dialin.report.document import facts, trial_tables, variables_shown
from dialin.report.document.figure_columns import TERMS, Word
from dialin.report.document.parts import (
    Beside,
    Cell,
    Code,
    Column,
    Fold,
    Group,
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
from dialin.report.studyfile import study_file
from dialin.sentences.names import Naming
from dialin.sentences.verdict_sentences import lost_seconds_text
from dialin.text import counted, duration, percent, visible, without_secrets


def method_section(record: StudyRecord, series: Sequence[Series], names: Naming, metrics: ServerMetrics) -> Section:
    """Return the section; `series` are all trials, and `metrics` those of their servers, which it links to."""
    hosts = _hosts(record)
    parts: list[Part] = [
        Group("order", "Order of trials", [trial_tables.order(record, series, names)]),
        Group("time", "Time spent", _time(record)),
        Group("effective", "Requested and effective", [_effective(record)]),
        Group("differing", "Variables that differed", [_differing(record)]),
        *_not_default(record),
        *trial_tables.failures(record, names),
        Group("every-trial", "Every trial", [trial_tables.every_trial(record, series, names, metrics)]),
        *hosts,
        Beside(
            [
                Group("machine", "Machine that ran dialin" if hosts else "Machine", [Pairs(facts.machine(record))]),
                Group("servers", "Servers", _servers(record)),
                Group("study", "Study", [Pairs(facts.settings(record))]),
            ]
        ),
        Group("repeat", "Repeat the study", _repeat(record)),
        Group("log", "Log", [Log(facts.log_lines(record))]),
        Group("terms", "Terms", [Terms(TERMS)]),
    ]
    return Section(SectionKey.HOW, "Method", parts)


def _time(record: StudyRecord) -> list[Part]:
    lost = record.verdict.lost_seconds if record.verdict else 0
    excluded = f" {lost_seconds_text(lost)} are excluded." if lost else ""
    sentence = Paragraph(f"{facts.time_sentence(record.trials)}{excluded}")
    spent = facts.time_spent(record.trials)
    whole = sum(spent.values())
    if whole == 0:
        return [sentence]
    columns = [Column("step", "step"), Column("time", "time", is_figure=True), Column("share", "share", is_figure=True)]
    rows = [
        Row([Cell(step), Cell(duration(seconds)), Cell(percent(seconds / whole), share=seconds / whole)])
        for step, seconds in spent.items()
    ]
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
        Row([*map(Cell, cells)], RowRole.BAD if cells[-1] == facts.DIFFERS else RowRole.PLAIN)
        for cells in facts.requested_and_effective(record)
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
        "The default is the value that the build has when it is started with no option set."
        if record.spec.is_sandboxed
        else "The default is the value that the server had before the study."
    )
    groups = []
    for place, build in enumerate(builds, start=1):
        title = f"Variables not at their default{f': {build.build}' if len(builds) > 1 else ''}"
        table = text_table(f"changed-{place}-table", caption, ("variable", "default", "effective"), build.rows, "None.")
        summary = f"{counted(len(build.rows), 'variable')}, as {build.candidate} had them"
        groups.append(Group(f"changed-{place}", title, [Fold(f"changed {build.build}", summary, [table])]))
    return list(groups)


def _hosts(record: StudyRecord) -> list[Part]:
    columns = [
        Column("host", "host"),
        Column("machine", "machine"),
        Column("trials", "trials completed", is_figure=True),
        Column("blocks", "blocks", is_figure=True, term=Word.BLOCK),
        Column("findings", "found by dialin doctor"),
    ]
    rows = [Row([*map(Cell, cells)]) for cells in facts.hosts(record)]
    caption = "The hosts that ran the trials. A block runs on one host, and only ratios within a host are compared."
    return [Group("hosts", "Hosts", [Table("hosts-table", caption, columns, rows)])] if rows else []


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

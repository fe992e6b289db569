"""The section on a tune: its search, what each variable does, its trade-offs, its trials, and what it may change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.measures.of_verdict import capital
from dialin.measures.table import Measure, measure_of_study
from dialin.model.dimension import Dimension
from dialin.model.record import CoursePoint, StudyRecord, TuneCourse
from dialin.model.setting import Value, changed, parse_value
from dialin.model.study import StudySpec
from dialin.model.tune import LeftOutReason, TunePlan
from dialin.model.verdict import FigureSource, TunedVariable, TuneFindings
from dialin.report.charts.search_course import figure_text, search_course, waterfall
from dialin.report.charts.tune_responses import responses
from dialin.report.charts.tune_trade_off import MeasuredSetting, best_trades, measured_settings, trade_chart
from dialin.report.document.parts import (
    Cell,
    Column,
    Fold,
    Group,
    Pairs,
    Paragraph,
    Part,
    PlainPart,
    Role,
    Row,
    RowRole,
    Section,
    SectionKey,
    Table,
    text_table,
)
from dialin.report.tune_effects import ShownEffect, hull, shown_effects, shown_text
from dialin.sentences.changes import change_with_interval, interval
from dialin.sentences.load_units import units
from dialin.sentences.names import naming
from dialin.sentences.tune_words import STAGES, interaction_text, not_separated, range_text, setting_text, value_text
from dialin.text import NOTHING, change, counted, number, size, visible


def tune_section(record: StudyRecord) -> Section:
    """Return the section; it is empty for a study whose candidates the user named."""
    course, spec = record.course, record.spec
    if course is None:
        return Section(SectionKey.SEARCH, "", ())
    aim, findings = measure_of_study(spec), course.findings
    parts: list[Part] = []
    if findings is not None:
        shown = shown_effects(findings, spec, aim)
        parts.append(Paragraph(_summary(findings, course), Role.LEAD))
        parts.append(Paragraph(visible(shown_text(shown, len(findings.variables)))))
        if steps := waterfall(findings, aim):
            parts.append(steps)
            parts += [Paragraph(visible(interaction_text(pair))) for pair in findings.interactions]
    proven = _proven(spec)
    if record.verdict is not None and any(row.cells[0].text != row.cells[1].text for row in proven.rows):
        parts.append(Group("tune-proven", "Settings in confirmation trials", [proven]))
    if chart := search_course(course, spec):
        parts.append(chart)
    if findings is not None:
        parts.append(Group("tune-variables", "Variables", _variables(findings, shown, spec, aim)))
        if findings.failures or findings.fence is not None:
            parts.append(Group("tune-failures", "Settings that failed", _failures(findings)))
    parts.append(Group("tune-trade-off", "Throughput, latency and memory", _trades(course, record)))
    space: list[PlainPart] = [space_table(spec)]
    if left_out := left_out_pairs(spec):
        space += [Paragraph("Left out:"), Pairs(left_out)]
    parts.append(Fold("tune-space", "What was searched", space))
    parts.append(Fold("tune-trials", "Every trial of the tune", [_trials(course, spec)]))
    return Section(SectionKey.SEARCH, "Search", parts)


def _summary(findings: TuneFindings, course: TuneCourse) -> str:
    settings = len({ask.candidate for ask in course.asks})
    trials = f"{counted(findings.searched, 'trial')} of the search and {findings.proven} of the proof"
    return f"{trials}, of {counted(settings, 'setting')}."


def _proven(spec: StudySpec) -> Table:
    base, labels = spec.candidate(spec.baseline).setting, naming(spec).labels
    rows = [
        [labels[one.name], setting_text(changed(one.setting, base))] for one in spec.candidates if one.name != spec.baseline
    ]
    caption = "The best setting and subsets of its changes. Each is listed with its changes to the baseline."
    return text_table("tune-proven-table", caption, ["candidate", "setting"], rows)


def _variables(findings: TuneFindings, shown: Sequence[ShownEffect], spec: StudySpec, aim: Measure) -> list[Part]:
    """Return what matters first: the variables that are recommended or were shown to matter; the rest is folded away."""
    effects = {one.variable.name: one for one in shown}
    first = [one for one in findings.variables if one.name in effects or one.recommended is not None]
    rest = [one for one in findings.variables if one not in first]
    parts: list[Part] = []
    if first:
        parts.append(_variables_table("tune-variables-table", first, effects, findings, aim.noun))
        parts += [panels] if (panels := responses(findings.model_copy(update={"variables": first}), spec, aim)) else []
    if rest:
        folded: list[PlainPart] = [_variables_table("tune-rest-table", rest, effects, findings, aim.noun)]
        others = responses(findings.model_copy(update={"variables": rest}), spec, aim, key="tune-rest-responses")
        folded += [others] if others else []
        parts.append(Fold("tune-rest", f"{counted(len(rest), 'variable')} not shown to matter", folded))
    return parts


def _variables_table(
    key: str, variables: Sequence[TunedVariable], effects: Mapping[str, ShownEffect], findings: TuneFindings, noun: str
) -> Table:
    is_gain = bool(findings.recommended)
    columns = [
        Column("variable", "variable", is_code=True),
        Column("before", "baseline", is_code=True),
        Column("after", "recommended" if is_gain else "best setting, not proven", is_code=True),
        *([Column("carries", "gain", 1, is_figure=True)] if is_gain else []),
        Column("effect", "effect (95 % CI)", 2, is_figure=True),
        *([Column("plateau", "as good as the best", 3)] if any(one.values for one in effects.values()) else []),
    ]
    carries = (
        f"Gain: {noun} of the recommended setting against the same with this variable alone as in the baseline, by the model "
        "of all trials unless measured in the proof. "
    )
    effect = (
        f"Effect: the largest change of {noun} that is shown along the range, against the baseline's value and all else as in "
        "the best setting, by the model of all trials; where none is shown, between which changes all intervals lie."
    )
    rows = [_row(one, effects, findings, len(columns)) for one in variables]
    return Table(key, f"{carries if is_gain else ''}{effect}", columns, rows)


def _row(one: TunedVariable, effects: Mapping[str, ShownEffect], findings: TuneFindings, columns: int) -> Row:
    is_gain, effect = bool(findings.recommended), effects.get(one.name)
    after = (findings.recommended if is_gain else findings.best).get(one.name)
    text = change_with_interval(effect.point.ratio) if effect else hull(one.response, one.before)
    cells = [
        Cell(visible(one.name)),
        Cell(value_text(one.name, one.before)),
        Cell(NOTHING if after is None else value_text(one.name, after)),
        *([_carries(one)] if is_gain else []),
        Cell(text or NOTHING, order=effect.point.ratio.mean if effect else None),
        Cell(effect.values if effect else ""),
    ]
    return Row(cells[:columns], RowRole.RECOMMENDED if one.recommended is not None else RowRole.PLAIN)


def _carries(one: TunedVariable) -> Cell:
    if one.carries is None:
        return Cell(NOTHING)
    ends = interval(one.carries, change)
    source = ["measured"] if one.carries_by is FigureSource.PROOF else []
    source += [not_separated(one)] if one.companions else []
    return Cell(change(one.carries.mean), [*([ends] if ends else []), *source], ends, order=one.carries.mean)


def _failures(findings: TuneFindings) -> list[Part]:
    parts: list[Part] = [
        text_table(
            "tune-failures-table",
            "Settings that were refused, or whose server crashed or did not start. Each cost one trial.",
            ["trial", "setting", "reason"],
            [[str(one.trial), setting_text(one.setting), visible(one.reason)] for one in findings.failures],
            empty="No setting failed.",
        )
    ]
    if findings.fence is not None:
        parts.append(Paragraph(f"Since a crash, settings stay below {size(findings.fence)} of memory, by the estimate."))
    elif findings.memory_limit is not None:
        parts.append(Paragraph(f"Settings were limited to {size(findings.memory_limit)} of memory, by an estimate."))
    return parts


def _trades(course: TuneCourse, record: StudyRecord) -> list[Part]:
    spec = record.spec
    settings = measured_settings(course, spec, record.verdict)
    best = best_trades(settings)
    percentile = f"p{spec.workload.percentile}"
    columns = [
        Column("setting", "setting", is_code=True),
        Column("speed", units(spec.workload).title, is_figure=True),
        Column("latency", f"{percentile}, ms", is_figure=True),
        *([Column("memory", "memory", is_figure=True)] if any(one.memory for one in best) else []),
        Column("trials", "trials", 1, is_figure=True),
    ]
    caption = (
        "Pareto-optimal settings of throughput, latency and memory; differences within the noise do not count. Memory is the "
        "estimate that limits settings. The settings of the proof have the figures of its trials, any other the mean of "
        "its one or two short trials."
    )
    table = Table("tune-trade-off-table", caption, columns, [_trade(one) for one in best], empty="No trial has ended.")
    chart = trade_chart(settings, best, spec)
    return [table, *([chart] if chart else [])]


def _trade(one: MeasuredSetting) -> Row:
    memory = [Cell(size(one.memory), order=one.memory)] if one.memory is not None else []
    figures = [Cell(number(one.throughput), order=one.throughput), Cell(number(one.latency), order=one.latency), *memory]
    return Row([Cell(setting_text(one.changes)), *figures, Cell(str(one.trials))])


def _trials(course: TuneCourse, spec: StudySpec) -> Table:
    columns = [
        Column("number", "trial", is_figure=True),
        Column("stage", "for", 1),
        Column("figure", capital(measure_of_study(spec).noun), is_figure=True),
        Column("setting", "setting", is_code=True),
    ]
    base = spec.candidate(spec.baseline).setting
    rows = [_trial(point, course, base, spec) for point in course.points()]
    return Table(
        "tune-trials-table",
        "Each trial in order; the setting is what it changes of the baseline.",
        columns,
        rows,
        empty="No trial has ended.",
        is_sortable=True,
        is_wide=True,
    )


def _trial(point: CoursePoint, course: TuneCourse, base: dict[str, Value], spec: StudySpec) -> Row:
    setting = course.settings.get(point.ask.candidate, {})
    changes = changed(setting, base)
    failure = point.trial.failure
    figure = figure_text(point.figure, spec) if point.figure is not None else "failed"
    return Row(
        [
            Cell(str(point.place), order=point.place),
            Cell(STAGES[point.ask.stage]),
            Cell(figure, order=point.figure),
            Cell(setting_text(changes) if point.ask.candidate != spec.baseline else NOTHING),
        ],
        RowRole.BAD if failure is not None else RowRole.PLAIN,
    )


def space_table(spec: StudySpec) -> Table:
    """Return what a tune may change, a row for each variable."""
    variables = spec.tuned.values()
    titles = ["variable", "range", "baseline", "first try", "change"]
    rows = [
        [
            visible(one.name),
            range_text(one),
            value_text(one.name, one.default),
            value_text(one.name, one.rule) if one.rule is not None else NOTHING,
            "restart" if one.static else "SET",
            *([visible(_why(one))] if any(map(_why, variables)) else []),
        ]
        for one in variables
    ]
    titles += ["why"] if any(map(_why, variables)) else []
    caption = "First try: what a rule of thumb recommends here."
    return text_table("tune-space-table", caption, titles, rows, empty="Nothing is tuned.")


def _why(one: Dimension) -> str:
    return "; ".join(filter(None, (one.reason, one.source if one.rule is not None else "")))


_LEFT_OUT: Mapping[LeftOutReason, str] = {
    LeftOutReason.BUDGET: "too few trials",
    LeftOutReason.LOAD: "no effect under this load",
    LeftOutReason.NEEDS: "no effect while another variable is as it is",
    LeftOutReason.LIMITED: "no effect while another variable is as it is",
    LeftOutReason.ROOM: "no room for more here, or no other value worth a try",
    LeftOutReason.DURABILITY: "durability (--accept-weaker-durability)",
    LeftOutReason.RESTART: "needs a restart",
    LeftOutReason.SERVICE: "set by the service",
}
"""Why a variable is left out."""


def left_out_pairs(spec: StudySpec) -> list[tuple[str, str]]:
    """Return why variables are not tuned, each reason with its variables; empty where the user named those that are."""
    names: dict[str, list[str]] = {}
    for one in spec.question.left_out if isinstance(spec.question, TunePlan) else ():
        by = f" ({one.by} = {value_text(one.by, parse_value(one.value))})" if one.by else ""
        names.setdefault(_LEFT_OUT[one.reason], []).append(f"{visible(one.name)}{visible(by)}")
    return [(reason, ", ".join(names[reason])) for reason in dict.fromkeys(_LEFT_OUT.values()) if reason in names]

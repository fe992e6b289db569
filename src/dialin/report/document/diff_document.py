"""The comparison of two studies as a document: first what differs between them, then what changed, then the noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dialin.measures.of_verdict import capital
from dialin.measures.table import measure_of_study
from dialin.model.studies import Area, CandidateChange, ComparedStudy, StudyDiff
from dialin.model.study import StudySpec
from dialin.model.verdict import Estimate
from dialin.report.board import study_title
from dialin.report.document.figure_columns import change_cell
from dialin.report.document.parts import (
    Cell,
    Column,
    Document,
    Fold,
    Pairs,
    Paragraph,
    Part,
    Role,
    Row,
    Section,
    SectionKey,
    Table,
)
from dialin.sentences.changes import change_with_confidence, interval
from dialin.sentences.load_units import units
from dialin.sentences.names import Naming, naming
from dialin.sentences.state_sentences import OUTCOMES
from dialin.text import NOTHING, change, counted, exact_percent, listed, moment, number, percent, shorten, visible

_LONGEST = 36
"""Characters of a value in the tables of differences."""

_AREAS = {
    Area.BUILD: "build",
    Area.VARIABLES: "effective variables",
    Area.HOST: "host",
    Area.WORKLOAD: "workload",
    Area.OPTIONS: "options",
}

_LEVELS = (
    "A level depends on the state of the machine on the day of its study, which its interval does not include. The ratios to "
    "the baseline do not depend on it."
)


def diff_document(diff: StudyDiff, spec: StudySpec) -> Document:
    """Return the comparison as a document; `spec` is the first study's."""
    names = naming(spec)
    return Document(
        headline=f"{_what_differs(diff)} {_what_changed(diff, spec, names)}",
        outcome=f"{study_title(spec)}, by {diff.goal}",
        outcome_key="diff",
        colophon=f"Each interval holds by itself at {exact_percent(diff.confidence)} confidence.",
        sections=[_studies(diff), _changes(diff, spec, names), _noise(diff)],
        candidates=dict(names.labels),
        baseline=diff.baseline,
    )


def _what_differs(diff: StudyDiff) -> str:
    areas = [_AREAS[area] for area in Area if any(one.area is area for one in diff.differences)]
    return (
        f"The studies differ in {listed(areas)}." if areas else "The studies do not differ in build, host, workload or options."
    )


def _what_changed(diff: StudyDiff, spec: StudySpec, names: Naming) -> str:
    shown = [one for one in diff.candidates if one.name != diff.baseline and one.ratio_change.excludes_one]
    noun = measure_of_study(spec).noun
    if not shown:
        return f"No change of any gain in {noun} is shown: the interval of each change includes 0 %."
    strongest = max(shown, key=lambda one: max(one.ratio_change.mean, 1 / one.ratio_change.mean))
    others = f" {counted(len(shown) - 1, 'other candidate')} changed, too." if len(shown) > 1 else ""
    return (
        f"{names.full[strongest.name]}: {noun} against the baseline {change(strongest.ratio_a.mean)} → "
        f"{change(strongest.ratio_b.mean)}, a change of {change_with_confidence(strongest.ratio_change, diff.confidence)}."
        f"{others}"
    )


def _studies(diff: StudyDiff) -> Section:
    parts: list[Part] = [Pairs([("A", _study(diff.a)), ("B", _study(diff.b))])]
    facts = [one for one in diff.differences if one.area is not Area.VARIABLES]
    rows = [Row([Cell(_AREAS[one.area]), Cell(visible(one.name)), *map(_value, (one.a, one.b))]) for one in facts]
    columns = [Column("area", "of"), Column("name", "what"), Column("a", "A", is_code=True), Column("b", "B", is_code=True)]
    caption = "What differs between the studies. Each of these may be the cause of a change."
    parts.append(Table("differences-table", caption, columns, rows, "Build, host, workload and options are the same."))
    variables = [one for one in diff.differences if one.area is Area.VARIABLES]
    if variables:
        parts.append(
            Fold(
                "variables",
                f"{counted(len(variables), 'effective variable')} of the baseline's server that the studies do not set",
                [
                    Table(
                        "variables-table",
                        "Variables that differ though neither study sets them, such as defaults that changed between versions.",
                        [Column("name", "variable", is_code=True), *columns[2:]],
                        [Row([Cell(visible(one.name)), *map(_value, (one.a, one.b))]) for one in variables],
                    )
                ],
            )
        )
    for letter, others in (("A", diff.only_a), ("B", diff.only_b)):
        if others:
            parts.append(Paragraph(f"Compared in {letter} only: {listed([visible(name) for name in others])}.", Role.SMALL))
    return Section(SectionKey.DIFFERENCES, "What differs between the studies", parts)


def _study(study: ComparedStudy) -> str:
    verdict = OUTCOMES[study.verdict] if study.verdict else "no verdict yet"
    recommended = f", recommends {visible(study.recommended_candidate)}" if study.recommended_candidate else ""
    began = moment(study.began.timestamp())
    return f"{visible(study.directory)}, started {began}, {counted(study.trials, 'trial')}; {verdict}{recommended}"


def _value(text: str | None) -> Cell:
    return Cell(NOTHING if text is None else shorten(visible(text), _LONGEST) or "empty")


def _changes(diff: StudyDiff, spec: StudySpec, names: Naming) -> Section:
    aim = measure_of_study(spec)
    unit = aim.unit_or(units(spec.workload).title)
    title = "value" if names.subject else "candidate"
    ratios = Table(
        "ratios-table",
        f"{capital(aim.noun)} against the baseline ({names.full[diff.baseline]}), and its change from A to B; {aim.direction}.",
        _columns(title),
        [
            _row(names.labels, one, (one.ratio_a, one.ratio_b, one.ratio_change), change)
            for one in diff.candidates
            if one.name != diff.baseline
        ],
    )
    levels = Table(
        "levels-table",
        f"{capital(aim.noun)} itself{f', {unit}' if unit else ''}, and its change from A to B. {_LEVELS}",
        _columns(title),
        [_row(names.labels, one, (one.level_a, one.level_b, one.level_change), aim.show) for one in diff.candidates],
    )
    return Section(SectionKey.CHANGE, "What changed", [ratios, levels])


def _columns(title: str) -> list[Column]:
    figures = [Column(key, heading, is_figure=True) for key, heading in (("a", "A"), ("b", "B"), ("change", "change"))]
    return [Column("candidate", title), *figures]


def _row(labels: Mapping[str, str], one: CandidateChange, estimates: Sequence[Estimate], show: Callable[[float], str]) -> Row:
    before, after, changed = estimates
    name = Cell(labels[one.name], candidate=one.name)
    return Row([name, _figure(before, show), _figure(after, show), change_cell(changed)])


def _figure(estimate: Estimate, show: Callable[[float], str]) -> Cell:
    """Return a cell whose interval is left out where there is little room: that of the change matters more."""
    ends = interval(estimate, show)
    return Cell(show(estimate.mean), [ends] if ends else [], order=estimate.mean)


def _noise(diff: StudyDiff) -> Section:
    noise = diff.noise_change
    ratio = f"a ratio of {number(noise.mean)}"
    if noise.low is not None and noise.high is not None:
        ratio += f" ({exact_percent(diff.confidence)} CI {number(noise.low)} to {number(noise.high)})"
    differs = "The noise differed" if noise.excludes_one else "No difference in noise is shown"
    sentence = f"{differs}: trial-to-trial SD {percent(diff.a.noise)} in A, {percent(diff.b.noise)} in B, {ratio}."
    return Section(SectionKey.NOISE, "Noise", [Paragraph(sentence)])

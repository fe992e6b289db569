"""`report.html`: one file that holds all it shows, asks no network, and reads well on paper, a phone and in the dark."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from dialin.model.record import StudyRecord
from dialin.model.trial import Purpose, Trial, TrialState
from dialin.model.verdict import Note, Outcome, Verdict
from dialin.model.why import Why
from dialin.report import captions, charts_compared, charts_over_time, facts, html_why, words
from dialin.report.figures import Figure, columns
from dialin.report.goal import deciding
from dialin.report.optionfile import changes
from dialin.report.series import all_series
from dialin.report.style import Style, styles
from dialin.report.units import units_in
from dialin.text import change, counted, duration, exact_percent, moment, visible


@dataclass(frozen=True, slots=True)
class Tile:
    """One of the verdict's figures: what it answers, the figure large, and the sentence."""

    question: str
    figure: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Row:
    """A candidate in the table."""

    label: str
    colour: str
    is_baseline: bool
    is_recommended: bool
    has_left: bool
    cells: Sequence[Figure]
    state: str
    remarks: Sequence[str]


@dataclass(frozen=True, slots=True)
class Remark:
    """A warning or a confound, ready to show."""

    kind: str
    code: str
    text: str
    data: facts.Pairs


def render(record: StudyRecord, why: Why | None = None) -> str:
    """Return the report as one HTML document without any outside reference.

    Args:
        record: the study.
        why: what explains its verdict; None where nobody looked.
    """
    series = all_series(record)
    style = styles(record)
    verdict = record.verdict
    counted_in = [one for one in series if one.trial.state is not TrialState.INTERRUPTED and _is_clean(one.trial)]
    over_time = charts_over_time.over_time(record, counted_in, style)
    combined = charts_over_time.combined(record, counted_in, style)
    boxes = charts_over_time.boxes(record, counted_in, style)
    forest = charts_compared.forest(verdict, style) if verdict else None
    pareto = charts_compared.pareto(verdict, style) if verdict else None
    explained = html_why.shown(record, why, style)
    drawn = [*(chart for chart in (forest, pareto) if chart), *explained.charts, *over_time, combined, boxes]
    script, library = _asset("report.js"), get_plotlyjs()
    page: str = _template().render(
        policy=_policy(script, library),
        css=Markup(_asset("report.css")),  # noqa: S704
        script=Markup(script),  # noqa: S704
        library=Markup(library),  # noqa: S704
        data=_embedded(
            {
                "trials": {one.trial.id: one.embedded() for one in counted_in},
                "charts": {chart.id: chart.figure for chart in drawn},
            }
        ),
        record=record,
        units=units_in(record),
        verdict=verdict,
        outcome=words.outcome(record),
        outcome_kind=str(verdict.verdict) if verdict else "none",
        headline=words.headline(record),
        reason=words.reason(record),
        title=visible(words.headline(record)),
        when=moment(record.created),
        setting=[item.line for item in changes(record) if item.line is not None],
        unwritten=[item for item in changes(record) if item.line is None],
        no_change=words.no_change(record),
        tiles=_tiles(record, verdict) if verdict else [],
        remarks=_remarks(verdict) if verdict else [],
        scope=words.SCOPE,
        subject=words.naming(record.spec).subject,
        columns=[f"{column.title} ({column.better})" if column.better else column.title for column in columns(verdict)]
        if verdict
        else [],
        rows=_rows(record, verdict, style) if verdict else [],
        gone=words.left(verdict, words.naming(record.spec).labels) if verdict else "",
        within=exact_percent(verdict.worthwhile) if verdict else "",
        forest=forest,
        pareto=pareto,
        why=explained,
        over_time=over_time,
        marks=captions.key(counted_in),
        combined=combined,
        boxes=boxes,
        style=style,
        block_order=facts.block_order(series),
        time_spent=facts.time_spent(record.trials),
        time_sentence=facts.time_sentence(record.trials),
        sureness=words.sureness(verdict) if verdict else "",
        forced=facts.asked_and_in_force(record),
        host=facts.inventory(record.host),
        servers=[(visible(name), facts.inventory(known)) for name, known in record.servers.items()],
        settings=facts.settings(record),
        trial_rows=facts.trial_rows(series),
        failures=facts.failures(record.trials),
        command=visible(record.command),
        log=facts.log_lines(record),
    )
    return page


def _is_clean(trial: Trial) -> bool:
    """Return whether nothing costly was watched, so that a trial's seconds can stand beside others."""
    return trial.purpose is not Purpose.WAITS


def _tiles(record: StudyRecord, verdict: Verdict) -> list[Tile]:
    figure, gain = _gain(record, verdict)
    told = [
        ("What it gains", figure, gain),
        ("How sure", _sure(verdict), words.sureness(verdict)),
        ("How long it took", duration(60 * verdict.minutes_of_wall_clock), words.length(verdict)),
        (
            "What was compared",
            counted(len(verdict.candidates), "candidate"),
            f"{words.compared(record)} The goal is {words.goal(record)}",
        ),
    ]
    return [Tile(question, figure, _after(figure, sentence)) for question, figure, sentence in told]


def _gain(record: StudyRecord, verdict: Verdict) -> tuple[str, str]:
    """Return the gain, large, and its sentence: that of fresh trials where there are any, for choosing flatters the other."""
    ratio = deciding(words.chosen(verdict), verdict)
    if verdict.confirmed:
        told = f"{words.confirmation(verdict)} In the race it was {words.change_with_interval(ratio)}."
        return change(verdict.confirmed.ratio.mean), told
    kept = verdict.recommended_candidate == verdict.baseline
    return "no change" if kept else change(ratio.mean if ratio else None), words.gain(record, verdict)


def _sure(verdict: Verdict) -> str:
    if verdict.verdict is Outcome.UNRESOLVED:
        return "not yet"
    if verdict.verdict is Outcome.SAFE_CHOICE:
        return words.chance(words.chosen(verdict).probability)
    return exact_percent(verdict.confidence)


def _after(figure: str, sentence: str) -> str:
    """Return a sentence without the figure that stands large above it."""
    rest = sentence.removeprefix(figure).lstrip()
    return rest[:1].upper() + rest[1:]


def _remarks(verdict: Verdict) -> list[Remark]:
    def remark(kind: str, note: Note) -> Remark:
        return Remark(kind, visible(note.code), visible(note.text), facts.inventory(note.data))

    return [
        *(remark("confound", note) for note in verdict.confounds),
        *(remark("warning", note) for note in verdict.warnings),
    ]


def _rows(record: StudyRecord, verdict: Verdict, style: Mapping[str, Style]) -> list[Row]:
    return [
        Row(
            label=words.naming(record.spec).labels[candidate.name],
            colour=style[candidate.name].colour,
            is_baseline=candidate.name == verdict.baseline,
            is_recommended=candidate.name == verdict.recommended_candidate,
            has_left=candidate.left_after is not None,
            cells=[column.of(candidate) for column in columns(verdict)],
            state=words.state_alone(candidate),
            remarks=words.state_remarks(candidate, verdict),
        )
        for candidate in verdict.candidates
    ]


def _embedded(data: Mapping[str, Any]) -> Markup:
    """Return JSON that can stand in a script element: no character of it can end the element or open a comment."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704


def _policy(*scripts: str) -> str:
    """Return the content security policy: these scripts and no others, the page's own styles, and no network at all."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "connect-src 'none'; form-action 'none'; base-uri 'none'"
    )


@cache
def _asset(name: str) -> str:
    return files("dialin.report").joinpath("templates", name).read_text(encoding="utf-8")


def _tied(value: Any) -> Any:
    """Tie a percent sign to its figure; what is to be copied letter by letter comes as markup and stays as it is."""
    return value.replace(" %", "\u00a0%") if type(value) is str else value


def _breakable(text: str) -> Markup:
    """Return text in which a line may break after the parts of a long name."""
    return Markup(re.sub(r"([_=/,])(?=\S)", r"\1<wbr>", str(escape(_tied(text)))))  # noqa: S704


@cache
def _template() -> Any:
    environment = Environment(
        loader=PackageLoader("dialin.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_tied,
    )
    environment.filters["breakable"] = _breakable
    return environment.get_template("report.html.j2")

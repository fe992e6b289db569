"""The part of `report.html` that tells why: what its template shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dialin.model.record import StudyRecord
from dialin.model.why import Reason, Why
from dialin.report import (
    charts_why,
    costs,
    dots,
    scaling_section,
    semaphores_section,
    statements_section,
    wait_groups,
    why_sentences,
)
from dialin.report.chart import Chart
from dialin.report.load_units import units_in
from dialin.report.style import Style
from dialin.text import visible

_CHARTED = 2
"""Instruments whose waits are drawn and stand open."""


@dataclass(frozen=True, slots=True)
class Card:
    """A reason with its chart."""

    kind: str
    kind_label: str
    text: str
    remark: str
    dots: dots.Dots | None


@dataclass(frozen=True, slots=True)
class Key:
    """How a candidate's line looks, for a chart's legend."""

    label: str
    colour: str
    dash: str


@dataclass(frozen=True, slots=True)
class Waits:
    """The waits of one instrument, and their chart where they are drawn."""

    group: wait_groups.Group
    chart: Chart | None
    keys: Sequence[Key]


@dataclass(frozen=True, slots=True)
class CostLine:
    """A candidate's costs: per query, and per transaction."""

    candidate: str
    per_query: Sequence[costs.Cost]
    per_transaction: Sequence[costs.Cost]


def section(record: StudyRecord, why: Why | None, style: Mapping[str, Style]) -> tuple[dict[str, Any], list[Chart]]:
    """Return the values of the template, and those of its charts that the page's script draws."""
    why = why or Why.empty()
    names = [candidate.name for candidate in record.spec.candidates]
    cards = [_card(reason, record, names) for reason in why.reasons]
    groups = wait_groups.groups(why, names)
    waiters = semaphores_section.candidates(why, names)
    has_correlation = any(reason.correlation is not None for reason in why.reasons)
    scaling_chart = charts_why.threads(why, style, units_in(record).rate) if why.scaling else None
    waits = [_waits(group, place, style) for place, group in enumerate(groups[:_CHARTED], start=1)]
    values = {
        "known": why_sentences.is_known(why),
        "summary": why_sentences.summary(why),
        "caution": why_sentences.MOVED_NOTE if has_correlation else "",
        "strongest": cards[: why_sentences.SHOWN],
        "others": cards[why_sentences.SHOWN :],
        "others_summary": why_sentences.kinds_of(why.reasons[why_sentences.SHOWN :]),
        "cost_titles": costs.titles(why),
        "cost_lines": _cost_lines(why, names, record.spec.baseline),
        "cost_reading": costs.READING,
        "scaling_chart": scaling_chart,
        "rate": units_in(record).rate,
        "scaling_titles": [scaling_section.title(count) for count in scaling_section.threads(why)],
        "scaling_rows": scaling_section.rows(why),
        "scaling_keys": _keys([one.candidate for one in why.scaling], style),
        "has_curve": scaling_section.has_curve(why),
        "curve": scaling_section.reading(why, record.spec.workload.rate),
        "digests": statements_section.statements(why, names),
        "statement_titles": statements_section.TITLES,
        "statement_reading": statements_section.READING,
        "statement_times": statements_section.times(why, names),
        "time_titles": statements_section.TIME_TITLES,
        "time_reading": statements_section.TIME_READING,
        "waiters": waiters,
        "places": semaphores_section.places(why, waiters),
        "places_reading": semaphores_section.PLACES_READING,
        "spins": semaphores_section.spins(why, waiters),
        "spins_reading": semaphores_section.SPINS_READING,
        "semaphore_notes": semaphores_section.notes(why),
        "waits": waits,
        "more_waits": [Waits(group, None, ()) for group in groups[_CHARTED:]],
        "wait_titles": wait_groups.TITLES,
        "collected": [wait_groups.collected(one) for one in why.wait_trials],
        "collected_notes": wait_groups.notes(why, {name: one.label for name, one in style.items()}),
        "watching": why_sentences.watching(why),
        "unread": why_sentences.unread(why),
    }
    return values, [chart for chart in (scaling_chart, *(one.chart for one in waits)) if chart]


def _card(reason: Reason, record: StudyRecord, names: Sequence[str]) -> Card:
    drawn = dots.dots(reason.chart, names, record.spec.baseline) if reason.chart else None
    return Card(
        kind=str(reason.kind),
        kind_label=why_sentences.KINDS[reason.kind],
        text=visible(reason.text),
        remark=why_sentences.remark(reason, record),
        dots=drawn if drawn and drawn.rows else None,
    )


def _cost_lines(why: Why, names: Sequence[str], baseline: str) -> list[CostLine]:
    return [
        CostLine(
            name,
            [costs.per_query(row, name, baseline) for row in why.costs],
            [costs.per_transaction(row, name) for row in why.costs],
        )
        for name in costs.candidates(why, names)
    ]


def _keys(names: Sequence[str], style: Mapping[str, Style]) -> list[Key]:
    return [Key(style[name].label, style[name].colour, charts_why.dash_of(place)) for place, name in enumerate(names)]


def _waits(group: wait_groups.Group, place: int, style: Mapping[str, Style]) -> Waits:
    drawn = [one for one in group.every if any(one.histogram)]
    if not drawn:
        return Waits(group, None, ())
    return Waits(group, charts_why.waits(group, place, style), _keys([one.candidate for one in group.every], style))

"""InnoDB's semaphores by candidate."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from dialin.evidence.semaphores import LOCK_KINDS
from dialin.model.why import Why
from dialin.report.document.parts import Cell, Column, Row, Table
from dialin.text import NOTHING, number, visible

PLACES_READING = (
    "Threads waiting for InnoDB semaphores, the mean over readings, by place in the source and what they waited for: a sample, "
    "not a count of all waits."
)
"""How to read the table of places."""

SPINS_READING = (
    "How threads acquired InnoDB locks, by kind, per second: how often they spun, in how many rounds, and how often they "
    "waited in the OS. Every one is counted."
)
"""How to read the table of spins."""


def candidates(why: Why, names: Sequence[str]) -> list[str]:
    """Return the candidates with figures of semaphores, in the order of the study."""
    figures_by_candidate = [one.waiting for one in why.semaphores.places]
    figures_by_candidate += [figures for one in why.semaphores.spins for figures in (one.spins, one.rounds, one.os_waits)]
    return [name for name in names if any(name in figures for figures in figures_by_candidate)]


def places(why: Why, names: Sequence[str]) -> list[Row]:
    """Return a row for each place at which threads were seen waiting, the one with the most threads first."""
    return [_row(visible(f"{one.place} ({one.lock})"), one.waiting, names) for one in why.semaphores.places]


def spins(why: Why, names: Sequence[str]) -> list[Row]:
    """Return rows of spins, rounds and OS waits by kind of lock; rows without any are left out."""
    lines: Iterable[tuple[str, Mapping[str, float]]] = (
        (f"{LOCK_KINDS.get(one.kind, visible(one.kind))}: {what}", figures)
        for one in why.semaphores.spins
        for what, figures in (("spins", one.spins), ("rounds", one.rounds), ("OS waits", one.os_waits))
    )
    return [_row(name, figures, names) for name, figures in lines if any(figures.values())]


def notes(why: Why) -> list[str]:
    """Return what servers do not report about semaphores, one sentence each."""
    return [visible(note) for note in why.semaphores.notes]


def tables(why: Why, names: Sequence[str], labels: Mapping[str, str], important: Collection[str | None]) -> list[Table]:
    """Return the tables that have a row; the columns of important candidates are never dropped."""
    columns = [
        Column(name, labels[name], 0 if name in important else place, is_figure=True, candidate=name)
        for place, name in enumerate(names, start=1)
    ]
    return [
        Table(f"semaphores-{noun}", reading, [Column(noun, noun), *columns], rows, is_wide=True)
        for noun, reading, rows in (("place", PLACES_READING, places(why, names)), ("lock", SPINS_READING, spins(why, names)))
        if rows
    ]


def _row(name: str, figures: Mapping[str, float], names: Sequence[str]) -> Row:
    return Row([Cell(name), *(Cell(number(figures[one]) if one in figures else NOTHING) for one in names)])

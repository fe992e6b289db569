"""Invented reasons for the invented studies, for tests of reports and for screenshots: the same at every call."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

from dialin.model.evidence import ALL
from dialin.model.record import StudyRecord
from dialin.model.verdict import Estimate
from dialin.model.why import (
    Chart,
    CostRow,
    ProbeCost,
    Reason,
    ReasonKind,
    Scaling,
    ScalingPoint,
    SemaphorePlace,
    Semaphores,
    SpinRow,
    StatementFigures,
    StatementRow,
    StatementTimes,
    Usl,
    WaitSummary,
    WaitTrial,
    Why,
)
from dialin.testing.invented import HOSTILE

_TICKS = 2.9
"""Ticks of the invented timer in a nanosecond."""

_THREADS = (1, 4, 16, 64)
_HASH = "wait/synch/sxlock/innodb/hash_table_locks"
_CHANGE_BUFFER = "The change buffer held at most 4 MiB, of 2 GiB set aside for it (25 % of the pool)."
_UNTOLD = "The server's status tells nothing of semaphores: MariaDB 10.11 and later leave that section empty."


def full(record: StudyRecord) -> Why:
    """Return reasons of every kind, costs, scaling, raw waits and probes, for the candidates of a study."""
    names = _names(record)
    last = names[-1]
    waited = {name: 0.12 / (1 + 3 * place) for place, name in enumerate(names)}
    text = (
        f"hash_table_locks: 0.12 s waited a second with {names[0]}, {waited[last]:.2g} s with {last}; "
        "the ten longest waits are 64 % of it."
    )
    return Why(
        summary=f"Waits for hash_table_locks fell with throughput's rise, from {names[0]} to {last}.",
        reasons=[
            _moved("waits_by_event", text, 9.1, -0.97, "seconds waited a second", "s/s", waited),
            _moved(
                "context_switches",
                f"A transaction takes 31 context switches with {names[0]} and 24 with {last}.",
                4.2,
                -0.81,
                "Context switches a transaction",
                "",
                {name: 31 - 7 * place / max(1, len(names) - 1) for place, name in enumerate(names)},
            ),
            _moved(
                "semaphore_waits",
                "Threads waiting at buf0buf.cc:4102 (S-lock): 2.1 at a reading with the baseline, 0.3 with the winner.",
                2.7,
                -0.74,
                "Threads waiting at buf0buf.cc:4102",
                "threads",
                {name: 2.1 / (1 + place) for place, name in enumerate(names)},
            ),
            _plain("change_buffer_unused", ReasonKind.UNUSED, _CHANGE_BUFFER),
            _plain("log_waits", ReasonKind.LIMIT, "The log buffer was too small 12 times a second: writers waited for it."),
        ],
        costs=_costs(names, record.spec.baseline),
        scaling=[_scaling(name, place) for place, name in enumerate(names)],
        statements=_statements(names),
        statement_times=[
            StatementTimes(candidate=name, statements=2_106_220, p50_us=91.2, p95_us=436.5, p99_us=None if place else 1047.13)
            for place, name in enumerate(names)
        ],
        semaphores=_semaphores(names),
        waits=[one for place, name in enumerate(names) for one in _waits(name, place)],
        wait_trials=[
            WaitTrial(
                candidate=name,
                pattern="hash_table_locks",
                seconds=60.0,
                events=1_204_311 - 40_000 * place,
                lost=0 if place else 31_207,
                timer="CYCLE",
                ticks_per_second=_TICKS * 1e9,
                tps=1012.0 + 60 * place,
                slowdown=0.14 if place else None,
            )
            for place, name in enumerate(names)
        ],
        probes=[
            ProbeCost(probe="status", readings=2100, waited_ms_per_s=1.9, cpu_ms_per_s=0.8, notes=[]),
            ProbeCost(probe="waits", readings=420, waited_ms_per_s=0.9, cpu_ms_per_s=0.6, notes=[]),
            ProbeCost(probe="machine", readings=2100, waited_ms_per_s=0.0, cpu_ms_per_s=0.3, notes=[]),
            ProbeCost(
                probe="innodb",
                readings=420,
                waited_ms_per_s=0.2,
                cpu_ms_per_s=0.2,
                notes=["The server leaves its SEMAPHORES section empty."],
            ),
        ],
    )


def nothing_moved(record: StudyRecord) -> Why:
    """Return what is told where the probes saw no difference: costs alone, and a room that nobody used."""
    return Why(
        summary="Nothing that was watched moved with the verdict.",
        reasons=[_plain("change_buffer_unused", ReasonKind.UNUSED, _CHANGE_BUFFER)],
        costs=_costs(_names(record), record.spec.baseline)[:2],
        scaling=[],
        statements=[],
        statement_times=[],
        semaphores=Semaphores(places=[], spins=[], notes=[_UNTOLD]),
        waits=[],
        wait_trials=[],
        probes=[ProbeCost(probe="status", readings=90, waited_ms_per_s=0.3, cpu_ms_per_s=0.1, notes=[])],
    )


def unknown(_record: StudyRecord) -> Why:
    """Return what is told of a study that nothing watched."""
    return Why.untold("Nothing was watched.")


def hostile(record: StudyRecord) -> Why:
    """Return reasons whose every text tries to be more than text."""
    names = _names(record)
    waits = _waits(names[0], 0)
    bad = {"instrument": f"wait/{HOSTILE}", "operation": HOSTILE}
    return Why(
        summary=f"Because {HOSTILE}.",
        reasons=[_moved("digest", f"SELECT {HOSTILE}", 3.0, 0.5, HOSTILE, HOSTILE, dict.fromkeys(names, 1.0))],
        costs=[row.model_copy(update={"name": HOSTILE, "unit": HOSTILE}) for row in _costs(names, record.spec.baseline)[:1]],
        scaling=[],
        statements=[one.model_copy(update={"digest": f"SELECT '{HOSTILE}'"}) for one in _statements(names)[:1]],
        statement_times=[],
        semaphores=Semaphores(
            places=[one.model_copy(update={"place": HOSTILE, "lock": HOSTILE}) for one in _semaphores(names).places[:1]],
            spins=[one.model_copy(update={"kind": HOSTILE}) for one in _semaphores(names).spins[:1]],
            notes=[HOSTILE],
        ),
        waits=[waits[0].model_copy(update={**bad, "operation": ALL}), *(one.model_copy(update=bad) for one in waits[1:])],
        wait_trials=[
            WaitTrial(
                candidate=names[0],
                pattern=HOSTILE,
                seconds=1,
                events=1,
                lost=0,
                timer=HOSTILE,
                ticks_per_second=0,
                tps=None,
                slowdown=None,
            )
        ],
        probes=[ProbeCost(probe=HOSTILE, readings=1, waited_ms_per_s=1, cpu_ms_per_s=1, notes=[HOSTILE])],
    )


def _names(record: StudyRecord) -> list[str]:
    return [candidate.name for candidate in record.spec.candidates]


def _moved(
    code: str, text: str, strength: float, correlation: float, title: str, unit: str, middles: Mapping[str, float]
) -> Reason:
    rng = random.Random(code)  # noqa: S311
    values = {name: [middle * (1 + rng.gauss(0, 0.04)) for _ in range(5)] for name, middle in middles.items()}
    return Reason(
        code=code,
        kind=ReasonKind.MOVED,
        text=text,
        source="MySQL Reference Manual, Performance Schema Wait Event Tables",
        strength=strength,
        correlation=correlation,
        chart=Chart(title=title, unit=unit, values=values),
    )


def _plain(code: str, kind: ReasonKind, text: str) -> Reason:
    return Reason(code=code, kind=kind, text=text, source="MySQL Reference Manual, Change Buffer", strength=0)


def _costs(names: Sequence[str], baseline: str) -> list[CostRow]:
    told = [
        ("server CPU", "µs", 214.0, 0.93),
        ("client CPU", "µs", 18.2, 1.0),
        ("context switches", "", 1.55, 0.95),
        ("reads", "", 0.41, 1.01),
        ("read", "KiB", 6.6, 1.01),
        ("written", "KiB", 9.8, 0.98),
        ("log", "bytes", 412.0, 1.0),
        ("row lock waits", "", 0.0021, 0.8),
    ]
    return [_cost(names, baseline, *one) for one in told]


def _cost(names: Sequence[str], baseline: str, name: str, unit: str, first: float, step: float) -> CostRow:
    per_query = {one: first * step**place for place, one in enumerate(names)}
    return CostRow(
        name=name,
        unit=unit,
        per_query=per_query,
        per_transaction={one: 20 * value for one, value in per_query.items()},
        ratio={
            one: Estimate(mean=value / first, low=value / first - 0.03, high=value / first + 0.03)
            for one, value in per_query.items()
            if one != baseline
        },
    )


def _scaling(name: str, place: int) -> Scaling:
    usl = Usl(
        rate=320 + 4 * place, contention=0.04 - 0.004 * place, coherency=0.0012 / (1 + place), peak=None, relative_error=0.02
    )
    usl = usl.model_copy(update={"peak": math.sqrt((1 - usl.contention) / usl.coherency)})
    points = []
    for threads in _THREADS:
        tps = usl.rate * threads / (1 + usl.contention * (threads - 1) + usl.coherency * threads * (threads - 1))
        points.append(ScalingPoint(threads=threads, tps=Estimate(mean=tps, low=0.97 * tps, high=1.03 * tps)))
    return Scaling(candidate=name, points=points, usl=usl)


def _statements(names: Sequence[str]) -> list[StatementRow]:
    told = [
        ("SELECT `c` FROM `sbtest1` WHERE `id` = ?", 12_400.0, 71.0, 1.0),
        ("SELECT `c` FROM `sbtest1` WHERE `id` BETWEEN ? AND ? ORDER BY `c`", 1240.0, 390.0, 200.0),
        ("COMMIT", 1240.0, 350.0, 0.0),
    ]
    return [
        StatementRow(
            digest=digest,
            candidates={
                name: StatementFigures(
                    per_second=rate * (1 + 0.05 * place),
                    mean_us=mean / (1 + 0.05 * place),
                    rows_examined=rows,
                    rows_sent=rows / 2,
                    lock_us=1.2,
                    disk_tables=0.0,
                )
                for place, name in enumerate(names)
            },
        )
        for digest, rate, mean, rows in told
    ]


def _semaphores(names: Sequence[str]) -> Semaphores:
    places = [("buf0buf.cc:4102", "S-lock", 2.1), ("btr0sea.cc:122", "S-lock", 0.8)]
    return Semaphores(
        places=[
            SemaphorePlace(place=at, lock=lock, waiting={name: most / (1 + place) for place, name in enumerate(names)})
            for at, lock, most in places
        ],
        spins=[
            SpinRow(
                kind=kind,
                spins={name: 9100.0 / (1 + place) for place, name in enumerate(names)},
                rounds={name: 120_400.0 / (1 + place) for place, name in enumerate(names)},
                os_waits={name: 410.0 / (1 + place) for place, name in enumerate(names)},
            )
            for kind in ("mutex", "rw_shared", "rw_excl")
        ],
        notes=[],
    )


def _waits(name: str, place: int) -> list[WaitSummary]:
    return [
        _wait(name, operation, share / (1 + place))
        for operation, share in ((ALL, 1.0), ("shared_lock", 0.9), ("exclusive_lock", 0.1))
    ]


def _wait(name: str, operation: str, share: float) -> WaitSummary:
    histogram = [round(share * 900_000 * math.exp(-((power - 7.5) ** 2) / 3)) for power in range(14)]
    histogram += [round(share * 400 / (power - 12)) for power in range(14, 24)]
    count = sum(histogram)
    p50, p90, p99, p999, most = (factor * (1 + share) for factor in (140.0, 320.0, 610.0, 9_400.0, 14_800_000.0))
    mean = 700.0 * (1 + share)
    return WaitSummary(
        candidate=name,
        instrument=_HASH,
        operation=operation,
        count=count,
        per_second=count / 60,
        mean_ns=mean,
        p50_ns=p50,
        p90_ns=p90,
        p99_ns=p99,
        p999_ns=p999,
        max_ns=most,
        mean_cycles=_TICKS * mean,
        p50_cycles=_TICKS * p50,
        p90_cycles=_TICKS * p90,
        p99_cycles=_TICKS * p99,
        p999_cycles=_TICKS * p999,
        max_cycles=_TICKS * most,
        total_ms=count * mean / 1e6,
        total_cycles=_TICKS * count * mean,
        worst_share=0.71,
        ten_share=0.64 if share == 1 else 0.21,
        histogram=histogram,
    )

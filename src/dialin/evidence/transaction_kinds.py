"""What each kind of transaction did under each candidate, where the load's program reports kinds without histograms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields

from dialin.evidence import measured
from dialin.evidence.block_figures import block_figures
from dialin.evidence.measured import MeasuredTrial
from dialin.model.load_driver import KindFigures, kind_of_gauge
from dialin.model.record import StudyRecord
from dialin.model.why import TransactionKind

_FIELDS = tuple(field.name for field in fields(KindFigures))


def transaction_kinds(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> list[TransactionKind]:
    """Return the figures of each kind and candidate; empty where the load reports no kinds, or only one."""
    values: defaultdict[str, defaultdict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for one in trials:
        for name, gauge in one.watched["load"].gauges.items() if "load" in one.watched else ():
            if (part := kind_of_gauge(name)) is not None:
                values[part[1]][part[0]][one.trial.id] = gauge.mean
    if len(values) < 2:
        return []
    with_kinds = {trial for by_field in values.values() for trial in by_field["per_second"]}
    rows = []
    for kind, by_field in sorted(values.items()):
        for field in ("per_second", "errors"):  # a kind that a trial does not report did nothing in it
            by_field[field] = {**dict.fromkeys(with_kinds, 0.0), **by_field[field]}
        figures = {field: block_figures(by_field[field], trials, record) for field in _FIELDS}
        rows += [
            TransactionKind(transaction=kind, candidate=name, **{field: figures[field].get(name) for field in _FIELDS})
            for name in measured.names(trials, record)
            if name in figures["per_second"]
        ]
    return rows

"""Explains a verdict from a study's record, without evaluating the verdict itself; and sums that up in a sentence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields

from dialin.evidence import measured, profiles, waits
from dialin.evidence.cost import costs, probe_costs
from dialin.evidence.latencies import latencies, scaling
from dialin.evidence.measured import MeasuredTrial, block_figures
from dialin.evidence.reasons import machine_rules, server_rules, shared_figures, wait_rules
from dialin.evidence.reasons.limits_hit import limits
from dialin.evidence.reasons.raw_wait_reasons import is_explained_by, raw_reasons
from dialin.evidence.reasons.rule import SPELLED_BY_SERVER
from dialin.evidence.reasons.significance import Pair, all_changes, choose_pair, strongest
from dialin.evidence.reasons.unused_capacity import unused
from dialin.evidence.semaphores import semaphores
from dialin.evidence.statement_times import statement_times, statements
from dialin.measures.table import measure_of_study
from dialin.model.load_driver import KindFigures, kind_of_gauge
from dialin.model.record import StudyRecord
from dialin.model.why import Reason, TransactionKind, Why

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


def explain(record: StudyRecord) -> Why:
    """Return what explains a study's verdict, from the readings of its probes.

    Where there is no verdict yet, explain the candidate that differs most from the baseline so far.
    """
    trials = measured.of(record)
    compared = choose_pair(record, trials)
    summaries = waits.summaries(record)
    rules = [*server_rules.RULES, *machine_rules.RULES, *wait_rules.rules(trials, summaries)]
    changes: list[Reason] = []
    raw: list[Reason] = []
    count_of_changes = 0
    if compared:
        all_changed = all_changes(rules, record, trials, compared)
        count_of_changes = len(all_changed)
        changes = strongest(all_changed)
        raw = [one for one in raw_reasons(summaries, compared) if not is_explained_by(one, changes)]
    profiled = profiles.compare_all(record, trials)
    return Why(
        summary=summary(record, trials, changes, count_of_changes, compared),
        reasons=[*changes, *raw, *unused(record, trials), *limits(record, trials)],
        costs=costs(record, trials),
        memory=block_figures(measured.values_of(shared_figures.resident_memory, trials), trials, record),
        scaling=scaling(record, trials),
        statements=statements(record, trials),
        latencies=latencies(record, trials),
        kinds=transaction_kinds(record, trials),
        statement_times=statement_times(record, trials),
        semaphores=semaphores(record, trials),
        waits=summaries,
        wait_trials=waits.wait_trials(record, trials),
        profile=next((one for one in profiled if compared and one.other == compared.other), None),
        other_profiles=[one for one in profiled if not compared or one.other != compared.other],
        probes=probe_costs(trials),
    )


def summary(
    record: StudyRecord, trials: Sequence[MeasuredTrial], changes: Sequence[Reason], count: int, compared: Pair | None
) -> str:
    """Return one sentence: what changed with the verdict, or that nothing did.

    `changes` are the changes that are shown, the strongest first; `count` is the number of all changes.
    """
    goal = measure_of_study(record.spec).name
    if not any(one.watched for one in trials):
        return "No probe ran while load was measured, so no reason is available."
    if compared is None:
        return "No candidate can be compared with the baseline, so no reason is available."
    if not changes:
        if len({one.trial.stratum for one in trials}) < 2:
            return "One block is too little to separate what changed with the verdict from noise."
        if compared.differ:
            return f"No metric changed with {goal}: no recorded metric explains the difference, or it is noise."
        return f"No metric changed, and no difference in {goal} was detected."
    first = changes[0].subject
    subject = f"{count:,} metrics" if count > 1 else first
    most = f", {first} most" if count > 1 else ""
    strongest = "the strongest is" if len(changes) == 1 else f"the {len(changes)} strongest are"
    shown = f"; {strongest} shown" if count > len(changes) else ""
    if not compared.differ:
        return f"No difference in {goal} was detected, though {subject} changed{most}{shown}."
    if changes[0].correlation is None:
        text = f"{subject} changed{most}{shown}."
    else:
        r = f"{changes[0].correlation:.2f}".replace("-", "−")
        text = f"{subject} changed with {goal}{most} (r = {r}; correlation, not cause){shown}."
    return text if count == 1 and changes[0].code in SPELLED_BY_SERVER else f"{text[:1].upper()}{text[1:]}"

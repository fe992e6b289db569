"""Whether the hosts of a study agree, and the effect on each of them or on each kind of host where they do not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from dialin.model.record import StudyRecord
from dialin.model.study import StudySpec
from dialin.model.trial import Trial
from dialin.model.verdict import DecidedBy, Note
from dialin.stats.host_effects import Interaction, can_be_compared, host_interactions
from dialin.stats.trial_figures import Figures, goal_ratio, timed_trials
from dialin.verdict import comparison

DISAGREE = "hosts_disagree"

_KIND = ("cpu", "cpus", "memory_gb", "disk")
"""What makes two hosts one kind."""


def kind_of(facts: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return what kind of host a machine is: its CPU model, how many, its memory in whole GiB, its disk."""
    memory = facts.get("memory_bytes")
    known = {**facts, "memory_gb": round(memory / 1024**3) if memory else None}
    return tuple((name, known[name]) for name in _KIND if known.get(name) is not None)


def host_notes(record: StudyRecord, done: Sequence[Trial], figures: Mapping[int, Figures], decided_by: DecidedBy) -> list[Note]:
    """Return a note for each candidate that compares differently with the baseline on other hosts; none on one host.

    By kinds of hosts where there are several and they differ, else by hosts. `hosts_disagree` holds where no statement is true
    of all of them; `hosts_differ` where only the size of the effect differs.
    """
    hosts = sorted({trial.host for trial in done})
    spec = record.spec
    if len(hosts) < 2 or spec.aa:
        return []
    out = comparison.unsafe_candidates(spec, done)
    names = [name for name in spec.names if name not in out]
    trials = timed_trials(done, figures, decided_by)
    kinds = {host: kind_of(record.hosts.get(host, {})) for host in hosts}
    of_kind: dict[Hashable, list[str]] = defaultdict(list)
    for host in hosts:
        of_kind[kinds[host]].append(host)

    def kind(run: Any) -> Hashable:
        return kinds[run[1]]

    def host_of(run: Any) -> Hashable:
        return str(run[1])

    by_kind = {one.candidate: one for one in host_interactions(trials, names, spec.baseline, kind, spec.confidence)}
    notes = []
    for by_host in host_interactions(trials, names, spec.baseline, host_of, spec.confidence):
        coarse = by_kind.get(by_host.candidate)
        if coarse is not None and coarse.differs:
            groups = [{"kind": dict(kinds[members[0]]), "hosts": members} for members in of_kind.values()]
            notes.append(_note(coarse, spec, groups, list(of_kind)))
        elif by_host.differs:
            groups = [{"kind": {}, "hosts": [host]} for host in hosts]
            notes.append(_note(by_host, spec, groups, hosts))
    return sorted(notes, key=lambda note: note.code != DISAGREE)


def kinds_are_compared(
    record: StudyRecord, done: Sequence[Trial], figures: Mapping[int, Figures], decided_by: DecidedBy
) -> bool:
    """Return whether enough is known of each kind of host for a statement on all of them; True where there is one kind.

    Hosts of one kind are taken to be alike until the trials say otherwise, so that ten of them need no more trials than one.
    """
    kinds = {trial.host: kind_of(record.hosts.get(trial.host, {})) for trial in done}
    if len(set(kinds.values())) < 2 or record.spec.aa:
        return True
    names = record.spec.names

    def kind(run: Any) -> Hashable:
        return kinds[run[1]]

    return can_be_compared(timed_trials(done, figures, decided_by), names, kind)


def _note(interaction: Interaction, spec: StudySpec, groups: Sequence[Mapping[str, Any]], keys: Sequence[Hashable]) -> Note:
    effects = []
    for group, key in zip(groups, keys, strict=True):
        difference = interaction.differences.get(key)
        ratio = goal_ratio(difference.ratio(0.05), spec.goal) if difference is not None else None
        if ratio is not None:
            effects.append({**group, "ratio": ratio.mean, "low": ratio.low, "high": ratio.high})
    data = {"candidate": interaction.candidate, "p": interaction.p, "worthwhile": spec.worthwhile, "effects": effects}
    is_contradiction = interaction.contradicts(comparison.rules(spec).margin)
    return Note(code="hosts_disagree", data=data) if is_contradiction else Note(code="hosts_differ", data=data)

"""Compares the hosts of a study: whether they agree, and the effect by host, or by kind of host, where they do not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from dialin.measures.of_trials import deciding_trials, goal_ratio
from dialin.model.record import HostKind, StudyRecord, kind_of
from dialin.model.study import StudySpec
from dialin.model.trial import Trial
from dialin.model.verdict import AgainstBest, Outcome
from dialin.sentences.host_notes import HostEffect, HostsDiffer, HostsDisagree, NotOnEachKind
from dialin.stats.decide import Decision, Rules
from dialin.stats.host_effects import Interaction, can_be_compared, fit_groups, host_interactions
from dialin.stats.standings import without_claims
from dialin.stats.thresholds import thresholds
from dialin.stats.trial_figures import Figures
from dialin.verdict import comparison

_Kind = TypeVar("_Kind", bound=HostsDiffer)


@dataclass(frozen=True, slots=True)
class HostComparison:
    """Whether a candidate compares in the same way with the baseline on all hosts of a study.

    Attributes:
        notes: one for each candidate whose ratio to the baseline differs between hosts, by kind of host where the kinds differ,
            else by host. `hosts_disagree`: no statement is true of all of them. `hosts_differ`: only the size of the effect
            differs. Also `not_on_each_kind` for a candidate whose gain is not shown on each kind of host.
        is_enough: whether each kind of host has the trials that a statement on all kinds needs. Hosts of one kind are assumed
            to be alike until the trials contradict that, so ten hosts of one kind need no more trials than one.
        not_on_each: candidates whose difference from the baseline is not shown on each kind of host.
    """

    notes: Sequence[HostsDiffer] = ()
    is_enough: bool = True
    not_on_each: frozenset[str] = frozenset()

    @property
    def disagree(self) -> bool:
        return any(isinstance(note, HostsDisagree) for note in self.notes)

    def withheld(self, decision: Decision) -> frozenset[str]:
        """Return the candidates that all hosts together show to be better than the baseline, but not each kind of host."""
        return self.not_on_each.intersection(decision.better)

    def is_shown(self, decision: Decision) -> bool:
        """Return whether each kind of host shows every gain that a decision claims for its choice and its winners."""
        return self.withheld(decision).isdisjoint({decision.choice, *decision.winners})

    def limited(self, decision: Decision, baseline: str) -> Decision:
        """Return a decision without the claims that hold for all hosts together but not for each kind of host."""
        better = tuple(name for name in decision.better if name not in self.not_on_each)
        limited = replace(decision, better=better)
        if decision.outcome is Outcome.INCONCLUSIVE:
            return limited
        if self.disagree or not self.is_shown(decision):
            return replace(limited, outcome=Outcome.INCONCLUSIVE, states=without_claims(decision.states))
        not_shown_to_lose = [name for name in self.not_on_each if decision.states[name] is AgainstBest.LOSES]
        if decision.winners == (baseline,) and not_shown_to_lose:
            states = decision.states | dict.fromkeys([*not_shown_to_lose, baseline], AgainstBest.INCONCLUSIVE)
            return replace(limited, outcome=Outcome.SAFE_CHOICE, winners=(), states=states)
        return limited


def compare_hosts(
    record: StudyRecord, done: Sequence[Trial], figures: Mapping[int, Figures], decision: Decision
) -> HostComparison:
    """Return how a study's hosts compare.

    A kind of host is left out where none of its hosts has at least half the trials of the host with the most: its hosts have
    just joined or were lost early, and the study does not wait for them.
    """
    spec, counts = record.spec, Counter(trial.host for trial in done)
    if len(counts) < 2 or spec.is_aa:
        return HostComparison()
    excluded = comparison.unsafe_candidates(spec, done)
    names = [name for name in spec.names if name not in excluded]
    trials = deciding_trials(done, figures, spec.goal, decision.decided_by)
    kinds = {host: kind_of(record.hosts.get(host, {})) for host in sorted(counts)}
    of_kind: dict[Hashable, list[str]] = defaultdict(list)
    for host, kind in kinds.items():
        of_kind[kind].append(host)
    by_kind = fit_groups(trials, names, lambda run: kinds[_host(run)])
    by_host = fit_groups(trials, names, _host)
    kind_interactions = {one.candidate: one for one in host_interactions(by_kind, names, spec.baseline, spec.confidence)}
    notes: list[HostsDiffer] = []
    for host_interaction in host_interactions(by_host, names, spec.baseline, spec.confidence):
        kind_interaction = kind_interactions.get(host_interaction.candidate)
        if kind_interaction is not None and kind_interaction.differs:
            notes.append(_interaction_note(kind_interaction, spec, of_kind))
        elif host_interaction.differs:
            notes.append(_interaction_note(host_interaction, spec, None))
    most = max(counts.values())
    compared = [kind for kind, hosts in of_kind.items() if 2 * max(counts[host] for host in hosts) >= most]
    on_each = thresholds(spec.confidence, len(spec.names)).on_each
    not_on_each = frozenset(name for name, one in kind_interactions.items() if not one.is_shown_on(compared, on_each))
    disagreeing = {note.candidate for note in notes if isinstance(note, HostsDisagree)}
    withheld = [name for name in decision.better if name in not_on_each - disagreeing]
    notes += [_note(NotOnEachKind, kind_interactions[name], spec, of_kind) for name in withheld]
    return HostComparison(
        notes=sorted(notes, key=lambda note: not isinstance(note, HostsDisagree)),
        is_enough=len(of_kind) < 2 or can_be_compared({kind: by_kind[kind] for kind in compared}),
        not_on_each=not_on_each,
    )


def _host(run: Any) -> str:
    return str(run[1])


def _interaction_note(
    interaction: Interaction, spec: StudySpec, of_kind: Mapping[Hashable, Sequence[str]] | None
) -> HostsDiffer:
    deviate, margin = thresholds(spec.confidence, len(spec.names)).on_each, Rules.of(spec).margin
    return _note(HostsDisagree if interaction.contradicts(margin, deviate) else HostsDiffer, interaction, spec, of_kind)


def _note(
    note: type[_Kind], interaction: Interaction, spec: StudySpec, of_kind: Mapping[Hashable, Sequence[str]] | None
) -> _Kind:
    """Return the effect of a candidate by kind of host, or by host where no kinds are given."""
    effects = []
    for group, difference in interaction.differences.items():
        ratio = goal_ratio(difference.ratio(spec.alpha), spec.goal)
        kind = dict(cast("HostKind", group)) if of_kind else {}
        hosts = of_kind[group] if of_kind else [str(group)]
        if ratio is not None:
            effects.append(HostEffect(kind=kind, hosts=tuple(hosts), ratio=ratio))
    return note(
        candidate=interaction.candidate,
        p=interaction.p,
        worthwhile=spec.worthwhile,
        confidence=1 - spec.alpha,
        effects=tuple(effects),
    )

"""From what the store holds to the verdict: the statistics say who wins, this says what that means for the user."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.evidence.client_limits import client_limits, other_load
from dialin.model.evidence import Watched
from dialin.model.progress import Standing
from dialin.model.record import StudyRecord
from dialin.model.study import Goal, StudySpec
from dialin.model.trial import Purpose, Step, Trial, TrialState
from dialin.model.verdict import (
    CandidateState,
    CandidateVerdict,
    Confirmation,
    Estimate,
    Note,
    Outcome,
    Verdict,
)
from dialin.question.plan import plan
from dialin.stats.blocks import fit
from dialin.stats.decide import Decision
from dialin.stats.forecast import detectable
from dialin.stats.intervals import stall_seconds_per_1000, typical
from dialin.stats.pareto import front
from dialin.stats.safety import Failures
from dialin.stats.trial_figures import FIGURE_OF, Figures, figures, natural, observations
from dialin.variables import rules
from dialin.verdict import caveats, changed_during_trial, effective_settings, elimination, outcome_sentences, rates
from dialin.verdict.effective_settings import EffectiveSettings
from dialin.workloads import load_identity


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, and whether more blocks could still change what it decides."""

    verdict: Verdict
    decided: bool


@dataclass(frozen=True, slots=True)
class _Case:
    """What a verdict is made of.

    Attributes:
        record: the study as it stands.
        done: trials of the race that ended well and of which some second counts.
        found: their figures, by trial id.
        decision: by the study's goal.
        speed: by throughput; the same where that is the goal.
        seen: what each candidate came to in its last trial, and `first` in its first.
        one: candidates that were one setting in force throughout.
        left: who left the race, and after which block.
        failures: how often each candidate's server failed.
        weaker: per candidate, the variables by which it gives up durability.
        confounds: what differed beside what was asked for.
    """

    record: StudyRecord
    done: Sequence[Trial]
    found: Mapping[int, Figures]
    decision: Decision
    speed: Decision
    first: Mapping[str, EffectiveSettings]
    seen: Mapping[str, EffectiveSettings]
    one: Sequence[frozenset[str]]
    left: Mapping[str, int]
    failures: Mapping[str, Failures]
    weaker: Mapping[str, Sequence[str]]
    confounds: Sequence[Note]

    @property
    def spec(self) -> StudySpec:
        return self.record.spec

    @property
    def serious(self) -> list[Note]:
        return [note for note in self.confounds if note.data["could_explain"]]

    def own(self, name: str) -> list[Figures]:
        """Return the figures of a candidate's trials."""
        return [self.found[trial.id] for trial in self.done if trial.candidate == name]


def reach_verdict(
    record: StudyRecord,
    alpha: float,
    known: Mapping[int, Figures] | None = None,
    left: Mapping[str, int] | None = None,
) -> Judgement:
    """Return the verdict on all trials that ended well.

    Args:
        record: the study as it stands.
        alpha: the error that this look is allowed.
        known: the figures of its completed trials, where they are known already.
        left: the candidates that left the race, likewise.
    """
    case = _case(record, alpha, known, left)
    spec, decision = case.spec, case.decision
    names = [candidate.name for candidate in spec.candidates]
    outcome, states = decision.outcome, dict(decision.states)
    # What could explain a difference could hide one as well; only candidates that are one leave no question.
    if case.serious and outcome is not Outcome.UNRESOLVED and not any(len(group) == len(names) for group in case.one):
        outcome = Outcome.UNRESOLVED
        out = (CandidateState.FAILED, CandidateState.UNSAFE)
        states = {name: state if state in out else CandidateState.OPEN for name, state in states.items()}
    chosen, reason = outcome_sentences.recommend(spec, outcome, decision, case.weaker, case.serious)
    best = front(
        {
            name: (speed.mean, statistics.median(found.window.cv for found in case.own(name)))
            for name, speed in _speeds(case.speed).items()
            if speed is not None
        }
    )
    verdict = Verdict(
        verdict=outcome,
        goal=spec.goal,
        decided_by=decision.decided_by,
        percentile=spec.workload.percentile,
        headline=outcome_sentences.headline(spec, outcome, decision, case.one, case.confounds, case.weaker, case.failures),
        reason=reason,
        recommended=dict(spec.candidate(chosen).setting),
        recommended_candidate=chosen,
        winners=list(decision.winners) if outcome is not Outcome.UNRESOLVED and not spec.aa else [],
        baseline=spec.baseline,
        candidates=[_candidate(case, name, states[name], pareto=name in best) for name in names],
        blocks=decision.blocks,
        minutes_of_load=sum(t.steps.get(Step.MEASURE, 0.0) for t in case.done) / 60,
        minutes_of_wall_clock=sum(sum(trial.steps.values()) for trial in record.trials) / 60,
        confidence=spec.confidence,
        worthwhile=spec.worthwhile,
        detectable=decision.detectable,
        detectable_planned=_planned(spec),
        confirmed=_confirmed(record, chosen),
        lost_seconds=sum(case.found[trial.id].lost for trial in case.done),
        trial_noise=decision.sd,
        warnings=_warnings(case, chosen),
        confounds=list(case.confounds),
        server={"builds": {server: dict(facts) for server, facts in record.servers.items()}},
        host=dict(record.host),
        workload={**spec.workload.model_dump(mode="json"), "text": spec.workload.describe(), **_table_read(record)},
    )
    return Judgement(verdict, decision.outcome is not Outcome.UNRESOLVED)


def _case(record: StudyRecord, alpha: float, known: Mapping[int, Figures] | None, out: Mapping[str, int] | None) -> _Case:
    spec = record.spec
    raced = elimination.racing(record.trials)
    found = figures_of(record, raced) if known is None else known
    done = [trial for trial in raced if trial.id in found]
    names = [candidate.name for candidate in spec.candidates]
    first = {trial.candidate: EffectiveSettings(trial.in_force, trial.real) for trial in reversed(done)}
    seen = {trial.candidate: EffectiveSettings(trial.in_force, trial.real) for trial in done}
    one = elimination.same_in_force(spec, done)

    left = elimination.left_after(spec, record.blocks, record.trials, found) if out is None else out

    def decided(goal: Goal) -> Decision:
        return elimination.decide_by(spec, goal, record.trials, found, alpha=alpha, left=left)

    decision = decided(spec.goal)
    confounds = effective_settings.confounds(spec, seen)
    named = {note.data["variable"] for note in confounds}
    confounds += [note for note in effective_settings.confounds(spec, first) if note.data["variable"] not in named]
    forced = {name: seen[name].in_force for name in names if name in seen}
    return _Case(
        record=record,
        done=done,
        found=found,
        decision=decision,
        speed=decision if spec.goal is Goal.THROUGHPUT else decided(Goal.THROUGHPUT),
        first=first,
        seen=seen,
        one=one,
        left=left,
        failures=elimination.server_failures(spec, record.trials),
        weaker={name: _weaker(name, forced, spec.baseline) for name in forced},
        confounds=confounds,
    )


def figures_of(record: StudyRecord, trials: Sequence[Trial]) -> dict[int, Figures]:
    """Return the figures of trials that ended well and of which some second counts, by trial id."""
    rate = record.spec.workload.rate
    done = [trial for trial in trials if trial.state is TrialState.DONE]
    all_of_them = {trial.id: figures(record.samples.get(trial.id, ()), rate=rate) for trial in done}
    return {number: found for number, found in all_of_them.items() if found is not None}


def standings(
    spec: StudySpec, trials: Sequence[Trial], found: Mapping[int, Figures], left: Mapping[str, int]
) -> dict[str, Standing]:
    """Return each candidate's figures so far, without intervals: for watching, not for deciding."""
    raced = elimination.racing(trials)
    done = [trial for trial in raced if trial.state is TrialState.DONE and trial.id in found]
    level = {trial.id: found[trial.id].window.mean for trial in done}
    standing = {}
    base = {trial.block: level[trial.id] for trial in done if trial.candidate == spec.baseline and level[trial.id] > 0}
    for candidate in spec.candidates:
        own = [t for t in done if t.candidate == candidate.name]
        logs = [math.log(level[t.id] / base[t.block]) for t in own if t.block in base and level[t.id] > 0]
        standing[candidate.name] = Standing(
            trials=len(own),
            failed=sum(t.candidate == candidate.name and t.state is TrialState.FAILED for t in raced),
            tps=statistics.fmean(level[t.id] for t in own) if own else None,
            ratio=math.exp(statistics.fmean(logs)) if logs else None,
            left=candidate.name in left,
        )
    return standing


def _table_read(record: StudyRecord) -> dict[str, float]:
    """Return how many bytes of the table one query reads, where the load told it."""
    workload = record.spec.workload
    told = [seen["load"].gauges["bytes_a_run"].least for seen in record.watched.values() if _tells_bytes(seen)]
    return {"bytes_a_query": statistics.median(told) / min(workload.levels or (workload.threads,))} if told else {}


def _tells_bytes(seen: Mapping[str, Watched]) -> bool:
    return "load" in seen and "bytes_a_run" in seen["load"].gauges


def _weaker(name: str, forced: Mapping[str, Mapping[str, str]], baseline: str) -> list[str]:
    """Return the variables by which a candidate gives up durability that the baseline has; any other, where that failed."""
    references = [baseline] if baseline in forced else [other for other in forced if other != name]
    lost = [variable for other in references for variable in rules.weaker_durability(forced[name], forced[other])]
    return list(dict.fromkeys(lost))


def _candidate(case: _Case, name: str, state: CandidateState, *, pareto: bool) -> CandidateVerdict:
    """Put together what is known of one candidate."""
    spec, alpha = case.spec, 1 - case.spec.confidence
    candidate, own = spec.candidate(name), case.own(name)
    latest = case.seen.get(name, EffectiveSettings({}, {}))
    latencies = [found.latency for found in own if found.latency is not None]
    return CandidateVerdict(
        name=name,
        server=candidate.server,
        setting=dict(candidate.setting),
        in_force={variable: latest.in_force[variable] for variable in spec.variables_under_test if variable in latest.in_force},
        real={variable: latest.real[variable] for variable in spec.variables_under_test if variable in latest.real},
        tps=case.speed.levels.get(name),
        ratio=case.speed.ratios.get(name),
        typical_ratio=case.speed.typical_ratios.get(name),
        stall_cost=caveats.stall_cost(own),
        goal_ratio=natural(case.decision.ratios.get(name), spec.goal),
        probability=case.decision.chances.get(name),
        left_after=case.left.get(name),
        pareto=pareto,
        cv=typical([found.window.cv for found in own], alpha) if own else None,
        worst_second_tps=min((found.window.worst for found in own), default=None),
        stall_seconds_per_1000=_stalls(case, own, alpha),
        latency_ms=typical(latencies, alpha) if latencies else None,
        errors_per_s=statistics.fmean(found.errors for found in own) if own else None,
        effective_seconds=sum(found.effective for found in own) if own else None,
        lost_seconds=sum(found.lost for found in own),
        unsteady=sum(not found.shape.steady for found in own),
        trials=len(own),
        failed=sum(t.candidate == name and t.state is TrialState.FAILED for t in elimination.clean(case.record.trials)),
        state=state,
        weaker_durability=list(case.weaker.get(name, [])),
    )


def _stalls(case: _Case, own: Sequence[Figures], alpha: float) -> Estimate | None:
    if not own:
        return None
    longest = max(length for found in case.found.values() for length in (0, *found.window.stall_lengths))
    lengths = [length for found in own for length in found.window.stall_lengths]
    return stall_seconds_per_1000(lengths, sum(found.window.seconds for found in own), longest, alpha)


def _speeds(speed: Decision) -> dict[str, Estimate | None]:
    """Return throughput as it is compared: within blocks where that goes, since levels drift."""
    return speed.ratios if any(ratio and ratio.mean != 1 for ratio in speed.ratios.values()) else speed.levels


def _planned(spec: StudySpec) -> float | None:
    """Return what the budget was said to tell apart before the study began; None where nothing was known of the noise."""
    if spec.expected_noise is None:
        return None
    count, blocks = len(spec.candidates), plan(spec).blocks
    return detectable(spec.expected_noise, count, blocks, confidence=spec.confidence, worthwhile=spec.worthwhile)


def _confirmed(record: StudyRecord, chosen: str) -> Confirmation | None:
    """Return what fresh trials say of the candidate that is recommended; None where there are too few."""
    spec = record.spec
    fresh = [trial for trial in record.trials if trial.purpose is Purpose.CONFIRM]
    seen = observations(fresh, figures_of(record, fresh), FIGURE_OF[spec.goal])
    fitted = fit(seen, (chosen, spec.baseline)) if chosen != spec.baseline else None
    if fitted is None or fitted.dof == 0:
        return None
    ratio = natural(fitted.ratio(chosen, spec.baseline, 1 - spec.confidence), spec.goal)
    return None if ratio is None else Confirmation(candidate=chosen, ratio=ratio, blocks=fitted.paired_dof[0][1] + 1)


def _warnings(case: _Case, chosen: str) -> list[Note]:
    """Return all that keeps the verdict from being taken at face value, the gravest first."""
    spec, decision = case.spec, case.decision
    own = {name: case.own(name) for name in case.seen}
    notes = outcome_sentences.unsafe_notes(spec, decision, case.failures)
    notes += outcome_sentences.durability_notes(spec, case.weaker, decision.winners)
    notes += caveats.stall_notes(spec, case.speed, own)
    notes += caveats.price_notes(spec, chosen, case.speed, own)
    notes += effective_settings.deviations(spec, case.seen, effective_settings.catalogues_of(case.record.catalogues))
    if not spec.aa:
        notes += effective_settings.same_notes(spec, case.seen, case.one)
    notes += effective_settings.changed_notes(spec, case.first, case.seen)
    notes += changed_during_trial.notes(spec, case.record.trials)
    notes += outcome_sentences.build_notes(spec)
    notes += outcome_sentences.failure_notes(case.record)
    notes += client_limits(spec, case.done)
    notes += other_load(case.done)
    short = [one.trial.id for one in rates.missed(spec.workload.rate, case.done, case.record.samples)]
    notes += caveats.steadiness_notes(spec, case.done, case.found, short)
    notes += caveats.lost_notes(spec, case.done, case.found)
    notes += rates.notes(spec, case.done, case.record.samples, case.record.watched)
    notes += load_identity.notes(case.record.host)
    notes += caveats.cold_notes(case.done, case.record.watched)
    notes += caveats.noise_notes(spec, decision.sd)
    if decision.outcome is Outcome.UNRESOLVED and not spec.aa:
        needed = elimination.blocks_needed(spec, case.record.trials, case.found, decision.decided_by)
        notes += outcome_sentences.unresolved_notes(spec, decision, needed)
    return notes

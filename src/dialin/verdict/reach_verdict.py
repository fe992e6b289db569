"""Reaches the verdict on a study from its record."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dialin.evidence import effective_settings
from dialin.evidence.load_limits import client_limits, other_load
from dialin.evidence.measured import figures_of
from dialin.measures.of_trials import goal_ratio, level_trials, observations, value
from dialin.measures.table import COSTS
from dialin.model.durability import DurabilityLoss
from dialin.model.evidence import load_gauge
from dialin.model.load_driver import describe_driver
from dialin.model.progress import Standing
from dialin.model.record import StudyRecord
from dialin.model.study import Goal, StudySpec
from dialin.model.trial import EffectiveSettings, Purpose, Step, Trial, TrialState, first_driver_choices, seconds_of
from dialin.model.verdict import (
    AgainstBest,
    CandidateState,
    CandidateVerdict,
    Confirmation,
    Estimate,
    LiveFindings,
    Outcome,
    Verdict,
)
from dialin.question.plan import plan
from dialin.sentences.note import Confounding, TypedNote
from dialin.sentences.verdict_sentences import add_sentences
from dialin.stats.blocks import fit
from dialin.stats.decide import Decision, Rules
from dialin.stats.forecast import detectable
from dialin.stats.intervals import stall_seconds_per_1000
from dialin.stats.standings import FEWEST_COMPARED, Failures, pareto_front
from dialin.stats.trial_figures import Figures, queries_per_transaction
from dialin.stats.trial_fit import CandidateFigures, TrialFit
from dialin.variables.catalogue import catalogues_of
from dialin.variables.durability import weaker_durability
from dialin.verdict import caveats, comparison, driver_delay, late_effect, outcome_notes, rates
from dialin.verdict.candidate_states import Claim, Compared, candidate_states
from dialin.verdict.host_comparison import compare_hosts
from dialin.verdict.live_findings import live_findings, live_notes
from dialin.verdict.recommendation import recommend
from dialin.workloads import load_identity


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, whether the study is decided, so that no more blocks are needed, and what the verdict rests on.

    Attributes:
        compared: what the states of its candidates rest on.
        fit: what the ratios and levels of the goal come from; None while no fit is possible.
    """

    verdict: Verdict
    decided: bool
    compared: Sequence[Compared]
    fit: TrialFit | None


@dataclass(frozen=True, slots=True)
class _Case:
    """The input of a verdict.

    Attributes:
        done: completed trials of the race with at least one second that counts.
        decision: by the study's goal.
        speed: by throughput; the same where that is the goal.
        first: the effective settings of each candidate in its first trial, and `last` in its last.
        identical: groups of candidates with identical effective settings throughout.
        failures: of each candidate's server.
        weaker: per candidate, what it can lose in a crash that the baseline keeps.
        live: the findings on live traffic; None for other studies.
        latency: the inverse of each candidate's latency, and `variation` of its coefficient of variation.
    """

    record: StudyRecord
    done: Sequence[Trial]
    figures: Mapping[int, Figures]
    decision: Decision
    speed: Decision
    first: Mapping[str, EffectiveSettings]
    last: Mapping[str, EffectiveSettings]
    identical: Sequence[frozenset[str]]
    failures: Mapping[str, Failures]
    weaker: Mapping[str, Sequence[DurabilityLoss]]
    confounds: Sequence[Confounding]
    live: LiveFindings | None
    latency: CandidateFigures
    variation: CandidateFigures

    @property
    def spec(self) -> StudySpec:
        return self.record.spec

    @property
    def serious(self) -> list[Confounding]:
        return [note for note in self.confounds if note.could_explain]

    def figures_of(self, name: str) -> list[Figures]:
        return [self.figures[trial.id] for trial in self.done if trial.candidate == name]


def reach_verdict(record: StudyRecord, known: Mapping[int, Figures] | None = None) -> Judgement:
    """Return the verdict on all completed trials; `known` are figures by trial id, which are calculated where it is None."""
    case = _case(record, known)
    spec, names = case.spec, case.spec.names
    hosts = compare_hosts(record, case.done, case.figures, case.decision)
    decision = hosts.limited(case.decision, spec.baseline)
    is_reached = case.decision.is_reached(spec.until, spec.baseline) and hosts.is_enough
    is_reached = is_reached and (hosts.disagree or hosts.is_shown(case.decision))
    outcome = decision.outcome
    # A confound that could explain a difference could also hide one, unless all candidates have identical effective settings.
    is_confounded = bool(case.serious) and not any(len(group) == len(names) for group in case.identical)
    if is_confounded:
        outcome = Outcome.INCONCLUSIVE
    is_withheld = is_confounded or hosts.disagree or not hosts.is_shown(case.decision) or _is_nothing_claimed(case)
    compared = [_compared(case, decision, name) for name in names]
    claim = Claim(
        outcome=outcome,
        choice=None if outcome is Outcome.INCONCLUSIVE else decision.choice,
        baseline=spec.baseline,
        worthwhile=spec.worthwhile,
        is_withheld=is_withheld,
    )
    states = candidate_states(compared, claim)
    recommended = recommend(
        spec,
        outcome,
        decision,
        case.weaker,
        case.serious,
        hosts_disagree=hosts.disagree,
        withheld=bool(hosts.withheld(case.decision)),
    )
    chosen = recommended.candidate
    is_choice = chosen == decision.choice and outcome is not Outcome.INCONCLUSIVE
    variation = case.variation.levels
    best = pareto_front(
        {
            name: (speed.mean, steadiness.mean)
            for name, speed in case.speed.levels.items()
            if speed is not None
            and (steadiness := variation.get(name)) is not None
            and len(case.figures_of(name)) >= FEWEST_COMPARED
        }
    )
    verdict = Verdict(
        verdict=outcome,
        goal=spec.goal,
        decided_by=decision.decided_by,
        percentile=spec.workload.percentile,
        headline="",
        reason="",
        reason_code=recommended.reason.code,
        reason_data=recommended.reason.model_dump(mode="json", exclude={"code"}),
        recommended=dict(spec.candidate(chosen).setting),
        recommended_candidate=chosen,
        winners=list(decision.winners) if outcome is not Outcome.INCONCLUSIVE and not spec.is_aa else [],
        baseline=spec.baseline,
        candidates=[_candidate(case, name, states[name], pareto=name in best) for name in names],
        blocks=max((trial.block for trial in case.done), default=0),
        trials=decision.trials,
        shown_best=is_choice and decision.shown_best,
        shown_better=chosen in decision.better and not is_withheld,
        probability_all_near=decision.all_near,
        minutes_of_load=sum(t.steps.get(Step.MEASURE, 0.0) for t in case.done) / 60,
        minutes_of_wall_clock=seconds_of(record.trials) / 60,
        confidence=1 - spec.alpha,
        worthwhile=spec.worthwhile,
        detectable=decision.detectable,
        detectable_planned=_planned(spec),
        confirmed=confirmation(record, chosen),
        lost_seconds=sum(case.figures[trial.id].lost for trial in case.done),
        trial_noise=decision.sd,
        warnings=[note.stored() for note in (*hosts.notes, *_warnings(case, chosen))],
        confounds=[note.stored() for note in case.confounds],
        server={"builds": {server: dict(facts) for server, facts in record.servers.items()}},
        host=dict(record.host),
        workload={
            **spec.workload.model_dump(mode="json", exclude={"load_token"}),
            "text": spec.workload.describe(),
            **_driver(record),
            **_table_read(record),
        },
    )
    if case.live is not None:
        verdict = verdict.model_copy(update={"live": case.live})
    return Judgement(add_sentences(spec, verdict), is_reached, compared, case.decision.fit)


def _compared(case: _Case, decision: Decision, name: str) -> Compared:
    is_identical = any({name, case.spec.baseline} <= group for group in case.identical)
    ratio = decision.ratios.get(name)
    return Compared(name, decision.states[name], ratio, name in decision.better, is_identical and name != case.spec.baseline)


def _is_nothing_claimed(case: _Case) -> bool:
    """Return whether the load of live traffic could explain each difference, or is too short to tell."""
    live = case.live
    if live is None or case.decision.outcome is not Outcome.INCONCLUSIVE:
        return False
    return live.quads < live.quads_needed or any(one.disagrees or one.lasts for one in live.candidates)


def _case(record: StudyRecord, known: Mapping[int, Figures] | None) -> _Case:
    spec = record.spec
    raced = comparison.racing(record.trials)
    by_trial = figures_of(record, raced) if known is None else known
    done = [trial for trial in raced if trial.id in by_trial]
    names = spec.names
    first, last = effective_settings.first_and_last(done)

    def decided(goal: Goal) -> Decision:
        return comparison.decide_by(spec, goal, record.trials, by_trial)

    decision = decided(spec.goal)

    def measured(goal: Goal) -> CandidateFigures:
        if goal is spec.goal:
            return CandidateFigures(decision.levels, decision.ratios)
        return comparison.figures_by(spec, goal, record.trials, by_trial)

    differing = effective_settings.confounds(spec, last)
    named = {note.variable for note in differing}
    confounds: list[Confounding] = [*differing]
    confounds += [note for note in effective_settings.confounds(spec, first) if note.variable not in named]
    confounds += driver_delay.confounds(spec, decision, record.trials, by_trial, record.watched)
    confounds += late_effect.confounds(spec, record.trials, by_trial, record.samples)
    effective = {name: last[name].in_force for name in names if name in last}
    return _Case(
        record=record,
        done=done,
        figures=by_trial,
        decision=decision,
        speed=decision if spec.goal is Goal.THROUGHPUT else decided(Goal.THROUGHPUT),
        first=first,
        last=last,
        identical=comparison.identical_candidates(spec, done),
        failures=comparison.server_failures(spec, record.trials),
        weaker={name: _weaker(name, effective, spec.baseline) for name in effective},
        confounds=confounds,
        live=_live(spec, record.trials, by_trial),
        latency=measured(Goal.LATENCY),
        variation=measured(Goal.STABILITY),
    )


def _live(spec: StudySpec, trials: Sequence[Trial], figures: Mapping[int, Figures]) -> LiveFindings | None:
    if not spec.is_live:
        return None
    trips = {candidate.name: comparison.count_guard_trips(candidate.name, trials) for candidate in spec.candidates}
    return live_findings(spec, trials, figures, Rules.of(spec), trips)


def standings(spec: StudySpec, trials: Sequence[Trial], figures: Mapping[int, Figures]) -> dict[str, Standing]:
    """Return each candidate's figures so far, without intervals: for showing progress, not for deciding."""
    raced = comparison.racing(trials)
    done = [trial for trial in raced if trial.state is TrialState.DONE and trial.id in figures]
    names = spec.names
    speeds = comparison.figures_by(spec, Goal.THROUGHPUT, trials, figures)
    compared = speeds if spec.goal is Goal.THROUGHPUT else comparison.figures_by(spec, spec.goal, trials, figures)
    of_goal = {name: goal_ratio(level, spec.goal) for name, level in compared.levels.items()}
    ratios = {name: goal_ratio(ratio, spec.goal) for name, ratio in compared.ratios.items()}
    unsafe = comparison.unsafe_candidates(spec, raced)
    standing = {}
    for name in names:
        completed = [t for t in done if t.candidate == name]
        standing[name] = Standing(
            trials=len(completed),
            failed=sum(t.candidate == name and t.state is TrialState.FAILED for t in raced),
            tps=_mean(speeds.levels[name]),
            ratio=_mean(ratios[name]),
            figure=None if spec.goal is Goal.THROUGHPUT else _mean(of_goal[name]),
            out=name in unsafe or comparison.is_given_up(name, raced),
        )
    return standing


def _mean(estimate: Estimate | None) -> float | None:
    return estimate.mean if estimate else None


def _driver(record: StudyRecord) -> dict[str, Any]:
    choices = first_driver_choices(record.trials)
    text = describe_driver(record.host, choices)
    return {"driver": text, "driver_choices": [asdict(choice) for choice in choices]} if text else {}


def _table_read(record: StudyRecord) -> dict[str, float]:
    """Return how many bytes of the table one query reads, where the load reports it."""
    workload = record.spec.workload
    gauges = [load_gauge(watched, "bytes_a_run") for watched in record.watched.values()]
    sizes = [gauge.least for gauge in gauges if gauge]
    return {"bytes_a_query": statistics.median(sizes) / min(workload.levels or (workload.threads,))} if sizes else {}


def _weaker(name: str, effective: Mapping[str, Mapping[str, str]], baseline: str) -> list[DurabilityLoss]:
    """Return what a candidate can lose in a crash that the baseline keeps.

    Where the baseline has no completed trial, the candidate is compared with all others instead.
    """
    references = [baseline] if baseline in effective else [other for other in effective if other != name]
    losses = [loss for other in references for loss in weaker_durability(effective[name], effective[other])]
    return list({loss.loss: loss for loss in reversed(losses)}.values())[::-1]


def _candidate(case: _Case, name: str, state: CandidateState, *, pareto: bool) -> CandidateVerdict:
    spec, alpha = case.spec, case.spec.alpha
    candidate, trials = spec.candidate(name), case.figures_of(name)
    latest = case.last.get(name, EffectiveSettings({}, {}))
    tps, queries = case.speed.levels.get(name), queries_per_transaction(trials)
    return CandidateVerdict(
        name=name,
        server=candidate.server,
        setting=dict(candidate.setting),
        in_force={variable: latest.in_force[variable] for variable in spec.variables_under_test if variable in latest.in_force},
        real={variable: latest.real[variable] for variable in spec.variables_under_test if variable in latest.real},
        tps=tps,
        queries_per_transaction=queries,
        qps=tps.scaled(queries) if tps and queries else None,
        ratio=case.speed.ratios.get(name),
        typical_ratio=case.speed.typical_ratios.get(name),
        stall_cost=caveats.stall_cost(trials),
        goal_ratio=goal_ratio(case.decision.ratios.get(name), spec.goal),
        probability=case.decision.chances.get(name),
        shortfall=case.decision.shortfalls.get(name),
        pareto=pareto,
        cv=goal_ratio(case.variation.levels.get(name), Goal.STABILITY),
        worst_second_tps=min((trial.window.worst for trial in trials), default=None),
        stall_seconds_per_1000=_stalls(case, trials, alpha),
        latency_ms=goal_ratio(case.latency.levels.get(name), Goal.LATENCY),
        latency_ratio=goal_ratio(case.latency.ratios.get(name), Goal.LATENCY),
        cost=goal_ratio(case.decision.levels.get(name), spec.goal) if spec.goal in COSTS else None,
        errors_per_s=statistics.fmean(trial.errors for trial in trials) if trials else None,
        effective_seconds=sum(trial.effective for trial in trials) if trials else None,
        lost_seconds=sum(trial.lost for trial in trials),
        unsteady=sum(not trial.shape.steady for trial in trials),
        trials=len(trials),
        failed=sum(t.candidate == name and t.state is TrialState.FAILED for t in comparison.clean(case.record.trials)),
        state=state,
        weaker_durability=list(case.weaker.get(name, [])),
    )


def _stalls(case: _Case, trials: Sequence[Figures], alpha: float) -> Estimate | None:
    if not trials:
        return None
    longest = max(length for trial in case.figures.values() for length in (0, *trial.window.stall_lengths))
    lengths = [length for trial in trials for length in trial.window.stall_lengths]
    return stall_seconds_per_1000(lengths, sum(trial.window.seconds for trial in trials), longest, alpha)


def _planned(spec: StudySpec) -> float | None:
    if spec.expected_noise is None:
        return None
    count, trials = len(spec.candidates), plan(spec).blocks * len(spec.candidates)
    return detectable(spec.expected_noise, count, trials, confidence=spec.confidence)


def confirmation(record: StudyRecord, chosen: str) -> Confirmation | None:
    """Return what the confirmation trials of a candidate say; None where there are too few."""
    spec = record.spec
    fresh = [trial for trial in record.trials if trial.purpose is Purpose.CONFIRM]
    values = observations(fresh, figures_of(record, fresh), spec.goal)
    fitted = fit(values, (chosen, spec.baseline)) if chosen != spec.baseline else None
    if fitted is None or fitted.dof == 0:
        return None
    ratio = goal_ratio(fitted.ratio(chosen, spec.baseline, spec.alpha), spec.goal)
    return None if ratio is None else Confirmation(candidate=chosen, ratio=ratio, blocks=fitted.paired_dof[0][1] + 1)


def _warnings(case: _Case, chosen: str) -> list[TypedNote]:
    """Return the warnings that limit the verdict, the gravest first."""
    spec, decision = case.spec, case.decision
    figures = {name: case.figures_of(name) for name in case.last}
    if case.live is not None:
        return _warnings_of_live_traffic(case, case.live)
    notes: list[TypedNote] = [*outcome_notes.unsafe_notes(spec, decision, case.failures)]
    notes += outcome_notes.smallest_memory_notes(spec, decision)
    notes += outcome_notes.durability_notes(case.weaker, decision.winners)
    notes += caveats.stall_notes(spec, case.speed, figures)
    notes += caveats.cost_notes(spec, chosen, case.speed, figures)
    notes += _setting_notes(case)
    notes += outcome_notes.build_notes(spec)
    notes += outcome_notes.failure_notes(case.record)
    notes += client_limits(spec, case.done)
    notes += other_load(case.done)
    short = [one.trial.id for one in rates.trials_below_rate(spec.workload.rate, case.done, case.record.samples)]
    notes += caveats.steadiness_notes(spec, case.done, case.figures, short)
    notes += _odd_trial_notes(case, decision.fit) if decision.fit else []
    notes += caveats.lost_notes(case.done, case.figures)
    notes += rates.notes(spec, case.done, case.record.samples, case.record.watched)
    notes += load_identity.notes(case.record.host)
    notes += caveats.load_notes(spec.workload.traits.limits, case.done, case.record.watched)
    notes += caveats.noise_notes(spec, decision.sd)
    if decision.outcome is Outcome.INCONCLUSIVE and not spec.is_aa:
        needed = comparison.trials_needed(spec, case.record.trials, case.figures, decision.decided_by)
        notes.append(outcome_notes.inconclusive_note(case.record, decision, needed))
    return notes


def _setting_notes(case: _Case) -> Iterator[TypedNote]:
    spec = case.spec
    yield from effective_settings.deviations(spec, case.last, catalogues_of(case.record.catalogues))
    if not spec.is_aa:
        yield from effective_settings.same_notes(spec, case.last, case.identical)
    yield from effective_settings.changed_notes(spec, case.first, case.last)
    yield from outcome_notes.changed_during_trials(case.record.trials)


def _odd_trial_notes(case: _Case, fitted: TrialFit) -> Sequence[TypedNote]:
    goal, figures = case.spec.goal, case.figures
    shown = [trial for trial in case.done if trial.candidate in fitted.names and value(figures[trial.id], goal) is not None]
    return caveats.odd_trial_notes(goal, shown, level_trials(shown, figures, goal), fitted)


def _warnings_of_live_traffic(case: _Case, live: LiveFindings) -> list[TypedNote]:
    """Return the warnings of a study on live traffic.

    dialin does not apply that load: an unsteady load, or clients that use the machine, are normal and have no warning.
    """
    spec, decision = case.spec, case.decision
    given_up = [name for name, state in decision.states.items() if state is AgainstBest.UNSAFE]
    notes = list(live_notes(spec, live, case.record.trials, given_up))
    notes += outcome_notes.durability_notes(case.weaker, decision.winners)
    notes += _setting_notes(case)
    notes += outcome_notes.failure_notes(case.record)
    notes += caveats.lost_notes(case.done, case.figures)
    if decision.outcome is Outcome.INCONCLUSIVE and not spec.is_aa:
        notes.append(outcome_notes.inconclusive_note(case.record, decision, None))
    return notes

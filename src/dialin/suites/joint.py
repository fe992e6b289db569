"""The joint result of a suite, from the judgements of its studies: no trial is judged here for a second time.

What is claimed of single workloads and of their mean holds together, because each study and the mean may err by its share
(Bonferroni; `StudySpec.claims`). "No workload is worse by more than the margin" needs no such share: it is claimed only where
it is shown for every workload, and the whole is wrong no more often than its least certain part (an intersection-union test:
Berger, Technometrics 24, 1982).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from dialin.measures.of_trials import goal_ratio
from dialin.measures.table import MEASURES
from dialin.model.study import StudySpec
from dialin.model.suite import (
    BarReason,
    Gate,
    GateState,
    Margin,
    SuiteCandidate,
    SuiteCell,
    SuiteMember,
    SuiteOutcome,
    SuitePlan,
    SuiteResult,
    SuiteRow,
)
from dialin.model.verdict import CandidateState, Outcome
from dialin.model.why import Why
from dialin.sentences.load_units import units
from dialin.sentences.names import naming
from dialin.sentences.suite_sentences import COSTS
from dialin.stats.decide import Decision, Rules, decide_fit
from dialin.stats.forecast import fewest_trials, is_enough
from dialin.stats.thresholds import thresholds_of
from dialin.stats.trial_fit import FEWEST_TO_CLAIM, TrialFit
from dialin.stats.weighted_mean import times_more, weighted_mean
from dialin.verdict import comparison
from dialin.verdict.candidate_states import Claim, Compared, candidate_states
from dialin.verdict.reach_verdict import Judgement

_NOT_COMPARED = (CandidateState.UNSAFE, CandidateState.NOT_MEASURED, CandidateState.NO_CLAIM)


@dataclass(frozen=True, slots=True)
class SuiteStudy:
    """One study of a suite so far.

    Attributes:
        judgement: None until a trial of its race is completed.
        decided: whether it needs no more trials.
        seconds: wall clock of its trials.
        why: what explains it; None where that is not asked for.
        failure: the error that ended it; empty where none did.
        is_over: whether it ended by itself, and was not interrupted.
    """

    member: SuiteMember
    spec: StudySpec
    judgement: Judgement | None
    decided: bool = False
    seconds: float = 0.0
    why: Why | None = None
    failure: str = ""
    is_over: bool = False

    @property
    def fit(self) -> TrialFit | None:
        return self.judgement.fit if self.judgement else None


def margin_of(plan: SuitePlan, spec: StudySpec) -> float:
    """Return by how much a candidate may be worse, on the log scale: the gate's margin, else what is worthwhile."""
    return math.log1p(spec.worthwhile) if plan.fail_if_worse is None else -math.log1p(-plan.fail_if_worse)


def margins(plan: SuitePlan, spec: StudySpec, judgement: Judgement | None) -> dict[str, Margin]:
    """Return, for each candidate but the baseline, whether it is worse than the baseline by more than the margin."""
    return {name: margin_under(plan, spec, judgement, name) for name in spec.names if name != spec.baseline}


def margin_under(plan: SuitePlan, spec: StudySpec, judgement: Judgement | None, name: str) -> Margin:
    """Return whether a candidate is worse than the baseline by more than the margin under one workload."""
    if judgement is None:
        return Margin.OPEN
    candidate, baseline = judgement.verdict.candidate(name), judgement.verdict.candidate(spec.baseline)
    has_failed = not candidate.trials and candidate.failed >= comparison.GIVE_UP_AFTER
    if baseline.trials and (candidate.state is CandidateState.UNSAFE or has_failed):
        return Margin.FAILED
    if _is_identical(judgement, name):
        return Margin.NOT_WORSE
    return margin_by_fit(plan, spec, judgement.fit, name)


def _is_identical(judgement: Judgement, name: str) -> bool:
    """Return whether a candidate's effective settings are those of the baseline, so that nothing is to be shown of it."""
    return any(one.name == name and one.is_identical for one in judgement.compared)


def margin_by_fit(plan: SuitePlan, spec: StudySpec, fit: TrialFit | None, name: str) -> Margin:
    """Return whether a candidate is worse than the baseline by more than the margin, as far as a fit shows it."""
    margin = margin_of(plan, spec)
    if fit is None or not is_enough(fit) or not {name, spec.baseline} <= set(fit.names):
        return Margin.OPEN
    if fit.difference(name, spec.baseline).shows(thresholds_of(fit, spec.confidence).best, margin):
        return Margin.NOT_WORSE
    is_worse = fit.difference(spec.baseline, name).shows(thresholds_of(fit, spec.confidence, spec.claims).worse, -margin)
    return Margin.WORSE if is_worse else Margin.OPEN


def is_decided(plan: SuitePlan, spec: StudySpec, judgement: Judgement) -> bool:
    """Return whether a workload needs no more trials: its study is decided, or the gate's question is answered for it."""
    if plan.fail_if_worse is None:
        return judgement.decided
    return Margin.OPEN not in margins(plan, spec, judgement).values()


def lacks_guard(plan: SuitePlan, studies: Sequence[SuiteStudy], one: SuiteStudy) -> bool:
    """Return whether a workload must still show that the choice of the mean is not worse under it by more than the margin.

    So it is while the mean is unknown. It need not where the choice is the baseline, or is worse under some workload.
    """
    if plan.fail_if_worse is not None:
        return False
    if (mean := decide_mean(plan, studies)) is None:
        return True
    if mean.choice is None or mean.choice == one.spec.baseline:
        return False
    by_study = {study.member.name: margin_under(plan, study.spec, study.judgement, mean.choice) for study in studies}
    return by_study[one.member.name] is Margin.OPEN and not {Margin.WORSE, Margin.FAILED} & set(by_study.values())


def decide_mean(plan: SuitePlan, studies: Sequence[SuiteStudy]) -> Decision | None:
    """Return the decision by the weighted geometric mean of all workloads; None while one has too few trials."""
    spec = studies[0].spec
    rules = Rules(plan.worthwhile, plan.confidence, choose=not spec.is_aa, claims=plan.claims)
    weights = tuple(study.member.weight for study in studies)
    return _decide_mean(tuple(study.fit for study in studies), weights, spec.baseline, rules)


@lru_cache(maxsize=4)
def _decide_mean(fits: tuple[TrialFit | None, ...], weights: tuple[float, ...], baseline: str, rules: Rules) -> Decision | None:
    mean = weighted_mean(fits, weights)
    return None if mean is None or baseline not in mean.names else decide_fit(mean, baseline, rules)


def is_reached(plan: SuitePlan, studies: Sequence[SuiteStudy]) -> bool:
    """Return whether the mean has its answer and no workload speaks against it, so that the suite may end early.

    A choice other than the baseline must not be worse than it by more than the margin under any workload; where the baseline is
    the choice, no other candidate may be better than it by more. Identical candidates (A/A) are measured to the last minute.
    """
    if plan.fail_if_worse is not None or studies[0].spec.is_aa or (mean := decide_mean(plan, studies)) is None:
        return False
    baseline = studies[0].spec.baseline
    if mean.choice is None or not mean.is_reached(plan.until, baseline):
        return False
    if mean.choice != baseline:
        return all(margin_under(plan, one.spec, one.judgement, mean.choice) is Margin.NOT_WORSE for one in studies)
    return all(one.fit is not None and _is_near_all(one.fit, plan, one.spec) for one in studies)


def _is_near_all(fit: TrialFit, plan: SuitePlan, spec: StudySpec) -> bool:
    needed, margin = thresholds_of(fit, plan.confidence).best, margin_of(plan, spec)
    return all(fit.difference(spec.baseline, name).shows(needed, margin) for name in fit.names)


def joint_result(plan: SuitePlan, studies: Sequence[SuiteStudy]) -> SuiteResult:
    """Return the joint result of the studies of a suite, of which there is at least one."""
    spec = studies[0].spec
    mean = decide_mean(plan, studies) if len(studies) == len(plan.members) else None
    rows = [_row(plan, study) for study in studies]
    candidates = _candidates(plan, spec, mean, rows)
    choice = next((one for one in candidates if mean is not None and one.name == mean.choice), None)
    if spec.is_aa and mean is not None:
        outcome = _outcome_of_identical(studies, candidates)
    else:
        outcome = _outcome(choice, mean, candidates, spec.baseline)
    is_chosen = outcome in (SuiteOutcome.BETTER, SuiteOutcome.SAFE_CHOICE)
    subject = _subject(candidates, choice, spec.baseline)
    return SuiteResult(
        outcome=outcome,
        recommended=choice.name if choice and is_chosen else spec.baseline,
        baseline=spec.baseline,
        confidence=1 - (1 - plan.confidence) / plan.claims,
        candidates=candidates,
        rows=sorted(rows, key=lambda row: -_effect(row, subject)),
        gate=_gate(plan, studies, rows),
        minutes=sum(row.seconds for row in rows) / 60,
    )


def _subject(candidates: Sequence[SuiteCandidate], choice: SuiteCandidate | None, baseline: str) -> str:
    """Return the candidate by whose effect workloads are sorted: the choice, else the one that differs most in the mean."""
    if choice is not None and choice.name != baseline:
        return choice.name
    others = [one for one in candidates if one.name != baseline]
    return max(others, key=lambda one: abs(math.log(one.mean.mean)) if one.mean else -1.0).name


def _effect(row: SuiteRow, subject: str) -> float:
    ratio = row.cell(subject).ratio
    return math.log(ratio.mean) if ratio and ratio.mean > 0 else 0.0


def _row(plan: SuitePlan, study: SuiteStudy) -> SuiteRow:
    spec, verdict = study.spec, study.judgement.verdict if study.judgement else None
    fit, by_margin = study.fit, margins(plan, spec, study.judgement)
    level = goal_ratio(fit.level(spec.baseline, spec.alpha), spec.goal) if fit and spec.baseline in fit.names else None
    cells = [_cell(study, name, margin) for name, margin in by_margin.items()]
    return SuiteRow(
        name=study.member.name,
        directory=study.member.directory,
        weight=study.member.weight,
        load=spec.workload.describe(),
        goal=spec.goal,
        unit=MEASURES[spec.goal].unit_or(units(spec.workload).title),
        baseline=level,
        outcome=verdict.verdict if verdict else None,
        decided=study.decided,
        seconds=study.seconds,
        noise=verdict.trial_noise if verdict else None,
        cells=cells,
        costs=[cost for cost in study.why.costs if cost.name in COSTS] if study.why else [],
        scaling=study.why.scaling if study.why else [],
        profile=study.why.profile if study.why else None,
        moved=study.why.summary if study.why and any(cell.ratio and cell.ratio.excludes_one for cell in cells) else "",
        failure=study.failure,
    )


def _cell(study: SuiteStudy, name: str, margin: Margin) -> SuiteCell:
    spec, fit, judgement = study.spec, study.fit, study.judgement
    if judgement is None:
        return SuiteCell(candidate=name, ratio=None, state=CandidateState.NO_CLAIM, margin=margin, trials=0)
    candidate = judgement.verdict.candidate(name)
    ratio, state = None, candidate.state
    if fit is not None and {name, spec.baseline} <= set(fit.names):
        ratio = fit.ratio(name, spec.baseline, spec.alpha)
        is_worse = fit.difference(spec.baseline, name).shows(Rules.of(spec).needed(fit).worse)
        if is_worse and is_enough(fit) and state not in _NOT_COMPARED and not _is_identical(judgement, name):
            state = CandidateState.WORSE
        elif state is CandidateState.WORSE:  # worse than the best, which need not be the baseline
            state = CandidateState.LIKELY_WORSE if ratio.excludes_one and ratio.mean < 1 else CandidateState.TOO_CLOSE
    return SuiteCell(
        candidate=name,
        ratio=ratio,
        state=state,
        margin=Margin.OPEN if _is_withheld(study, name) else margin,
        trials=candidate.trials,
        weaker_durability=[] if spec.accept_weaker_durability else candidate.weaker_durability,
    )


def _is_withheld(study: SuiteStudy, name: str) -> bool:
    """Return whether a candidate has trials enough, and nothing is claimed: something else could explain a difference."""
    fit, judgement = study.fit, study.judgement
    if judgement is None or fit is None or not is_enough(fit) or name not in fit.names:
        return False
    return judgement.verdict.candidate(name).state is CandidateState.NO_CLAIM


def _candidates(plan: SuitePlan, spec: StudySpec, mean: Decision | None, rows: Sequence[SuiteRow]) -> list[SuiteCandidate]:
    display = naming(spec)
    states = _states(plan, spec, mean)
    found = []
    for name in spec.names:
        cells = {row.name: cell for row in rows for cell in row.cells if cell.candidate == name}

        def under(cells: Mapping[str, SuiteCell], state: CandidateState) -> list[str]:
            return [row for row, cell in cells.items() if cell.state is state]

        found.append(
            SuiteCandidate(
                name=name,
                label=display.labels[name],
                full=display.full[name],
                mean=mean.ratios.get(name) if mean else None,
                state=states.get(name, CandidateState.NOT_MEASURED),
                better=under(cells, CandidateState.BETTER),
                worse=under(cells, CandidateState.WORSE),
                likely_better=under(cells, CandidateState.LIKELY_BETTER),
                likely_worse=under(cells, CandidateState.LIKELY_WORSE),
                unguarded=[row for row, cell in cells.items() if cell.margin is not Margin.NOT_WORSE],
                barred=_barred(list(cells.values())),
            )
        )
    return found


def _states(plan: SuitePlan, spec: StudySpec, mean: Decision | None) -> dict[str, CandidateState]:
    if mean is None:
        return dict.fromkeys(spec.names, CandidateState.NO_CLAIM)
    compared = [Compared(name, mean.states[name], mean.ratios[name], name in mean.better) for name in mean.states]
    choice = None if mean.outcome is Outcome.INCONCLUSIVE else mean.choice
    return candidate_states(compared, Claim(mean.outcome, choice, spec.baseline, plan.worthwhile))


def _barred(cells: Sequence[SuiteCell]) -> BarReason | None:
    states = {cell.state for cell in cells}
    for state, reason in (
        (CandidateState.UNSAFE, BarReason.UNSAFE),
        (CandidateState.NOT_MEASURED, BarReason.NOT_MEASURED),
        (CandidateState.NO_CLAIM, BarReason.NO_CLAIM),
    ):
        if state in states:
            return reason
    return BarReason.WEAKER_DURABILITY if any(cell.weaker_durability for cell in cells) else None


def _outcome(
    choice: SuiteCandidate | None, mean: Decision | None, candidates: Sequence[SuiteCandidate], baseline: str
) -> SuiteOutcome:
    if choice is None or mean is None:
        return SuiteOutcome.INCONCLUSIVE
    if choice.name == baseline:  # what could explain a difference could also hide one
        is_withheld = any(one.barred is BarReason.NO_CLAIM for one in candidates)
        return SuiteOutcome.INCONCLUSIVE if is_withheld else SuiteOutcome.KEEP
    if choice.worse:
        return SuiteOutcome.TRADE_OFF
    if choice.barred is not None:
        return SuiteOutcome.INCONCLUSIVE
    if choice.unguarded:
        return SuiteOutcome.UNGUARDED
    return SuiteOutcome.BETTER if choice.name in mean.better else SuiteOutcome.SAFE_CHOICE


def _outcome_of_identical(studies: Sequence[SuiteStudy], candidates: Sequence[SuiteCandidate]) -> SuiteOutcome:
    of_studies = [one.state for study in studies if study.judgement for one in study.judgement.verdict.candidates]
    claimed = {*of_studies, *(one.state for one in candidates)} & {CandidateState.BETTER, CandidateState.WORSE}
    is_worse = any(one.worse for one in candidates)  # than the baseline, which no study by itself compares all with
    return SuiteOutcome.FALSE_CLAIM if claimed or is_worse else SuiteOutcome.IDENTICAL


def _gate(plan: SuitePlan, studies: Sequence[SuiteStudy], rows: Sequence[SuiteRow]) -> Gate | None:
    if plan.fail_if_worse is None:
        return None
    cells = [(row, cell) for row in rows for cell in row.cells]
    worse = [(row.name, cell.candidate) for row, cell in cells if cell.margin in (Margin.WORSE, Margin.FAILED)]
    still_open = [(row.name, cell.candidate) for row, cell in cells if cell.margin is Margin.OPEN]
    begun = {row.name for row in rows}
    still_open += [(one.name, cell.candidate) for one in plan.members if one.name not in begun for cell in rows[0].cells]
    state = GateState.WORSE if worse else GateState.OPEN if still_open else GateState.PASSED
    seconds = [_seconds_to_answer(plan, study) for study in studies]
    known = [one for one in seconds if one is not None]
    needed = sum(known) / 60 if still_open and len(known) == len(plan.members) else None
    return Gate(margin=plan.fail_if_worse, state=state, worse=worse, open=still_open, minutes_needed=needed)


def _seconds_to_answer(plan: SuitePlan, study: SuiteStudy) -> float | None:
    """Return about how many more seconds of trials would answer the gate's question for a workload; None where unknown."""
    spec, fit = study.spec, study.fit
    by_margin = margins(plan, spec, study.judgement)
    if any(_is_withheld(study, name) for name in by_margin):
        return None
    names = [name for name, one in by_margin.items() if one is Margin.OPEN]
    times = [1.0]
    for name in names:
        if fit is None or not {name, spec.baseline} <= set(fit.names):
            return None
        difference = fit.difference(name, spec.baseline)
        not_worse = thresholds_of(fit, spec.confidence).best
        worse = thresholds_of(fit, spec.confidence, spec.claims).worse
        more = times_more(difference, margin_of(plan, spec), not_worse, worse)
        if more is None:
            return None
        times += [more, fewest_trials(len(fit.names)) / int(fit.trials.sum()), FEWEST_TO_CLAIM / difference.trials]
    return (max(times) - 1) * study.seconds

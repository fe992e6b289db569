"""What the minutes of a tune can show, in sentences that are said before it begins."""

from __future__ import annotations

from dialin.model.record import StudyRecord
from dialin.model.study import StudySpec
from dialin.model.trial import seconds_of
from dialin.model.tune import LeftOutReason, TunePlan
from dialin.question.plan import Plan
from dialin.search.proof import MOST_VARIABLES, minutes_to_separate, provable_gain, separable_variables
from dialin.search.study_tuner import make_options
from dialin.text import change, counted, percent

_NO_MORE = f"dialin tunes {MOST_VARIABLES} at most; name others yourself"
"""Where no larger budget would take more variables."""


def choice_text(spec: StudySpec, plan: Plan) -> str:
    """Return how many variables a tune takes that names none, why no more, and which budget would take all and pay."""
    tune = spec.question
    if not isinstance(tune, TunePlan) or not tune.left_out:
        return ""
    taken, cut = len(tune.variables), [one for one in tune.left_out if one.reason is LeftOutReason.BUDGET]
    text = f"About {counted(plan.blocks, 'trial')} can tell {counted(separable_variables(plan.blocks), 'variable')} apart"
    if not cut:
        return f"{text}; {taken} may matter here, and all are tuned."
    every = min(taken + len(cut), MOST_VARIABLES)
    named = f"{text}, of {taken + len(cut)} that may matter here. {_NO_MORE}."
    if taken >= MOST_VARIABLES:
        return named
    minutes = minutes_to_separate(every, plan.trial_seconds)
    if minutes <= spec.minutes:
        return named
    now, then = (smallest_gain(spec.model_copy(update={"minutes": one})) for one in (spec.minutes, minutes))
    finds = f", and would show a gain from {then} on{f' instead of {now}' if now and now != then else ''}" if then else ""
    return f"{text}, of {taken + len(cut)} that may matter here. --minutes {minutes} would tune {every}{finds}."


def smallest_gain(spec: StudySpec, noise: float | None = None, spent: float = 0.0) -> str:
    """Return the smallest gain that the proof of a tune can show, in percent; empty where it has too few trials for any.

    `noise` is the standard deviation of a trial of the proof, the expected one where it is None; `spent` are minutes.
    """
    tune = spec.question
    if not isinstance(tune, TunePlan):
        return ""
    gain = provable_gain(make_options(spec, tune), restarts=bool(tune.at_start), noise=noise, spent=spent)
    return percent(gain) if gain is not None and gain < 1 else ""


def resume_text(record: StudyRecord, spec: StudySpec, plan: Plan) -> str:
    """Return what a tune that resumes can still show; empty where it has no larger budget, which `spec` has."""
    tune = spec.question
    if not isinstance(tune, TunePlan) or spec.minutes <= record.spec.minutes:
        return ""
    spent = seconds_of(record.trials) / 60
    trials = int(60 * (spec.minutes - spent) / plan.trial_seconds)
    verdict = record.verdict
    least = smallest_gain(spec, verdict.trial_noise if verdict else None, spent if tune.searched else 0.0)
    shows = f"its proof can show a gain from {least} on" if least else "its proof has too few trials to show a gain"
    text = f"The search continues with about {counted(trials, 'more trial')}; {shows}."
    findings = verdict.tune if verdict else None
    if findings and findings.gain and findings.gain.low is not None and findings.gain.high is not None:
        text += f" So far the best setting has {change(findings.gain.low)} to {change(findings.gain.high)}."
    cut = sum(one.reason is LeftOutReason.BUDGET for one in tune.left_out)
    if cut:
        minutes = minutes_to_separate(min(len(tune.variables) + cut, MOST_VARIABLES), plan.trial_seconds)
        added = min(cut, MOST_VARIABLES - len(tune.variables))
        those = "the" if added == cut else f"{added} of the"
        more = f"a new tune of {minutes} minutes takes {those} {cut} that were left out, too"
        text += f" It keeps its variables: {more if added > 0 else _NO_MORE}."
    return text

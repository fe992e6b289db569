"""The sentences that every form of the report shares. Their figures are the verdict's own; nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dialin.apply.option_file import Comments
from dialin.model.measure import deciding, improvement, measure, measure_of
from dialin.model.record import StudyRecord
from dialin.model.setting import describe
from dialin.model.study import StudySpec
from dialin.model.trial import TrialState
from dialin.model.verdict import CandidateState, CandidateVerdict, Estimate, Outcome, Verdict
from dialin.text import NOTHING, change, counted, duration, exact_percent, number, percent, visible

OUTCOMES = {
    Outcome.WINNER: "Winner",
    Outcome.SAFE_CHOICE: "Safe choice",
    Outcome.TIE: "Tie",
    Outcome.NO_WORTHWHILE_DIFFERENCE: "No worthwhile difference",
    Outcome.UNRESOLVED: "Unresolved",
}
"""What a verdict is called."""

SCOPE = "The verdict holds for this load, this data and this machine, and says nothing of others."
"""What no study shows."""


@dataclass(frozen=True, slots=True)
class Naming:
    """How a study's candidates are called in tables and in sentences.

    Attributes:
        subject: the one variable whose values the candidates are, or nothing.
        labels: by name, what tables and charts show, made visible.
        full: by name, what a sentence or a heading says: `innodb_buffer_pool_instances = 4`.
    """

    subject: str
    labels: Mapping[str, str]
    full: Mapping[str, str]


def outcome(record: StudyRecord) -> str:
    """Return the outcome of the verdict and the goal that decided it, in a few words."""
    return f"{OUTCOMES[record.verdict.verdict]}, by {record.verdict.goal}" if record.verdict else "No verdict yet"


def headline(record: StudyRecord) -> str:
    """Return the verdict in one sentence."""
    if record.verdict:
        return visible(record.verdict.headline)
    done = sum(1 for trial in record.trials if trial.state is TrialState.DONE)
    return f"No verdict yet: {counted(done, 'trial')} of {counted(len(record.spec.candidates), 'candidate')} ended well so far."


def reason(record: StudyRecord) -> str:
    """Return why this is recommended; where there is no verdict, how to get one."""
    if record.verdict:
        return visible(record.verdict.reason)
    return visible(f"The study goes on where it stood with: dialin resume {record.directory}")


def gain(record: StudyRecord, verdict: Verdict) -> str:
    """Return what the recommendation gains over the baseline by the goal's measure, with its interval."""
    if verdict.recommended_candidate == verdict.baseline:
        return "The baseline is recommended, so nothing changes."
    best, aim = verdict.chosen, measure_of(verdict)
    ratio = deciding(best, verdict)
    if ratio is None:
        return "No figure: no block holds both the recommended candidate and the baseline."
    against = f"{aim.phrase} against the baseline, {naming(record.spec).full[verdict.baseline]}"
    beside = "" if aim.higher_is_better or best.ratio is None else f" Throughput: {change_with_interval(best.ratio)}."
    if ratio.low is None or ratio.high is None:
        return f"{change(ratio.mean)} {against}; there is no interval yet.{beside}"
    between = f"between {change(ratio.low)} and {change(ratio.high)}"
    return f"{change(ratio.mean)} {against}; {between} at {exact_percent(verdict.confidence)} confidence.{beside}"


def confirmation(verdict: Verdict) -> str:
    """Return the sentence on the fresh trials of the recommendation; empty if there were none."""
    fresh = verdict.confirmed
    if fresh is None:
        return ""
    figure = f"{change_with_interval(fresh.ratio)} {measure_of(verdict).phrase} against the baseline"
    trials = f"Fresh trials ({counted(fresh.blocks, 'block')})"
    if fresh.ratio.low is None or fresh.ratio.high is None:
        return f"{trials} show {figure}; there is no interval yet."
    gain_in_goal = improvement(fresh.ratio, verdict)
    if gain_in_goal > 0:
        return f"{trials} confirm {figure}."
    return f"{trials} {'do not confirm a gain' if gain_in_goal == 0 else 'contradict it'}: {figure}."


def file_comments(record: StudyRecord, verdict: Verdict) -> Comments:
    """Return what the comments of option files and SQL say of a study."""
    texts = [
        verdict.headline,
        verdict.reason,
        confirmation(verdict),
        f"Goal: {goal(record)}",
        compared(record),
        length(verdict),
    ]
    reasons = [text for text in texts if text] + [f"Confound: {note.text}" for note in verdict.confounds]
    return Comments(reasons, gain(record, verdict), no_change(record))


def no_change(record: StudyRecord) -> str:
    """Return the sentence for a recommendation that changes no variable."""
    verdict = record.verdict
    if verdict is None:
        return "Nothing yet: there is no verdict."
    if record.spec.compares_builds and verdict.recommended_candidate != verdict.baseline:
        return f"The options stay as they are; what is recommended is the build {visible(verdict.chosen.server)}."
    if verdict.chosen.trials == 0:
        return "Nothing is recommended: the baseline itself could not be measured."
    return "Keep the options as the baseline has them: there is nothing to change."


def goal(record: StudyRecord) -> str:
    """Return what the best candidate is best at, and which way that is."""
    spec = record.spec
    aim = measure_of(record.verdict) if record.verdict else measure(spec.goal, spec.workload.percentile)
    return f"{aim.aim}; {aim.direction}."


def sureness(verdict: Verdict) -> str:
    """Return the confidence of the verdict, the noise of a trial, and the smallest difference that can be detected."""
    best = verdict.chosen
    text = ""
    if verdict.verdict is Outcome.SAFE_CHOICE and best.probability is not None:
        within = f"within {exact_percent(verdict.worthwhile)} of the best"
        text = f"{chance(best.probability)} probability that the recommended candidate is {within}. "
    text += f"{proof(verdict)} {counted(verdict.trials, 'trial')}"
    if verdict.trial_noise is not None:
        text += f"; trial-to-trial SD {percent(verdict.trial_noise)}"
    planned = verdict.detectable_planned
    expected = "" if planned is None else f"expected before the study: {percent(planned)}"
    if verdict.detectable is not None:
        text += f", so differences of {percent(verdict.detectable)} or more can be detected"
        text += f" ({expected})" if expected else ""
    elif expected:
        text += f"; {expected}"
    return f"{text}. The smallest that matters is {exact_percent(verdict.worthwhile)}."


def proof(verdict: Verdict) -> str:
    """Return what has been shown of the recommended candidate, beyond its being a safe choice."""
    best = f"nothing is better than it by more than {exact_percent(verdict.worthwhile)}"
    shown = [
        *(["it is better than the baseline"] if verdict.shown_better else []),
        *([best] if verdict.shown_best else []),
    ]
    if shown:
        return f"Shown: {' and '.join(shown)}."
    return "Not shown yet: that it is better than the baseline, or that nothing is better (--until better, --until best)."


def length(verdict: Verdict) -> str:
    """Return how long the study took, and how many seconds the host spoiled."""
    load, wall = duration(60 * verdict.minutes_of_load), duration(60 * verdict.minutes_of_wall_clock)
    left_out = f" {lost(verdict.lost_seconds)} and left out." if verdict.lost_seconds else ""
    return f"{load} of measured load in {wall} of wall clock.{left_out}"


def lost(seconds: int) -> str:
    """Return how many seconds were spoiled because the host stalled."""
    return f"{seconds:,} s lost to the host"


def chance(probability: float | None) -> str:
    """Return a probability in whole per cent; an estimate is never shown as 0 % or 100 %."""
    if probability is None:
        return NOTHING
    if probability < 0.01:
        return "<1 %"
    return ">99 %" if probability > 0.99 else f"{100 * probability:.0f} %"


def compared(record: StudyRecord) -> str:
    """Return what was compared, on which builds and under which load."""
    spec = record.spec
    builds = list(dict.fromkeys(candidate.server for candidate in record.verdict.candidates)) if record.verdict else []
    builds = builds or list(dict.fromkeys(candidate.server for candidate in spec.candidates))
    asked = ", ".join(spec.variables_under_test)
    subject = f" of {asked}" if asked else ""
    alike = {**spec.fixed, **spec.held}
    held = f", with {describe(alike)} for all" if alike else ""
    number_of = counted(len(spec.candidates), "candidate")
    if spec.aa:
        number_of = f"An A/A study: {len(spec.candidates)} names of one setting"
    what = f"{number_of}{subject} on {' and '.join(builds)}"
    return visible(f"{what} under {spec.workload.describe()}{held}.")


def naming(spec: StudySpec) -> Naming:
    """Return how candidates are called: by the value alone where one variable is swept, for that is how they are named."""
    names = [candidate.name for candidate in spec.candidates]
    labels = {name: visible(name) for name in names}
    asked = spec.variables_under_test
    by_value = all(
        not candidate.setting or candidate.name.partition(" on ")[0] == str(candidate.setting[asked[0]])
        for candidate in spec.candidates
        if len(asked) == 1
    )
    if len(asked) != 1 or not by_value:
        return Naming("", labels, labels)
    full = {one.name: f"{asked[0]} = {labels[one.name]}" if one.setting else labels[one.name] for one in spec.candidates}
    return Naming(asked[0], labels, full)


def interval(estimate: Estimate | None, show: Callable[[float], str]) -> str:
    """Return an interval alone: `1,220 to 1,248`; nothing where there is none, or where it is a point."""
    if estimate is None or estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return ""
    return f"{show(estimate.low)} to {show(estimate.high)}"


def with_interval(estimate: Estimate | None, show: Callable[[float], str] = number) -> str:
    """Return a figure with its interval: `1,234 (1,220 to 1,248)`."""
    if estimate is None:
        return NOTHING
    ends = interval(estimate, show)
    return f"{show(estimate.mean)} ({ends})" if ends else show(estimate.mean)


def change_with_interval(estimate: Estimate | None) -> str:
    """Return a ratio as a change with its interval: `+5.3 % (+4.1 % to +6.4 %)`."""
    return with_interval(estimate, change)


def change_or_no_interval(ratio: Estimate) -> str:
    """Return a ratio as a change with its interval, or with the remark that it has none: `+5.3 % (no interval)`."""
    return change_with_interval(ratio) if ratio.low is not None else f"{change(ratio.mean)} (no interval)"


def deciding_of(candidate: CandidateVerdict, verdict: Verdict) -> str:
    """Return the ratio that decides for a chart, with its interval; the baseline's own is only its name."""
    return "baseline" if candidate.name == verdict.baseline else change_with_interval(deciding(candidate, verdict))


def state_of(candidate: CandidateVerdict, verdict: Verdict) -> str:
    """Return the state of a candidate, and the remarks on it."""
    return ", ".join([state_alone(candidate), *state_remarks(candidate, verdict)])


def state_alone(candidate: CandidateVerdict) -> str:
    """Return the state of a candidate in a word or two."""
    return "not told apart" if candidate.state is CandidateState.OPEN else str(candidate.state)


def state_remarks(candidate: CandidateVerdict, verdict: Verdict) -> list[str]:
    """Return the remarks beside a candidate's state."""
    remarks = ["recommended"] if candidate.name == verdict.recommended_candidate else []
    return [*remarks, "weaker durability"] if candidate.weaker_durability else remarks

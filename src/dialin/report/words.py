"""The sentences that every form of the report shares. Their figures are the verdict's own; nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dialin.model.record import StudyRecord
from dialin.model.setting import describe
from dialin.model.study import StudySpec
from dialin.model.trial import TrialState
from dialin.model.verdict import CandidateState, CandidateVerdict, Estimate, Outcome, Verdict
from dialin.text import NOTHING, change, counted, duration, exact_percent, number, percent, visible

OUTCOMES = {
    Outcome.WINNER: "Winner",
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


def chosen(verdict: Verdict) -> CandidateVerdict:
    """Return the candidate that is recommended."""
    return next(candidate for candidate in verdict.candidates if candidate.name == verdict.recommended_candidate)


def outcome(record: StudyRecord) -> str:
    """Return the verdict's kind in a word or three."""
    return OUTCOMES[record.verdict.verdict] if record.verdict else "No verdict yet"


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
    """Return what the recommendation gains over the baseline, with its interval."""
    if verdict.recommended_candidate == verdict.baseline:
        return "The baseline is recommended, so nothing changes."
    ratio = chosen(verdict).ratio
    if ratio is None:
        return "No figure: no block holds both the recommended candidate and the baseline."
    against = f"throughput against the baseline, {naming(record.spec).full[verdict.baseline]}"
    if ratio.low is None or ratio.high is None:
        return f"{change(ratio.mean)} {against}; there is no interval yet."
    between = f"between {change(ratio.low)} and {change(ratio.high)}"
    return f"{change(ratio.mean)} {against}; {between} at {exact_percent(verdict.confidence)} confidence."


def no_change(record: StudyRecord) -> str:
    """Return what to say where the recommendation changes no variable."""
    verdict = record.verdict
    if verdict is None:
        return "Nothing yet: there is no verdict."
    if record.spec.compares_builds and verdict.recommended_candidate != verdict.baseline:
        return f"The options stay as they are; what is recommended is the build {visible(chosen(verdict).server)}."
    if chosen(verdict).trials == 0:
        return "Nothing is recommended: the baseline itself could not be measured."
    return "Keep the options as the baseline has them: there is nothing to change."


def sureness(verdict: Verdict) -> str:
    """Return how sure the verdict is: its confidence, the noise of a trial, and the difference it could have seen."""
    text = f"The intervals of all candidates hold together at {exact_percent(verdict.confidence)} confidence. "
    text += f"Compared within {counted(verdict.blocks, 'block')}"
    if verdict.trial_noise is not None:
        text += f"; one trial scatters by {percent(verdict.trial_noise)}"
    if verdict.detectable is not None:
        text += f", so differences of {percent(verdict.detectable)} or more can be told apart"
    return f"{text}. The smallest that matters is {exact_percent(verdict.worthwhile)}."


def length(verdict: Verdict) -> str:
    """Return how long the study took."""
    load, wall = duration(60 * verdict.minutes_of_load), duration(60 * verdict.minutes_of_wall_clock)
    return f"{load} of measured load in {wall} of wall clock."


def compared(record: StudyRecord) -> str:
    """Return what was compared, on which builds and under which load."""
    spec = record.spec
    builds = list(dict.fromkeys(candidate.server for candidate in record.verdict.candidates)) if record.verdict else []
    builds = builds or list(dict.fromkeys(candidate.server for candidate in spec.candidates))
    asked = ", ".join(spec.asked_variables)
    subject = f" of {asked}" if asked else ""
    alike = {**spec.fixed, **spec.held}
    held = f", with {describe(alike)} for all" if alike else ""
    what = f"{counted(len(spec.candidates), 'candidate')}{subject} on {' and '.join(builds)}"
    return visible(f"{what} under {spec.workload.describe()}{held}.")


def naming(spec: StudySpec) -> Naming:
    """Return how candidates are called: by the value alone where one variable is swept, for that is how they are named."""
    names = [candidate.name for candidate in spec.candidates]
    labels = {name: visible(name) for name in names}
    asked = spec.asked_variables
    by_value = all(
        not candidate.setting or candidate.name.partition(" on ")[0] == str(candidate.setting[asked[0]])
        for candidate in spec.candidates
        if len(asked) == 1
    )
    if len(asked) != 1 or not by_value:
        return Naming("", labels, labels)
    full = {one.name: f"{asked[0]} = {labels[one.name]}" if one.setting else labels[one.name] for one in spec.candidates}
    return Naming(asked[0], labels, full)


def with_interval(estimate: Estimate | None) -> str:
    """Return a throughput with its interval: `1,234 (1,220 to 1,248)`."""
    return _with(estimate, number(estimate.mean) if estimate else NOTHING, number)


def change_with_interval(estimate: Estimate | None) -> str:
    """Return a ratio as a change with its interval: `+5.3 % (+4.1 % to +6.4 %)`."""
    return _with(estimate, change(estimate.mean) if estimate else NOTHING, change)


def ratio_of(candidate: CandidateVerdict, verdict: Verdict) -> str:
    """Return a candidate's ratio to the baseline for a table; the baseline's own is only its name."""
    return "baseline" if candidate.name == verdict.baseline else change_with_interval(candidate.ratio)


def trials_of(candidate: CandidateVerdict) -> str:
    """Return the trials of a candidate for a table: those done, and those failed where there are any."""
    return f"{candidate.trials}, {candidate.failed} failed" if candidate.failed else f"{candidate.trials}"


def state_of(candidate: CandidateVerdict, verdict: Verdict) -> str:
    """Return how a candidate came out, in a word or three, and what else is to be known of it."""
    return ", ".join([state_alone(candidate), *state_remarks(candidate, verdict)])


def state_alone(candidate: CandidateVerdict) -> str:
    """Return how a candidate came out, in a word or two."""
    return "not resolved" if candidate.state is CandidateState.OPEN else str(candidate.state)


def state_remarks(candidate: CandidateVerdict, verdict: Verdict) -> list[str]:
    """Return what is to be known beside a candidate's state."""
    remarks = ["recommended"] if candidate.name == verdict.recommended_candidate else []
    return [*remarks, "weaker durability"] if candidate.weaker_durability else remarks


def _with(estimate: Estimate | None, middle: str, show: Callable[[float], str]) -> str:
    if estimate is None or estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return middle
    return f"{middle} ({show(estimate.low)} to {show(estimate.high)})"

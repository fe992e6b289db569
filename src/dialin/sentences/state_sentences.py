"""The words for how candidates stand, alike in every table, chart and page."""

from __future__ import annotations

from dialin.measures.of_verdict import deciding
from dialin.model.verdict import CandidateState, CandidateVerdict, Outcome, Verdict
from dialin.sentences.changes import change_with_interval
from dialin.text import exact_percent

OUTCOMES = {
    Outcome.WINNER: "Winner",
    Outcome.SAFE_CHOICE: "Safe choice",
    Outcome.TIE: "Tie",
    Outcome.NO_WORTHWHILE_DIFFERENCE: "No worthwhile difference",
    Outcome.INCONCLUSIVE: "Inconclusive",
    Outcome.GAIN: "Gain proven",
}
"""The name of each outcome of a verdict."""

_STATES = {
    CandidateState.BETTER: "better (proven)",
    CandidateState.LIKELY_BETTER: "better (likely)",
    CandidateState.SAFE_CHOICE: "safe choice",
    CandidateState.EQUAL: "equal within {worthwhile}",
    CandidateState.TOO_CLOSE: "too close to tell",
    CandidateState.LIKELY_WORSE: "worse (likely)",
    CandidateState.WORSE: "worse (proven)",
    CandidateState.UNSAFE: "unsafe",
    CandidateState.NO_CLAIM: "no claim",
    CandidateState.NOT_MEASURED: "not measured",
}


def state_text(state: CandidateState, worthwhile: float) -> str:
    """Return the state of a candidate in the words that every table, chart and page uses."""
    return _STATES[state].format(worthwhile=exact_percent(worthwhile))


def deciding_of(candidate: CandidateVerdict, verdict: Verdict) -> str:
    """Return a candidate's deciding ratio with its interval, for a chart; `baseline` for the baseline."""
    return (
        "baseline"
        if candidate.name == verdict.baseline
        else change_with_interval(deciding(candidate, verdict), candidate.trials)
    )


def state_remarks(candidate: CandidateVerdict, verdict: Verdict) -> list[str]:
    remarks = ["recommended"] if candidate.name == verdict.recommended_candidate else []
    return [*remarks, "weaker durability"] if candidate.weaker_durability else remarks

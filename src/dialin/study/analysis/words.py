"""The verdict on logs in words: the headline and what to make of it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from dialin.model.study import Goal
from dialin.model.verdict import CandidateState, Estimate, Note, Outcome
from dialin.stats.runs import Comparison, Standings
from dialin.text import change, exact_percent, listed

MEASURE = {Goal.THROUGHPUT: "throughput", Goal.STABILITY: "steadiness", Goal.LATENCY: "latency"}
"""What a goal is about."""

_FIGURE = {Goal.THROUGHPUT: "", Goal.STABILITY: " coefficient of variation", Goal.LATENCY: ""}
_AGAIN = "Run each candidate three times and more, in random order, with all else alike (`dialin sweep` does)."


def interval(estimate: Estimate) -> str:
    """Return a ratio with its interval, as differences."""
    if estimate.low is None or estimate.high is None:
        return f"{change(estimate.mean)} (no interval)"
    return f"{change(estimate.mean)} ({change(estimate.low)} to {change(estimate.high)})"


def headline(
    goal: Goal,
    standings: Standings,
    ratios: Mapping[str, Estimate | None],
    baseline: str,
    comparison: Comparison,
    barred: Collection[frozenset[str]],
    depends: Sequence[Note],
) -> str:
    """Return the verdict in one sentence.

    Args:
        goal: what decides.
        standings: what was found.
        ratios: the goal's own figure of each candidate as a ratio to the baseline's.
        baseline: the candidate that others are measured against.
        comparison: of what the goal is about.
        barred: pairs of which nothing is claimed, since one ran after the other.
        depends: which candidates are better in some cells and worse in others.
    """
    measure = MEASURE[goal]
    names = list(standings.states)
    if standings.outcome is Outcome.WINNER:
        (winner,) = standings.winners
        if winner == baseline:
            return f"{winner}, the baseline, is the best by {measure}; every other candidate is worse."
        ratio = ratios[winner]
        figure = f": {interval(ratio)}{_FIGURE[goal]} against {baseline}" if ratio else ""
        return f"{winner} wins by {measure}{figure}."
    if standings.outcome is Outcome.TIE:
        return f"A tie for the best by {measure}: {listed(standings.winners)}; no worthwhile difference between them."
    if standings.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE:
        return f"No worthwhile difference in {measure} between {listed(names)}."
    if len(names) == 1:
        return f"All runs are of one candidate, {names[0]}: there is nothing to compare."
    start = f"No winner by {measure} is claimed"
    if not comparison.names:
        return f"{start}: no two candidates ran with all else alike."
    if depends:
        first = depends[0].text
        return f"No winner is claimed: {first[0].lower()}{first[1:]}."
    alone = [name for name in names if not comparison.again[name]]
    if len(alone) == len(names):
        return f"{start}: no candidate has a second run with all else alike."
    if alone:
        return f"{start}: {listed(alone)} {'has' if len(alone) == 1 else 'have'} no second run with all else alike."
    if barred and not any(state is not CandidateState.OPEN for state in standings.states.values()):
        return f"{start}: candidates ran one after the other, so drift may have made the difference."
    leading = [name for name, state in standings.states.items() if state is not CandidateState.LOSES]
    return f"{start}: between {listed(leading)} it is inconclusive; their runs vary too much, or ran one after the other."


def reason(standings: Standings, worthwhile: float, hint: str) -> str:
    """Return what to make of the verdict; `hint` says how to sort the logs by candidate, and is empty where they are."""
    if hint:
        return hint
    if standings.outcome is Outcome.UNRESOLVED:
        worse = [name for name, state in standings.states.items() if state is CandidateState.LOSES]
        shown = f"Shown to be worse than another: {listed(worse)}. " if worse else ""
        return shown + (_AGAIN if len(standings.states) > 1 else "Name logs of other candidates as well.")
    limits = "As far as what differs between runs is chance: nobody randomised them."
    if standings.outcome is Outcome.WINNER:
        return f"Its runs lie apart from those of every other candidate by more than runs of one candidate do. {limits}"
    return f"What remains of a difference is less than {exact_percent(worthwhile)}. {limits}"

"""Detects studies in which everything fails, so that the cause is not a candidate."""

from __future__ import annotations

from itertools import takewhile

from dialin.cause_sentences import with_advice
from dialin.errors import ServerError
from dialin.model.trial import Failure, TrialState
from dialin.race.state import RaceState

_FAILURES_IN_A_ROW = 3
"""Failed trials in a row, of several candidates that could be measured before, that end a study."""


def failed_in_a_row(state: RaceState, host: str) -> list[Failure]:
    """Return the failures of a host's newest trials where they are of several candidates that could be measured before.

    Newest first; empty where they are too few to conclude that the host is the cause.
    """
    measured = {t.candidate for t in state.trials if t.state is TrialState.DONE}
    ended = [t for t in state.trials if t.has_ended and t.host == host]
    failed = list(takewhile(lambda trial: trial.failure is not None and trial.candidate in measured, reversed(ended)))
    enough = min(_FAILURES_IN_A_ROW, len(state.in_the_race))
    if len(failed) < enough or len({trial.candidate for trial in failed}) < 2:
        return []
    return [trial.failure for trial in failed if trial.failure]


def now_failing(failures: list[Failure]) -> ServerError:
    last = failures[0]
    what = f"The last {len(failures)} trials failed, of candidates that could be measured before: {with_advice(last.cause)}"
    return ServerError(what, "Correct that", last.log_tail, resumable=True)


def all_failed(state: RaceState) -> ServerError:
    failures = [t.failure for t in state.trials if t.failure]
    last = failures[-1] if failures else None
    if last is None and any(trial.is_disturbed for trial in state.trials):
        return ServerError(
            "No candidate could be measured: something other than dialin changed the variables under test",
            "Find the program that sets it and stop it",
            resumable=True,
        )
    if last is None:
        return ServerError(
            "No candidate could be measured: the host itself stalled for most of every trial",
            "Run dialin doctor",
            resumable=True,
        )
    return ServerError(
        f"No candidate could be measured; the last failure: {with_advice(last.cause)}",
        "See the log lines above and the study's report; correct the setting or the workload, then start a new study",
        last.log_tail,
    )

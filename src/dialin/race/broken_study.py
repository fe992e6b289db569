"""Detects studies in which everything fails, so that the cause is not a candidate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

from dialin.cause_sentences import advice, sentence, with_advice
from dialin.errors import DialinError, MachineError, OutOfTimeError, ServerError
from dialin.model.cause import PASSING, Fault
from dialin.model.trial import Block, Failure, Trial, TrialState
from dialin.race.state import RaceState

_FAILURES_IN_A_ROW = 3
"""Failed trials in a row, of several candidates that could be measured before, that end a study."""


_TRIES = 3
"""Times that a trial is run in one session where the network, the load driver or the machine fails. Afterwards it has failed,
or, if it is the machine, the study ends: every other trial would fail, too."""


def last_tries_of(trials: Sequence[Trial], block: Block, host: str, session: int) -> frozenset[int]:
    """Return the positions in a block whose trial is not run again if a connection or the load driver is lost once more."""
    tried = Counter(
        trial.position
        for trial in trials
        if (trial.block, trial.purpose, trial.host, trial.session) == (block.number, block.purpose, host, session)
        and _is_disturbed(trial, PASSING)
    )
    return frozenset(position for position, times in tried.items() if times >= _TRIES - 1)


def disturbed_in_a_row(trials: Sequence[Trial], host: str, session: int) -> list[Failure]:
    """Return why a host's newest trials of this session were disturbed, newest first, where that can go on for ever.

    That is so where the machine fails, or where the network or the load driver fails whichever candidate is tried. Empty where
    such trials are few.
    """
    newest = [trial for trial in reversed(trials) if (trial.host, trial.session) == (host, session)]
    of_machine = list(takewhile(lambda trial: _is_disturbed(trial, (Fault.MACHINE,)), newest))
    of_any = list(takewhile(lambda trial: _is_disturbed(trial, PASSING), newest))
    disturbed = of_any if len({trial.candidate for trial in of_any}) > 1 else of_machine
    return [trial.failure for trial in disturbed if trial.failure] if len(disturbed) >= _TRIES else []


def _is_disturbed(trial: Trial, faults: Sequence[Fault]) -> bool:
    return trial.state is TrialState.INTERRUPTED and trial.failure is not None and trial.failure.fault in faults


def keeps_failing(last: Failure, times: int) -> MachineError:
    """Return the error of a study whose trials the network or the machine ends again and again."""
    trials = f"{times} trials in a row" if times > 1 else "A trial"
    return MachineError(f"{trials} could not be run: {sentence(last.cause)}", advice(last.cause), last.log_tail)


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


def all_failed(state: RaceState) -> DialinError:
    failures = [t.failure for t in state.trials if t.failure]
    last = failures[-1] if failures else None
    if last is not None and last.fault is Fault.MACHINE:
        return keeps_failing(last, 1)
    if last is None and any(trial.is_disturbed for trial in state.trials):
        return ServerError(
            "No candidate could be measured: something other than dialin changed the variables under test",
            "Find the program that sets it and stop it",
            resumable=True,
        )
    if last is None and any(trial.costs is not None for trial in state.trials):
        return ServerError(
            "No candidate could be measured: the host itself stalled for most of every trial",
            "Run dialin doctor",
            resumable=True,
        )
    if last is None:  # what trials there are were stopped or killed: one that ends by itself has costs
        which = "a trial was completed" if state.trials else "its first trial"
        return OutOfTimeError(f"The minutes were used up before {which}", "Give more --minutes", resumable=True)
    return ServerError(
        f"No candidate could be measured; the last failure: {with_advice(last.cause)}",
        "See the log lines above and the study's report; correct the setting or the workload, then start a new study",
        last.log_tail,
    )

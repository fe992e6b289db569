"""The state of a study as seen from outside: whether it runs, has ended, or died, and how to resume it. Without I/O."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dialin.model.progress import Progress, SessionState
from dialin.model.verdict import Outcome, Verdict
from dialin.text import visible

_SAFE = "Completed trials are safe"


class State(StrEnum):
    READYING = "readying"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    DEAD = "dead"
    RESTING = "resting"


@dataclass(frozen=True, slots=True)
class StateText:
    """A state in a word or two, and in a sentence."""

    name: str
    sentence: str


def session_state(progress: Progress | None, verdict: Verdict | None, *, held: bool) -> State:
    if progress is None:
        return State.READYING if held else State.FINISHED if verdict is not None else State.RESTING
    if held and progress.session is SessionState.RUNNING:
        return State.READYING if progress.ends is None else State.RUNNING
    return {
        SessionState.RUNNING: State.DEAD,
        SessionState.FINISHED: State.FINISHED,
        SessionState.STOPPED: State.STOPPED,
        SessionState.FAILED: State.FAILED,
    }[progress.session]


def text_of(state: State, progress: Progress | None, verdict: Verdict | None) -> StateText:
    if state is State.FINISHED and _is_inconclusive(verdict):
        sentence = "The budget is spent and the result is inconclusive. Give it more minutes with:"
        return StateText("Ended, inconclusive", sentence)
    reason = visible(progress.reason if progress else "").rstrip(".")
    return {
        State.READYING: StateText("Preparing", "Data and servers are being prepared; then the first trial begins."),
        State.RUNNING: StateText("Running", ""),
        State.FINISHED: StateText("Finished", "The verdict is below."),
        State.STOPPED: StateText("Stopped", f"{_SAFE}. Resume with:"),
        State.FAILED: StateText("Failed", f"{reason}. {_SAFE}. Fix that, then resume with:"),
        State.DEAD: StateText("Dead", f"Its process was killed, or the machine went down. {_SAFE}. Resume with:"),
        State.RESTING: StateText("Not running", "It has no verdict yet. Resume with:"),
    }[state]


def resume_command(state: State, verdict: Verdict | None, command: str, minutes: float) -> str:
    """Return the command that resumes a study; empty where it runs, or has a conclusive verdict.

    More minutes are those that the verdict names, or else twice as many.
    """
    if state in (State.READYING, State.RUNNING):
        return ""
    if state is not State.FINISHED:
        return command
    needed = (verdict.minutes_to_decide if verdict is not None else None) or 2 * minutes
    return f"{command} --minutes {needed:g}" if _is_inconclusive(verdict) else ""


def _is_inconclusive(verdict: Verdict | None) -> bool:
    return verdict is None or verdict.verdict is Outcome.INCONCLUSIVE

"""How the trials of a study on sandboxes follow each other: each starts a server, or one that runs is set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dialin.errors import DialinError, UserError
from dialin.model.build import Build
from dialin.model.study import StudySpec, Switch
from dialin.preflight.inspection import look_set
from dialin.question.study_file import Question
from dialin.trials import switch_mode
from dialin.trials.switch_mode import Changes
from dialin.trials.tools import Workshop
from dialin.variables.catalogue import Catalogue
from dialin.verdict.effective_settings import Seen


@dataclass(frozen=True, slots=True)
class Way:
    """How trials follow each other.

    Attributes:
        seen: what each candidate comes to by it.
        changes: what turns a running server from one candidate into another; None where each trial starts one.
        told: it, and why, in a sentence; empty where that was the user's choice.
    """

    seen: Mapping[str, Seen]
    changes: Changes | None = None
    told: str = ""


def likely(question: Question, spec: StudySpec, catalogues: Mapping[str, Catalogue]) -> Switch:
    """Return the way that a study will probably take, by what is known before a server is asked."""
    if question.switch == "restart" or switch_mode.obstacle(spec, catalogues, nothing=question.switch == "set"):
        return Switch.RESTART
    return Switch.SET


def check(question: Question, spec: StudySpec, catalogues: Mapping[str, Catalogue]) -> None:
    """Make sure that a study can take the way that is asked for, as far as is known before a server is asked.

    Raises:
        UserError: SET GLOBAL is asked for, and is not what a start with the values gives.
    """
    if question.switch == "set" and (why := switch_mode.obstacle(spec, catalogues, nothing=True)):
        raise _refused(why)


def choose(
    question: Question,
    spec: StudySpec,
    seen: Mapping[str, Seen],
    build: Build,
    catalogues: Mapping[str, Catalogue],
    workshop: Workshop,
    *,
    grows: bool,
) -> Way:
    """Decide how trials follow each other; where that may be by SET GLOBAL, it is tried on a server with empty data.

    Args:
        question: what was asked for.
        spec: the study.
        seen: what each candidate came to when a server was started as it.
        build: of the first candidate.
        catalogues: per build, what is known of its variables.
        workshop: the tools.
        grows: the load changes how much data there is.

    Raises:
        UserError: SET GLOBAL is asked for, and is not what a start with the values gives.
    """
    if question.switch == "restart":
        return Way(seen)
    why = switch_mode.obstacle(spec, catalogues, nothing=question.switch == "set") or switch_mode.disagreement(spec, seen, {})
    if why is None:
        changes = switch_mode.changes(spec, seen, catalogues[build.id])
        try:
            looks = look_set(workshop, build, changes)
        except DialinError as error:
            why = f"a running server does not take every value: {error.what}"
        else:
            why = switch_mode.disagreement(spec, seen, looks)
            if why is None:
                found = {name: Seen(own[-1].in_force, {**seen[name].real, **own[-1].real}) for name, own in looks.items()}
                return Way(found, changes, switch_mode.told_set(spec, grows=grows))
    if question.switch == "set":
        raise _refused(why)
    return Way(seen, told=switch_mode.told_restart(why))


def _refused(why: str) -> UserError:
    return UserError(f"--switch set cannot be: {why}", "Leave it out, and each trial starts a server with its values")

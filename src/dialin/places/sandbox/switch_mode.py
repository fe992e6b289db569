"""How the trials of a study on sandboxes follow each other: each starts a server, or one that runs is set by SET GLOBAL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dialin.errors import DialinError, UserError
from dialin.evidence import effective_settings
from dialin.model.build import Build
from dialin.model.cause import PASSING
from dialin.model.study import StudySpec, Switch
from dialin.model.trial import EffectiveSettings
from dialin.places.sandbox.inspection import inspect_by_setting
from dialin.text import listed
from dialin.trials.changes import Changes, changes_between, differing, known_name
from dialin.trials.tools import Tools
from dialin.variables import check, set_global
from dialin.variables.catalogue import Catalogue

Request = Literal["auto", "restart", "set"]
"""The values of `--switch`."""


@dataclass(frozen=True, slots=True)
class SwitchMode:
    """How trials follow each other.

    Attributes:
        inspected: the effective settings of each candidate in this mode.
        changes: what turns a running server from one candidate into another; None where each trial starts a server.
        reason: the mode, and why it was chosen, in a sentence; empty where the user chose restarts.
    """

    inspected: Mapping[str, EffectiveSettings]
    changes: Changes | None = None
    reason: str = ""

    @property
    def switch(self) -> Switch:
        return Switch.RESTART if self.changes is None else Switch.SET


@dataclass(frozen=True, slots=True)
class ExpectedSwitch:
    """How trials will follow each other, as far as that is known before any server is asked.

    Attributes:
        obstacle: the reason against SET GLOBAL, without its full stop; None where there is none, or the user chose restarts.
    """

    request: Request
    obstacle: str | None = None

    @property
    def mode(self) -> Switch:
        """The mode; where it is SET GLOBAL, servers may still show that restarts are needed."""
        return Switch.RESTART if self.request == "restart" or self.obstacle else Switch.SET


def expect_switch(request: Request, spec: StudySpec, catalogues: Mapping[str, Catalogue]) -> ExpectedSwitch:
    """Return how trials will follow each other, before any server is asked.

    Raises:
        UserError: SET GLOBAL is requested, and does not have the same effect as a start.
    """
    if request == "restart":
        return ExpectedSwitch(request)
    why = obstacle(spec, catalogues, is_requested=request == "set")
    if why and request == "set":
        raise _refused(why)
    return ExpectedSwitch(request, why)


def choose_switch_mode(
    expected: ExpectedSwitch,
    spec: StudySpec,
    inspected: Mapping[str, EffectiveSettings],
    build: Build,
    catalogues: Mapping[str, Catalogue],
    tools: Tools,
) -> SwitchMode:
    """Choose how trials follow each other; where SET GLOBAL may do, it is tried on a server with empty data.

    `inspected` holds the effective settings of each candidate after a start of its own; `build` is that of the first candidate.

    Raises:
        UserError: SET GLOBAL is requested, and does not have the same effect as a start with these values.
    """
    if expected.request == "restart":
        return SwitchMode(inspected)
    why = expected.obstacle or disagreement(spec, inspected, {})
    if why is None:
        changes = changes_between(spec, inspected, catalogues[build.id])
        try:
            after_set = inspect_by_setting(tools, build, changes)
        except DialinError as error:
            if error.fault in PASSING:
                raise
            why = f"a running server does not accept every value: {error.what}"
        else:
            why = disagreement(spec, inspected, after_set)
            if why is None:
                last = {name: each[-1] for name, each in after_set.items()}
                combined = {
                    name: EffectiveSettings(one.in_force, {**inspected[name].real, **one.real}) for name, one in last.items()
                }
                return SwitchMode(combined, changes, _why_set(spec))
    if expected.request == "set":
        raise _refused(why)
    instead = "Each trial restores the data and starts a server, instead of SET GLOBAL on a running one"
    return SwitchMode(inspected, reason=f"{instead}: {why}")


def obstacle(spec: StudySpec, catalogues: Mapping[str, Catalogue], *, is_requested: bool = False) -> str | None:
    """Return the reason against SET GLOBAL that is known in advance, without its full stop; None where there is none.

    Candidates that are all alike follow each other by SET GLOBAL only where the user asks for it (`is_requested`), because
    restarts show more of the noise there is.
    """
    if why := spec.workload.traits.restarts:
        return why
    if spec.compares_builds:
        return "the candidates run on several builds"
    if len({spec.memory_of(name) for name in spec.names}) > 1:
        return "a container's memory limit is set when it starts"
    if not is_requested and not differing(spec):
        return "no variable differs between the candidates"
    catalogue = catalogues[spec.candidates[0].server]
    for name in differing(spec):
        if why := set_global.why_not(known_name(name, catalogue), check.known_as(name, catalogue)):
            return f"{name} {why}"
    return None


def disagreement(
    spec: StudySpec, started: Mapping[str, EffectiveSettings], was_set: Mapping[str, list[EffectiveSettings]]
) -> str | None:
    """Return where SET GLOBAL and a start give different effective settings, without a full stop; None if nowhere.

    `was_set` holds the effective settings of each candidate every time that a running server was set to it.
    """
    for candidate in spec.candidates:
        if candidate.name not in started:
            return f"no server could be started as {candidate.name}"
        for settings in was_set.get(candidate.name, ()):
            for note in effective_settings.changed(started[candidate.name], settings):
                start, live = (value or "nothing" for value in note.values.values())
                return f"for {candidate.name}, {note.variable} is {start} after a start and {live} after SET GLOBAL"
    return None


def _why_set(spec: StudySpec) -> str:
    names, grows = differing(spec), spec.workload.traits.grows
    life = "one server per block, because the load changes the amount of data" if grows else "one running server"
    why = f"{listed(names)} {'is' if len(names) == 1 else 'are'} dynamic" if names else "nothing differs between the candidates"
    return f"Trials follow each other by SET GLOBAL on {life}: {why} (--switch restart starts a server for each trial)"


def _refused(why: str) -> UserError:
    return UserError(f"--switch set is not possible: {why}", "Leave it out, and each trial starts a server with its values")

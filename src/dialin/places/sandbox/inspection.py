"""Inspection before measuring: each candidate's server is started once on empty data, and read.

The effective settings show whether candidates differ only in the variables under test. They are read before an hour of
measuring is spent, so that other variables that differ can be pinned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from dialin.errors import ServerError
from dialin.evidence.effective_settings import confounds
from dialin.model.build import Build
from dialin.model.cause import PASSING
from dialin.model.setting import Setting, Value
from dialin.model.study import StudySpec
from dialin.model.trial import EffectiveSettings
from dialin.places.sandbox.shared_sandbox import SwitchedServer
from dialin.places.sandbox.site import sandbox_options
from dialin.servers.connection import global_variables
from dialin.servers.instance import Instance
from dialin.servers.objects import counted_by_locks, instrumented, real_objects
from dialin.trials.change_detector import ChangeDetector
from dialin.trials.changes import Changes
from dialin.trials.tools import Tools

_TRIES = 4
"""Times that differing variables are pinned and the candidates inspected again: one variable may hide another."""


Inspect = Callable[[str, Setting], EffectiveSettings | None]
"""Returns the effective settings of a candidate with a setting; None where its server does not start."""


def make_inspect(tools: Tools, builds: Mapping[str, Build], requested: Iterable[str]) -> Inspect:
    """Return a function that inspects a candidate; `builds` is per candidate.

    The objects behind the variables in `requested` are counted, with instruments where counting needs them.
    """
    names = dict.fromkeys(requested)

    def inspect(candidate: str, setting: Setting) -> EffectiveSettings | None:
        build = builds[candidate]
        options = sandbox_options(setting, build)
        key = (build, tuple(sorted(options.items())), tuple(names))
        if key in tools.inspected:
            return tools.inspected[key]
        try:
            settings = _read(tools, build, options)
            countable = {name: None for name in names if name not in settings.real and name in settings.in_force}
            if counted_by_locks(build, countable):
                counted = _read(tools, build, {**options, **instrumented(build)}).real
                settings = EffectiveSettings(settings.in_force, {**counted, **settings.real})
        except ServerError as error:
            if error.fault in PASSING:
                raise
            tools.say(f"{candidate}: {error.what}. Its trials will show whether this happens every time")
            return None
        tools.inspected[key] = settings
        return settings

    return inspect


def _read(tools: Tools, build: Build, options: Setting) -> EffectiveSettings:
    with tools.preparer.running(build, options) as sandbox:
        return _effective_settings(sandbox, build)


def _effective_settings(server: Instance, build: Build) -> EffectiveSettings:
    with server.connect() as query:
        values = global_variables(query)
        return EffectiveSettings(values, real_objects(query, server.pid, build, values))


def inspect_by_setting(tools: Tools, build: Build, changes: Changes) -> dict[str, list[EffectiveSettings]]:
    """Return the effective settings of each candidate, twice: on one running server that is set to all in turn, and back.

    Raises:
        ServerError: the server does not start, or refuses a value.
    """
    settings: dict[str, list[EffectiveSettings]] = {}
    order = list(changes.settings)
    with tools.preparer.running(build, sandbox_options(changes.boot, build)) as sandbox:
        switched = SwitchedServer(sandbox, changes, tools.clock, ChangeDetector(()))
        for candidate in [*order, *reversed(order)]:
            switched.become(candidate)
            settings.setdefault(candidate, []).append(_effective_settings(sandbox, build))
    return settings


def inspect_all(spec: StudySpec, inspect: Inspect) -> dict[str, EffectiveSettings]:
    """Return the effective settings of each candidate whose server starts; an A/A study inspects only the first."""
    if spec.is_aa and spec.candidates:
        first = spec.candidates[0]
        effective = inspect(first.name, spec.setting_of(first.name))
        return {candidate.name: effective for candidate in spec.candidates} if effective is not None else {}
    inspected = {candidate.name: inspect(candidate.name, spec.setting_of(candidate.name)) for candidate in spec.candidates}
    return {name: settings for name, settings in inspected.items() if settings is not None}


def pin_confounds(
    spec: StudySpec, settings: Mapping[str, EffectiveSettings], inspect: Inspect
) -> tuple[StudySpec, dict[str, EffectiveSettings]]:
    """Return the study with every confound pinned that can be, and the effective settings of its candidates after that."""
    inspected = dict(settings)
    for _ in range(_TRIES):
        held: dict[str, Value] = {}
        for note in confounds(spec, inspected):
            held.update(note.hold)
        if not held.items() - spec.held.items():
            break
        spec = spec.model_copy(update={"held": {**spec.held, **held}})
        inspected = inspect_all(spec, inspect)
    return spec, inspected

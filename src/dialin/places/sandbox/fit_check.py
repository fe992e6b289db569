"""Whether the servers of a study fit this machine: memory, and disk for redo logs. Checked before any of them starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import psutil

from dialin.datasets.cache import free_space
from dialin.model.build import Build
from dialin.model.setting import Setting, Value, as_number
from dialin.model.study import StudySpec
from dialin.preflight.checked import StudyRequest
from dialin.probes import host
from dialin.sentences.setting_notes import difference_lines
from dialin.text import listed, size
from dialin.trials.tools import Tools
from dialin.variables import check, memory
from dialin.variables.catalogue import Catalogue
from dialin.variables.memory import Room


def room_here(tools: Tools) -> Room:
    """Return what this machine has for a server of dialin's."""
    total = psutil.virtual_memory().total
    return Room(host.memory_available(), total, free_space(tools.home.sandboxes), host.cpu_count())


def room_for(build: Build, tools: Tools) -> Room:
    """Return what there is for a server of a build: what this machine has, within the limits of its container."""
    room = room_here(tools)
    return room if build.image is None else replace(room.limited(build.image.memory), cpus=host.cpus_for(build))


def check_all_fit(
    spec: StudySpec,
    defaults: Mapping[str, Mapping[str, str]],
    room: Room,
    say: Callable[[str], None],
    *,
    from_files: bool,
) -> list[str]:
    """Make sure that each candidate's server fits this machine, and return notes on the sizes that a server chooses itself.

    `defaults` are those of each build. Settings of files that do not fit can be scaled: what they differ in is said first.

    Raises:
        UserError: one does not fit.
    """
    notes: dict[str, None] = {}
    threads = spec.workload.threads
    settings = {candidate.name: spec.setting_of(candidate.name) for candidate in spec.candidates}
    machine = room
    for candidate in spec.candidates:
        room = machine.limited(spec.memory_of(candidate.name))
        known = defaults[candidate.server]
        needed = memory.need(settings[candidate.name], known, threads, room)
        scale = None
        if from_files and not needed.fits(room):
            scale = memory.fitting_scale(list(settings.values()), known, threads, room)
            values = {one.name: {**defaults[one.server], **settings[one.name]} for one in spec.candidates}
            for line in difference_lines(spec, values) if len(settings) > 1 else ():
                say(line)
        check.check_fits(candidate.name, needed, room, scale)
        notes |= dict.fromkeys(_dedicated(candidate.name, memory.dedicated_sizes(settings[candidate.name], known, room)))
    return list(notes)


def check_baseline_fits(setting: Setting, catalogue: Catalogue, request: StudyRequest, room: Room) -> list[str]:
    """Do for the baseline of a tune what `check_all_fit` does for candidates."""
    defaults, threads = catalogue.defaults(), request.load.threads
    is_scaled = request.base_file is not None
    scale = memory.fitting_scale([setting], defaults, threads, room) if is_scaled else None
    check.check_fits("The baseline", memory.need(setting, defaults, threads, room), room, scale)
    return _dedicated("the baseline", memory.dedicated_sizes(setting, defaults, room))


def _dedicated(candidate: str, sizes: Mapping[str, Value]) -> list[str]:
    if not sizes:
        return []
    chosen = listed([f"{name} to about {size(as_number(value) or 0)}" for name, value in sizes.items()])
    return [f"{candidate}: innodb_dedicated_server sets {chosen}, by this machine and not by the one that the file is from"]

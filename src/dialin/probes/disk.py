"""The disk below a directory: what the kernel says of it, and how long it takes to write.

Cost: some reads of /proc and /sys, and 20 fsyncs of 4 KiB in a file without a name. Privileges: that of writing there.
"""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dialin.clock import Clock
from dialin.model.fitness import DiskFacts
from dialin.probes.kernel_files import chosen, read

FSYNCS = 20
_PAGE = 4096

_ESCAPED = re.compile(r"\\([0-7]{3})")
"""White space and backslashes in the kernel's table of mounts."""


@dataclass(frozen=True, slots=True)
class Mount:
    """What is mounted, and where."""

    device: str
    point: Path
    kind: str
    source: str
    options: tuple[str, ...]


def facts(directory: Path, clock: Clock, root: Path = Path("/")) -> DiskFacts:
    """Return what is known of the disk that an existing directory lies on."""
    place = directory.resolve()
    mount, device = below(place, root)
    queue = device / "queue" if device else None
    free = None
    with suppress(OSError):
        space = os.statvfs(place)
        free = space.f_bavail * space.f_frsize
    return DiskFacts(
        directory=str(directory),
        file_system=mount.kind if mount else None,
        options=mount.options if mount else None,
        disk=device.name if device else None,
        model=read(device / "device/model") or None if device else None,
        rotational=_rotational(device),
        scheduler=chosen(read(queue / "scheduler")) if queue else None,
        write_cache=read(queue / "write_cache") or None if queue else None,
        free=free,
        fsyncs=fsyncs(place, clock),
    )


def below(directory: Path, root: Path = Path("/")) -> tuple[Mount | None, Path | None]:
    """Return what is mounted where a path lies, and the whole disk's directory in /sys; None for what is not known."""
    mount = _mount_of(directory.resolve(), root)
    return mount, _device(mount, root) if mount else None


def is_rotational(directory: Path, root: Path = Path("/")) -> bool | None:
    """Return whether the kernel takes the disk below a directory for one with turning platters; None where it does not say."""
    return _rotational(below(directory, root)[1])


def _rotational(device: Path | None) -> bool | None:
    return {"0": False, "1": True}.get(read(device / "queue/rotational")) if device else None


def fsyncs(directory: Path, clock: Clock) -> tuple[float, ...] | None:
    """Return how long each of some small fsyncs takes, in seconds; None where nothing can be written there.

    Pages of a file that is there already are written over, as a server writes its redo log.
    """
    took = []
    try:
        with tempfile.TemporaryFile(dir=directory, prefix=".dialin-") as file:
            descriptor = file.fileno()
            for turn in range(-1, FSYNCS):
                pages = FSYNCS if turn < 0 else 1
                os.pwrite(descriptor, os.urandom(_PAGE * pages), _PAGE * max(0, turn))
                began = clock.monotonic()
                os.fsync(descriptor)
                took.append(clock.monotonic() - began)
    except OSError:
        return None
    return tuple(took[1:])


def _mount_of(place: Path, root: Path) -> Mount | None:
    """Return what is mounted where a path lies; of several at one point the last, which hides the others."""
    mount = None
    for line in read(root / "proc/self/mountinfo").splitlines():
        here, _, there = line.partition(" - ")
        fields, behind = here.split(" "), there.split(" ")
        if len(fields) < 6 or len(behind) < 3:
            continue
        point = Path(_ESCAPED.sub(lambda match: chr(int(match[1], 8)), fields[4]))
        if place.is_relative_to(point) and (mount is None or len(point.parts) >= len(mount.point.parts)):
            options = (*fields[5].split(","), *behind[2].split(","))
            mount = Mount(fields[2], point, behind[0], behind[1], options)
    return mount


def _device(mount: Mount, root: Path) -> Path | None:
    number = mount.device
    try:
        if number.startswith("0:"):  # btrfs and others have numbers of their own, and name the device
            if not mount.source.startswith("/dev/"):
                return None
            device = Path(mount.source).stat().st_rdev
            number = f"{os.major(device)}:{os.minor(device)}"
        part = (root / "sys/dev/block" / number).resolve(strict=True)
        return next((disk for disk in (part, part.parent) if (disk / "queue").is_dir()), None)
    except OSError:
        return None

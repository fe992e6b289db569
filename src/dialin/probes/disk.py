"""Reads facts on the disk below a directory from the kernel, and measures how long its fsyncs take.

Cost: a few reads of /proc and /sys, and 20 fsyncs of 4 KiB in a file without a name. Privileges: to write in the directory.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dialin.clock import Clock
from dialin.model.fitness import DiskFacts
from dialin.probes.kernel_files import read, selected_word, unescaped

FSYNCS = 20
_PAGE = 4096


@dataclass(frozen=True, slots=True)
class Mount:
    """A mounted file system: its device (major:minor), its mount point, its type, its source and its mount options."""

    device: str
    point: Path
    kind: str
    source: str
    options: tuple[str, ...]


def facts(directory: Path, clock: Clock, root: Path = Path("/")) -> DiskFacts:
    """Return what is known of the disk that an existing directory lies on."""
    place = directory.resolve()
    mount, device = find_mount_and_disk(place, root)
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
        rotational=rotates(device),
        scheduler=selected_word(read(queue / "scheduler")) if queue else None,
        write_cache=read(queue / "write_cache") or None if queue else None,
        free=free,
        fsyncs=fsyncs(place, clock),
    )


def find_mount_and_disk(directory: Path, root: Path = Path("/")) -> tuple[Mount | None, Path | None]:
    """Return the file system that holds a path, and the directory in /sys of its whole disk; None for what is unknown."""
    mount = _mount_of(directory.resolve(), root)
    return mount, _device(mount, root) if mount else None


def is_rotational(directory: Path, root: Path = Path("/")) -> bool | None:
    """Return whether the kernel reports the disk below a directory as rotating; None where it does not report that."""
    return rotates(find_mount_and_disk(directory, root)[1])


def rotates(device: Path | None) -> bool | None:
    """Return whether the kernel reports a device, by its path in sysfs, as rotating; None where it does not report that."""
    return {"0": False, "1": True}.get(read(device / "queue/rotational")) if device else None


def fsyncs(directory: Path, clock: Clock) -> tuple[float, ...] | None:
    """Return the seconds that each of `FSYNCS` small fsyncs takes; None where nothing can be written in the directory.

    Each one overwrites a page of an existing file, as a server does with its redo log.
    """
    durations = []
    try:
        with tempfile.TemporaryFile(dir=directory, prefix=".dialin-") as file:
            descriptor = file.fileno()
            for turn in range(-1, FSYNCS):
                pages = FSYNCS if turn < 0 else 1
                os.pwrite(descriptor, os.urandom(_PAGE * pages), _PAGE * max(0, turn))
                began = clock.monotonic()
                os.fsync(descriptor)
                durations.append(clock.monotonic() - began)
    except OSError:
        return None
    return tuple(durations[1:])  # the first fsync wrote the file


def _mount_of(place: Path, root: Path) -> Mount | None:
    """Return the file system that holds a path; of several at one mount point the last, which hides the others."""
    mount = None
    for line in read(root / "proc/self/mountinfo").splitlines():
        first_part, _, second_part = line.partition(" - ")
        fields, more_fields = first_part.split(" "), second_part.split(" ")
        if len(fields) < 6 or len(more_fields) < 3:
            continue
        point = Path(unescaped(fields[4]))
        if place.is_relative_to(point) and (mount is None or len(point.parts) >= len(mount.point.parts)):
            options = (*fields[5].split(","), *more_fields[2].split(","))
            mount = Mount(fields[2], point, more_fields[0], more_fields[1], options)
    return mount


def _device(mount: Mount, root: Path) -> Path | None:
    number = mount.device
    try:
        if number.startswith("0:"):  # a virtual device number, as of btrfs: the device is the source of the mount
            if not mount.source.startswith("/dev/"):
                return None
            device = Path(mount.source).stat().st_rdev
            number = f"{os.major(device)}:{os.minor(device)}"
        part = (root / "sys/dev/block" / number).resolve(strict=True)
        return next((disk for disk in (part, part.parent) if (disk / "queue").is_dir()), None)
    except OSError:
        return None

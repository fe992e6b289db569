"""Which machine, boot and PID namespace a process belongs to: what makes its number mean something.

A cache directory may be shared, by a network file system between hosts or by a volume between containers. A process number that
was written down elsewhere says nothing here, so what another origin has running is never touched.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

from dialin.probes.kernel_files import read

_MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PID_NAMESPACE = Path("/proc/self/ns/pid")


class Relation(Enum):
    """How an origin stands to the one that asks."""

    HERE = "here"
    """Its process numbers are those of here."""
    BEFORE_REBOOT = "before reboot"
    """This machine before it was started again: none of its processes is left."""
    ELSEWHERE = "elsewhere"
    """Another machine or container, whose processes cannot be seen from here."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a process runs.

    Attributes:
        machine: the machine id and the host name; containers made of one image share the first, hosts may share the second.
        boot: the kernel's random id of its boot.
        pid_namespace: the namespace of process numbers, as the kernel names it.
    """

    machine: str
    boot: str
    pid_namespace: str

    def relation(self, here: Origin) -> Relation:
        """Return how this origin stands to the one that asks."""
        if self == here:
            return Relation.HERE
        rebooted = self.machine == here.machine and self.boot != here.boot
        return Relation.BEFORE_REBOOT if rebooted else Relation.ELSEWHERE

    @property
    def host(self) -> str:
        return self.machine.rpartition("/")[2]


@cache
def origin() -> Origin:
    """Return the origin of this process. What the system does not say is empty, and then equal for all who lack it."""
    return Origin(machine(), read(_BOOT_ID), _link(_PID_NAMESPACE))


@cache
def machine() -> str:
    """Return what distinguishes this machine from others that share a directory with it."""
    ids = (text for path in _MACHINE_IDS if (text := read(path)))
    return f"{next(ids, '')}/{socket.gethostname()}"


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""

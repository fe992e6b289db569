"""The origin of a process: its machine, boot and PID namespace. A PID is meaningful only together with its origin.

A cache directory may be shared, by a network file system between hosts or by a volume between containers. A PID that was
recorded elsewhere is meaningless here, so dialin never touches a process of another origin.
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
    """How an origin relates to the origin of this process."""

    HERE = "here"
    """The same origin: its PIDs are valid here."""
    BEFORE_REBOOT = "before reboot"
    """This machine before a reboot: none of its processes is left."""
    ELSEWHERE = "elsewhere"
    """Another machine or container, whose processes cannot be seen from here."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a process runs.

    Attributes:
        machine: machine id and host name; containers of one image share the machine id, and hosts may share the host name.
        boot: the kernel's random id of the boot.
        pid_namespace: the PID namespace, as the kernel names it.
    """

    machine: str
    boot: str
    pid_namespace: str

    def relation(self, here: Origin) -> Relation:
        """Return how this origin relates to the origin `here`."""
        if self == here:
            return Relation.HERE
        rebooted = self.machine == here.machine and self.boot != here.boot
        return Relation.BEFORE_REBOOT if rebooted else Relation.ELSEWHERE

    @property
    def host(self) -> str:
        return self.machine.rpartition("/")[2]


@cache
def origin() -> Origin:
    """Return the origin of this process. A part that the system does not report is empty, and equal wherever it is missing."""
    return Origin(machine(), read(_BOOT_ID), _link(_PID_NAMESPACE))


@cache
def machine() -> str:
    """Return a name, `MACHINE_ID/HOST_NAME`, that distinguishes this machine from others that share a directory with it."""
    ids = (text for path in _MACHINE_IDS if (text := read(path)))
    return f"{next(ids, '')}/{socket.gethostname()}"


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""

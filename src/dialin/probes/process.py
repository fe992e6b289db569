"""Reads the kernel's accounting of the server's process and its container's CPU quota, and the CPU time of the load driver.

Cost: every two seconds, five short reads of /proc and /sys and one for each thread of the server, about 10 µs of CPU each.
Privileges: only root and the server's user may read its I/O counters; every user may read the rest, unless /proc is mounted to
hide it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from dialin.errors import ServerError, os_error
from dialin.model.evidence import ProbeNote, ProbeNoteCode
from dialin.probes import control_groups
from dialin.probes.probe import Reading

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")

_IO = {
    "rchar": "read_chars",
    "wchar": "write_chars",
    "syscr": "read_calls",
    "syscw": "write_calls",
    "read_bytes": "read_bytes",
    "write_bytes": "write_bytes",
}

# Positions of fields in /proc/PID/stat, counted after the name of the program, which may contain spaces.
_MINOR, _MAJOR, _USER, _SYSTEM, _THREADS, _RESIDENT = 7, 9, 11, 12, 17, 21

_VOLUNTARY, _INVOLUNTARY = b"\nvoluntary_ctxt_switches:", b"\nnonvoluntary_ctxt_switches:"


class ProcessProbe:
    """Reads the CPU, I/O and memory use of a server process on this machine, and the CPU seconds of the load driver."""

    name = "process"
    period = 2.0

    def __init__(self, pid: int, client_cpu: Callable[[], float], root: Path = Path("/")) -> None:
        self._pid, self._root = pid, root
        self._directory = str(root / f"proc/{pid}")
        self._client_cpu = client_cpu
        self._switched: dict[str, tuple[int, int]] = {}
        self._voluntary = self._involuntary = 0

    def read(self) -> Reading:
        try:
            stat = _bytes(f"{self._directory}/stat").rpartition(b") ")[2].split()
            self._follow_threads()
        except OSError as error:
            raise os_error(error, ServerError(f"The server's process cannot be read: {error.strerror}")) from error
        io, note = self._io()
        periods = control_groups.throttled(self._pid, self._root)
        counters = {
            "server_cpu_user": int(stat[_USER]) / _TICKS,
            "server_cpu_system": int(stat[_SYSTEM]) / _TICKS,
            "client_cpu": self._client_cpu(),
            "voluntary_switches": float(self._voluntary),
            "involuntary_switches": float(self._involuntary),
            "minor_faults": float(stat[_MINOR]),
            "major_faults": float(stat[_MAJOR]),
            **io,
            **({"throttled_periods": float(periods[0]), "quota_periods": float(periods[1])} if periods else {}),
        }
        gauges = {"resident_bytes": float(stat[_RESIDENT]) * _PAGE, "threads": float(stat[_THREADS])}
        return Reading(counters, gauges, note)

    def _io(self) -> tuple[dict[str, float], tuple[ProbeNote, ...]]:
        try:
            lines = _bytes(f"{self._directory}/io").decode().splitlines()
        except OSError:
            return {}, (ProbeNote(ProbeNoteCode.NO_PROCESS_IO),)
        values = dict(line.split(": ") for line in lines if ": " in line)
        return {_IO[name]: float(value) for name, value in values.items() if name in _IO}, ()

    def _follow_threads(self) -> None:
        """Add the context switches of each thread since the previous reading.

        The kernel has no sum that includes ended threads, and a plain sum over the current threads falls whenever one ends.
        """
        switched: dict[str, tuple[int, int]] = {}
        for thread in os.listdir(f"{self._directory}/task"):  # noqa: PTH208 - there may be thousands, and names are enough
            try:
                text = _bytes(f"{self._directory}/task/{thread}/status")
            except (FileNotFoundError, ProcessLookupError):
                continue
            now = (_value(text, _VOLUNTARY), _value(text, _INVOLUNTARY))
            before = self._switched.get(thread, (0, 0))
            # A thread with the id of an ended one begins at 0.
            before = before if now[0] >= before[0] and now[1] >= before[1] else (0, 0)
            self._voluntary += now[0] - before[0]
            self._involuntary += now[1] - before[1]
            switched[thread] = now
        self._switched = switched


def _value(text: bytes, label: bytes) -> int:
    begin = text.find(label)
    if begin < 0:
        return 0  # a kernel that does not count it
    begin += len(label)
    end = text.find(b"\n", begin)
    return int(text[begin : end if end >= 0 else None])


def _bytes(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)

"""Reads the machine as a whole: scheduler, CPU stolen by the hypervisor, pressure stall times, and the disk of the data.

Cost: five short reads of /proc and /sys every two seconds, about 0.1 ms of CPU. Privileges: none.
"""

from __future__ import annotations

import os
from pathlib import Path

from dialin.model.evidence import ProbeNote, ProbeNoteCode
from dialin.probes import disk
from dialin.probes.host import pressure_total
from dialin.probes.kernel_files import read
from dialin.probes.probe import Reading

_TICKS = os.sysconf("SC_CLK_TCK")
_SECTOR = 512
_STEAL = 8
"""The position of stolen time in the line of all CPUs, counted from the name `cpu` as 0."""

_PRESSURES = ("cpu", "io", "memory")


class MachineProbe:
    """Reads the machine that dialin runs on, and the disk of the server's data directory where that disk is known."""

    name = "machine"
    period = 2.0

    def __init__(self, directory: Path | None, root: Path = Path("/")) -> None:
        self._stat = root / "proc/stat"
        self._pressures = [(f"pressure_{what}_seconds", root / f"proc/pressure/{what}") for what in _PRESSURES]
        _, device = disk.find_mount_and_disk(directory, root) if directory else (None, None)
        self._disk = device / "stat" if device else None
        self._notes = () if self._disk else (ProbeNote(ProbeNoteCode.DISK_UNKNOWN),)

    def read(self) -> Reading:
        counters: dict[str, float] = {}
        gauges: dict[str, float] = {}
        for line in read(self._stat).splitlines():
            name, _, rest = line.partition(" ")
            if name == "cpu" and len(fields := rest.split()) >= _STEAL:
                counters["steal_seconds"] = int(fields[_STEAL - 1]) / _TICKS
            elif name == "ctxt":
                counters["context_switches"] = float(rest)
            elif name == "procs_running":
                gauges["run_queue"] = max(0.0, float(rest) - 1)  # the reader itself runs
        for name, path in self._pressures:
            if (total := pressure_total(read(path))) is not None:
                counters[name] = total
        if self._disk:
            counters |= _disk(read(self._disk))
        return Reading(counters, gauges, self._notes)


def _disk(text: str) -> dict[str, float]:
    """Return a disk's figures from its file `stat`, which counts milliseconds and sectors of 512 bytes for every disk."""
    fields = text.split()
    if len(fields) < 10:
        return {}
    reads, _, read_sectors, read_ms, writes, _, written_sectors, write_ms, _, busy_ms = map(int, fields[:10])
    return {
        "disk_reads": float(reads),
        "disk_writes": float(writes),
        "disk_read_bytes": float(read_sectors * _SECTOR),
        "disk_write_bytes": float(written_sectors * _SECTOR),
        "disk_read_seconds": read_ms / 1000,
        "disk_write_seconds": write_ms / 1000,
        "disk_busy_seconds": busy_ms / 1000,
    }

"""Findings on the disk. A part of `fitness_findings`."""

from __future__ import annotations

import statistics

from dialin.evidence.load_limits import FOREIGN
from dialin.model.fitness import DiskFacts, Finding, Severity
from dialin.text import number, size, visible

_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
_SHARED = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "glusterfs", "lustre"})
_COPY_ON_WRITE = frozenset({"btrfs", "zfs", "bcachefs"})
_WITHOUT_BARRIER = frozenset({"nobarrier", "barrier=0"})

_ROTATION = 60 / 7200
"""Seconds of one rotation of a hard disk at 7,200 rpm, the most common speed."""

_SLOW_FSYNC, _LONG_FSYNC = 0.002, 0.02
_UNEVEN = 10
_QUICK_FSYNC = 20e-6
"""Seconds; no device answers faster."""

_ELSEWHERE = "keep dialin's data on another disk (DIALIN_HOME)."
_ALIKE = "If your server has the same, measure here; else "


def file_system(disk: DiskFacts) -> Finding | None:
    kind = disk.file_system
    if kind is None:
        return None
    observed = f"{visible(kind)} at {visible(disk.directory)}"
    severity, remedy = Severity.NOTICE, _ALIKE + _ELSEWHERE
    if kind in _IN_MEMORY:
        severity, remedy = Severity.BAD, f"K{_ELSEWHERE[1:]}"
        effect = "Nothing is written to a disk here: durability, flushing and the redo log cost nothing with any setting."
    elif waived := sorted(_WITHOUT_BARRIER.intersection(disk.options or ())):
        observed += f", mounted with {waived[0]}"
        effect = "fsync does not wait until data is on the medium, so durable commits cost less than elsewhere."
    elif kind in _SHARED or kind.startswith("fuse"):
        effect = "The load of others on the shared storage is part of the measurement."
    elif kind in _COPY_ON_WRITE:
        effect = (
            "Each changed page is written to a new place, so random writes fragment the server's files: a trial may get slower "
            "the longer it lasts."
        )
    elif kind == "overlay":
        effect = "The disk below a container's own layer is unknown, so it is not checked."
        remedy = "Keep dialin's data on a volume (DIALIN_HOME)."
    else:
        return Finding.good("file system", observed)
    return Finding("file system", observed, severity, effect, remedy)


def device(disk: DiskFacts) -> Finding | None:
    if disk.disk is None:
        return None
    parts = [visible(disk.disk) + (f" ({visible(disk.model)})" if disk.model else "")]
    if disk.rotational is not None:
        parts.append("reported as rotating" if disk.rotational else "does not rotate")
    parts += [f"scheduler {visible(disk.scheduler)}"] if disk.scheduler else []
    parts += [f"{visible(disk.write_cache)} cache"] if disk.write_cache else []
    observed, queue = ", ".join(parts), f"/sys/block/{disk.disk}/queue"
    # The shortest fsync is used, because other load on the machine lengthens the rest.
    quickest = min(disk.fsyncs) if disk.fsyncs else None
    if disk.rotational and quickest is not None and quickest < _ROTATION / 10:
        return Finding(
            "disk",
            observed,
            Severity.NOTICE,
            f"An fsync takes as little as {number(1000 * quickest)} ms, and one rotation of a hard "
            f"disk {number(1000 * _ROTATION)} ms: this disk does not rotate. But MariaDB 10.4 and later believe the kernel and "
            "flush the neighbors of a page, too (innodb_flush_neighbors), which they do only on disks that are reported as "
            "rotating.",
            "If this is no hard disk, correct the kernel's flag. As root:",
            f"echo 0 | tee {queue}/rotational",
        )
    if disk.rotational:
        effect = "Disk waits are seeks of a hard disk; their length depends on where the data is on the disk."
        return Finding("disk", observed, Severity.NOTICE, effect, _ALIKE + _ELSEWHERE)
    if disk.scheduler == "bfq":
        return Finding(
            "disk",
            observed,
            Severity.NOTICE,
            "By default bfq puts the latency of some processes before throughput, and it costs CPU time for each request (the "
            "kernel's documentation, block/bfq-iosched).",
            "Use no scheduler while you measure. As root:",
            f"echo none | tee {queue}/scheduler",
        )
    return Finding.good("disk", observed)


def fsync(disk: DiskFacts, busy: float | None) -> Finding | None:
    """Judge how long a commit takes to reach the disk; `busy` is the share of all CPUs in use just before."""
    if not disk.fsyncs or min(disk.fsyncs) <= 0:
        return None
    median, worst = statistics.median(disk.fsyncs), max(disk.fsyncs)
    observed = f"{number(1000 * median)} ms (median), {number(1000 * worst)} ms (worst) of {len(disk.fsyncs)} writes of 4 KiB"
    bound = f"One connection can make at most about {number(1 / median)} durable commits per second here."
    if (busy or 0.0) >= FOREIGN:
        bound += " It may be faster when other programs do not use the CPUs."
    if median < _QUICK_FSYNC:
        effect = "No disk is this fast: fsync returns before data is on a medium, so durable commits cost almost nothing."
        return Finding("fsync", observed, Severity.NOTICE, effect, _ALIKE + _ELSEWHERE)
    if worst >= _LONG_FSYNC and worst >= _UNEVEN * median:
        effect = f"{bound} Sometimes an fsync takes much longer, which looks like a stall of the server."
        remedy = "Check what else writes to the disk; a virtual disk may be shared or throttled:"
        return Finding("fsync", observed, Severity.NOTICE, effect, remedy, "iostat -x 1")
    if median >= _SLOW_FSYNC:
        effect = bound if (busy or 0.0) >= FOREIGN else f"{bound} A write load measures this disk and little else."
        return Finding("fsync", observed, Severity.NOTICE, effect, _ALIKE + _ELSEWHERE)
    return Finding.good("fsync", observed, bound)


def space(disk: DiskFacts, needed: int) -> Finding | None:
    """Judge whether a study fits on the disk; `needed` is in bytes."""
    if disk.free is None:
        return None
    observed = f"{size(disk.free)} on the disk of {visible(disk.directory)}"
    if disk.free >= needed:
        return Finding.good("free space", observed)
    effect = f"A study with default options needs {size(needed)}: prepared data, and a copy for the trial."
    remedy = "Free space, prepare less data (--tables, --table-size), or keep dialin's data on a larger disk (DIALIN_HOME)."
    return Finding("free space", observed, Severity.BAD, effect, remedy)

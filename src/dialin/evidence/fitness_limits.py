"""Findings on limits, containers and hypervisors. A part of `fitness_findings`."""

from __future__ import annotations

from dialin.model.fitness import Finding, LimitFacts, PlaceFacts, Severity
from dialin.model.trial import LOST_GAP
from dialin.text import counted, size, visible

_FILES_MYSQL, _FILES_MARIADB = 8_161, 32_184
"""Open files that MySQL 8.0 and 9.7, and MariaDB 10.11 and 11.4, request with default settings, as measured."""

_AIO_NEEDED = 2_661
"""Asynchronous requests that a server reserves with default settings, as counted: 2,048 (MariaDB 11.4) to 2,661 (MySQL 5.6)."""


def open_files(limits: LimitFacts) -> Finding | None:
    if limits.files is None or limits.files_most is None:
        return None
    observed = f"{limits.files:,}, and up to {limits.files_most:,} on request"
    if limits.may_raise:
        return Finding.good("open files", f"{limits.files:,}, and more on request")
    files = max(limits.files, limits.files_most)  # dialin raises its soft limit before it starts a server
    cuts = [cut for cut in (_mysql_cut(files), _mariadb_cut(files)) if cut]
    if not cuts:
        return Finding.good("open files", observed)
    return Finding(
        "open files",
        observed,
        Severity.NOTICE,
        f"By default {'; '.join(cuts)}. That is then effective for all candidates, and your server may have other values.",
        "Raise the hard limit and log in again: nofile in /etc/security/limits.conf, --ulimit nofile=65536 of a container.",
    )


def _mysql_cut(files: int) -> str:
    if files >= _FILES_MYSQL:
        return ""
    cache = max(400, (files - 161) // 2)
    return f"MySQL 8.0 and 9.7 request {_FILES_MYSQL:,}, get {files:,} and reduce table_open_cache from 4,000 to {cache:,}"


def _mariadb_cut(files: int) -> str:
    if files >= _FILES_MARIADB:
        return ""
    cache = min(2000, max(400, (files - 182) // 2))
    instances = max(1, (files - 182) // (2 * cache))
    what = f"table_open_cache from 2,000 to {cache:,} and its instances" if cache < 2000 else "table_open_cache_instances"
    return f"MariaDB 10.11 and 11.4 request {_FILES_MARIADB:,}, get {files:,} and reduce {what} from 8 to {instances}"


def aio(limits: LimitFacts) -> Finding | None:
    used, most = limits.aio_used, limits.aio_most
    if used is None or most is None:
        return None
    observed = f"{used:,} of {most:,} requests reserved"
    if most - used >= _AIO_NEEDED:
        return Finding.good("asynchronous I/O", observed)
    return Finding(
        "asynchronous I/O",
        observed,
        Severity.BAD,
        f"A server reserves 256 for each InnoDB I/O thread, up to {_AIO_NEEDED:,} by default. If it cannot, MySQL "
        "does not start, and MariaDB continues without asynchronous I/O.",
        "Raise the limit. As root:",
        f"sysctl fs.aio-max-nr={max(1_048_576, 2 * most)}",
    )


def container(limits: LimitFacts, place: PlaceFacts, cpus: int) -> Finding:
    quota = limits.cpu_quota
    observed = f"in {visible(place.container)}" if place.container else "none detected"
    observed += "; the server's container" if limits.are_chosen else ""
    observed += ", no CPU quota" if quota is None else f", a quota of {quota:g} CPUs"
    if limits.memory_limit is not None:
        observed += f", {size(limits.memory_limit)} of memory at most"
    if quota is None or quota >= cpus:
        return Finding.good("container", observed)
    return Finding(
        "container",
        observed,
        Severity.NOTICE if limits.are_chosen else Severity.BAD,
        f"{counted(cpus, 'CPU')} can run at the same time, so the quota of a period (usually 0.1 s) is used up "
        "before the period ends, and all threads wait for the next one: many short stalls that are not the server's.",
        "Give the container CPUs instead of a quota: --server-cpus 0,1, --cpuset-cpus of docker and podman, the static CPU "
        "manager of Kubernetes.",
    )


def hypervisor(place: PlaceFacts) -> Finding | None:
    if place.virtual is None:
        return None
    maker = f" ({visible(place.maker)})" if place.maker else ""
    if not place.virtual:
        return Finding.good("hypervisor", f"none{maker}")
    return Finding(
        "hypervisor",
        f"this is a virtual machine{maker}",
        Severity.NOTICE,
        f"Its host can stall, or be busy with other machines. Seconds in which this machine stalled for {LOST_GAP:g} s or "
        "more are excluded from a verdict and counted.",
        "If your server runs on such a machine, measure here; else measure on a machine like your server's. See steal for the "
        "CPU time that the host takes.",
    )

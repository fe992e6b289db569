"""Whether a server is saturated: only then do its clients wait for it, so that throughput is a property of the server."""

from __future__ import annotations

ALL_SATURATED = 0.9
"""The share of periods that must be saturated before throughput is compared."""

_CPU = 0.9
"""The share of the machine's CPU from which on a server counts as saturated."""
_THREADS_PER_CPU = 4.0
"""Running threads per CPU from which on most of them wait for a CPU or for the disk."""
_OF_CONNECTIONS = 0.9
_FEWEST_CONNECTIONS = 16
"""For a server on another machine: if nearly all of so many connections run, hardly any client waits for anything else."""


def is_saturated(*, cpu_share: float | None, cpus: int | None, running: float, connected: float | None) -> bool:
    """Return whether a server is saturated, by its CPU or by the threads that run.

    Args:
        cpu_share: the share of its machine's CPU that it used; None where unknown.
        cpus: how many CPUs the machine has; None where unknown.
        running: the mean number of running threads.
        connected: the number of connections; None where unknown.
    """
    if cpu_share is not None and cpu_share >= _CPU:
        return True
    if cpus is not None:
        return running >= _THREADS_PER_CPU * cpus
    return connected is not None and connected >= _FEWEST_CONNECTIONS and running >= _OF_CONNECTIONS * connected

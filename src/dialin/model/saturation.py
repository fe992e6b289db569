"""Whether a server does all that it can: then its clients wait for it, and throughput is the server's own."""

from __future__ import annotations

ALL_SATURATED = 0.9
"""The share of periods that must be saturated before throughput is compared."""

_CPU = 0.9
"""The share of the machine's CPU from which on a server has none left."""
_THREADS_PER_CPU = 4.0
"""Threads that run per CPU from which on most of them wait, for a CPU or for the disk."""
_OF_CONNECTIONS = 0.9
_FEWEST_CONNECTIONS = 16
"""On a machine that is not seen: nearly all of so many connections run, so that hardly a client waits for anything else."""


def is_saturated(*, cpu_share: float | None, cpus: int | None, running: float, connected: float | None) -> bool:
    """Return whether a server is saturated, by its CPU or by the threads that run.

    Args:
        cpu_share: what it used of its machine's CPU; None where that is not seen.
        cpus: how many the machine has; None where they are not seen.
        running: threads that ran, mean.
        connected: connections; None where that is not known.
    """
    if cpu_share is not None and cpu_share >= _CPU:
        return True
    if cpus is not None:
        return running >= _THREADS_PER_CPU * cpus
    return connected is not None and connected >= _FEWEST_CONNECTIONS and running >= _OF_CONNECTIONS * connected

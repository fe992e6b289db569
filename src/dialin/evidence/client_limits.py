"""Whether the load driver, or another program on the machine, limited a study."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from dialin.model.study import StudySpec
from dialin.model.trial import Trial
from dialin.model.verdict import Note

SATURATED = 0.9
"""Share of the CPUs it may use above which a driver is called saturated."""

FOREIGN = 0.1
"""Share of all CPUs above which other programs disturb a study."""

FULL = 0.95
"""Share of all CPUs above which the machine is called full."""


def other_load(trials: Sequence[Trial]) -> list[Note]:
    """Return a warning where other programs used the machine during the study."""
    shares = [
        max(0.0, c.machine_busy - c.driver_cpu - c.server_cpu) / c.seconds / c.cpus
        for c in (trial.costs for trial in trials)
        if c and c.seconds > 0 and c.server_cpu is not None
    ]
    if not shares or statistics.fmean(shares) < FOREIGN:
        return []
    share = statistics.fmean(shares)
    return [Note(code="other_load", data={"share": share, "worst": max(shares)})]


def client_limits(spec: StudySpec, trials: Sequence[Trial]) -> list[Note]:
    """Return a note where the load driver limited the study, or shared a full machine with the server.

    A driver with CPUs of its own (`--load-cpus`) was the limit where it used more than 90 % of them. On a full machine that the
    driver shares with the server, the driver was the limit where it used more CPU than the server. A machine that other
    programs fill gets no note here: `other_load` reports it. For a server on another machine `server_cpus_used` is null.
    """
    costs = [trial.costs for trial in trials if trial.costs and trial.costs.seconds > 0]
    if not costs:
        return []
    driver = statistics.fmean(c.driver_cpu / c.seconds for c in costs)
    server = statistics.fmean((c.server_cpu or 0.0) / c.seconds for c in costs)
    is_local = costs[0].server_cpu is not None
    busy = statistics.fmean(c.machine_busy / c.seconds / c.cpus for c in costs)
    driver_may_use = statistics.fmean(c.driver_cpus for c in costs)
    cpus = statistics.fmean(c.cpus for c in costs)
    data = {
        "driver_cpus_used": driver,
        "server_cpus_used": server if is_local else None,
        "machine_busy": busy,
        "driver_cpus": driver_may_use,
        "cpus": cpus,
    }
    if spec.load_cpus and driver > SATURATED * driver_may_use:
        return [Note(code="client_limit", data=data)]
    if spec.load_cpus or busy < FULL or (driver + server) / cpus < FULL - FOREIGN:
        return []
    return [Note(code="client_limit" if driver > server else "client_shares_machine", data=data)]

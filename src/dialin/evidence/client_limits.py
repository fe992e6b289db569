"""Whether the load driver, or another program on the machine, limited a study."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from dialin.model.study import StudySpec
from dialin.model.trial import Trial
from dialin.model.verdict import Note
from dialin.text import percent

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
    text = (
        f"Other programs took {percent(share)} of the machine while it was measured (up to {percent(max(shares))} in a trial): "
        "this adds noise. Measure on a machine with no other load"
    )
    return [Note(code="other_load", text=text, data={"share": share, "worst": max(shares)})]


def client_limits(spec: StudySpec, trials: Sequence[Trial]) -> list[Note]:
    """Return a note where the load driver limited the study, or shared a full machine with the server.

    The driver was the limit where it used up the CPUs it was given. On a full machine that client and server share, it was the
    limit where it took more CPU than the server.
    """
    costs = [trial.costs for trial in trials if trial.costs and trial.costs.seconds > 0]
    if not costs:
        return []
    driver = statistics.fmean(c.driver_cpu / c.seconds for c in costs)
    server = statistics.fmean((c.server_cpu or 0.0) / c.seconds for c in costs)
    busy = statistics.fmean(c.machine_busy / c.seconds / c.cpus for c in costs)
    driver_may_use = statistics.fmean(c.driver_cpus for c in costs)
    cpus = statistics.fmean(c.cpus for c in costs)
    data = {"driver_cpus_used": driver, "server_cpus_used": server, "machine_busy": busy, "driver_cpus": driver_may_use}
    if spec.load_cpus and driver > SATURATED * driver_may_use:
        text = f"The load driver was the limit: it used {driver:.2f} of its {driver_may_use:.0f} CPUs. Give it more --load-cpus"
        return [Note(code="client_limit", text=text, data=data)]
    if busy < FULL or spec.load_cpus:
        return []
    share = driver / cpus
    if driver > server:
        other = "the server runs elsewhere" if costs[0].server_cpu is None else f"the server {percent(server / cpus)}"
        text = (
            f"The load driver was the limit: it took {percent(share)} of a full machine, {other}. "
            "Give it CPUs of its own (--load-cpus), or use a heavier workload"
        )
        return [Note(code="client_limit", text=text, data=data)]
    text = (
        f"Client and server shared a full machine: the load driver took {percent(share)} of it, the server "
        f"{percent(server / cpus)}. "
        "Differences are smaller than on a server that has the machine to itself"
    )
    return [Note(code="client_shares_machine", text=text, data=data)]

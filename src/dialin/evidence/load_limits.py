"""What limited the load: its driver, other programs on the machine, and figures of the load beyond their limits."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.model.evidence import Gauge, Watched, load_gauge
from dialin.model.study import StudySpec
from dialin.model.trial import Trial
from dialin.model.workload import LoadLimit
from dialin.sentences.load_notes import ClientLimit, ClientSharesMachine, OtherLoad

SATURATED = 0.9
"""Share of the CPUs it may use above which a driver is called saturated."""

FOREIGN = 0.1
"""Share of all CPUs above which other programs disturb a study."""

FULL = 0.95
"""Share of all CPUs above which the machine is called full."""


def other_load(trials: Sequence[Trial]) -> list[OtherLoad]:
    """Return a warning where other programs used the machine during the study."""
    shares = [
        max(0.0, c.machine_busy - c.driver_cpu - c.server_cpu) / c.seconds / c.cpus
        for c in (trial.costs for trial in trials)
        if c and c.seconds > 0 and c.server_cpu is not None
    ]
    if not shares or statistics.fmean(shares) < FOREIGN:
        return []
    share = statistics.fmean(shares)
    return [OtherLoad(share=share, worst=max(shares))]


def client_limits(spec: StudySpec, trials: Sequence[Trial]) -> list[ClientLimit]:
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
    is_driver = bool(spec.load_cpus) or driver > server
    if spec.load_cpus and driver <= SATURATED * driver_may_use:
        return []
    if not spec.load_cpus and (busy < FULL or (driver + server) / cpus < FULL - FOREIGN):
        return []
    note = (ClientLimit if is_driver else ClientSharesMachine)(
        driver_cpus_used=driver,
        server_cpus_used=server if is_local else None,
        machine_busy=busy,
        driver_cpus=driver_may_use,
        cpus=cpus,
    )
    return [note]


@dataclass(frozen=True, slots=True)
class LoadFigure:
    """A figure of the load in the trials of a study.

    Attributes:
        gauges: the figure's gauge in each trial that reports it, by trial id.
        judged: the value that is compared with the limit. For a share it is the largest of all trials. For a ratio it is the
            mean of the candidate whose mean is nearest to 1, because a candidate may change the ratio: with a smaller buffer
            pool the same load misses more pages. For an amount it is the share by which the smallest is below the largest.
        beyond: the ids of the trials whose figure exceeds the limit.
    """

    limit: LoadLimit
    gauges: Mapping[int, Gauge]
    judged: float
    beyond: Sequence[int]


def load_figures(
    limits: Sequence[LoadLimit], done: Sequence[Trial], watched: Mapping[int, Mapping[str, Watched]]
) -> list[LoadFigure]:
    """Return the figures that have a limit; a figure that no trial reports is left out."""
    figures = []
    for limit in limits:
        gauges = {trial.id: gauge for trial in done if (gauge := load_gauge(watched.get(trial.id, {}), limit.gauge))}
        if not gauges:
            continue
        by_candidate = defaultdict(list)
        for trial in done:
            if trial.id in gauges:
                by_candidate[trial.candidate].append(gauges[trial.id].mean)
        most = max(gauge.most for gauge in gauges.values())
        if limit.is_ratio:
            judged = min(map(statistics.fmean, by_candidate.values()), key=limit.distance)
        elif limit.is_equal:
            judged = 1 - min(gauge.least for gauge in gauges.values()) / most if most > 0 else 0.0
        else:
            judged = most
        if limit.is_equal:
            beyond = list(gauges) if limit.is_exceeded(judged) else []
        else:
            beyond = [trial for trial, gauge in gauges.items() if any(map(limit.is_exceeded, (gauge.least, gauge.most)))]
        figures.append(LoadFigure(limit, gauges, judged, beyond))
    return figures

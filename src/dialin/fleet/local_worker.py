"""A worker in this process tree."""

from __future__ import annotations

import functools
import socket
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from dialin.fleet.worker import BlockRequest, WorkerHost
from dialin.model.place import LivePlace
from dialin.model.trial import first_driver_choices
from dialin.preflight.checked import CheckedStudy
from dialin.probes import host
from dialin.trials import profiling, raw_waits, trial_steps
from dialin.trials.events import Event, TrialEnded
from dialin.trials.probing import by_probes, watch_nothing
from dialin.trials.site import OpenSite
from dialin.trials.tools import Tools
from dialin.trials.trial_steps import TrialContext
from dialin.workloads import load_identity


class LocalWorker:
    """Runs blocks in this process, on a prepared site."""

    def __init__(self, site: OpenSite, context: TrialContext, host: WorkerHost) -> None:
        self.host = host
        self._site = site
        self._context = replace(context, host=host.name)

    def run_block(self, request: BlockRequest) -> Generator[Event, None, None]:
        self._site.add_candidates(request.spec, request.effective)
        counted = {name: settings.real for name, settings in request.effective.items()}
        plan = self._context.plan if request.measure is None else replace(self._context.plan, measure=request.measure)
        if isinstance(request.spec.place, LivePlace):  # the washout may have been lengthened
            plan = replace(plan, warmup=request.spec.place.washout)
        context = replace(self._context, spec=request.spec, plan=plan, counted=counted, floor=request.floor)
        choices = request.driver_choices
        for trial in request.trials:
            is_last_try = trial.position in request.last_tries
            for event in trial_steps.run(replace(context, driver_choices=choices, is_last_try=is_last_try), trial):
                if isinstance(event, TrialEnded):
                    choices = choices or first_driver_choices([event.trial])
                yield event


@contextmanager
def local_worker(
    ready: CheckedStudy,
    load_facts: Mapping[str, Any],
    directory: Path,
    tools: Tools,
    say: Callable[[str], None],
    *,
    name: str = "",
) -> Iterator[LocalWorker]:
    """Prepare the data of a study here, and yield a worker; at the end the site is restored.

    `load_facts` is what was recorded about the load when the study began; files of trials go to `directory`.
    `name` is the name of the host, by default the machine's host name.

    Raises:
        DialinError: the site cannot be prepared, or cannot be restored at the end.
    """
    spec, clock = ready.spec, tools.clock
    probes = by_probes(clock) if spec.probes else watch_nothing
    with ready.site.open(say, directory) as site:
        context = TrialContext(
            spec=spec,
            plan=ready.plan,
            clock=clock,
            workload=ready.workload,
            stage=site.stage,
            check=functools.partial(load_identity.check, spec, load_facts, ready.workload),
            watch=profiling.by_purpose(
                raw_waits.by_purpose(probes, spec.waits, clock, directory), clock, profiling.traced_seconds(ready.plan.measure)
            ),
        )
        yield LocalWorker(site, context, WorkerHost(name or socket.gethostname(), host.inventory(tools.home.root)))

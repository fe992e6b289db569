"""Where the blocks of a study run: on this machine, or on the nodes of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialin.errors import UserError
from dialin.fleet.fleet import Fleet, FleetOfOne
from dialin.fleet.local_worker import local_worker
from dialin.places.sandbox.site import Sandboxes
from dialin.preflight.checked import CheckedStudy
from dialin.trials.tools import Tools
from dialin.workloads import load_binary

LOCAL = "local"


@dataclass(frozen=True, slots=True)
class FleetChoice:
    """Where the blocks of a study run.

    Attributes:
        address: `local` for this machine; `auto` for the Ray cluster that it belongs to, or the address of another one.
        most: how many hosts the study takes at most; None for all that there are.
    """

    address: str = LOCAL
    most: int | None = None

    @property
    def is_local(self) -> bool:
        return self.address == LOCAL


ONE_HOST = FleetChoice()


def check_fleet(choice: FleetChoice, *, attached: bool, tune: bool, profile: bool = False, snapshots: bool = False) -> None:
    """Raise UserError where a study cannot run on a fleet; called before anything is started."""
    if choice.is_local:
        if choice.most is not None:
            raise UserError("--fleet-hosts needs --fleet", "Leave it out, or give --fleet auto")
        return
    if attached:
        raise UserError(
            "--fleet runs private servers, and --attach measures a server that is already there", "Leave one of them out"
        )
    if tune:
        raise UserError("A tune runs on one host: each of its trials depends on the one before", "Leave --fleet out")
    if profile:
        raise UserError("--profile runs perf on this machine, and not on a fleet", "Leave --fleet or --profile out")
    if snapshots:
        raise UserError("--snapshot-command restores data on this machine, and not on a fleet", "Leave one of them out")
    try:
        import ray  # noqa: F401
    except ImportError as error:
        remedy = "Install it beside dialin: pipx inject dialin 'ray[default]' (docs/fleet.md)"
        raise UserError("--fleet needs Ray, which is not installed", remedy) from error


@contextmanager
def open_fleet(
    choice: FleetChoice,
    ready: CheckedStudy,
    load_facts: Mapping[str, Any],
    directory: Path,
    tools: Tools,
    say: Callable[[str], None],
) -> Iterator[Fleet]:
    """Prepare the hosts of a study; at the end nothing that was started is left on any of them.

    `load_facts` is what was recorded about the load when the study began; files of trials go to `directory`.

    Raises:
        DialinError: the data cannot be prepared here, or the cluster cannot be reached.
    """
    if choice.is_local:
        with local_worker(ready, load_facts, directory, tools, say) as worker:
            yield FleetOfOne(worker)
        return
    from dialin.fleet.host_setup import HostNeeds
    from dialin.fleet.ray_fleet import ray_fleet

    if not isinstance(ready.site, Sandboxes):
        raise TypeError(f"a fleet runs sandboxes, not {type(ready.site).__name__}")
    with ready.site.open(say) as site:
        needs = HostNeeds(
            home=tools.home,
            spec=ready.spec,
            builds=list(ready.site.builds.values()),
            datasets=site.datasets,
            driver=load_binary.find(),
            inspected=ready.inspected,
            load_facts=load_facts,
        )
        with ray_fleet(choice.address, needs, directory, say, most=choice.most) as fleet:
            yield fleet

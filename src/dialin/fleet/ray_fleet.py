"""A fleet on a Ray cluster: an actor on each node that offers the resource `dialin`, and a thread here for each of them.

An actor holds the whole resource of its node, so that no two studies share a host. Its thread polls it for reports, each time
with the number of the last report that arrived, so that a failed call neither loses nor repeats a report.
"""

from __future__ import annotations

import os
import pickle
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import ActorUnavailableError, GetTimeoutError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from dialin.errors import DialinError, UserError, machine_error
from dialin.fleet.fleet import BlockEnded, FleetEvent, HostJoined, HostLost, HostRefused, Reported, setup_failed
from dialin.fleet.host_agent import HostAgent
from dialin.fleet.host_process import HostFailed, Message, Ready, Report, TrialEvent, TurnEnded
from dialin.fleet.host_setup import HostNeeds, UnfitHostError, set_up
from dialin.fleet.worker import BlockRequest, WorkerHost
from dialin.model.cause import Cause, CauseCode
from dialin.trials.events import Event, TrialEnded

RESOURCE = "dialin"
"""The custom resource of the nodes that may be hosts."""

GONE = (RayError, ConnectionError)
"""The errors of a call whose node, or cluster, cannot be reached; ConnectionError comes over `ray://`."""

_WAIT = 1.0
"""Seconds that an actor waits for something to report."""

_CALL = 600.0
"""Seconds that any other call may take: the digest of a large dataset takes longest."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Time limits, in seconds.

    Attributes:
        unreachable: after this time without an answer of its actor, a host is lost.
        silent: after this time without a report, a host that runs a block is lost; a trial is silent longest while it restores
            much data.
        no_host: after this time without any host, the study ends.
        ending: how long to wait for a trial that is broken off to end.
        look: the time between two checks which nodes exist.
    """

    unreachable: float = 60.0
    silent: float = 3600.0
    no_host: float = 120.0
    ending: float = 90.0
    look: float = 2.0


@dataclass(frozen=True, slots=True)
class Node:
    """A node that is alive and offers the resource; its name is unique."""

    id: str
    name: str
    cpus: int


class _Host:
    """One node as a host: its thread sets it up, then takes its reports."""

    def __init__(self, fleet: RayFleet, node: Node) -> None:
        self.name = node.name
        self.node_id = node.id
        self.turn = 0
        self.at_work = False
        self.is_admitted = False
        self.last_report = time.monotonic()
        self._fleet = fleet
        self._stopping = threading.Event()
        agent = ray.remote(HostAgent).options(
            resources={RESOURCE: 1},
            num_cpus=node.cpus,  # all CPUs, so that no other Ray task runs beside a trial
            max_concurrency=4,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False),
        )
        self._actor: Any = agent.remote()
        self._thread = threading.Thread(target=self._serve, name=f"host {node.name}", daemon=True)
        self._thread.start()

    def call(self, method: str, *arguments: Any) -> Any:
        return ray.get(getattr(self._actor, method).remote(*arguments), timeout=_CALL)

    def order(self, method: str, *arguments: Any) -> None:
        """Call a method without waiting for it; if it fails, the thread notices."""
        with suppress(*GONE):
            getattr(self._actor, method).remote(*arguments)

    def _serve(self) -> None:
        put = self._fleet.put
        try:
            if not self._hold_node():
                self._fleet.forget(self)
                return
            state = set_up(self.call, self._fleet.needs, self.name)
            self._take_reports({"findings": [finding.subject for finding in state.findings if finding.severity == "bad"]})
        except UnfitHostError as error:
            put(HostRefused(self.name, error.cause))
        except RayTaskError as error:
            put(setup_failed(self.name, error.cause))
        except DialinError as error:
            put(HostLost(self.name, error.cause))
        except GONE:
            put(HostLost(self.name, Cause(CauseCode.HOST_GONE)))
        except Exception as error:  # otherwise the study would wait for this host in vain
            failed = machine_error(error)  # that of the coordinator, whose disk takes the files of trials
            fault = Cause.quoted(f"A fault of dialin itself: {type(error).__name__}: {error}")
            put(HostRefused(self.name, fault) if failed is None else HostLost(self.name, failed.cause))
        finally:
            with suppress(*GONE):
                if self.is_admitted:
                    ray.get(self._actor.stop.remote(), timeout=self._fleet.patience.ending)
            with suppress(*GONE):
                ray.kill(self._actor)

    def _hold_node(self) -> bool:
        """Wait until this study holds the node; return False if the study does not need it any more."""
        ready = self._actor.is_there.remote()
        while not self._stopping.is_set():
            if ray.wait([ready], timeout=_WAIT)[0]:
                ray.get(ready)
                return self._fleet.admit(self)
        return False

    def _take_reports(self, findings: dict[str, Any]) -> None:
        after, answered = 0, time.monotonic()
        while not self._stopping.is_set():
            try:
                requested = self._actor.reports.remote(after, _WAIT)
                records, runs = ray.get(requested, timeout=_WAIT + 10)
            except (ActorUnavailableError, GetTimeoutError, ConnectionError):
                if time.monotonic() - answered > self._fleet.patience.unreachable:
                    raise
                time.sleep(0.5)
                continue
            answered = time.monotonic()
            for record in records:
                after += 1
                self.last_report = answered
                self._take(pickle.loads(record), findings)  # noqa: S301 - from the agent of the same dialin
            if not runs and not records:
                raise DialinError(Cause(CauseCode.HOST_PROCESS_ENDED, {"words": self.call("last_words")}))
            if self.at_work and answered - self.last_report > self._fleet.patience.silent:
                raise DialinError(Cause(CauseCode.HOST_SILENT, {"seconds": answered - self.last_report}))

    def _take(self, report: Report, findings: dict[str, Any]) -> None:
        put = self._fleet.put
        if isinstance(report, Message):
            self._fleet.say(f"{self.name}: {report.text}")
        elif isinstance(report, Ready):
            put(HostJoined(WorkerHost(report.host.name, {**report.host.facts, **findings})))
        elif isinstance(report, HostFailed):
            raise UnfitHostError(report.cause) if self.turn == 0 else DialinError(report.cause)
        elif report.turn == self.turn:
            if isinstance(report, TrialEvent):
                put(Reported(self.name, self._fleet.with_file(report)))
            elif isinstance(report, TurnEnded):
                self.at_work = False
                put(BlockEnded(self.name))

    def stop(self) -> None:
        self._stopping.set()

    def wait(self, seconds: float) -> None:
        self._thread.join(seconds)


class RayFleet:
    """The nodes of a Ray cluster as hosts of one study; open it with `ray_fleet`."""

    def __init__(
        self, needs: HostNeeds, directory: Path, say: Callable[[str], None], most: int | None, patience: Patience
    ) -> None:
        self.needs = needs
        self.patience = patience
        self._directory = directory
        self._say = say
        self._most = most
        self._queue: queue.Queue[FleetEvent | str] = queue.Queue()
        self._hosts: dict[str, _Host] = {}
        self._ready: dict[str, WorkerHost] = {}
        self._leaving: list[_Host] = []
        self._refused: set[str] = set()
        self._lost: dict[str, int] = {}
        self._looked = 0.0
        self._admitting = threading.Lock()

    @property
    def hosts(self) -> Sequence[WorkerHost]:
        return tuple(self._ready.values())

    def put(self, event: FleetEvent) -> None:
        self._queue.put(event)

    def say(self, text: str) -> None:
        self._queue.put(text)

    def with_file(self, report: TrialEvent) -> Event:
        """Return the event of a report; the file that came with it is stored here, and the event has its path."""
        event = report.event
        if report.file is None or not isinstance(event, TrialEnded):
            return event
        path = self._directory / f"waits-of-{event.trial.id}.parquet"
        path.write_bytes(report.file)
        return replace(event, evidence=replace(event.evidence, waits_file=path))

    def begin_block(self, host: str, request: BlockRequest) -> None:
        worker = self._hosts[host]
        worker.turn += 1
        worker.last_report = time.monotonic()
        worker.at_work = True
        worker.order("run_block", worker.turn, request)

    def next_event(self) -> FleetEvent:
        until = time.monotonic() + self.patience.no_host
        while True:
            self._look_for_nodes()
            try:
                event = self._queue.get(timeout=self.patience.look)
            except queue.Empty:
                all_unfit = bool(self._refused) and not self._hosts
                if not self._ready and not self._being_set_up() and (all_unfit or time.monotonic() > until):
                    raise self._no_host() from None
                continue
            if isinstance(event, str):
                self._say(event)
            elif (applied := self._apply(event)) is not None:
                return applied

    def _apply(self, event: FleetEvent) -> FleetEvent | None:
        """Update the hosts by an event and return the event; None if its machine is not a host any more."""
        if isinstance(event, HostJoined):
            self._ready[event.host.name] = event.host
            return event
        if isinstance(event, HostLost | HostRefused):
            host = self._hosts.pop(event.host, None)
            was_ready = self._ready.pop(event.host, None)
            if host is None:
                return None
            self._leaving.append(host)
            self._lost[host.node_id] = self._lost.get(host.node_id, 0) + 1
            if isinstance(event, HostRefused) or self._lost[host.node_id] > 2:
                self._refused.add(host.node_id)
            # A machine that was lost before it joined never was a host.
            return event if was_ready or isinstance(event, HostRefused) else HostRefused(event.host, event.cause)
        return event if event.host in self._ready else None

    def _being_set_up(self) -> bool:
        return any(host.is_admitted and name not in self._ready for name, host in list(self._hosts.items()))

    def _is_complete(self) -> bool:
        return self._most is not None and sum(host.is_admitted for host in list(self._hosts.values())) >= self._most

    def admit(self, host: _Host) -> bool:
        """Return whether a node that this study holds now is to be one of its hosts; called by the thread of the node."""
        with self._admitting:
            host.is_admitted = not self._is_complete()
            return host.is_admitted

    def _no_host(self) -> DialinError:
        if self._refused and not self._hosts:
            return DialinError(
                "No host is left: none can run the study", "Fix the problem reported above for each host", resumable=True
            )
        why = f"no node offers the resource {RESOURCE!r}, or other studies hold it"
        return DialinError(
            f"No host is left: {why}",
            f"Start nodes with: ray start --address=HEAD:6379 --resources='{{\"{RESOURCE}\": 1}}'",
            resumable=True,
        )

    def _look_for_nodes(self) -> None:
        """Start to set up new nodes; a node that another study holds joins once that study has ended."""
        if time.monotonic() - self._looked < self.patience.look:
            return
        self._looked = time.monotonic()
        if self._is_complete():
            return
        known = {host.node_id for host in self._hosts.values()} | self._refused
        with suppress(*GONE):  # the threads report lost hosts
            for node in named_nodes():
                if node.id not in known and node.name not in self._hosts:
                    self._hosts[node.name] = _Host(self, node)

    def forget(self, host: _Host) -> None:
        """Drop a node that is not needed; it may be set up again later."""
        self._hosts.pop(host.name, None)

    def leave_out(self, host: str) -> None:
        self._refused.add(self._hosts[host].node_id)
        self._leaving.append(self._hosts.pop(host))
        self._leaving[-1].stop()
        self._ready.pop(host, None)

    def interrupt(self) -> None:
        """End the trials under way on all hosts, and wait for that; the reports of these trials are dropped."""
        ending = {host.name: host for host in self._hosts.values() if host.at_work}
        for host in ending.values():
            host.order("interrupt", host.turn)
        until = time.monotonic() + self.patience.ending
        while ending and (left := until - time.monotonic()) > 0:
            try:
                event = self._queue.get(timeout=left)
            except queue.Empty:
                return
            if isinstance(event, str):
                self._say(event)
            elif isinstance(event, BlockEnded):
                ending.pop(event.host, None)
            elif not isinstance(event, Reported):
                self._apply(event)
                ending.pop(event.host if isinstance(event.host, str) else event.host.name, None)

    def close(self) -> None:
        """End the processes of all hosts, with their trials and servers."""
        hosts = [*self._hosts.values(), *self._leaving]
        for host in hosts:
            host.stop()
        until = time.monotonic() + self.patience.ending
        for host in hosts:
            host.wait(max(0.0, until - time.monotonic()))


def named_nodes() -> list[Node]:
    """Return the nodes that may be hosts."""
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get(RESOURCE, 0) >= 1]
    names = [node.get("NodeName") or node["NodeManagerAddress"] for node in nodes]
    return [
        Node(
            node["NodeID"],
            name if names.count(name) == 1 else f"{name}-{node['NodeID'][:6]}",
            int(node["Resources"].get("CPU", 0)),
        )
        for node, name in zip(nodes, names, strict=True)
    ]


OPEN_TO_ALL = (
    "The Ray cluster requires no token, so anyone who can reach its ports can run programs on its hosts: start Ray with "
    "RAY_AUTH_MODE=token (docs/fleet.md)"
)


def gives_token() -> bool:
    """Return whether this process sends Ray's token; a cluster that it can connect to without one requires none."""
    return os.environ.get("RAY_AUTH_MODE", "").lower() == "token"


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Connect to a cluster for the `with` block; raise UserError where the cluster cannot be reached."""
    try:
        ray.init(address=address, namespace="dialin", log_to_driver=False, logging_level="error")
    except (ConnectionError, RayError, OSError, ValueError, RuntimeError, ImportError) as error:
        words = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(
            f"The Ray cluster {address} cannot be reached: {words}",
            "Check that Ray is started (ray status) and that this machine has its token, or give --fleet ray://HEAD:10001",
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def ray_fleet(
    address: str,
    needs: HostNeeds,
    directory: Path,
    say: Callable[[str], None],
    *,
    most: int | None = None,
    patience: Patience | None = None,
) -> Iterator[RayFleet]:
    """Use the nodes of a cluster as hosts; at the end none of them runs anything for this study.

    Args:
        address: `auto`, or `ray://HEAD:10001`.
        needs: what every host must have.
        directory: where files of trials go until the store takes them.
        say: takes a line for each step of preparing hosts.
        most: how many hosts the study takes; None for all.
        patience: the time limits; None for the defaults.

    Raises:
        UserError: the cluster cannot be reached.
    """
    with connected(address):
        if not gives_token():
            say(OPEN_TO_ALL)
        fleet = RayFleet(needs, directory, say, most, patience or Patience())
        try:
            yield fleet
        finally:
            fleet.close()

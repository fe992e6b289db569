"""The state of the nodes of a Ray cluster as hosts, read without holding a node, even while studies run there."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from dialin.fleet.host_agent import HostAgent, HostState
from dialin.fleet.ray_fleet import GONE, RESOURCE, connected, gives_token, named_nodes

_WITHIN = 60.0
"""Seconds that a node may take to answer."""


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """A node that offers the resource; `state` is None if the node did not answer, and `trouble` is then the reason."""

    name: str
    state: HostState | None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """A cluster.

    Attributes:
        nodes: those that may be hosts, by name.
        held: how many of them studies hold now.
        asks_for_token: False if anyone who can reach the cluster may use it.
    """

    nodes: Sequence[NodeStatus]
    held: int
    asks_for_token: bool


def cluster_status(address: str) -> ClusterStatus:
    """Return the state of a cluster's nodes, and how many of them studies hold.

    Raises:
        UserError: the cluster cannot be reached.
    """
    with connected(address):
        agents = {node.name: _agent_on(node.id) for node in named_nodes()}
        states = {name: agent.state.remote() for name, agent in agents.items()}
        statuses = []
        for name, agent in agents.items():
            try:
                statuses.append(NodeStatus(name, ray.get(states[name], timeout=_WITHIN)))
                ray.get(agent.stop.remote(), timeout=_WITHIN)
            except GONE as error:
                statuses.append(NodeStatus(name, None, str(error).splitlines()[0]))
            with suppress(*GONE):
                ray.kill(agent)
        held = round(ray.cluster_resources().get(RESOURCE, 0) - ray.available_resources().get(RESOURCE, 0))
        return ClusterStatus(sorted(statuses, key=lambda status: status.name), held, gives_token())


def _agent_on(node_id: str) -> Any:
    strategy = NodeAffinitySchedulingStrategy(node_id, soft=False)
    return ray.remote(HostAgent).options(num_cpus=0, scheduling_strategy=strategy).remote()

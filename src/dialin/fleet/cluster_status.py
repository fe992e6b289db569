"""What the nodes of a Ray cluster are as hosts: asked beside the studies that run there, without holding a node."""

from __future__ import annotations

from dataclasses import dataclass

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from dialin.fleet.host_agent import HostAgent, HostState
from dialin.fleet.ray_fleet import RESOURCE, connected, named_nodes

_WITHIN = 60.0
"""Seconds that a node may take to answer."""


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """A node that offers the resource; `state` is None where it did not answer, for the reason `trouble`."""

    name: str
    state: HostState | None
    trouble: str = ""


def cluster_status(address: str) -> tuple[list[NodeStatus], int]:
    """Return the nodes that may be hosts, by name, and how many of them studies hold now.

    Raises:
        UserError: the cluster cannot be reached.
    """
    with connected(address):
        nodes = named_nodes()
        requested = []
        for node_id, name in nodes:
            strategy = NodeAffinitySchedulingStrategy(node_id, soft=False)
            agent = ray.remote(HostAgent).options(num_cpus=0, scheduling_strategy=strategy).remote()
            requested.append((name, agent, agent.state.remote()))
        statuses = []
        for name, agent, answer in requested:
            try:
                statuses.append(NodeStatus(name, ray.get(answer, timeout=_WITHIN)))
                ray.get(agent.stop.remote(), timeout=_WITHIN)
            except RayError as error:
                statuses.append(NodeStatus(name, None, str(error).splitlines()[0]))
        held = round(ray.cluster_resources().get(RESOURCE, 0) - ray.available_resources().get(RESOURCE, 0))
    return sorted(statuses, key=lambda one: one.name), held

"""What `dialin fleet status` says of a host."""

from dataclasses import dataclass

from dialin.cli.fleet import describe_host
from dialin.fleet.host_agent import HostState
from dialin.model.fitness import Finding, Severity

FACTS = {"cpu": "EPYC", "cpus": 16, "memory_bytes": 64 * 1024**3}


@dataclass(frozen=True)
class Node:
    """As `cluster_status.NodeStatus`, whose module needs Ray."""

    state: HostState | None
    trouble: str = ""


def state(*findings, builds=(), noise=None):
    return HostState("0.1.0", "3.11.7", "x86_64", FACTS, builds, findings, noise, 0.0)


def test_a_host_is_shown_with_builds_noise_and_fitness():
    lines = describe_host(Node(state(Finding.good("disk", "fast"), builds=["mysql@9.7.4", "mysql@5.6.24"], noise=0.021)))
    assert lines == [
        "EPYC, 16 CPUs, 64 GiB; dialin 0.1.0",
        "builds: mysql@5.6.24 and mysql@9.7.4",
        "noise: 2.1 % per trial",
        "fit to measure",
    ]


def test_disturbances_of_hosts_are_named():
    bad = Finding("other load", "80 % of 16 CPUs busy", Severity.BAD, "It adds noise.", "Stop it.")
    lines = describe_host(Node(state(bad)))
    assert "builds: none; a study copies those that it needs" in lines
    assert "noise: not measured there yet" in lines
    assert lines[-2:] == ["other load: 80 % of 16 CPUs busy", "not fit to measure: other load"]


def test_a_host_that_does_not_answer_is_shown_with_the_reason():
    assert describe_host(Node(None, "the node died")) == ["does not answer: the node died"]

"""`dialin fleet`: the hosts of a Ray cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from dialin.cli.console import output

if TYPE_CHECKING:
    from dialin.fleet.cluster_status import NodeStatus

fleet = typer.Typer(name="fleet", add_completion=False, help="The hosts of a Ray cluster.", no_args_is_help=True)


@fleet.callback()
def _group() -> None:
    """Make `status` a subcommand: without a callback, typer turns the only command of a group into the group itself."""


@fleet.command()
def status(
    address: Annotated[
        str, typer.Option("--fleet", metavar="auto|ray://HEAD:10001", help="The cluster; auto is that of this machine.")
    ] = "auto",
) -> None:
    """List the hosts of a cluster with their builds, their noise, and what dialin doctor finds there.

    A host is a node that offers the resource dialin: ray start --address=HEAD:6379 --resources='{"dialin": 1}'
    """
    from dialin.fleet.fleet_choice import FleetChoice, check_fleet

    check_fleet(FleetChoice(address), attached=False, tune=False)
    from dialin.fleet.cluster_status import cluster_status
    from dialin.fleet.ray_fleet import OPEN_TO_ALL
    from dialin.text import counted

    cluster = cluster_status(address)
    console = output()
    if not cluster.asks_for_token:
        console.print(f"{OPEN_TO_ALL}.", soft_wrap=True)
    if not cluster.nodes:
        console.print("No node offers the resource dialin. Start one:")
        console.print("  ray start --address=HEAD:6379 --resources='{\"dialin\": 1}'")
        raise typer.Exit(1)
    console.print(f"{counted(len(cluster.nodes), 'host')}, {cluster.held} held by studies")
    for host in cluster.nodes:
        console.print(escape(f"\n{host.name}"), style="bold")
        for line in describe_host(host):
            console.print(escape(f"  {line}"), soft_wrap=True)


def describe_host(host: NodeStatus) -> list[str]:
    from dialin.model.fitness import Severity
    from dialin.text import counted, listed, percent

    state = host.state
    if state is None:
        return [f"does not answer: {host.trouble}"]
    bad = [finding for finding in state.findings if finding.severity is Severity.BAD]
    facts = state.facts
    memory = facts.get("memory_bytes", 0) / 1024**3
    return [
        f"{facts.get('cpu', state.machine)}, {counted(facts.get('cpus', 0), 'CPU')}, {memory:.0f} GiB; dialin {state.version}",
        f"builds: {listed(sorted(state.builds)) if state.builds else 'none; a study copies those that it needs'}",
        f"noise: {percent(state.noise)} per trial" if state.noise is not None else "noise: not measured there yet",
        *(f"{finding.subject}: {finding.observed}" for finding in bad),
        "fit to measure" if not bad else f"not fit to measure: {listed([finding.subject for finding in bad])}",
    ]

"""Agents of dialin-load on other hosts, which apply the load of a study together.

Each agent logs in with its own account, from options given on its host: no password is ever sent to it (docs/fleet.md).
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from dialin.errors import UserError
from dialin.model.workload import WorkloadSpec


def check(spec: WorkloadSpec) -> None:
    """Raise UserError where there are fewer connections than load hosts, or their token cannot be read."""
    if not spec.load_hosts:
        return
    fewest = min(spec.levels or (spec.threads,))
    if fewest < len(spec.load_hosts):
        raise UserError(
            f"{len(spec.load_hosts)} load hosts cannot share {fewest} connections: each takes at least one",
            "Give more --threads, or fewer --load-hosts",
        )
    if not spec.load_token or not os.access(spec.load_token, os.R_OK):
        raise UserError(
            f"The token {spec.load_token} cannot be read",
            "Make it as docs/fleet.md shows, and give each agent the same: head -c 32 /dev/urandom | base64 >load.token",
        )


def options(spec: WorkloadSpec, addresses: Sequence[str]) -> list[str]:
    """Return the options of dialin-load that have the agents at these addresses apply the load."""
    return [f"--agents={','.join(addresses)}", f"--token-file={spec.load_token}"]

"""Start a cluster of three nodes on this machine, with two studies side by side, and lose a node; for `make try-fleet`.

The first study takes two nodes, the second one the third. In the middle of a trial a node of the first study is removed: its
block begins anew, and the node of the second study joins once that has ended. Ray asks for the token, and listens on the
address, that the environment names (see scripts/try-fleet.sh).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from ray.cluster_utils import Cluster

from dialin.errors import DialinError
from dialin.model.trial import TrialState
from dialin.store.store import Store

OUT = Path(os.environ["OUT"])
BESIDE = OUT.with_name(f"{OUT.name}-beside")
LOAD = ["--workload", "oltp_write_only", "--threads", "2", "--tables", "2", "--table-size", "10000", "--measure", "10"]


def say(text: str) -> None:
    print(f"==> {text}", flush=True)  # noqa: T201


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "dialin", *words]


def study(values: str, hosts: int, minutes: int, out: Path, address: str) -> list[str]:
    """Return the command of a study on so many hosts."""
    where = ["--fleet", address, "--fleet-hosts", str(hosts), "--minutes", str(minutes), "--yes", "--out", str(out)]
    return command("sweep", values, "--server", os.environ["SERVER"], *LOAD, *where)


def wait_for_hosts(process: subprocess.Popen[bytes], out: Path, count: int) -> list[str]:
    """Wait until so many hosts measure at once, and return them; none where the study ended before."""
    while process.poll() is None:
        try:
            with Store.open(out) as store:
                running = [trial for trial in store.trials() if trial.state is TrialState.RUNNING]
                hosts = sorted({trial.host for trial in running if store.samples_of(trial.id)})
            if len(hosts) >= count:
                return hosts
        except DialinError:
            pass  # the study is not there yet
        time.sleep(0.5)
    return []


def main() -> int:
    """Return the exit code of the study on two nodes; where that is a verdict, the one of the study beside it."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        names = ("east", "west", "north")
        nodes = {name: cluster.add_node(num_cpus=1, resources={"dialin": 1}, node_name=name) for name in names}
        subprocess.run(command("fleet", "status", "--fleet", cluster.address), check=False)
        first = subprocess.Popen(study("innodb_flush_log_at_trx_commit=1,2", 2, 4, OUT, cluster.address))
        hosts = wait_for_hosts(first, OUT, 2)
        if not hosts:
            return first.wait()
        say(f"the study runs on {' and '.join(hosts)}; another one begins on the third node, and says so in {OUT}/beside.log")
        with (OUT / "beside.log").open("wb") as log:
            second = subprocess.Popen(
                study("innodb_io_capacity=200,2000", 1, 2, BESIDE, cluster.address), stdout=log, stderr=subprocess.STDOUT
            )
            wait_for_hosts(second, BESIDE, 1)
            if lost := wait_for_hosts(first, OUT, 1):
                say(f"the node {lost[0]} is removed in the middle of a trial")
                cluster.remove_node(nodes[lost[0]], allow_graceful=False)
            codes = second.wait(), first.wait()
        say(f"the study beside ended with exit code {codes[0]}")
        return codes[1] if codes[1] > 1 else max(codes)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    sys.exit(main())

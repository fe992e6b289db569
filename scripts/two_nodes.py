"""Start a cluster of two nodes on this machine, show them, and run a study on both; `make try-fleet` calls it.

Ray asks for the token, and listens on the address, that the environment names (see scripts/try-fleet.sh).
"""

import os
import subprocess
import sys

from ray.cluster_utils import Cluster


def dialin(*words: str) -> int:
    """Run a command; returns its exit code."""
    return subprocess.run([sys.executable, "-m", "dialin", *words], check=False).returncode


def main() -> int:
    """Return the exit code of the study."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        for name in ("east", "west"):
            cluster.add_node(num_cpus=1, resources={"dialin": 1}, node_name=name)
        dialin("fleet", "status", "--fleet", cluster.address)
        values = "innodb_flush_log_at_trx_commit=1,2"
        load = ["--workload", "oltp_write_only", "--threads", "2", "--tables", "2", "--table-size", "10000", "--measure", "10"]
        where = ["--fleet", cluster.address, "--minutes", "4", "--yes", "--out", os.environ["OUT"]]
        return dialin("sweep", values, "--server", os.environ["SERVER"], *load, *where)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    sys.exit(main())

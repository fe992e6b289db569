"""A cache directory that two containers share: each leaves alone what the other has running."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dialin.paths import Home
from dialin.servers.ledger import Ledger
from dialin.servers.processes import processes
from live import FAST

UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc"]


def in_another_namespace(*words):
    return subprocess.run([*UNSHARE, sys.executable, "-m", "dialin", *words], capture_output=True, text=True, timeout=300)


@pytest.mark.skipif(
    not shutil.which("unshare") or subprocess.run([*UNSHARE, "true"], capture_output=True).returncode != 0,
    reason="PID namespaces cannot be made here",
)
def test_a_sandbox_survives_commands_from_another_pid_namespace(dialin):
    dialin("servers", "start", FAST)
    (entry,) = [entry for entry in Ledger(Home.of().ledger).entries() if entry.keep]
    try:
        assert in_another_namespace("--help").returncode == 0
        listed = in_another_namespace("servers").stdout
        assert entry.id in listed.partition("On other machines or containers")[2]
        for words in (("servers", "stop"), ("restore",), ("servers", "start", "nonsense@1")):
            in_another_namespace(*words)
        assert processes(Path(entry.directory))
    finally:
        dialin("servers", "stop", entry.id)
    assert not Path(entry.directory).exists()

"""What tests on real servers share."""

import shutil
from pathlib import Path

import pytest

from dialin.paths import Home
from dialin.servers.ledger import Ledger
from dialin.servers.processes import identity, processes
from live import MYSQL, Dialin, find


@pytest.fixture(scope="session", autouse=True)
def ready():
    """The servers and sysbench are there: `make test` brings them."""
    assert shutil.which("sysbench"), "sysbench is not installed: make test brings it, or apt-get install sysbench"
    assert find(MYSQL), f"{MYSQL} is not installed: make test brings it, or dialin servers install {MYSQL}"


@pytest.fixture
def dialin(tmp_path):
    command = Dialin(tmp_path)
    yield command
    command.end()
    left = [
        entry
        for entry in Ledger(Home.of().ledger).entries()
        if not entry.keep and identity(entry.owner) != entry.owner_identity and processes(Path(entry.directory))
    ]
    assert not left, "a server or a driver was left behind"

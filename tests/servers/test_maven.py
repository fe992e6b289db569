from __future__ import annotations

import stat
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.model.build import BuildReference
from dialin.servers.apt import AptPackages
from dialin.servers.maven import Artifact, MavenServer, extract
from servers.fakes import FakeClients

ARTIFACT = Artifact.parse("org.example:server-dist:8.0.33.1:zip:linux-x86_64")
SERVER = MavenServer(
    ARTIFACT,
    megabytes=1,
    machine="x86_64",
    binary="bin/mysqld",
    keep=("bin/mysqld", "lib/*", "share/*"),
    drop=("lib/debug/*",),
    libraries=AptPackages("bookworm", ("libaio1",), alone=True),
)
REFERENCE = BuildReference.parse("mysql@8.0")


def make_archive(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, mode in (("bin/mysqld", 0o755), ("bin/mysql", 0o755), ("lib/a.so", 0o644), ("lib/debug/a.so", 0o644)):
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFREG | mode) << 16
            archive.writestr(info, name)
        archive.writestr("share/english/errmsg.sys", "")
    return path


def fetched(arguments: Sequence[str], cwd: Path | None) -> str:
    repository = next(each for each in arguments if each.startswith("-Dmaven.repo.local=")).split("=", 1)[1]
    make_archive(Path(repository) / ARTIFACT.directory / ARTIFACT.file)
    return ""


@pytest.fixture(autouse=True)
def on_x86_64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")


def test_an_artifact_knows_where_a_repository_keeps_it():
    assert ARTIFACT.directory == "org/example/server-dist/8.0.33.1"
    assert ARTIFACT.file == "server-dist-8.0.33.1-linux-x86_64.zip"
    assert str(ARTIFACT) == "org.example:server-dist:8.0.33.1:zip:linux-x86_64"


def test_only_what_a_server_needs_is_unpacked_with_its_permissions(tmp_path: Path):
    into = tmp_path / "into"
    extract(make_archive(tmp_path / "a.zip"), into, SERVER.keep, SERVER.drop)
    files = {str(path.relative_to(into)): path.stat().st_mode & 0o111 for path in into.rglob("*") if path.is_file()}
    assert files == {"bin/mysqld": 0o111, "lib/a.so": 0, "share/english/errmsg.sys": 0}


def test_a_damaged_archive_is_removed_so_that_the_next_attempt_fetches_it_anew(tmp_path: Path):
    archive = tmp_path / "a.zip"
    archive.write_bytes(b"not a zip")
    with pytest.raises(UserError, match="arrived damaged"):
        extract(archive, tmp_path / "into", ("*",))
    assert not archive.exists()


def test_a_server_is_fetched_into_a_repository_of_dialins_own_and_laid_out(tmp_path: Path):
    clients, said = FakeClients(mvn=fetched), []
    layout = SERVER.bring(REFERENCE, tmp_path, tmp_path / "root", clients, said.append)
    assert (layout.binary, layout.basedir, layout.messages, layout.launcher(tmp_path)) == ("bin/mysqld", ".", "share", ())
    assert said[0] == "fetching 1 MB with Maven"
    assert f"-Dmaven.repo.local={tmp_path / 'maven'}" in clients.ran[0]


def test_an_archive_left_by_an_interrupted_install_is_not_fetched_again(tmp_path: Path):
    make_archive(tmp_path / "maven" / ARTIFACT.directory / ARTIFACT.file)
    clients = FakeClients()
    SERVER.bring(REFERENCE, tmp_path, tmp_path / "root", clients, lambda _: None)
    assert not any(run[0] == "mvn" for run in clients.ran)


def test_the_archive_is_removed_once_the_server_is_installed(tmp_path: Path):
    archive = make_archive(tmp_path / "maven" / ARTIFACT.directory / ARTIFACT.file)
    SERVER.tidy(tmp_path, FakeClients())
    assert not archive.exists()


def test_libraries_that_the_machine_lacks_are_put_where_the_server_looks_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def unpacked(arguments: Sequence[str], cwd: Path | None) -> str:
        library = Path(arguments[-1]) / "usr" / "lib" / "x86_64-linux-gnu" / "libaio.so.1"
        library.parent.mkdir(parents=True)
        library.touch()
        return ""

    monkeypatch.setattr(AptPackages, "fetch", lambda *_: [tmp_path / "libaio1.deb"])
    clients = FakeClients(mvn=fetched, **{"--version": UserError("mysqld failed: libaio.so.1"), "--extract": unpacked})
    SERVER.bring(REFERENCE, tmp_path, tmp_path / "root", clients, lambda _: None)
    assert (tmp_path / "root" / "lib" / "libaio.so.1").is_file()
    assert not (tmp_path / "root" / ".libraries").exists()


def test_a_machine_that_has_the_libraries_fetches_none(tmp_path: Path):
    clients = FakeClients(mvn=fetched)
    SERVER.bring(REFERENCE, tmp_path, tmp_path / "root", clients, lambda _: None)
    assert not any(run[0] == "apt-get" for run in clients.ran)


def test_another_processor_is_refused_before_anything_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    clients = FakeClients(mvn=fetched)
    with pytest.raises(UserError, match=r"built for x86_64; this machine is aarch64"):
        SERVER.bring(REFERENCE, tmp_path, tmp_path / "root", clients, lambda _: None)
    assert clients.ran == []

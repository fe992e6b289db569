"""Servers in containers of the podman of an ordinary user: where tests are root's, that of the user `nobody`."""

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

import dialin as package
from dialin.store.store import Store
from driving import BINARY
from images import NAME, PODMAN, SIMPLE, can_run, containers, import_image, make_file_system
from live import EASY, LIMIT, SHORT, measuring, only_with_all, until

NOBODY = 65534
pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0, reason="all tests of images are an ordinary user's already"),
    pytest.mark.skipif(PODMAN is None, reason="podman is not on PATH: apt-get install podman runc"),
]


class Nobody:
    """The user `nobody`, with a home of its own: an image in its podman, and a Python that it may read."""

    def __init__(self, home):
        self.home = home
        for name in ("runtime", "cache", "work"):
            (home / name).mkdir(mode=0o700)
            os.chown(home / name, NOBODY, NOBODY)
        (home / "containers.conf").write_text(SIMPLE)
        modules = [Path(package.__file__).parents[1], sysconfig.get_paths()["purelib"]]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "XDG_RUNTIME_DIR": home / "runtime",
            "DIALIN_HOME": home / "cache",
            "DIALIN_LOAD": BINARY or "",
            "CONTAINERS_CONF": home / "containers.conf",
            "PYTHONPATH": os.pathsep.join(map(str, modules)),
        }
        self.as_it = {
            "user": NOBODY,
            "group": NOBODY,
            "extra_groups": [],
            "cwd": home / "work",
            "env": {name: str(value) for name, value in environment.items()},
        }
        self.python = next((python for python in (sys.executable, "/usr/bin/python3") if self.can_import(python)), None)
        if self.python is None:
            pytest.skip(f"the user nobody may not read {sys.executable} and dialin, and /usr/bin/python3 cannot take its place")

    def can_import(self, python):
        try:
            return self.run(python, "-c", "import dialin.cli.app").returncode == 0
        except OSError:
            return False

    def run(self, *words):
        return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, **self.as_it)

    def start(self, *words):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([self.python, "-m", "dialin", *map(str, words)], **streams, **self.as_it)

    def containers(self):
        return self.run(PODMAN, "ps", "--all", "--quiet").stdout.split()


@pytest.fixture(scope="module")
def nobody(tmp_path_factory):
    root = tmp_path_factory.mktemp("image") / "root"
    make_file_system(root)
    with tempfile.TemporaryDirectory(prefix="dialin-nobody-") as name:
        home = Path(name)
        os.chown(home, NOBODY, NOBODY)
        user = Nobody(home)
        try:
            if error := import_image(root, PODMAN, "import", "-", NAME, **user.as_it):
                pytest.skip(f"podman of an ordinary user cannot import an image here: {error}")
            does_run, error = can_run(NAME, PODMAN, **user.as_it)
            if not does_run:
                pytest.skip(f"podman of an ordinary user cannot run a container here: {error}")
            yield user
        finally:
            user.run(PODMAN, "system", "migrate")  # ends the process that holds the user namespace


def sweep(nobody, name, *words):
    words = ["sweep", "sort_buffer_size=256K,512K", "--server", f"image:{NAME}", *SHORT, *EASY, *words]
    return nobody.start(*words, "--out", nobody.home / "work" / name)


@only_with_all  # a study is one whoever runs podman
def test_a_study_of_an_ordinary_user_runs_in_its_containers_and_leaves_none_when_it_is_killed(nobody):
    out = nobody.home / "work" / "study"
    process = sweep(nobody, out.name, "--minutes", "5")
    measuring(out, position=2)
    assert nobody.containers()
    assert not containers() & {f"dialin-{path.stem}" for path in (nobody.home / "cache" / "ledger").iterdir()}
    process.kill()
    process.communicate()
    until(lambda: not nobody.containers(), every=0.5)
    with Store.open(out) as store:
        (facts,) = store.read().servers.values()
    assert (facts["image"], facts["container"]) == (NAME, "podman")


@only_with_all
@pytest.mark.skipif(Path("/sys/fs/cgroup/cgroup.controllers").exists(), reason="version 2 of control groups may limit it")
def test_a_limit_that_the_podman_of_an_ordinary_user_ignores_is_an_error(nobody):
    process = sweep(nobody, "limited", "--minutes", "1", "--server-memory", "700M")
    _, err = process.communicate(timeout=LIMIT)
    assert "podman does not enforce the memory limit of 700 MiB (--server-memory) here" in err
    assert nobody.containers() == []

"""Images made of a build that is installed here, and the engines that run them: podman, docker, the podman of another user."""

import os
import shutil
import subprocess
from contextlib import contextmanager

import pytest

from dialin.paths import Home
from live import FAST, LIMIT, find, until

BUILD = find(FAST)
NAME = f"localhost/dialin-test/server-{os.getpid()}"
"""Of this process alone: tests of another clone may run beside it."""

PODMAN = shutil.which("podman")
SIMPLE = """
[containers]
default_ulimits = []
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
"""
"""For machines that are containers themselves: no higher limits, and no systemd."""


def called(engine, *words, **more):
    return subprocess.run([engine, *map(str, words)], capture_output=True, text=True, timeout=LIMIT, **more)


def podman(*words, **more):
    return called(PODMAN, *words, **more)


def containers(engine=PODMAN, *, which="--all"):
    """The names of containers, by default running or not, that a ledger of dialin could know."""
    return set(called(engine, "ps", which, "--filter", "label=dialin", "--format", "{{.Names}}").stdout.split())


def make_file_system(root):
    """Make the file system of an image with the server, its loader and libraries, and an option file, as images have it."""
    tree = Home.of().builds / BUILD.id if BUILD else root
    if not any((tree / name).is_dir() for name in ("lib64", "usr/lib64")):
        pytest.skip(f"{FAST} is not installed with its own loader, which an image needs")
    shutil.copytree(tree, root, copy_function=os.link, symlinks=True, ignore=shutil.ignore_patterns("build.json"))
    for name in ("lib", "lib64"):
        if not (root / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    (root / "tmp").mkdir(mode=0o1777)
    (root / "etc" / "mysql" / "conf.d").mkdir(parents=True)
    (root / "etc" / "my.cnf").write_text("!includedir /etc/mysql/conf.d/\n")


def import_image(root, *command, **more):
    """Let `... import - NAME` make an image; what it said where it could not."""
    with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as tar:
        made = called(*command, stdin=tar.stdout, **more)
    return made.stderr.strip() if made.returncode else ""


def can_run(image, *engine, **more):
    """Whether a container of an image runs, and what the engine said."""
    server = f"--entrypoint=/{BUILD.binary.relative_to(Home.of().builds / BUILD.id)}"
    ran = called(*engine, "run", "--rm", "--network=none", server, image, "--version", **more)
    return ran.returncode == 0, ran.stderr.strip()


def docker_answers():
    return called("docker", "version").returncode == 0


@contextmanager
def service_for_docker(directory):
    """Podman's service, which answers docker's protocol, in place of a daemon of docker."""
    address = f"unix://{directory / 'docker.sock'}"
    silent = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    service = subprocess.Popen([PODMAN, "system", "service", "--time=0", address], cwd=directory, **silent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", address)
        try:
            until(docker_answers)
            yield
        finally:
            service.terminate()
            service.wait()


@contextmanager
def without_podman(directory):
    """A PATH on which podman knows no image, so that docker is asked."""
    stub = directory / "podman"
    stub.write_text("#!/bin/sh\necho no such image >&2\nexit 125\n")
    stub.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{directory}{os.pathsep}{os.environ['PATH']}")
        yield

"""A machine of its own for a node of Ray, as far as the network goes: a network namespace at the other end of a cable."""

import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest


class Cable:
    """The only way between this machine, at `here`, and a node of a cluster that runs in `inside`, at `there`."""

    def __init__(self):
        number = os.getpid()
        network = f"10.213.{number // 60 % 250}.{4 * (number % 60)}".rpartition(".")
        self.here, self.there = (f"{network[0]}.{int(network[2]) + place}" for place in (1, 2))
        self._ends = f"dln{number}a", f"dln{number}b"
        self._machine = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self.inside = ["nsenter", "--target", str(self._machine.pid), "--net"]
        try:
            self._lay()
        except BaseException:
            self.end()
            raise

    def _lay(self):
        spaces = [Path(f"/proc/{number}/ns/net") for number in (os.getpid(), self._machine.pid)]
        while len({space.readlink() for space in spaces}) == 1:
            assert self._machine.poll() is None
            time.sleep(0.01)
        near, far = self._ends
        _ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", str(self._machine.pid))
        _ip("address", "add", f"{self.here}/30", "dev", near)
        _ip("link", "set", near, "up")
        _ip("address", "add", f"{self.there}/30", "dev", far, inside=self.inside)
        for device in (far, "lo"):
            _ip("link", "set", device, "up", inside=self.inside)

    def pull(self):
        _ip("link", "set", self._ends[0], "down")

    def plug(self):
        _ip("link", "set", self._ends[0], "up")

    def end(self):
        self._machine.kill()  # the namespace goes with the last process in it, and the cable with the namespace
        self._machine.wait()


def _ip(*words, inside=()):
    subprocess.run([*inside, "ip", *words], check=True, capture_output=True, text=True, timeout=60)


@contextmanager
def cable():
    """A cable; a test that asks for one is skipped where none can be laid."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "unshare", "nsenter"))):
        pytest.skip("a network namespace takes root, iproute2 and util-linux")
    try:
        laid = Cable()
    except (AssertionError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespace can be made here: {getattr(error, 'stderr', error)}")
    try:
        yield laid
    finally:
        laid.end()

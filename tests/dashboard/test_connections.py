"""Floods of connections: no stranger keeps the page from its viewers, and a lack of descriptors does not end it."""

import http.client
import logging
import os
import resource
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

import pytest

from dashboard.writing import Study
from dialin.dashboard import connections, page_server
from dialin.dashboard.connections import Connections, Limits

LIMITS = Limits(strangers=(6, 4), viewers=(5, 2), at_once=2)

FILES = 100
"""The descriptors that the page of the floods may have."""


class Connection:
    """A connection that remembers whether it was closed."""

    def __init__(self, name):
        self.name, self.closed = name, False

    def close_at_once(self):
        self.closed = True


class Door:
    """Opens connections from addresses, and says which are open."""

    def __init__(self):
        self.page, self.made = Connections(LIMITS), []

    def open(self, host, number, viewer=None):
        self.made.append(Connection(f"{host}:{number}"))
        self.page.opened((host, number), self.made[-1])
        if viewer is not None:
            self.page.let_in((host, number), viewer)

    @property
    def left(self):
        return [one.name for one in self.made if not one.closed]


def test_a_stranger_who_opens_too_many_connections_loses_his_oldest():
    door = Door()
    for number in range(6):
        door.open("a", number)
    assert door.left == ["a:2", "a:3", "a:4", "a:5"]


def test_the_oldest_stranger_of_all_leaves_for_a_new_one():
    door = Door()
    for number in range(4):
        door.open("a", number)
    for number in range(3):
        door.open("b", number)
    assert door.left == ["a:1", "a:2", "a:3", "b:0", "b:1", "b:2"]


def test_strangers_never_close_the_connection_of_a_viewer():
    door = Door()
    door.open("a", 0, viewer="secret")
    for number in range(1, 40):
        door.open("a", number)
    assert door.left[0] == "a:0"
    assert len(door.left) == 1 + LIMITS.strangers[1]


def test_a_viewer_with_too_many_connections_loses_his_oldest_and_takes_nobody_elses():
    door = Door()
    door.open("a", 0, viewer="one")
    for number in range(1, 6):
        door.open("a", number, viewer="two")
    assert door.left == ["a:0", "a:4", "a:5"]


def test_a_connection_that_ended_has_no_place_and_does_not_take_that_of_the_next_with_its_address():
    door = Door()
    door.open("a", 0)
    first = door.made[0]
    door.page.closed(("a", 0), first)
    door.open("a", 0)
    door.page.closed(("a", 0), first)
    assert door.page.is_stranger(("a", 0), door.made[1])
    assert not door.page.is_stranger(("a", 0), first)


@pytest.mark.parametrize("files", [16, 64, 100, 256, 1024, 65536, resource.RLIM_INFINITY])
def test_the_limits_fit_the_descriptors_of_the_process(files, monkeypatch):
    monkeypatch.setattr(connections.resource, "getrlimit", lambda _: (files, files))
    limits = Limits.of_process()
    assert min(*limits.strangers, *limits.viewers, limits.at_once) >= 1
    most = limits.strangers[0] + limits.viewers[0] + limits.at_once
    if 100 <= files < 65536:
        assert most + connections._FOR_ITSELF <= files + 8
    if files in (1024, 65536, resource.RLIM_INFINITY):
        assert limits == Limits()


def test_an_error_is_logged_though_there_are_no_descriptors_left(tmp_path):
    log = page_server._ErrorLog(tmp_path / "fault.log")
    record = logging.LogRecord("asyncio", logging.ERROR, "", 0, "socket.accept() out of system resource", None, None)
    with taking_all_descriptors():
        log.emit(record)
    log.close()
    assert "out of system resource" in (tmp_path / "fault.log").read_text()


def test_an_error_that_cannot_be_logged_ends_nothing(tmp_path):
    log = page_server._ErrorLog(tmp_path / "no directory" / "fault.log")
    log.emit(logging.LogRecord("asyncio", logging.ERROR, "", 0, "broken", None, None))
    log.close()


@contextmanager
def taking_all_descriptors():
    """Leave this process without a single free descriptor."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, before[0]), before[1]))
    try:
        while True:
            try:
                taken.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


class Page:
    """A page that runs in a process of its own, with few descriptors; asked as a browser asks."""

    def __init__(self, process):
        self.process = process
        link = urlsplit(process.stdout.readline().strip())
        self.place = (link.hostname, link.port)
        self.path = link.path
        answer = self._ask(f"{link.path}?{link.query}")
        self.cookie = answer.getheader("set-cookie").partition(";")[0]

    def _ask(self, path, **headers):
        asked = http.client.HTTPConnection(*self.place, timeout=30)
        asked.request("GET", path, headers=headers)
        answer = asked.getresponse()
        answer.read()
        asked.close()
        return answer

    def status(self):
        """Open the page; its status, after the tries that a browser makes too."""
        for _ in range(20):
            try:
                return self._ask(self.path, Cookie=self.cookie).status
            except OSError:
                time.sleep(0.2)
        return None


@pytest.fixture(scope="module")
def page(tmp_path_factory, spec):
    directory = tmp_path_factory.mktemp("flooded")
    study = Study(directory / "study", spec)
    study.store.close()
    words = [sys.executable, "-m", "dialin", "watch", str(study.directory)]
    process = subprocess.Popen(
        ["/bin/sh", "-c", f'ulimit -n {FILES}; exec "$@"', "sh", *words],
        env={**os.environ, "DIALIN_HOME": str(directory / "home")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    yield Page(process)
    process.terminate()
    process.communicate()


@contextmanager
def flooded(page, count, says=b""):
    """A page to which so many more connections were made, each of which says something and no more."""
    with ExitStack() as opened:
        for _ in range(100 * count):
            with suppress(OSError):  # the page's short queue is full: the kernel would try again after a second
                connection = opened.enter_context(socket.create_connection(page.place, 0.02))
                count -= 1
                connection.sendall(says)
            if not count:
                break
        assert not count
        yield


def test_a_flood_of_silent_connections_does_not_keep_a_viewer_out_and_does_not_end_the_page(page):
    assert page.status() == 200
    with flooded(page, FILES), flooded(page, FILES):
        assert page.status() == 200
        with flooded(page, FILES):
            assert page.status() == 200
        assert page.process.poll() is None
    assert page.status() == 200


def test_a_flood_of_half_a_request_does_not_keep_a_viewer_out(page):
    with flooded(page, 2 * FILES, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-a: "):
        assert page.status() == 200
    assert page.process.poll() is None


def test_a_viewer_who_opens_many_streams_still_gets_the_page(page):
    stream = f"GET {page.path}events HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {page.cookie}\r\n\r\n"
    with flooded(page, FILES, stream.encode()):
        assert page.status() == 200
    assert page.process.poll() is None

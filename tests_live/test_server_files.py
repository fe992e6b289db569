"""An attached server's process, files and start, on real servers: found directly, never through a tunnel."""

import socket
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from dialin.clock import SystemClock
from dialin.servers.attached.attached_build import start_time
from dialin.servers.attached.client_options import find_account
from dialin.servers.attached.server import Attached
from dialin.servers.processes import processes
from live import FAST_OR_ALL
from playground import option_file, playground

BUILDS = [pytest.param(build, id=build.id) for build in FAST_OR_ALL]


@pytest.fixture(scope="module", params=BUILDS)
def server(request):
    with playground(request.param) as made:
        yield made


def carry(source, sink):
    with suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextmanager
def tunnel(target):
    """Forward a port of this machine to a server's unix socket, as an SSH tunnel does; yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept():
            with suppress(OSError):
                while True:
                    near, _ = listener.accept()
                    far = socket.socket(socket.AF_UNIX)
                    far.connect(str(target))
                    for ends in ((near, far), (far, near)):
                        threading.Thread(target=carry, args=ends, daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]


def value(server, name):
    return server.query(f"SELECT @@GLOBAL.{name}")[0][0]


def attach(path):
    return Attached(find_account(path, None, {}), SystemClock())


def test_a_server_of_this_machine_is_found_with_its_data_and_its_log(server, tmp_path):
    port = value(server, "port")
    for more in ({}, {"socket": None, "host": "127.0.0.1", "port": port}):
        attached = attach(option_file(server, tmp_path / "account.cnf", **more))
        assert attached.pid in {process.pid for process in processes(Path(server.entry.directory))}
        assert attached.data_directory == Path(value(server, "datadir")).resolve()
        assert "ready for connections" in attached.log_tail()


def test_behind_a_tunnel_nothing_of_this_machine_is_taken_for_the_servers(server, tmp_path):
    with tunnel(server.entry.socket) as port:
        attached = attach(option_file(server, tmp_path / "account.cnf", socket=None, host="127.0.0.1", port=port))
        assert attached.variables()["hostname"] == socket.gethostname()
        assert (attached.pid, attached.files, attached.log_tail()) == (None, None, "")


def test_a_capture_makes_no_file_behind_a_tunnel(server, dialin, tmp_path):
    def logs():
        return set(Path(value(server, "datadir")).glob("dialin-capture*"))

    with tunnel(server.entry.socket) as port:
        account = option_file(server, tmp_path / "account.cnf", socket=None, host="127.0.0.1", port=port)
        words = ["--attach", "--defaults-file", account, "--minutes", "0.1", "--yes", "--out", tmp_path / "c"]
        _, err = dialin("capture", "start", *words, code=2)
    assert "as behind a tunnel" in " ".join(err.split())
    assert logs() == set()


def test_uptime_follows_the_servers_clock_so_that_setting_it_changes_no_start(server, tmp_path):
    with attach(option_file(server, tmp_path / "account.cnf")).connect() as query:
        before = start_time(query)
        for step in (-3600, 86_400):
            (now,) = query("SELECT UNIX_TIMESTAMP()")[0]
            query(f"SET SESSION timestamp = {now + step}")  # as if the clock had been set, for this session
            after = start_time(query)
            query("SET SESSION timestamp = DEFAULT")
            assert not after.is_another(before)

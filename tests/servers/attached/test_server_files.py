"""Which process is an attached server's, and which of the files that a server names are read: no others, whatever it says."""

import os
import socket
from contextlib import contextmanager
from pathlib import Path

import pytest

from dialin.model.place import Attachment
from dialin.servers.account import Account
from dialin.servers.attached import server_files
from dialin.servers.attached.server_files import ServerFiles, log_lines, open_own, own_directory
from dialin.servers.attached.server_process import find, is_server_program
from fixtures.listening_process import listening_process
from servers.attached.fakes import FakeServer

HOST = socket.gethostname()
LINE = "2026-11-28T18:56:52.286033Z 0 [Warning] [MY-010101] [Server] Insecure configuration"
SECRET = "root:$6$salt$hash:20228:0:99999:7:::\npassword = hunter2\n-----BEGIN PRIVATE KEY-----\n"


@pytest.fixture
def place(tmp_path):
    """A server's data directory with its log, and a secret beside it."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "host.err").write_text(f"{LINE}\n")
    (tmp_path / "secret").write_text(SECRET)
    return data


@contextmanager
def server_at(place, log="host.err", program="mysqld"):
    """A process that counts as a server; yields it as dialin finds it."""
    listened = place.parent / "s.sock"
    listened.unlink(missing_ok=True)
    with listening_process(program, listened, place / log if log else None):
        yield find(Account(socket=listened), "")


def variables(place, **more):
    return {"datadir": f"{place}/", "log_error": "./host.err", **more}


# The process


@pytest.mark.parametrize(
    ("arguments", "is_one"),
    [
        (["/usr/sbin/mysqld", "--user=mysql"], True),
        (["mariadbd"], True),
        (["mysqld-debug"], True),
        (["/opt/bitnami/mysqld.bin"], True),
        (["/b/ld-linux-x86-64.so.2", "--library-path", "/b", "/b/mysqld", "--defaults-file=x"], True),
        (["/b/ld-linux-x86-64.so.2", "/usr/bin/ssh", "db1"], False),
        (["ssh", "-L", "3306:127.0.0.1:3306", "mysqld"], False),
        (["mysqlrouter"], False),
        (["mysqld_exporter"], False),
        (["python", "mysqld"], False),
        (["docker-proxy"], False),
        ([""], False),
        ([], False),
    ],
)
def test_a_server_is_known_by_its_program(arguments, is_one):
    assert is_server_program(arguments) is is_one


def test_the_process_that_listens_on_the_socket_is_the_server_if_it_runs_one(tmp_path):
    for program, is_one in (("mysqld", True), ("ssh", False), ("python", False)):
        with listening_process(program, tmp_path / program) as (pid, _):
            process = find(Account(socket=tmp_path / program), "any")
            assert (process and process.pid) == (pid if is_one else None)
    assert find(Account(socket=tmp_path / "mysqld"), "any") is None


def test_the_process_that_listens_on_the_port_is_the_server_if_it_runs_one_on_this_host():
    with listening_process("mysqld") as (pid, port), listening_process("ssh") as (_, tunnel):
        account = Account(host="127.0.0.1", port=port)
        process = find(account, HOST)
        assert (process.pid, process.user) == (pid, os.geteuid())
        assert find(account, "db7") is None
        assert find(Account(host="127.0.0.1", port=tunnel), HOST) is None
        assert find(Account(host="10.0.0.7", port=port), HOST) is None
    assert find(account, HOST) is None
    assert not process.is_alive


# Its log


def test_a_servers_own_log_is_read_also_after_the_server_has_ended(place):
    with server_at(place) as process:
        files = ServerFiles.prove(process, variables(place))
        assert (files.data, files.log_tail()) == (place, LINE)
    assert files.log_tail() == LINE


def fifo(path):
    os.mkfifo(path)


NAMED = {
    "a secret": lambda path: path.write_text(f"{LINE}\n{SECRET}"),
    "a link to a secret": lambda path: path.symlink_to(path.parent / "secret"),
    "a link to the log": lambda path: path.symlink_to(path.parent / "data" / "host.err"),
    "a fifo": fifo,
    "a directory": lambda path: path.mkdir(),
    "nothing": lambda path: None,
}


@pytest.mark.parametrize("what", NAMED)
def test_a_file_that_the_server_only_names_is_not_read(place, what):
    named = place.parent / "named"
    NAMED[what](named)
    with server_at(place) as process:
        for log_error in (str(named), "../named"):
            assert ServerFiles.prove(process, variables(place, log_error=log_error)).log_tail() == ""


@pytest.mark.parametrize(
    "log_error", ["/dev/zero", "/etc/passwd", "/etc/shadow", "/proc/self/environ", "stderr", "", "/", "a\0b", "/a\0b", "."]
)
def test_neither_devices_nor_files_of_the_system_are_read(place, log_error):
    with server_at(place) as process:
        assert ServerFiles.prove(process, variables(place, log_error=log_error)).log is None


def test_a_log_that_becomes_something_else_is_not_read_any_more(place):
    log = place / "host.err"
    with server_at(place) as process:
        files = ServerFiles.prove(process, variables(place))
        for replace in (fifo, lambda path: path.symlink_to(place.parent / "secret"), lambda path: path.write_text(SECRET)):
            log.unlink()
            replace(log)
            assert files.log_tail() == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="to others, root's directories do not belong")
@pytest.mark.parametrize("named", ["/etc", "/dev", "/proc", "/"])
def test_a_server_that_runs_as_root_does_not_own_the_whole_system(place, named):
    with server_at(place) as process:
        assert own_directory(process, named) is None
        assert ServerFiles.prove(process, variables(named)).log is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_of_another_user_are_not_the_servers(place):
    with server_at(place) as process:
        os.chown(place / "host.err", 12345, 12345)
        assert ServerFiles.prove(process, variables(place)).log is None
        os.chown(place, 12345, 12345)
        files = ServerFiles.prove(process, variables(place))
        assert (files.data, files.log) == (None, None)
        with pytest.raises(PermissionError):
            open_own(place / "host.err", os.geteuid())


def test_a_log_in_a_directory_that_others_may_change_is_not_read(place):
    shared = place.parent / "shared"
    shared.mkdir()
    (shared / "log").write_text(f"{LINE}\n")
    named = variables(place, log_error=str(shared / "log"))
    with server_at(place, log="../shared/log") as process:
        assert ServerFiles.prove(process, named).log_tail() == LINE
        if os.geteuid() == 0:
            os.chown(shared, 12345, 0)
            assert ServerFiles.prove(process, named).log is None


def test_a_data_directory_may_be_a_link_that_the_administrator_made(place, tmp_path):
    (tmp_path / "link").symlink_to(place)
    with server_at(place) as process:
        assert ServerFiles.prove(process, variables(tmp_path / "link")).data == place


@pytest.mark.parametrize("named", ["", "relative", "/no/such", "/dev/null", "a\0", "/a\0"])
def test_a_data_directory_that_is_none_is_not_used(place, named):
    with server_at(place) as process:
        assert own_directory(process, named) is None


def test_only_the_end_of_a_long_log_is_read(place):
    log = place / "host.err"
    with log.open("wb") as file:
        file.write(f"{LINE}\n".encode() * 20_000)
        file.seek(1 << 36)  # a sparse file, which takes no space
        file.write(b"\n2026-11-28 18:56:52 7 [ERROR] the end\n")
    with server_at(place) as process:
        assert ServerFiles.prove(process, variables(place)).log_tail() == "2026-11-28 18:56:52 7 [ERROR] the end"


# Its lines

LINES = [
    LINE,
    "2026-11-28T18:56:52.286033+02:00 12 [ERROR] [MY-012345] [InnoDB] Cannot allocate memory",
    "2026-11-28 18:58:02 0 [Note] Starting MariaDB 10.11.19",
    "2026-11-28  8:58:02 0 [Note] InnoDB: one digit of the hour",
    "2026-11-28 18:57:44 14606 [Note] InnoDB: MySQL 5.6",
    "2026-11-28 18:57:44 7fbce5d1a26f InnoDB: Error: MySQL 5.6".replace("7fbce5d1a26f", "0x7fbce5d1a26f"),
    "261128 18:58:04 [ERROR] /usr/sbin/mariadbd got signal 11 ;",
    "261128  8:58:04 [Note] MySQL 5.5",
    "261128 18:58:04 mysqld_safe Starting mysqld daemon",
    "2026-11-28T18:56:58Z UTC - mysqld got signal 11 ;",
    "18:57:46 UTC - mysqld got signal 11 ;",
    "InnoDB: Assertion failure in file x",
    "/usr/sbin/mysqld: Table './a/b' is marked as crashed",
    "mariadbd: Out of memory",
    "/b/mysqld(handle_fatal_signal+0x3d8)[0x673a08]",
    "/b/mysqld(mysqld_main(int, char**)+0x2bb8) [0xd77378]",
    " #6 0x7fbdecf30f75 poll",
]
OTHERS = [
    *SECRET.splitlines(),
    "",
    "2026-11-28T18:56:52Z host sshd[7]: Accepted publickey for root",
    "Nov 28 18:56:52 host kernel: secret",
    "127.0.0.1 - - [28/Nov/2026:18:56:52 +0000] GET /?token=secret",
    "[client]",
    "user=mysqld",
    "mysqld",
    "# User@Host: root[root] @ localhost []",
    "SELECT password FROM users",
]


def test_only_lines_that_a_server_writes_are_used():
    mixed = [line for pair in zip(LINES, OTHERS * 3, strict=False) for line in pair]
    assert log_lines("\n".join(mixed)) == "\n".join(LINES)


def test_lines_are_escaped_shortened_and_few():
    text = "\n".join([f"2026-11-28 18:58:02 0 [Note] \x1b]0;title\x07\u202e{'x' * 5000}"] * 99)
    lines = log_lines(text).split("\n")
    assert len(lines) == server_files._LINES
    assert all(line.isprintable() and len(line) < 1200 for line in lines)


# The attached server


def test_a_server_behind_a_tunnel_or_on_another_host_names_files_in_vain(clock, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(f"{LINE}\n")
    named = {"hostname": HOST, "log_error": str(secret), "pid_file": "/dev/zero", "datadir": f"{tmp_path}/"}
    with listening_process("ssh", tmp_path / "s.sock", secret) as _, listening_process("ssh", None, secret) as (_, port):
        for account in (Account(socket=tmp_path / "s.sock"), Account(host="127.0.0.1", port=port), Account(host="db1")):
            attached = FakeServer(**named).attached(clock, account)
            attached.bind(attached.build.facts)
            assert (attached.pid, attached.files, attached.data_directory, attached.log_tail()) == (None, None, None, "")


def test_files_are_proved_to_be_readable_before_anything_is_changed(clock, log, place):
    with listening_process("mysqld", place.parent / "s.sock", place / "host.err") as (pid, _):
        attached = FakeServer(**variables(place)).attached(clock, Account(socket=place.parent / "s.sock"))
        log.begin(attached, Attachment(), ["max_connections"])
        assert (attached.pid, attached.data_directory) == (pid, place)
    assert (attached.pid, attached.data_directory, attached.log_tail()) == (None, None, LINE)


def test_paths_without_a_proof_are_read_nowhere_else():
    """What a server names is opened in `server_files` alone: no other module makes a path of these variables."""
    source = Path(server_files.__file__).parents[2]
    names = ("log_error", "pid_file", "datadir", "slow_query_log_file", "general_log_file", "tmpdir")
    makes = [
        f"{path.relative_to(source)}:{number}"
        for path in source.rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if path.name != "server_files.py" and any(name in line for name in names) and (" Path(" in line or "open(" in line)
    ]
    assert makes == []

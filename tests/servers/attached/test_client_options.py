"""Where the account of an attached server is found, file by file."""

import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from dialin.errors import UserError
from dialin.servers.account import TlsMode
from dialin.servers.attached.client_options import find_account


class Machine:
    """A home directory, a system's option file, and nothing else."""

    def __init__(self, root):
        self.home, self.system = root / "home", root / "etc-my.cnf"
        self.home.mkdir()
        self.socket = root / "mysqld.sock"
        self.environment = {"HOME": str(self.home), "USER": "ada"}

    def write(self, text, path=None, mode=0o600):
        path = path or self.home / ".my.cnf"
        path.write_text(text)
        path.chmod(mode)
        return path

    def write_login_paths(self, text, mode=0o600):
        """A file as mysql_config_editor writes it: a key, then each line encrypted and padded."""
        path = self.home / ".mylogin.cnf"
        scrambled = bytes(range(20))
        key = bytearray(16)
        for position, byte in enumerate(scrambled):
            key[position % 16] ^= byte
        out = b"\0\0\0\0" + scrambled
        for line in text.splitlines(keepends=True):
            data = line.encode()
            pad = 16 - len(data) % 16
            encryptor = Cipher(algorithms.AES(bytes(key)), modes.ECB()).encryptor()
            cipher = encryptor.update(data + bytes([pad]) * pad)
            out += len(cipher).to_bytes(4, "little") + cipher
        path.write_bytes(out)
        path.chmod(mode)
        return path

    def find(self, defaults_file=None, login_path=None, **environment):
        return find_account(
            defaults_file,
            login_path,
            {**self.environment, **environment},
            system_files=(self.system,),
            sockets=(Path("/nowhere/s.sock"), self.socket),
        )


@pytest.fixture
def machine(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return Machine(tmp_path)


def test_without_any_file_the_account_is_ones_own_at_the_socket_of_this_machine(machine):
    machine.socket.touch()
    account = machine.find()
    assert (account.user, account.password, account.socket) == ("ada", "", machine.socket)
    assert account.tls.mode is TlsMode.PREFERRED


def test_root_is_root_whatever_the_environment_says(machine, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert machine.find().user == "root"


def test_the_users_file_wins_over_the_systems(machine):
    machine.write("[client]\nuser=system\nport=3307\nhost=db1", machine.system)
    machine.write("[client]\nuser=mine")
    account = machine.find()
    assert (account.user, account.host, account.port, account.socket) == ("mine", "db1", 3307, None)


def test_a_named_file_is_the_only_one(machine, tmp_path):
    machine.write("[client]\npassword=elsewhere\nhost=db1")
    named = machine.write("[client]\nuser=b\nsocket=/s.sock", tmp_path / "named.cnf")
    account = machine.find(named)
    assert (account.user, account.password, account.socket) == ("b", "", Path("/s.sock"))


@pytest.mark.parametrize("group", ["client", "client-server", "client-mariadb", "dialin"])
def test_the_groups_of_every_client_and_dialins_own_are_read(machine, group):
    machine.write(f"[mysqld]\nuser=mysql\n[mysqldump]\nuser=dump\n[{group}]\nuser=right\n[mysql]\nuser=shell")
    assert machine.find().user == "right"


def test_values_are_read_as_the_client_reads_them(machine):
    machine.write("[client]\nuser = \"a b\"  # who\npassword='x#y'\nloose-ssl-ca=/ca.pem\n")
    account = machine.find()
    assert (account.user, account.password, account.tls.ca) == ("a b", "x#y", "/ca.pem")


def test_includes_are_followed_and_unreadable_ones_left_out(machine, tmp_path, monkeypatch):
    more = tmp_path / "conf.d"
    more.mkdir()
    machine.write("[client]\nuser=included", more / "a.cnf")
    machine.write("[client]\nuser=secret", more / "b.cnf")
    machine.write(f"!includedir {more}\n")
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "b.cnf" and real(path, mode))
    assert machine.find().user == "included"


def test_the_environment_fills_what_the_files_leave_open(machine):
    machine.write("[client]\nuser=a\n")
    account = machine.find(MYSQL_HOST="db2", MYSQL_TCP_PORT="3310", MYSQL_PWD="from the environment")
    assert (account.host, account.port, account.password) == ("db2", 3310, "from the environment")
    machine.write("[client]\npassword=of the file\n")
    assert machine.find(MYSQL_PWD="no").password == "of the file"
    assert machine.find(MYSQL_UNIX_PORT="/other.sock").socket == Path("/other.sock")


def test_localhost_is_the_socket_and_an_address_is_tcp(machine):
    for text, socket in [
        ("host=localhost\nsocket=/a.sock", Path("/a.sock")),
        ("host=127.0.0.1\nsocket=/a.sock", None),
        ("host=localhost\nprotocol=TCP", None),
        ("host=db1\nprotocol=socket\nsocket=/a.sock", Path("/a.sock")),
    ]:
        machine.write(f"[client]\n{text}\n")
        assert machine.find().socket == socket


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("", TlsMode.PREFERRED),
        ("ssl-mode=REQUIRED", TlsMode.REQUIRED),
        ("ssl_mode=verify_identity\nssl-ca=/ca", TlsMode.VERIFY_IDENTITY),
        ("ssl-mode=DISABLED\nssl-ca=/ca", TlsMode.DISABLED),
        ("ssl-ca=/ca", TlsMode.VERIFY_CA),
        ("ssl", TlsMode.REQUIRED),
        ("ssl=0", TlsMode.DISABLED),
        ("skip-ssl", TlsMode.DISABLED),
        ("ssl-verify-server-cert\nssl-ca=/ca", TlsMode.VERIFY_IDENTITY),
        ("ssl\ndisable-ssl-verify-server-cert", TlsMode.REQUIRED),
        ("ssl-cert=/c\nssl-key=/k", TlsMode.REQUIRED),
    ],
)
def test_tls_follows_the_options_of_either_flavours_client(machine, text, mode):
    machine.write(f"[client]\n{text}\n")
    assert machine.find().tls.mode is mode


@pytest.mark.parametrize(
    ("text", "fetched"), [("", False), ("get-server-public-key", True), ("get-server-public-key=OFF", False)]
)
def test_a_public_key_is_fetched_where_an_option_asks_for_it(machine, text, fetched):
    machine.write(f"[client]\nuser=a\n{text}\n")
    assert machine.find().fetches_public_key is fetched


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("port=no", "'no' is not a port"),
        ("port=70000", "not a port"),
        ("port=²", "not a port"),
        (f"port={'9' * 4000}", "not a port"),
        ("protocol=pipe", "protocol pipe"),
        ("ssl-mode=PERHAPS", "ssl-mode PERHAPS is unknown"),
    ],
)
def test_an_option_without_meaning_is_named(machine, text, words):
    machine.write(f"[client]\n{text}\n")
    with pytest.raises(UserError, match=words):
        machine.find()


def test_a_file_that_is_not_there_or_has_no_account_is_named(machine, tmp_path):
    with pytest.raises(UserError, match=r"none\.cnf does not exist\. --defaults-file names .* below \[client\]"):
        machine.find(tmp_path / "none.cnf")
    empty = machine.write("[mysqld]\nport=1\n", tmp_path / "empty.cnf")
    with pytest.raises(UserError, match=r"no options in a group \[client\]"):
        machine.find(empty)


@pytest.mark.parametrize("text", ["password hunter2\n", "[client\npassword=hunter2\n", "[client]\n!hunter2 x\n"])
def test_no_error_quotes_a_line_that_may_hold_a_password(machine, tmp_path, text):
    path = machine.write(text, tmp_path / "broken.cnf")
    with pytest.raises(UserError) as caught:
        machine.find(path)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(("text", "words"), [("user=a\n", "Put [client] above it"), ("[client\n", "Write it like [client]")])
def test_a_clients_file_is_spoken_of_as_one(machine, tmp_path, text, words):
    with pytest.raises(UserError) as caught:
        machine.find(machine.write(text, tmp_path / "broken.cnf"))
    assert caught.value.remedy == words


@pytest.mark.parametrize("error", [ValueError, TypeError, IndexError, KeyError, RuntimeError, UnicodeDecodeError])
def test_a_file_of_login_paths_that_its_library_cannot_take_is_said_without_its_words(machine, monkeypatch, error):
    machine.write_login_paths("[a]\nuser=a\n")

    def failing(path):
        raise error(*(("utf-8", b"hunter2", 0, 1, "hunter2") if error is UnicodeDecodeError else ("hunter2",)))

    monkeypatch.setattr("myloginpath.read", failing)
    with pytest.raises(UserError, match="is not a file of login paths") as caught:
        machine.find(login_path="a")
    assert "hunter2" not in str(caught.value)


def test_a_password_that_others_can_read_is_pointed_out(machine):
    path = machine.write("[client]\npassword=hunter2\n", mode=0o644)
    (note,) = machine.find().notes
    assert str(path) in note
    assert "hunter2" not in note
    path.chmod(0o600)
    assert machine.find().notes == ()


def test_a_file_that_everybody_may_write_to_is_not_read(machine):
    machine.write("[client]\nuser=trap\n", mode=0o666)
    account = machine.find()
    assert account.user == "ada"
    assert "everybody may write" in account.notes[0]


LOGIN_PATHS = '[client]\nuser = "common"\nhost = "db0"\n[admin]\nuser = "chief"\npassword = "p#w\\"d"\nport = 3399\n'


def test_a_login_path_wins_over_the_option_files_and_over_the_common_one(machine):
    machine.write("[client]\nuser=of the file\nssl-mode=REQUIRED\n")
    machine.write_login_paths(LOGIN_PATHS)
    account = machine.find(login_path="admin")
    assert (account.user, account.password, account.host, account.port) == ("chief", 'p#w"d', "db0", 3399)
    assert account.tls.mode is TlsMode.REQUIRED
    assert machine.find().user == "common"


def test_login_paths_may_lie_elsewhere_and_count_beside_a_named_file(machine, tmp_path):
    moved = tmp_path / "moved"
    machine.write_login_paths(LOGIN_PATHS).rename(moved)
    named = machine.write("[client]\nuser=b\nssl-mode=DISABLED\n", tmp_path / "named.cnf")
    account = machine.find(named, "admin", MYSQL_TEST_LOGIN_FILE=str(moved))
    assert (account.user, account.tls.mode) == ("chief", TlsMode.DISABLED)


def test_a_login_path_that_is_not_there_is_named(machine):
    with pytest.raises(UserError, match="does not exist, so there is no login path admin"):
        machine.find(login_path="admin")
    machine.write_login_paths(LOGIN_PATHS)
    with pytest.raises(UserError, match="has no login path other"):
        machine.find(login_path="other")


def test_login_paths_open_to_others_or_broken_are_refused_where_asked_for_and_left_out_otherwise(machine):
    path = machine.write_login_paths(LOGIN_PATHS, mode=0o644)
    with pytest.raises(UserError, match="open to others"):
        machine.find(login_path="admin")
    assert machine.find().user == "ada"
    assert "was left out" in machine.find().notes[0]
    path.write_bytes(b"\0\0\0\0" + bytes(20) + b"\x10\0\0\0" + b"nonsense" * 2)
    path.chmod(stat.S_IRUSR)
    with pytest.raises(UserError, match="not a file of login paths"):
        machine.find(login_path="admin")


def test_the_password_shows_in_no_text_of_the_account(machine):
    machine.write("[client]\npassword=hunter2\n")
    account = machine.find()
    assert "hunter2" not in repr(account) + str(account)

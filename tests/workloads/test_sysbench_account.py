"""How sysbench is told whom to log in as."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.errors import UserError
from dialin.model.workload import WorkloadSpec
from dialin.servers.account import Account, Tls, TlsMode
from dialin.workloads import sysbench_account
from dialin.workloads.base import Target
from dialin.workloads.sysbench import Sysbench


def as_sysbench_reads(line):
    """What sysbench 1.0.20 takes for the value of a line of its configuration file."""
    text = line.rstrip("\n").partition("=")[2].lstrip()
    if text[0] in "\"'":
        return text[1 : text.index(text[0], 1)]
    return text.replace(",", " ").split()[0]


@pytest.fixture
def certificates(tmp_path):
    files = {}
    for name in ("ca", "certificate", "key"):
        files[name] = str(tmp_path / f"{name}.pem")
        Path(files[name]).touch()
    return files


def test_a_password_goes_into_a_private_file_and_not_on_the_command_line(tmp_path):
    account = Account(socket=Path("/s.sock"), user="dialin", password="hunter2")
    options = sysbench_account.options(account, tmp_path)
    path = options["config-file"]
    assert path.read_text() == 'mysql-password="hunter2"\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert options == {"config-file": path, "mysql-socket": Path("/s.sock"), "mysql-user": "dialin"}
    assert sysbench_account.options(account, tmp_path) == options


def test_an_account_without_a_password_needs_no_file(tmp_path):
    assert sysbench_account.options(Account(socket=Path("/s.sock")), tmp_path) == {
        "mysql-socket": Path("/s.sock"),
        "mysql-user": "root",
    }
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "db1"])
def test_over_tcp_host_and_port_are_reported(tmp_path, host):
    options = sysbench_account.options(Account(host=host, port=3307), tmp_path)
    # The client library would take a unix socket for localhost.
    assert (options["mysql-host"], options["mysql-port"]) == ("db1" if host == "db1" else "127.0.0.1", 3307)


@given(st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z"), include_characters=" "), min_size=1, max_size=60))
def test_every_password_that_is_written_is_read_as_it_is(password):
    try:
        line = sysbench_account._password_line(password)
    except UserError:
        assert '"' in password
        assert "'" in password
    else:
        assert as_sysbench_reads(line) == password


@pytest.mark.parametrize("password", ["a'b\"c d", "\"'", "x\ny", "x" * 300, "a\tb"])
def test_a_password_that_sysbench_cannot_be_reported_is_refused_and_not_shown(password):
    with pytest.raises(UserError, match="cannot be given the account's password") as caught:
        Sysbench(WorkloadSpec()).check_account(Account(password=password))
    assert password not in str(caught.value)


def test_tls_is_reported_by_the_only_file_names_that_sysbench_knows(tmp_path, certificates):
    account = Account(host="db1", tls=Tls(TlsMode.VERIFY_CA, **certificates))
    options = sysbench_account.options(account, tmp_path)
    assert options["mysql-ssl"] == "on"
    links = {"cacert.pem": "ca", "client-cert.pem": "certificate", "client-key.pem": "key"}
    assert {name: str((tmp_path / name).readlink()) for name in links} == {
        name: certificates[part] for name, part in links.items()
    }


@pytest.mark.parametrize(("part", "option"), [("ca", "ssl-ca"), ("certificate", "ssl-cert"), ("key", "ssl-key")])
def test_tls_that_sysbench_cannot_do_is_refused_before_the_study(certificates, part, option):
    workload = Sysbench(WorkloadSpec())
    with pytest.raises(UserError, match=f"{option} is missing"):
        workload.check_account(Account(host="db1", tls=Tls(TlsMode.REQUIRED, **{**certificates, part: None})))
    with pytest.raises(UserError, match=f"{option} .* cannot be read"):
        workload.check_account(Account(host="db1", tls=Tls(TlsMode.REQUIRED, **{**certificates, part: "/none"})))
    workload.check_account(Account(host="db1", tls=Tls(TlsMode.PREFERRED)))
    workload.check_account(Account(socket=Path("/s"), tls=Tls(TlsMode.REQUIRED)))


def test_the_password_of_the_environment_is_not_taken_for_the_accounts(monkeypatch):
    monkeypatch.setenv("MYSQL_PWD", "hunter2")
    assert "MYSQL_PWD" not in Sysbench(WorkloadSpec())._environment
    assert os.environ["MYSQL_PWD"] == "hunter2"


def test_the_command_line_of_the_load_holds_no_password(tmp_path, monkeypatch):
    workload = Sysbench(WorkloadSpec())
    monkeypatch.setitem(workload.__dict__, "_known_options", frozenset({"tables"}))
    target = Target(Account(socket=Path("/s.sock"), password="hunter2"), tmp_path, "mine")
    words = workload._arguments(target, threads=2)
    assert f"--config-file={tmp_path / 'sysbench.cnf'}" in words
    assert "--mysql-db=mine" in words
    assert not [word for word in words if "hunter2" in word]


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("FATAL: error 3159: Connections using insecure transport are prohibited", "wants TLS"),
        ("FATAL: error 2059: Authentication plugin 'x' cannot be loaded", "plugin"),
        ("FATAL: error 1045: Access denied", "without TLS"),
        ("FATAL: out of memory", "See its log"),
    ],
)
def test_a_login_that_fails_is_explained(words, remedy):
    assert remedy in sysbench_account.remedy(words)

"""How dialin-load is told whom to log in as."""

import stat
from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.servers.account import Account, Tls, TlsMode
from dialin.workloads import dialin_load_account
from dialin.workloads.base import Target


def test_a_password_goes_into_a_private_file_and_not_on_the_command_line(tmp_path):
    account = Account(socket=Path("/s.sock"), user="dialin", password="hunter2")
    words = dialin_load_account.options(Target(account, tmp_path), "sbtest")
    file = tmp_path / "dialin-load.cnf"
    assert words == [
        f"--sessions-file={tmp_path / 'load.sessions'}",
        f"--defaults-file={file}",
        "--socket=/s.sock",
        "--user=dialin",
        "--database=sbtest",
        "--ssl-mode=preferred",
    ]
    assert file.read_text() == '[client]\npassword = "hunter2"\n'
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert dialin_load_account.options(Target(account, tmp_path), "sbtest") == words


def test_special_characters_of_option_files_are_escaped(tmp_path):
    account = Account(socket=Path("/s.sock"), password="a\"b\\c#d'e\n\tf")
    dialin_load_account.options(Target(account, tmp_path), "sbtest")
    assert (tmp_path / "dialin-load.cnf").read_text() == '[client]\npassword = "a\\"b\\\\c#d\'e\\n\\tf"\n'


def test_an_account_without_a_password_needs_no_file(tmp_path):
    words = dialin_load_account.options(Target(Account(host="db1", port=3307), tmp_path), "s")
    assert words[1:] == ["--host=db1", "--port=3307", "--user=root", "--database=s", "--ssl-mode=preferred"]
    assert not any(tmp_path.iterdir())


def test_tls_is_reported_with_its_files(tmp_path):
    ca = tmp_path / "ca.pem"
    ca.touch()
    account = Account(host="db1", tls=Tls(TlsMode.VERIFY_CA, ca=str(ca)))
    dialin_load_account.check(account)
    assert dialin_load_account.options(Target(account, tmp_path), "s")[-2:] == ["--ssl-mode=verify_ca", f"--ssl-ca={ca}"]


def test_the_servers_public_key_is_fetched_only_for_an_account_that_asks_for_it(tmp_path):
    account = Account(host="db1", fetches_public_key=True)
    assert "--get-server-public-key" in dialin_load_account.options(Target(account, tmp_path), "s")
    assert "--get-server-public-key" not in dialin_load_account.options(Target(Account(host="db1"), tmp_path), "s")


@pytest.mark.parametrize("part", ["ca", "certificate", "key"])
def test_a_file_of_tls_that_cannot_be_read_is_named(tmp_path, part):
    files = {"certificate": __file__, "key": __file__, part: str(tmp_path / "gone.pem")}
    account = Account(host="db1", tls=Tls(TlsMode.REQUIRED, **files))
    with pytest.raises(UserError, match=r"gone\.pem cannot be read"):
        dialin_load_account.check(account)


@pytest.mark.parametrize(("there", "missing"), [("certificate", "key"), ("key", "certificate")])
def test_a_certificate_without_its_key_is_refused_before_anything_is_made_on_the_server(there, missing):
    account = Account(host="db1", tls=Tls(TlsMode.PREFERRED, **{there: __file__}))
    with pytest.raises(UserError, match=f"needs its key.*Give ssl-{missing.removesuffix('ificate')} too"):
        dialin_load_account.check(account)


@pytest.mark.parametrize("mode", [TlsMode.VERIFY_CA, TlsMode.VERIFY_IDENTITY])
def test_a_certificate_is_not_verified_without_an_authority(mode):
    with pytest.raises(UserError, match="Give ssl-ca"):
        dialin_load_account.check(Account(host="db1", tls=Tls(mode)))


def test_a_password_that_no_option_file_holds_is_refused():
    with pytest.raises(UserError, match="zero byte"):
        dialin_load_account.check(Account(password="a\0b"))

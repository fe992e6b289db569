"""Where the log of a capture is written."""

import os
import socket
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from dialin.capture.log_place import check_free, check_same, find_place, make_private, open_log, reserve_of
from dialin.capture.log_settings import Source
from dialin.errors import UserError
from dialin.servers.account import Account
from dialin.servers.attached.server_files import ServerFiles
from dialin.servers.attached.server_process import ServerProcess

GIB = 1024**3


@pytest.fixture
def variables(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "logs").mkdir()
    return {
        "log_output": "FILE",
        "hostname": socket.gethostname(),
        "datadir": f"{tmp_path}/data/",
        "slow_query_log_file": "db1-slow.log",
        "general_log_file": f"{tmp_path}/logs/db1.log",
    }


@pytest.fixture
def local(tmp_path):
    return Account(socket=tmp_path / "sock")


@pytest.fixture
def files(tmp_path, variables):
    """What is proved to be the server's; it runs in this process."""
    process = ServerProcess(os.getpid(), "", os.geteuid(), Path("/proc/self"))
    with (tmp_path / "logs" / "db1.err").open("w"):
        yield ServerFiles(process, tmp_path / "data", None)


def test_it_is_the_directory_asked_for_else_that_of_the_servers_own_log_else_the_data_directory(
    variables, local, files, tmp_path
):
    assert find_place(Source.SLOW, variables, local, files, None).directory == tmp_path / "data"
    assert find_place(Source.GENERAL, variables, local, files, None).directory == tmp_path / "logs"
    assert find_place(Source.SLOW, variables, local, files, tmp_path).directory == tmp_path


@pytest.mark.parametrize("output", ["TABLE", "NONE", "FILE,TABLE"])
def test_a_server_that_logs_to_tables_or_not_at_all_is_refused(variables, local, files, output):
    with pytest.raises(UserError, match="log_output"):
        find_place(Source.SLOW, {**variables, "log_output": output}, local, files, None)


def test_a_server_elsewhere_is_refused_with_the_way_that_works_there(variables, files):
    tcp = Account(host="127.0.0.1")
    assert find_place(Source.SLOW, variables, tcp, files, None)
    for account, proved in ((Account(host="db7"), files), (tcp, None), (tcp, ServerFiles(files.process, None, None))):
        with pytest.raises(UserError, match="dialin capture from"):
            find_place(Source.SLOW, variables, account, proved, None)


@pytest.mark.parametrize("named", ["/no/such/slow.log", "/dev/null", "/proc/slow.log"])
def test_a_directory_that_only_the_server_names_is_not_used(variables, local, files, named):
    with pytest.raises(UserError, match="--log-dir"):
        find_place(Source.SLOW, {**variables, "slow_query_log_file": named}, local, files, None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give directories away")
def test_a_directory_of_another_user_is_not_used(variables, local, files, tmp_path):
    os.chown(tmp_path / "logs", 12345, 12345)
    with pytest.raises(UserError, match="--log-dir"):
        find_place(Source.GENERAL, variables, local, files, None)


@pytest.fixture
def disk(monkeypatch):
    """Make the disk of any directory one of so many GiB, of which so many are free; its file system keeps some for itself."""

    def make(usable, free):
        usage = SimpleNamespace(total=(usable + 5) * GIB, used=(usable - free) * GIB, free=free * GIB)
        monkeypatch.setattr("shutil.disk_usage", lambda _: usage)

    return make


@pytest.mark.parametrize(("usable", "reserve"), [(20, 4), (50, 10), (91, 10), (2000, 10)])
def test_a_capture_leaves_a_fifth_of_a_small_disk_free_and_ten_gib_of_a_large_one(disk, tmp_path, usable, reserve):
    disk(usable, free=1)
    assert reserve_of(tmp_path) == reserve * GIB


def test_a_log_must_leave_so_much_of_the_disk_free(disk, tmp_path):
    disk(100, free=19)
    check_free(tmp_path, 9 * GIB, 10 * GIB)
    with pytest.raises(UserError, match=r"19 GiB free: a log of about 9\.1 GiB would leave less than 10 GiB") as error:
        check_free(tmp_path, 9.1 * GIB, 10 * GIB)
    assert error.value.remedy.startswith("Capture fewer --minutes")
    disk(100, free=9)
    with pytest.raises(UserError, match="would leave less than 10 GiB") as error:
        check_free(tmp_path, 0, 10 * GIB)
    assert error.value.remedy.startswith("Free space")


def test_the_file_is_private_and_nobody_elses(tmp_path):
    log = tmp_path / "capture.log"
    make_private(log, os.geteuid())
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert log.stat().st_uid == os.geteuid()
    with pytest.raises(UserError, match="cannot be made"):
        make_private(log, os.geteuid())


def test_a_link_is_not_followed_to_make_the_file(tmp_path):
    (tmp_path / "capture.log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="cannot be made"):
        make_private(tmp_path / "capture.log", os.geteuid())
    assert not (tmp_path / "elsewhere").exists()


def test_a_log_that_stays_empty_is_written_elsewhere(tmp_path):
    log = tmp_path / "capture.log"
    for make in (lambda: None, log.touch):
        make()
        with pytest.raises(UserError, match="dialin capture from"):
            open_log(log, os.geteuid())
    log.write_text("x")
    with open_log(log, os.geteuid()) as opened:
        assert opened.read() == b"x"


def test_only_a_file_of_the_server_is_read_as_its_log(tmp_path):
    log = tmp_path / "capture.log"
    (tmp_path / "secret").write_text("x")
    log.symlink_to(tmp_path / "secret")
    with pytest.raises(UserError, match="cannot be read"):
        open_log(log, os.geteuid())
    log.unlink()
    os.mkfifo(log)
    with pytest.raises(UserError, match="cannot be read: it is not a regular file"):
        open_log(log, os.geteuid())
    with pytest.raises(UserError, match="cannot be read: it is not a regular file of the server's user"):
        open_log(tmp_path / "secret", os.geteuid() + 1)


def test_a_log_that_was_replaced_is_not_captured(tmp_path):
    log = tmp_path / "capture.log"
    log.write_text("x")
    with open_log(log, os.geteuid()) as opened:
        check_same(log, opened)
        log.rename(tmp_path / "other")
        for make in (lambda: None, lambda: log.symlink_to(tmp_path / "other")):
            make()
            with pytest.raises(UserError, match="was replaced"):
                check_same(log, opened)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_log_that_may_not_be_read_is_refused(tmp_path):
    log = tmp_path / "capture.log"
    log.write_text("x")
    log.chmod(0)
    with pytest.raises(UserError, match="cannot be read"):
        open_log(log, os.geteuid())

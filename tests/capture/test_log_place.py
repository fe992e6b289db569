"""Where the log of a capture is written."""

import os
import socket
import stat

import pytest

from dialin.capture.log_place import check_free, check_is_written, find_place, make_private
from dialin.capture.log_settings import Source
from dialin.errors import UserError
from dialin.servers.account import Account

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


def test_it_is_the_directory_asked_for_else_that_of_the_servers_own_log_else_the_data_directory(variables, local, tmp_path):
    assert find_place(Source.SLOW, variables, local, None).directory == tmp_path / "data"
    assert find_place(Source.GENERAL, variables, local, None).directory == tmp_path / "logs"
    assert find_place(Source.SLOW, variables, local, tmp_path).directory == tmp_path


@pytest.mark.parametrize("output", ["TABLE", "NONE", "FILE,TABLE"])
def test_a_server_that_logs_to_tables_or_not_at_all_is_refused(variables, local, output):
    with pytest.raises(UserError, match="log_output"):
        find_place(Source.SLOW, {**variables, "log_output": output}, local, None)


def test_a_server_elsewhere_is_refused_with_the_way_that_works_there(variables):
    tcp = Account(host="127.0.0.1")
    assert find_place(Source.SLOW, variables, tcp, None)
    for account, changes in ((Account(host="db7"), {}), (tcp, {"hostname": "a-container"}), (tcp, {"datadir": "/nowhere/"})):
        with pytest.raises(UserError, match="dialin capture from"):
            find_place(Source.SLOW, {**variables, **changes}, account, None)


@pytest.mark.parametrize(("free", "needed", "says"), [(19, 1, "19.0 % free"), (30, 11, "less than 20 %"), (30, 9, None)])
def test_a_log_must_leave_a_fifth_of_the_disk_free(tmp_path, free, needed, says):
    def check():
        check_free(free * GIB, 100 * GIB, needed * GIB, tmp_path)

    if says is None:
        check()
        return
    with pytest.raises(UserError, match=says):
        check()


def test_the_file_is_private_and_nobody_elses(tmp_path):
    log = tmp_path / "capture.log"
    make_private(log, str(tmp_path))
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert log.stat().st_uid == tmp_path.stat().st_uid
    with pytest.raises(UserError, match="cannot be made"):
        make_private(log, str(tmp_path))


def test_a_log_that_stays_empty_is_written_elsewhere(tmp_path):
    log = tmp_path / "capture.log"
    for make in (lambda: None, log.touch):
        make()
        with pytest.raises(UserError, match="dialin capture from"):
            check_is_written(log)
    log.write_text("x")
    check_is_written(log)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_log_that_may_not_be_read_is_refused(tmp_path):
    log = tmp_path / "capture.log"
    log.write_text("x")
    log.chmod(0)
    with pytest.raises(UserError, match="cannot be read"):
        check_is_written(log)

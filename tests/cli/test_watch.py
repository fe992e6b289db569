import socket

import pytest

from dialin.store.store import Store


@pytest.fixture
def study(tmp_path, spec):
    directory = tmp_path / "study"
    directory.mkdir()
    facts = {"created": 1.0, "dialin_version": "0", "command": "", "host": {}, "servers": {}}
    Store.create(directory, spec, **facts).close()
    return directory


def test_a_directory_that_is_not_there_is_one_line(dialin):
    code, out, err = dialin("watch", "nowhere")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "There is no directory nowhere" in err


def test_a_port_that_is_taken_is_one_line(dialin, study):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = dialin("watch", str(study), "--port", str(port))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert f"Port {port} of 127.0.0.1 is taken" in err


def test_a_host_that_is_not_this_machine_is_one_line(dialin, study):
    code, _, err = dialin("watch", str(study), "--host", "192.0.2.1")
    assert code == 2
    assert "192.0.2.1 is no name or address of this machine" in err


def test_what_starts_the_page_beside_a_study_is_no_option_of_the_user(dialin):
    code, out, _ = dialin("watch", "--help")
    assert code == 0
    assert "--port" in out
    assert "--beside" not in out
    assert "grows while it runs" in " ".join(out.split())

import logging
import socket

import pytest

from dialin.dashboard import page_server
from dialin.errors import UserError


def test_a_free_port_of_loopback_is_taken_unless_reported():
    listening, place = page_server.listen("127.0.0.1", 0)
    with listening:
        assert place.port == listening.getsockname()[1] > 0
        assert (place.is_loopback, place.is_wildcard) == (True, False)
        assert place.origin == f"http://127.0.0.1:{place.port}"
        assert place.cookie == f"dialin_watch_{place.port}"


def test_a_port_that_is_taken_is_one_clear_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=rf"Port {port} of 127\.0\.0\.1 is taken. Name another --port"):
            page_server.listen("127.0.0.1", port)


def test_a_host_that_is_not_this_machine_is_refused():
    with pytest.raises(UserError, match=r"192\.0\.2\.1 is no name or address of this machine"):
        page_server.listen("192.0.2.1", 0)


def test_all_addresses_are_served_only_where_that_is_requested():
    listening, place = page_server.listen("0.0.0.0", 0)
    with listening:
        assert (place.is_loopback, place.is_wildcard) == (False, True)
        assert place.served.is_named_by(f"192.0.2.7:{place.port}")
        assert place.served.is_named_by(f"{socket.gethostname()}:{place.port}")
        assert not place.served.is_named_by(f"evil.example:{place.port}")
    assert not page_server.Place("127.0.0.1", 1, is_loopback=True, is_wildcard=False).served.is_named_by(socket.gethostname())


def test_the_servers_own_faults_go_to_a_file_and_nothing_else_does(tmp_path, capfd):
    names = ("uvicorn", "asyncio")
    before = [
        (logging.getLogger(name).handlers, logging.getLogger(name).level, logging.getLogger(name).propagate) for name in names
    ]
    path = tmp_path / "home" / "fault.log"
    try:
        page_server.log_errors(path)
        logging.getLogger("uvicorn.access").info("GET /?t=secret")
        logging.getLogger("uvicorn.error").warning("it came and went")
        assert not path.exists()
        logging.getLogger("uvicorn.error").error("it broke")
        assert path.read_text() == "it broke\n"
        assert capfd.readouterr() == ("", "")
    finally:
        for name, (handlers, level, propagate) in zip(names, before, strict=True):
            log = logging.getLogger(name)
            for handler in log.handlers:
                handler.close()
            log.handlers, log.propagate = handlers, propagate
            log.setLevel(level)

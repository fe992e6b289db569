import os
import socket
import stat
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from dialin.cli import watch
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


def test_the_option_that_starts_the_page_beside_a_study_is_not_the_users(dialin):
    code, out, _ = dialin("watch", "--help")
    assert code == 0
    assert "--port" in out
    assert "--beside" not in out
    assert "Show a study or a suite as a live page" in " ".join(out.split())


def test_a_browser_is_started_with_a_file_for_the_user_alone_that_leads_on_and_never_with_the_link(monkeypatch):
    launched = []
    monkeypatch.setattr(watch.typer, "launch", lambda url: launched.append(url) or 0)
    link = "http://127.0.0.1:40123/0123abcd/?t=secret"
    with watch._in_a_browser(link):
        (url,) = launched
        assert "secret" not in url
        file = Path(unquote(urlsplit(url).path))
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.stat().st_uid == os.getuid()
        assert f'content="0;url={link}"' in file.read_text()
    assert not file.exists()


def test_where_no_browser_starts_the_user_is_reported(monkeypatch, capsys):
    monkeypatch.setattr(watch.typer, "launch", lambda _: 1)
    with watch._in_a_browser("http://127.0.0.1:1/x/?t=x"):
        assert "No browser could be started" in capsys.readouterr().err

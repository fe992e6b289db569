"""Advice on real servers: by any account, without a change, and on a sandbox under a load."""

import json
import threading
from contextlib import contextmanager

import jsonschema
import pytest

from dialin.cli import app
from live import FAST, LIMIT

SECONDS = 2


@contextmanager
def sorting(server):
    """A client sorts what does not fit its buffer, again and again."""
    ended = threading.Event()
    server.query(
        "CREATE DATABASE IF NOT EXISTS sorted",
        "CREATE TABLE IF NOT EXISTS sorted.t (id INT AUTO_INCREMENT PRIMARY KEY, text CHAR(200) NOT NULL)",
        "INSERT INTO sorted.t (text) VALUES ('a'), ('b'), ('c'), ('d')",
        *["INSERT INTO sorted.t (text) SELECT text FROM sorted.t"] * 10,
        "ANALYZE TABLE sorted.t",
    )

    def sort():
        connection = server.connect()
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION sort_buffer_size = 32768")
            while not ended.is_set():
                cursor.execute("SELECT COUNT(*) FROM (SELECT text FROM sorted.t ORDER BY RAND() LIMIT 4000) AS some")
                ended.wait(0.2)
        connection.close()

    client = threading.Thread(target=sort)
    client.start()
    yield
    ended.set()
    client.join(LIMIT)


@pytest.fixture
def advice(monkeypatch, tmp_path, capsys):
    """Calls `dialin advise --json` in this process; gives what it printed."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        monkeypatch.setattr("sys.argv", ["dialin", "advise", "--json", "--seconds", str(SECONDS), *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            app.main()
        out, err = capsys.readouterr()
        assert ended.value.code == 0, err
        return json.loads(out)

    return call


def _codes(advice, variable):
    triggers = [one["triggers"] for one in advice["experiments"] if one["variable"] == variable]
    return [trigger["code"] for trigger in triggers[0]] if triggers else []


def test_any_account_gets_advice_on_a_running_server_that_is_not_changed(server, advice, tmp_path, pytestconfig):
    server.query("CREATE USER 'plain'@'localhost' IDENTIFIED BY 'plain text'")
    account = tmp_path / "plain.cnf"
    account.write_text(f'[client]\nuser = plain\npassword = "plain text"\nsocket = {server.entry.socket}\n')
    account.chmod(0o600)
    before = server.variables()
    with sorting(server):
        plain = advice("--attach", "--defaults-file", account)
        whole = advice("--attach", "--defaults-file", server.root)
    assert server.variables() == before
    schema = json.loads((pytestconfig.rootpath / "schema/advice.schema.json").read_text())
    for one in (plain, whole):
        jsonschema.validate(one, schema)
        assert one["server"] == server.build.id
        assert "sort_merge_passes" in _codes(one, "sort_buffer_size")
    assert any("PROCESS" in one["text"] for one in plain["unread"])
    assert any("Tables that the account" in one["text"] for one in plain["unread"])
    assert not any("PROCESS" in one["text"] for one in whole["unread"])
    assert whole["watch"]["data"] > 100_000
    sort = next(one for one in whole["experiments"] if one["variable"] == "sort_buffer_size")
    assert sort["command"].startswith("dialin sweep sort_buffer_size=")
    assert f"--attach --defaults-file {server.root} " in sort["command"]


def test_a_sandbox_is_watched_under_a_load(advice):
    load = ["--workload", "oltp_write_only", "--tables", "1", "--table-size", "5000", "--threads", "2"]
    found = advice("--server", FAST, "--set", "innodb_flush_log_at_trx_commit=2", *load)
    assert found["watch"]["queries"] > 0
    assert "oltp_write_only, 2 threads" in found["watch"]["load"]
    weaker = next(one for one in found["experiments"] if one["variable"] == "innodb_flush_log_at_trx_commit")
    assert [trigger["code"] for trigger in weaker["triggers"]] == ["weaker_commit"]
    assert f"=2,1 --server {FAST}" in weaker["command"]


def test_a_server_that_does_not_answer_is_one_line(monkeypatch, tmp_path, capsys):
    account = tmp_path / "nowhere.cnf"
    account.write_text(f"[client]\nsocket = {tmp_path}/no.sock\n")
    monkeypatch.setattr("sys.argv", ["dialin", "advise", "--attach", "--defaults-file", str(account)])
    with pytest.raises(SystemExit) as ended:
        app.main()
    assert ended.value.code == 3
    assert "does not answer" in capsys.readouterr().err


def test_doctor_checks_a_running_server_by_what_an_account_sees(server, monkeypatch, tmp_path, capsys):
    def doctor(account):
        monkeypatch.setattr("sys.argv", ["dialin", "doctor", "--json", "--attach", "--defaults-file", str(account)])
        with pytest.raises(SystemExit):
            app.main()
        return json.loads(capsys.readouterr().out)

    server.query("CREATE USER 'onlooker'@'localhost' IDENTIFIED BY 'some text'")
    account = tmp_path / "onlooker.cnf"
    account.write_text(f'[client]\nuser = onlooker\npassword = "some text"\nsocket = {server.entry.socket}\n')
    account.chmod(0o600)
    before = server.variables()
    whole, plain = doctor(server.root), doctor(account)
    assert server.variables() == before
    severity = {one["subject"]: one["severity"] for one in whole["findings"]}
    assert (severity["SET GLOBAL"], severity["writes"]) == ("good", "good")
    assert {"other clients", "round trip"} <= set(severity)
    assert next(one for one in plain["findings"] if one["subject"] == "SET GLOBAL")["severity"] == "notice"
    assert any("PROCESS" in each for each in plain["not_told"])


def test_a_sandbox_has_the_settings_of_a_file_and_so_have_the_commands(advice, tmp_path):
    file = tmp_path / "db1.txt"
    file.write_text("Variable_name\tValue\ninnodb_flush_log_at_trx_commit\t2\nport\t3307\nmax_connections\t333\n")
    load = ["--workload", "oltp_write_only", "--tables", "1", "--table-size", "5000", "--threads", "2"]
    found = advice("--server", FAST, "--from", file, *load)
    weaker = next(one for one in found["experiments"] if one["variable"] == "innodb_flush_log_at_trx_commit")
    assert "=2,1 --server" in weaker["command"]
    assert "--set max_connections=333" in weaker["command"]

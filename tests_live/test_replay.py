"""A capture is replayed by a study on a copy of the data from before it: as fast as it was, and as fast as its order allows."""

import subprocess

import pytest

from dialin.capture.capture_files import make_capture, read_capture
from dialin.capture.counters import read_counters
from dialin.datasets.cache import copy
from dialin.servers.copied_data import digest_of_data
from dialin.servers.sandbox import Sandbox
from dialin.store.store import Store
from dialin.trials.tools import Tools
from driving import BINARY, QUICK, finished, load, needs_dialin_load
from live import LIMIT, MYSQL, ONE_OR_ALL, find, interrupt, measuring, only_with_all

pytestmark = needs_dialin_load

SIZES = {"tables": 1, "table_size": 20_000, "rand_type": "uniform"}
LOG = {"slow_query_log": "OFF", "long_query_time": 0}


def rows(sandbox):
    with sandbox.connect() as query:
        return {row[0]: row for row in query("SELECT * FROM sbtest.sbtest1")}


def record(build, directory, prepare, run, read):
    """Prepare data, copy them, and capture a load on them, into a directory; returns what `read` reads afterwards."""
    tools = Tools.open(lambda text: None)
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        tools.preparer.copy_blank(build, {}, sandbox.data)
        sandbox.boot(QUICK)
        with sandbox.connect() as query:
            query("CREATE DATABASE sbtest")
        prepare(sandbox)
        sandbox.stop()
        copy(sandbox.data, directory / "data")
        extra = {"log_slow_extra": "ON"} if build.family == "mysql" and build.version >= (8, 0, 14) else {}
        sandbox.boot({**QUICK, **LOG, **extra, "slow_query_log_file": str(directory / "slow.log"), "event_scheduler": "OFF"})
        with sandbox.connect() as query:
            # A session that is in no log itself.
            query("SET SESSION long_query_time = 1000")
            query("SET GLOBAL slow_query_log = ON")
            before = read_counters(query)
            assert run(sandbox).code in (0, 5)
            after = read_counters(query)
            query("SET GLOBAL slow_query_log = OFF")
        left = read(sandbox)
    finally:
        sandbox.remove()
    counters = directory / "before.json", directory / "after.json"
    for path, reading in zip(counters, (before, after), strict=True):
        path.write_text(reading.model_dump_json(by_alias=True))
    make_capture([directory / "slow.log"], directory / "shop.capture", counters=counters, forget_text=False)
    return left


@pytest.fixture(scope="module", params=ONE_OR_ALL, ids=lambda build: build.id)
def build(request):
    return request.param


@pytest.fixture(scope="module")
def captured(build, tmp_path_factory):
    """The data of a server with an event and a password, what a load did to them, and the capture of that."""
    directory = tmp_path_factory.mktemp("captured")

    def prepare(sandbox):
        load("prepare", "oltp_read_write", sandbox, tables=1, table_size=20_000)
        with sandbox.connect() as query:
            query("CREATE TABLE sbtest.happened (at TIMESTAMP)")
            query("CREATE EVENT sbtest.often ON SCHEDULE EVERY 1 SECOND DO INSERT INTO sbtest.happened VALUES (NOW())")

    def run(sandbox):
        return load("run", "oltp_read_write", sandbox, "--time=6", "--rate=30", "--connections=4", code=None, **SIZES)

    return build, directory, record(build, directory, prepare, run, rows)


def replayed(build, directory, pace, read=rows, **settings):
    """Replay a capture on a server that dialin-load alone drives; what it reported and what it left."""
    tools = Tools.open(lambda text: None)
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        copy(directory / "data", sandbox.data)
        sandbox.boot({**QUICK, "event_scheduler": "OFF", **settings})
        words = [BINARY, "run", f"capture:{directory / 'shop.capture'}", f"--socket={sandbox.socket}", "--user=root"]
        words += ["--database=information_schema", "--json", f"--pace={pace}"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT)
        return finished(done.returncode, done.stdout, done.stderr), read(sandbox)
    finally:
        sandbox.remove()


@pytest.mark.parametrize("pace", ["1", "full"])
def test_a_replay_does_the_same_work(captured, pace):
    build, directory, expected = captured
    done, left = replayed(build, directory, pace)
    assert done.code == 0, done.said
    total, replay = done.total, done.total["replay"]
    assert total["transactions"] > 100
    assert (replay["new_errors"], replay["missing_errors"], replay["other_row_counts"]) == (0, 0, 0)
    assert total["errors"] == {}
    # Transactions that overlap may take the locks of a row in another order.
    differing = sum(left.get(key) != row for key, row in expected.items())
    assert differing == 0 if pace == "1" else differing <= total["transactions"] / 100
    assert replay["marks"][-1]["transactions"] == total["transactions"]


ORDERS = """
name = "orders"
description = "Orders with two lines each"
source = "this test"
[[table]]
name = "placed"
create = "CREATE TABLE placed (id BIGINT AUTO_INCREMENT PRIMARY KEY, mark BIGINT NOT NULL, KEY (mark)) ENGINE=InnoDB"
[[table]]
name = "line"
create = '''CREATE TABLE line (
  id BIGINT AUTO_INCREMENT PRIMARY KEY, placed BIGINT NOT NULL, FOREIGN KEY (placed) REFERENCES placed (id)
) ENGINE=InnoDB'''
[[transaction]]
name = "order"
steps = [
  { let = { mark = { integer = [1, 1000000000000] } } },
  { sql = "BEGIN" },
  { sql = "INSERT INTO placed (mark) VALUES (:mark)" },
  { sql = "SELECT id FROM placed WHERE mark = :mark", keep = "id", empty = "fail" },
  { sql = "INSERT INTO line (placed) VALUES (:id)" },
  { sql = "INSERT INTO line (placed) VALUES (:id)" },
  { sql = "COMMIT" },
]
"""


@only_with_all  # the captures of test_pool_capture.py leave the same rows, too
def test_rows_have_the_ids_of_the_capture_however_many_are_inserted_at_once(build, tmp_path):
    (tmp_path / "orders.toml").write_text(ORDERS)

    def read(sandbox):
        with sandbox.connect() as query:
            rows = query("SELECT mark, placed.id FROM sbtest.placed JOIN sbtest.line ON placed = placed.id")
            return dict(rows)

    def prepare(sandbox):
        load("prepare", tmp_path / "orders.toml", sandbox)
        with sandbox.connect() as query:
            query("INSERT INTO sbtest.placed (mark) VALUES (-1), (-2), (-3)")

    captured = record(
        build,
        tmp_path,
        prepare,
        lambda sandbox: load("run", tmp_path / "orders.toml", sandbox, "--time=4", "--connections=8", code=None),
        read,
    )
    done, left = replayed(build, tmp_path, "full", read)
    assert done.code == 0, done.said
    assert done.total["replay"]["new_errors"] == done.total["replay"]["other_row_counts"] == 0
    assert len(captured) > 100
    assert left == captured


def test_the_capture_shows_what_was_prepared(captured):
    _, directory, _ = captured
    selects = [one for one in read_capture(directory / "shop.capture").digests if "where id = ?" in one.digest]
    assert selects
    assert all(one.prepared == one.statements for one in selects)


def test_sessions_share_the_statements_that_the_server_keeps_open(build, tmp_path):
    """80 sessions prepare 12 statements each, nearly as many as the server keeps open, and execute each three times."""
    sessions, each, times = 80, 12, 3
    line = "2026-11-23T06:00:{second:09.6f}Z\t{session:5d} {command}\t{text}\n"
    with (tmp_path / "general.log").open("w") as log:
        for place in range(sessions * each * times):
            session, second = 10 + place % sessions, place / (sessions * each * times)
            text = f"select {place // sessions // times} as s{place // sessions % each}"
            if place < sessions * each:
                log.write(line.format(second=second, session=session, command="Prepare", text="select ? as s"))
            log.write(line.format(second=second, session=session, command="Execute", text=text))
    make_capture([tmp_path / "general.log"], tmp_path / "shop.capture", counters=None, forget_text=False)
    tools = Tools.open(lambda text: None)
    tools.preparer.copy_blank(build, {}, tmp_path / "data")
    done, (prepared, executed) = replayed(build, tmp_path, "full", statement_commands, max_prepared_stmt_count=1024)
    assert done.code == 0, done.said
    assert (done.total["unprepared"], done.total["prepared_again"]) == (0, 0)
    assert (prepared, executed) == (sessions * each, sessions * each * times)


def statement_commands(sandbox):
    with sandbox.connect() as query:
        counted = dict(query("SHOW GLOBAL STATUS LIKE 'Com_stmt_%'"))
    # Servers prepare a statement again by themselves when they learn the types of its parameters.
    prepared = int(counted["Com_stmt_prepare"]) - int(counted["Com_stmt_reprepare"])
    return prepared, int(counted["Com_stmt_execute"])


def test_a_study_replays_a_capture_on_a_copy_of_the_data(captured, dialin, tmp_path):
    build, directory, _ = captured
    if build != find(MYSQL):
        pytest.skip("shown on one build")
    (tmp_path / "link").symlink_to(directory / "data")
    before = digest_of_data(directory / "data")
    words = ["sweep", "innodb_io_capacity=200,2000", "--server", build.id, "--minutes", "4", "--yes", "--out", "study"]
    load = ["--workload", f"capture:{directory / 'shop.capture'}", "--data", tmp_path / "link", "--pace", "1"]
    process = dialin.start(*words, *load)
    measuring(tmp_path / "study", position=2)  # one whole trial is enough to look at
    interrupt(process)
    assert digest_of_data(directory / "data") == before, "no server ran on what the link leads to"
    with Store.open(tmp_path / "study") as store:
        spec, trials = store.spec, store.trials()
        watched = [store.watched()[trial.id]["load"] for trial in trials if trial.state == "done"]
    assert (spec.goal, spec.workload.threads) == ("latency", 4)
    assert watched
    for one in watched:
        assert one.gauges["replay_new_errors"].most == one.gauges["replay_other_rows"].most == 0
        assert 0.8 < one.gauges["replay_rows_examined"].mean < 1.25, "of five seconds, each with other transactions"
        assert {"replay_page_misses", "replay_lock_waits", "replay_disk_tables", "replay_threads_running"} <= one.gauges.keys()
        assert one.gauges["replay_prepared"].mean > 100
    assert {trial.in_force["event_scheduler"] for trial in trials if trial.in_force} == {"OFF"}


@only_with_all  # tests/report/test_replay_page.py shows what a check says of which figures
def test_a_check_names_the_statements_that_differ_on_other_data(captured, dialin, tmp_path, monkeypatch):
    build, directory, _ = captured
    if build != find(MYSQL):
        pytest.skip("shown on one build")
    capture = directory / "shop.capture"
    monkeypatch.setenv("COLUMNS", "200")
    same, _ = dialin("capture", "check", capture, "--data", directory / "data", "--pace", "full", code=dialin.any_code)
    assert "Possible cause: the data may not be" not in same
    tools = Tools.open(lambda text: None)
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        copy(directory / "data", sandbox.data)
        sandbox.boot({**QUICK, "event_scheduler": "OFF"})
        with sandbox.connect() as query:
            query("DELETE FROM sbtest.sbtest1 WHERE id <= 10000")
        sandbox.stop()
        copy(sandbox.data, tmp_path / "data")
    finally:
        sandbox.remove()
    other, _ = dialin("capture", "check", capture, "--data", tmp_path / "data", "--pace", "full", code=1)
    assert "Possible cause: the data may not be those from before the capture" in other
    differing = [line.split() for line in other.splitlines() if "select c from sbtest1" in line]
    assert differing, other
    assert all(int(words[3].replace(",", "")) > 10 for words in differing), other


def test_impossible_replays_are_refused(captured, refused, tmp_path):
    _, directory, _ = captured
    words = ["sweep", "innodb_io_capacity=200,2000", "--yes", "--workload", f"capture:{directory / 'shop.capture'}"]
    assert "--data" in refused(*words)
    assert "not a data directory" in refused(*words, "--data", tmp_path)
    assert "pace" in refused(*words, "--data", directory / "data", "--pace", "fast")
    assert "attach" in refused(*words, "--data", directory / "data", "--attach")


@only_with_all
def test_data_of_which_a_table_lies_elsewhere_is_refused_before_it_is_changed_there(captured, dialin, tmp_path):
    build, directory, _ = captured
    if build != find(MYSQL):
        pytest.skip("MariaDB has a file beside its tables that names such a place, which needs no server")
    (tmp_path / "elsewhere").mkdir()
    tools = Tools.open(lambda text: None)
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        copy(directory / "data", sandbox.data)
        sandbox.boot({**QUICK, "innodb_directories": str(tmp_path / "elsewhere"), "event_scheduler": "OFF"})
        with sandbox.connect() as query:
            query(f"CREATE TABLE sbtest.far (id INT PRIMARY KEY) DATA DIRECTORY = '{tmp_path / 'elsewhere'}'")
        sandbox.stop()
        copy(sandbox.data, tmp_path / "data")
    finally:
        sandbox.remove()
    before = digest_of_data(tmp_path / "elsewhere")
    words = ["sweep", "innodb_io_capacity=200,2000", "--server", build.id, "--minutes", "4", "--yes", "--pace", "1"]
    words += ["--workload", f"capture:{directory / 'shop.capture'}", "--data", tmp_path / "data"]
    _, err = dialin(*words, code=2)
    assert "far.ibd is a file of that data, and lies outside of its directory" in err
    assert digest_of_data(tmp_path / "elsewhere") == before

"""Captures of an application whose connection pool is older than the log: SQLAlchemy with its defaults, autocommit off."""

import random
import subprocess
import threading
import time

import pytest
import sqlalchemy

from dialin.capture.capture_files import make_capture
from dialin.capture.open_sessions import read_open_sessions
from dialin.datasets.cache import copy
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from driving import BINARY, QUICK, finished, needs_dialin_load
from live import LIMIT, ONE_OR_ALL

pytestmark = needs_dialin_load

NEWEST = {build.family: build for build in sorted(ONE_OR_ALL, key=lambda build: build.version)}
WORKERS, SECONDS = 4, 4
ACCOUNTS = 200
ZONE = "+03:00"
"""What the pool sets when it opens a connection, before the log begins."""


class Shop:
    """Moves money between accounts and counts its own transactions; every fifth one it takes back."""

    def __init__(self, sandbox):
        options = {"unix_socket": str(sandbox.socket), "init_command": f"SET time_zone = '{ZONE}'"}
        self._engine = sqlalchemy.create_engine("mysql+pymysql://root@localhost/shop", connect_args=options, pool_size=WORKERS)
        self.committed = self.rolled_back = 0
        self._lock = threading.Lock()

    def open_pool(self):
        connections = [self._engine.connect() for _ in range(WORKERS)]
        for connection in connections:
            connection.close()

    def work(self):
        until = time.monotonic() + SECONDS
        threads = [threading.Thread(target=self._serve, args=(seed, until)) for seed in range(WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._engine.dispose()

    def _serve(self, seed, until):
        choice = random.Random(seed)
        while time.monotonic() < until:
            takes_back, amount = choice.random() < 0.2, choice.randint(1, 99)
            first, second = sorted(choice.sample(range(1, ACCOUNTS + 1), 2))
            with self._engine.connect() as connection:
                for number, change in ((first, amount), (second, -amount)):
                    connection.execute(
                        sqlalchemy.text(
                            "UPDATE account SET money = money + :change, moves = moves + 1, zone = @@time_zone WHERE id = :id"
                        ),
                        {"change": change, "id": number},
                    )
                if takes_back:
                    connection.rollback()
                else:
                    connection.commit()
            with self._lock:
                self.committed += not takes_back
                self.rolled_back += takes_back
            time.sleep(choice.random() * 0.01)


def accounts(sandbox):
    """The money and the moves of each account, and the time zones of the sessions that changed one."""
    with sandbox.connect() as query:
        rows = query("SELECT id, money, moves, zone FROM shop.account")
    return {row[0]: row[1:3] for row in rows}, {row[3] for row in rows} - {""}


@pytest.fixture(scope="module", params=NEWEST.values(), ids=lambda build: build.id)
def captured(request, tmp_path_factory):
    """A build, the directory with the data from before and two captures of the same log, the shop, and what it left."""
    build, directory = request.param, tmp_path_factory.mktemp("captured")
    tools = Tools.open(lambda text: None)
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        tools.preparer.copy_blank(build, {}, sandbox.data)
        sandbox.boot(QUICK)
        with sandbox.connect() as query:
            query("CREATE DATABASE shop")
            query("CREATE TABLE shop.account (id INT PRIMARY KEY, money INT NOT NULL, moves INT NOT NULL, zone VARCHAR(9))")
            query(
                "INSERT INTO shop.account VALUES " + ", ".join(f"({number}, 1000, 0, '')" for number in range(1, ACCOUNTS + 1))
            )
        sandbox.stop()
        copy(sandbox.data, directory / "data")
        extra = {"log_slow_extra": "ON"} if build.family == "mysql" else {}
        log = {"slow_query_log_file": str(directory / "slow.log"), "long_query_time": 0, "log_output": "NONE"}
        sandbox.boot({**QUICK, **log, **extra, "slow_query_log": "ON", "event_scheduler": "OFF"})
        shop = Shop(sandbox)
        shop.open_pool()
        with sandbox.connect() as query:
            variables = dict(query("SHOW GLOBAL VARIABLES"))
            query("SET SESSION long_query_time = 1000")
            query("SET GLOBAL log_output = 'FILE'")
            sessions = read_open_sessions(query, build, variables, None)
            shop.work()
            query("SET GLOBAL log_output = 'NONE'")
        left = accounts(sandbox)
    finally:
        sandbox.remove()
    (directory / "sessions.json").write_text(sessions.model_dump_json(by_alias=True))
    summaries = [
        make_capture([directory / "slow.log"], directory / name, counters=None, forget_text=False, sessions=given)
        for name, given in (("inferred.capture", None), ("told.capture", directory / "sessions.json"))
    ]
    return build, directory, summaries, shop, left


def test_a_capture_has_the_transactions_that_the_application_counts(captured):
    build, _, summaries, shop, _ = captured
    for summary in summaries:
        counted = sum(shape.transactions for shape in summary.transactions)
        assert (counted, sum(shape.rolled_back for shape in summary.transactions)) == (
            shop.committed + shop.rolled_back,
            shop.rolled_back,
        )
        assert summary.autocommit.off == WORKERS
    assert shop.committed > 20
    inferred, told = (summary.autocommit for summary in summaries)
    assert inferred.inferred_off == WORKERS
    assert told.inferred_off == (0 if build.family == "mysql" else WORKERS), "MariaDB does not show it"


@pytest.mark.parametrize(("name", "pace"), [("inferred.capture", "1"), ("told.capture", "full")])
def test_a_replay_leaves_the_same_accounts(captured, name, pace):
    build, directory, _, shop, left = captured
    tools = Tools.open(lambda text: None)
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        copy(directory / "data", sandbox.data)
        sandbox.boot({**QUICK, "event_scheduler": "OFF"})
        words = [BINARY, "run", f"capture:{directory / name}", f"--socket={sandbox.socket}", "--user=root"]
        done = subprocess.run([*words, "--json", f"--pace={pace}"], capture_output=True, text=True, timeout=LIMIT)
        replay = finished(done.returncode, done.stdout, done.stderr)
        (replayed, zones), (original, set_by_pool) = accounts(sandbox), left
        assert replayed == original
        assert set_by_pool == {ZONE}
        told = name == "told.capture" and build.family == "mysql"  # MariaDB does not show it
        assert zones == ({ZONE} if told else {"SYSTEM"})
    finally:
        sandbox.remove()
    assert replay.total["transactions"] == shop.committed + shop.rolled_back
    assert replay.total["replay"]["new_errors"] == 0

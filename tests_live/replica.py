"""A source with clients' data, and a replica of it, for studies on a live replica."""

import time
from contextlib import contextmanager

from live_traffic import PURPOSE, prepare
from playground import playground

SECONDS_BEHIND = 32
"""The column of SHOW REPLICA STATUS."""

_WORDS = {
    "mysql": {
        "reset": "RESET BINARY LOGS AND GTIDS",
        "grant": "REPLICATION CLIENT",
        "change": "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='repl', "
        "SOURCE_PASSWORD='repl', GET_SOURCE_PUBLIC_KEY=1",
        "delay": "CHANGE REPLICATION SOURCE TO SOURCE_DELAY={seconds}",
        "replica": "REPLICA",
    },
    "mariadb": {
        "reset": "RESET MASTER",
        "grant": "REPLICA MONITOR",
        "change": "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='repl', MASTER_PASSWORD='repl'",
        "delay": "CHANGE MASTER TO MASTER_DELAY={seconds}",
        "replica": "SLAVE",
    },
}


class Replica:
    """A replica; `server` is its playground, with the same data as its `source`."""

    def __init__(self, source, server):
        self.source, self.server = source, server
        self._words = _WORDS[server.build.family]

    def start(self):
        self.source.query(
            "CREATE USER repl@'%' IDENTIFIED BY 'repl'", "GRANT REPLICATION SLAVE ON *.* TO repl@'%'", self._words["reset"]
        )
        self.server.query(
            f"GRANT {self._words['grant']} ON *.* TO dialin@localhost",
            self._words["change"].format(port=self.source.entry.port),
            f"START {self._words['replica']}",
        )

    def stop_applier(self):
        self.server.query(f"STOP {self._words['replica']} SQL_THREAD")

    def start_applier(self):
        self.server.query(f"START {self._words['replica']} SQL_THREAD")

    def delay(self, seconds):
        """Have it apply everything so many seconds late."""
        word = self._words["replica"]
        self.server.query(f"STOP {word}", self._words["delay"].format(seconds=seconds), f"START {word}")

    def catch_up(self):
        """Wait until it has applied what it received."""
        end = time.monotonic() + 180
        while str(self.server.query(f"SHOW {self._words['replica']} STATUS")[0][SECONDS_BEHIND]) not in ("0", "1"):
            assert time.monotonic() < end, "the replica does not catch up"
            time.sleep(1)

    @contextmanager
    def blocked(self):
        """It cannot apply what it receives: a session holds the global read lock."""
        with self.server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("FLUSH TABLES WITH READ LOCK")
            yield


@contextmanager
def replicated(build):
    """Start a source and a replica of a build."""
    words = ("--set", "log_bin=ON", "--set", "performance_schema=ON")
    with playground(build, PURPOSE, *words) as source, playground(build, PURPOSE, *words) as server:
        for number, one in enumerate((source, server), start=1):
            one.query(f"SET GLOBAL server_id = {number}")
            prepare(one)
        replica = Replica(source, server)
        replica.start()
        yield replica

"""Studies of dynamic variables, and a running server that remembers what it was told."""

from __future__ import annotations

from dialin.model.study import Candidate, StudySpec
from servers.attached.fakes import FakeServer

BUILD = "mysql@9.7.4"
CAPACITY, MOST = "innodb_io_capacity", "innodb_io_capacity_max"


def study(settings, servers=None, **others):
    """Return a study of these settings by name; the first is the baseline."""
    candidates = tuple(
        Candidate(name=name, setting=setting, server=(servers or {}).get(name, BUILD)) for name, setting in settings.items()
    )
    return StudySpec(candidates=candidates, baseline=candidates[0].name, **others)


class FakeInstance(FakeServer):
    """MySQL as far as trials that follow each other by SET GLOBAL ask it."""

    account = None
    pid = 1

    def __init__(self, **variables):
        super().__init__(**variables)
        self.binary_logs, self.gone = ["binlog.000001"], False

    def is_gone(self):
        return self.gone

    def last_words(self):
        return "it died of SIGKILL"

    def log_tail(self):
        return "[ERROR] the log's last line"

    def query(self, statement, arguments=()):
        if statement == "FLUSH BINARY LOGS":
            self.binary_logs.append(f"binlog.{len(self.binary_logs) + 1:06}")
            return []
        if statement == "SHOW BINARY LOGS":
            return [(name, 157, "No") for name in self.binary_logs]
        if statement == "PURGE BINARY LOGS TO %s":
            del self.binary_logs[: self.binary_logs.index(arguments[0])]
            return []
        return super().query(statement, arguments)

"""A server that only remembers what it was told, for tests of what dialin does to attached ones."""

from __future__ import annotations

import re
from contextlib import contextmanager

from dialin.errors import ServerError
from dialin.servers.account import Account
from dialin.servers.attached.claim import CHANGE, Claim
from dialin.servers.attached.server import Attached
from dialin.servers.connection import RefusedError

VARIABLES = {
    "version": "9.7.4",
    "version_comment": "MySQL Community Server - GPL",
    "hostname": "db1",
    "port": "3306",
    "datadir": "/var/lib/mysql/",
    "server_uuid": "one",
    "innodb_io_capacity": "200",
    "innodb_io_capacity_max": "2000",
    "innodb_flush_method": "O_DIRECT",
    "innodb_buffer_pool_size": "134217728",
    "max_connections": "151",
    "init_connect": "",
    "back_log": "80",
    "gtid_executed": "a:1-5",
}
_NUMBERS = {"innodb_io_capacity", "innodb_io_capacity_max", "innodb_buffer_pool_size", "max_connections", "back_log"}
_AT_START = {"innodb_flush_method", "back_log"}
_SET = re.compile(r"SET @@(GLOBAL|PERSIST_ONLY)\.`(\w+)` = %s")


class FakeServer:
    """MySQL as far as it is asked: clamps `innodb_io_capacity` at its maximum, keeps variables and schemas."""

    def __init__(self, **variables):
        self.values = {**VARIABLES, **variables}
        self.persisted, self.schemas, self.status = {}, {}, {"Questions": "1", "Uptime": "5000"}
        self.processes = [
            (1, "event_scheduler", "localhost", None, "Daemon", 9, "", None),
            (7, "dialin", "localhost", None, "Query", 0, "", ""),
        ]
        self.leaving = []
        self.answers, self.stuck, self.denied, self.said = True, set(), False, []
        self.clock = 1_800_000_000
        self.claimed_by, self.restarts, self.is_changing = None, 0, False
        self.at_default = set()

    def attached(self, clock, account=None):
        attached = Attached(account or Account(socket=None, host="db1", user="dialin", password="hunter2"), clock)
        attached.connect = self.connect
        attached.claim = Claim(self.connect)
        return attached

    @contextmanager
    def connect(self, timeout=None):
        if not self.answers:
            raise ServerError("The server at db1 does not answer", "See its log")
        connection = object()
        yield lambda statement, arguments=(): self._claim(connection, statement, arguments) or self.query(statement, arguments)
        if self.claimed_by is connection:
            self.claimed_by = None

    def _claim(self, connection, statement, arguments=()):
        """The lock that a connection holds; nothing where the statement is about something else."""
        if statement.startswith("SELECT GET_LOCK") and arguments[0] == CHANGE:
            return [(int(not self.is_changing),)]
        if statement.startswith("SET SESSION"):
            return ((),)
        if statement.startswith("SELECT GET_LOCK"):
            self.claimed_by = self.claimed_by or connection
            return [(int(self.claimed_by is connection),)]
        if statement.startswith("SELECT IS_USED_LOCK"):
            return [(7 if self.claimed_by is connection else 8 if self.claimed_by else None,)]
        return None

    def query(self, statement, arguments=()):
        self.said.append((statement, arguments))
        if statement == "SHOW GLOBAL VARIABLES":
            return list(self.values.items())
        if match := _SET.fullmatch(statement):
            return self._set(match[1], match[2], arguments[0])
        if match := re.fullmatch(r"SELECT @@GLOBAL\.`(\w+)`", statement):
            value = self.values[match[1]]
            return [(int(value) if match[1] in _NUMBERS else value,)]
        if match := re.fullmatch(r"SHOW GLOBAL STATUS LIKE '(\w+)'", statement):
            return [(match[1], self._status(match[1]))] if match[1] in self.status else []
        if match := re.fullmatch(r"RESET PERSIST IF EXISTS `(\w+)`", statement):
            self.persisted.pop(match[1], None)
            return []
        return self._others(statement, arguments)

    def _others(self, statement, arguments):
        if "variable_source = 'COMPILED'" in statement:
            return [(name,) for name in self.at_default]
        if "variable_source = 'DYNAMIC'" in statement:
            return []
        if "persisted_variables" in statement:
            return list(self.persisted.items())
        if statement == "SHOW PROCESSLIST":
            listed, self.leaving = [*self.processes, *self.leaving], []
            return listed
        if statement == "DO 0":
            return []
        if statement == "SELECT CONNECTION_ID()":
            return [(7,)]
        if statement == "SELECT UNIX_TIMESTAMP()":
            return [(self.clock,)]
        if statement.startswith("KILL "):
            self.processes = [row for row in self.processes if row[0] != int(statement.removeprefix("KILL "))]
            return []
        if "session_account_connect_attrs" in statement:
            return [("_pid", "4711"), ("program_name", "dialin study /work/pool")] if arguments == (8,) else []
        if statement == "SHOW ENGINE INNODB STATUS":
            return self._refuse(1227, "you need the PROCESS privilege") if self.denied else []
        if "information_schema.schemata" in statement:
            return [(1,)] if arguments[0] in self.schemas else []
        if "information_schema.tables" in statement:
            return [(table,) for table in self.schemas[arguments[0]]]
        name = re.search(r"`(\w+)`", statement)[1]
        if statement.startswith("CREATE DATABASE"):
            if name in self.schemas:
                return self._refuse(1007, "database exists")
            self.schemas[name] = {}
        elif statement.startswith("CREATE TABLE"):
            self.schemas[name]["dialin_made_this"] = []
        elif statement.startswith("INSERT"):
            self.schemas[name]["dialin_made_this"].append(arguments[0])
        elif statement.startswith("SELECT entry"):
            return [(mark,) for mark in self.schemas[name]["dialin_made_this"]]
        elif statement.startswith("DROP DATABASE"):
            del self.schemas[name]
        else:
            raise AssertionError(statement)
        return []

    def _status(self, name):
        value = self.status[name]
        return value.pop(0) if isinstance(value, list) and len(value) > 1 else value[0] if isinstance(value, list) else value

    def _refuse(self, number, text):
        raise RefusedError(f"The server refused something: {text}", "See the server's log", number)

    def _set(self, scope, name, value):
        if name not in self.values:
            self._refuse(1193, f"Unknown system variable '{name}'")
        if (value is None or isinstance(value, str)) == (name in _NUMBERS):
            self._refuse(1232, f"Incorrect argument type to variable '{name}'")
        if scope == "PERSIST_ONLY":
            self.persisted[name] = str(value)
            return []
        if name in _AT_START:
            self._refuse(1238, f"Variable '{name}' is a read only variable")
        if name not in self.stuck:
            limit = int(self.values["innodb_io_capacity_max"])
            self.values[name] = "" if value is None else str(min(value, limit) if name == "innodb_io_capacity" else value)
        return []

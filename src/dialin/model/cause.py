"""Why a trial failed, or why an error was raised: a code with its figures. The sentence is made when it is shown.

Without pydantic, which errors and --help need not wait for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Fault(StrEnum):
    """Whose fault an error is. The class of an error says it where the error arises; nothing converts one into another later.

    Only `SERVER` and `SETTING` are evidence against a candidate. A trial that `CONNECTION`, `MACHINE` or `OUTSIDE` ended is run
    again, and `REQUEST` ends a study: its account, its files or its options have to be corrected.
    """

    REQUEST = "request"
    SETTING = "setting"
    """The server refuses a value."""
    SERVER = "server"
    """The server died, hung, did not start, or failed a statement, and it or its process shows that."""
    CONNECTION = "connection"
    """The server could not be reached, or a connection to it broke: the network or the server, until the server shows which."""
    WORKLOAD = "workload"
    """The load cannot be applied, or its driver failed."""
    MACHINE = "machine"
    """The machine that dialin runs on: its disk, its memory, its limits of open files and processes."""
    OUTSIDE = "outside"
    """Something else on the machine, such as what killed the load driver."""
    GUARD = "guard"
    """The guard of a live server restored the baseline."""


PASSING = (Fault.CONNECTION, Fault.MACHINE, Fault.OUTSIDE)
"""The faults that say nothing of a candidate and may pass: a trial that one of them ended is run again."""


class Danger(StrEnum):
    """What the guard of a live server watches for."""

    LATENCY = "latency"
    STALLED = "stalled"
    ERRORS = "errors"
    RUNNING = "running"
    LAG = "lag"
    REPLICATION = "replication"
    DISK = "disk"
    MEMORY = "memory"
    NO_ANSWER = "no_answer"


@dataclass(frozen=True, slots=True)
class Trip:
    """The guard of a live server restored the baseline.

    Attributes:
        value: the observed value, in the unit of the danger: ms, statements or errors per second, threads, seconds, shares.
        limit: the limit that it exceeded, or fell below; in the same unit.
        usual: the usual level of the same figure; None where there is none.
        after: seconds from the change of the variable to the bad second.
        restored_in: seconds from then until the baseline's values were read back; None where they could not be restored.
    """

    danger: Danger
    value: float
    limit: float
    usual: float | None
    after: float
    restored_in: float | None = None


class CauseCode(StrEnum):
    """What went wrong with a server or a load."""

    OTHER = "other"
    SERVER_ENDED = "server_ended"
    NOT_STARTED = "not_started"
    NO_ANSWER_AFTER_START = "no_answer_after_start"
    NO_ANSWER_AFTER_RESTART = "no_answer_after_restart"
    NO_DATA_DIRECTORY = "no_data_directory"
    ENDED_BEFORE_STOP = "ended_before_stop"
    NOT_STOPPED = "not_stopped"
    NOT_STOPPED_CLEANLY = "not_stopped_cleanly"
    HUNG = "hung"
    UNRESPONSIVE = "unresponsive"
    NO_ANSWERS = "no_answers"
    NO_ANSWER = "no_answer"
    ACCOUNT_REFUSED = "account_refused"
    STATEMENT_REFUSED = "statement_refused"
    BAD_ANSWER = "bad_answer"
    CONNECTION_LOST = "connection_lost"
    TURNED_AWAY = "turned_away"
    UNKNOWN_VARIABLE = "unknown_variable"
    STARTUP_ONLY = "startup_only"
    SESSION_VARIABLE = "session_variable"
    VALUE_REFUSED = "value_refused"
    NOT_PERSISTED = "not_persisted"
    NO_PRIVILEGE_TO_SET = "no_privilege_to_set"
    NOT_EFFECTIVE_IN_TIME = "not_effective_in_time"
    CONNECTIONS_OPEN = "connections_open"
    COMMAND_SLOW = "command_slow"
    COMMAND_FAILED = "command_failed"
    NOT_RESTARTED = "not_restarted"
    NOT_APPLIED = "not_applied"
    SETTING_NOT_APPLIED = "setting_not_applied"
    NOT_RESTORED = "not_restored"
    MAY_NOT_START = "may_not_start"
    NO_FILE_PRIVILEGE = "no_file_privilege"
    NO_COLD_COPY = "no_cold_copy"
    DRIVER_SILENT = "driver_silent"
    DRIVER_ENDED = "driver_ended"
    DRIVER_OTHER_FORM = "driver_other_form"
    DATA_NOT_CONSISTENT = "data_not_consistent"
    DRIVER_KILLED = "driver_killed"
    DRIVER_ERROR = "driver_error"
    OTHER_STREAM = "other_stream"
    DATA_NOT_PREPARED = "data_not_prepared"
    PREPARING_SLOW = "preparing_slow"
    TABLE_NOT_CREATED = "table_not_created"
    ALL_FAILED = "all_failed"
    NO_TRANSACTION = "no_transaction"
    RUN_NOT_PREPARED = "run_not_prepared"
    RUN_FAILED = "run_failed"
    HOST_GONE = "host_gone"
    HOST_SILENT = "host_silent"
    HOST_PROCESS_ENDED = "host_process_ended"
    OTHER_DIALIN = "other_dialin"
    OTHER_MACHINE = "other_machine"
    DATASET_IN_USE = "dataset_in_use"
    NO_COPY_OF_BUILD = "no_copy_of_build"
    GUARD_TRIPPED = "guard_tripped"
    NO_TRAFFIC = "no_traffic"
    MACHINE = "machine"


@dataclass(frozen=True, slots=True)
class Cause:
    """What went wrong, by its code.

    Attributes:
        figures: the values in its sentence. `words` is text from a server, a program or the operating system; `exit` says how
            a server ended: its container's `memory_limit`, its `signal`, its `exit_code`, or its last `words`.
    """

    code: CauseCode
    figures: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Cause:
        return cls(CauseCode(stored["code"]), stored["figures"])

    def as_stored(self) -> dict[str, Any]:
        return {"code": self.code, "figures": dict(self.figures)}

    @classmethod
    def quoted(cls, words: str) -> Cause:
        """Return a cause that has no code of its own: `words` are its sentence."""
        return cls(CauseCode.OTHER, {"words": words})


def exit_at_limit(memory: int, *, is_certain: bool) -> dict[str, Any]:
    """Return that a server was killed whose container has a memory limit (bytes): certainly, or most likely, because of it."""
    return {"memory_limit": memory, "is_certain": is_certain}


def exit_by(code: int | None, words: str = "", signal: str = "") -> dict[str, Any]:
    """Return how a server ended: by the signal if there was one, else by its last words, else by its exit code."""
    if signal:
        return {"signal": signal}
    return {"words": words} if words else {"exit_code": code}

"""Sentences for causes. A cause is stored as a code with figures; its sentence is made when a report or an error shows it.

This module is not in `report/`, because servers and workloads raise these errors and may not import reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dialin.model.cause import Cause, CauseCode, Danger
from dialin.text import duration, listed, size

Figures = Mapping[str, Any]
"""The figures of a cause, by name."""

_LOCK_CONFLICT = "Its transactions block each other: use fewer --threads, or more rows"
_ADVICE_BY_ERROR = {
    1062: "It inserts keys that exist already: choose other keys, or use AUTO_INCREMENT",
    1205: _LOCK_CONFLICT,
    1213: _LOCK_CONFLICT,
    1329: "It reads rows that do not exist: a transaction must leave as many rows as it takes",
    2013: "Look in the server's log for what closes its connections",
}
_RUN_BY_HAND = "Run its statements by hand: with this data, or with the candidate's setting, they fail"


def advice(cause: Cause) -> str:
    """Return what to do about a cause; empty where there is no advice."""
    if cause.code is CauseCode.NO_TRANSACTION:
        return "Measure for longer: --measure"
    if cause.code is CauseCode.ALL_FAILED:
        errors = cause.figures["errors"]
        return _ADVICE_BY_ERROR.get(errors[0]["number"], _RUN_BY_HAND) if errors else _RUN_BY_HAND
    return str(cause.figures.get("advice", ""))


def error_label(error: Figures) -> str:
    """Return the number of a server's error, with the error's name if it has one."""
    return f"{error['number']} ({error['name']})" if error["name"] else str(error["number"])


def _all_failed(figures: Figures) -> str:
    errors, total = figures["errors"], figures["total"]
    text = f"Every transaction failed for {figures['seconds']} s"
    if not errors:
        return f"{text}: {total:,.0f} errors, which the load driver does not classify"
    times = errors[0]["count"]
    others = f", and {total - times:,.0f} others" if len(errors) > 1 else ""
    return f"{text}: {times:,} times error {error_label(errors[0])}{others}"


def _exit(ending: Figures) -> str:
    if "memory_limit" in ending:
        limit = f"the memory limit of its container ({size(ending['memory_limit'])}, --server-memory)"
        if ending["is_certain"]:
            return f"the kernel killed it at {limit}"
        return f"it was killed (SIGKILL), as the kernel does at {limit}"
    if "signal" in ending:
        return f"it died of {ending['signal']}"
    if "words" in ending:
        return str(ending["words"])
    return "it no longer answers" if ending.get("exit_code") is None else f"it ended with exit code {ending['exit_code']}"


def _may_not_start(figures: Figures) -> str:
    first = sentence(Cause.read(figures["cause"])).rstrip(".")
    return f"{first}. It may be unable to start with what dialin persisted for it ({listed(figures['variables'])})"


def _setting_not_applied(figures: Figures) -> str:
    first = sentence(Cause.read(figures["cause"])).rstrip(".")
    return f"{first}. With {figures['setting']} it fails, and with the original settings the server is back"


_DANGERS: Mapping[Danger, str] = {
    Danger.LATENCY: "latency was {value:.3g} ms, usually {usual:.3g} ms, above the limit of {limit:.3g} ms",
    Danger.STALLED: "the server completed {value:.3g} statements/s, usually {usual:.3g}, while threads were waiting",
    Danger.ERRORS: "there were {value:.3g} errors/s, usually {usual:.3g}, above the limit of {limit:.3g}",
    Danger.RUNNING: "Threads_running was {value:.0f}, usually {usual:.0f}, above the limit of {limit:.0f}",
    Danger.LAG: "the replica was {value:.0f} s behind its source, above the limit of {limit:.0f} s",
    Danger.REPLICATION: "replication of this replica had stopped",
    Danger.DISK: "{value:.0%} of the disk was free, below the limit of {limit:.0%}",
    Danger.MEMORY: "{value:.0%} of the memory was free, below the limit of {limit:.0%}",
    Danger.NO_ANSWER: "the server did not answer",
}


def guard_reason(figures: Figures) -> str:
    """Return what made the guard of a live server restore the baseline, as a clause."""
    return _DANGERS[Danger(figures["danger"])].format(**{**figures, "usual": figures["usual"] or 0.0})


def _guard_tripped(figures: Figures) -> str:
    """Return why the guard put the baseline back, when, and how long that took."""
    restored, why = figures["restored_in"], guard_reason(figures)
    if restored is None:
        return f"The guard could NOT restore the baseline {figures['after']:.1f} s after the change: {why}"
    return f"The guard restored the baseline {figures['after']:.1f} s after the change, within {restored:.2f} s: {why}"


_SENTENCES: Mapping[CauseCode, str | Callable[[Figures], str]] = {
    CauseCode.OTHER: "{words}",
    CauseCode.SERVER_ENDED: "The server ended: {exit}",
    CauseCode.NOT_STARTED: "{build} did not start: {exit}",
    CauseCode.NO_ANSWER_AFTER_START: "{build} did not answer within {seconds:.0f} s after its start",
    CauseCode.NO_ANSWER_AFTER_RESTART: "The server did not answer within {seconds:.0f} s after its restart",
    CauseCode.NO_DATA_DIRECTORY: "{build} could not create a data directory: {exit}",
    CauseCode.ENDED_BEFORE_STOP: "{build} ended before it was stopped",
    CauseCode.NOT_STOPPED: "{build} did not stop within {seconds:.0f} s",
    CauseCode.NOT_STOPPED_CLEANLY: "{build} did not stop cleanly: {exit}",
    CauseCode.HUNG: "The server hung: no transaction for {seconds} s",
    CauseCode.UNRESPONSIVE: "The server stopped answering: a new connection had no answer within {seconds:.0f} s",
    CauseCode.NO_ANSWERS: "The server hung: it did not answer {times} times in a row",
    CauseCode.NO_ANSWER: "The server at {place} does not answer: {words}",
    CauseCode.ACCOUNT_REFUSED: "The server at {place} refuses {user}: {words}",
    CauseCode.STATEMENT_REFUSED: "The server refused {statement!r}: {words}",
    CauseCode.BAD_ANSWER: "The answer of the server cannot be read: {words}",
    CauseCode.CONNECTION_LOST: "The connection to the server broke during {statement!r}: {words}",
    CauseCode.TURNED_AWAY: "The server at {place} accepts no connection: {words}",
    CauseCode.UNKNOWN_VARIABLE: "The server has no variable {variable}",
    CauseCode.STARTUP_ONLY: "{variable} can be set only at startup",
    CauseCode.SESSION_VARIABLE: "{variable} is a session variable",
    CauseCode.VALUE_REFUSED: "{variable} cannot be {value}: {words}",
    CauseCode.NOT_PERSISTED: "{variable} cannot be persisted: {words}",
    CauseCode.NO_PRIVILEGE_TO_SET: "The account may not set {variable}: {words}",
    CauseCode.NOT_EFFECTIVE_IN_TIME: "{variable} was not effective within {seconds:.0f} s",
    CauseCode.CONNECTIONS_OPEN: "Connections of the previous load are still open after {seconds:.0f} s",
    CauseCode.COMMAND_SLOW: "The {purpose} command did not return within {seconds:.0f} s: {program}",
    CauseCode.COMMAND_FAILED: "The {purpose} command failed with exit code {exit_code}: {program}",
    CauseCode.NOT_RESTARTED: "The {purpose} command ended, but it did not restart the server, which has answered for "
    "{seconds:.0f} s since then with the same start",
    CauseCode.NOT_APPLIED: "The apply command ended with exit code 0, but {variable} is still {now} and not {value}",
    CauseCode.SETTING_NOT_APPLIED: _setting_not_applied,
    CauseCode.NOT_RESTORED: "The snapshot command ended with exit code 0, but {words}",
    CauseCode.MAY_NOT_START: _may_not_start,
    CauseCode.NO_FILE_PRIVILEGE: "The server may not write files, so raw waits cannot be read",
    CauseCode.NO_COLD_COPY: "Every copy of the table was read already, so none is cold",
    CauseCode.DRIVER_SILENT: "The load reported nothing for {seconds:.0f} s",
    CauseCode.DRIVER_OTHER_FORM: "{driver} printed no figures that its file describes for {seconds:.0f} s; last line: {words}",
    CauseCode.DATA_NOT_CONSISTENT: "The consistency check failed after the trial: {words}",
    CauseCode.DRIVER_ENDED: "{driver} ended by itself: {words}",
    CauseCode.DRIVER_KILLED: "{driver} was killed by {signal}",
    CauseCode.DRIVER_ERROR: "{driver}: {words}",
    CauseCode.OTHER_STREAM: "This dialin-load is not of the same build as dialin: it does not write the stream format {format}",
    CauseCode.DATA_NOT_PREPARED: "{driver} could not prepare its data: {words}",
    CauseCode.PREPARING_SLOW: lambda figures: f"{figures['driver']} did not end within {duration(figures['seconds'])}",
    CauseCode.TABLE_NOT_CREATED: "The table could not be created: {words}",
    CauseCode.ALL_FAILED: _all_failed,
    CauseCode.NO_TRANSACTION: "No transaction ended in the measured time",
    CauseCode.RUN_NOT_PREPARED: "A run could not be prepared: {words}",
    CauseCode.RUN_FAILED: "A run failed: {words}",
    CauseCode.HOST_GONE: "its Ray node or worker ended",
    CauseCode.HOST_SILENT: "it reported nothing for {seconds:.0f} s",
    CauseCode.HOST_PROCESS_ENDED: "the process that runs trials there ended: {words}",
    CauseCode.OTHER_DIALIN: "it has dialin {there}, and the study runs with {here}",
    CauseCode.OTHER_MACHINE: "it is a {there} machine, and the servers are built for {here}",
    CauseCode.DATASET_IN_USE: "it has other prepared data under the same name, which another study uses",
    CauseCode.NO_COPY_OF_BUILD: "it has no {build}, and dialin did not install the one here, so that it cannot be copied",
    CauseCode.GUARD_TRIPPED: _guard_tripped,
    CauseCode.MACHINE: "{words}",
    CauseCode.NO_TRAFFIC: "Nobody sent the server any statement in the measured time",
}


def sentence(cause: Cause) -> str:
    """Return what went wrong, in a sentence without its full stop."""
    template = _SENTENCES[cause.code]
    if callable(template):
        return template(cause.figures)
    figures = dict(cause.figures)
    if "exit" in figures:
        figures["exit"] = _exit(figures["exit"])
    return template.format(**figures)


def with_advice(cause: Cause) -> str:
    """Return what went wrong, in one line, followed by the advice if there is any."""
    text, remedy = sentence(cause), advice(cause)
    return f"{text.rstrip('.')}. {remedy}" if remedy else text

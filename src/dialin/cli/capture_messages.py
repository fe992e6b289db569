"""Messages of `dialin capture start`: what it will do to the server, its progress, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status

from dialin.capture.log_settings import Source, leaves_sessions_logging
from dialin.capture.server_capture import Captured, PreparedCapture, Progress, Watcher, unarmed_text
from dialin.cli.console import errors, say
from dialin.errors import UserError
from dialin.model.capture import StopReason
from dialin.model.setting import as_number
from dialin.text import about, command_line, counted, duration, number, size, visible

_LINE_EVERY = 30.0
"""Seconds between two lines of progress where standard error is not a terminal."""

_SECONDS = {"s": 1, "m": 60, "h": 3600}

_ENDED = {
    StopReason.INTERRUPTED: "Stopped before its time; what was captured is kept",
    StopReason.MAX_SIZE: "The log reached --max-size before its time; what was captured is kept",
    StopReason.DISK: "The disk of the log has less than --min-free left; what was captured is kept",
    StopReason.DEADLINE: "The watchdog ended the log, because dialin did not end it in time",
    StopReason.WATCHDOG_ENDED: "The watchdog of the capture was ended by something else; what was captured is kept",
}


def seconds_of(text: str, option: str) -> float:
    """Return the seconds of a length of time such as `90s`, `30m` or `1h`.

    Raises:
        UserError: the text is not a length of time.
    """
    if match := re.fullmatch(r"(\d{1,7}(?:\.\d{1,9})?)([smh])", text.strip()):
        return float(match[1]) * _SECONDS[match[2]]
    raise UserError(f"{option} {text} is not a length of time", f"Write it like {option} 90s, {option} 30m or {option} 1h")


def bytes_of(text: str, option: str) -> int:
    """Return the bytes of a size such as `500M` or `5G`.

    Raises:
        UserError: the text is not a size, or the size is too small for a log.
    """
    count = as_number(text)
    if count is None or count < 1024 * 1024:
        raise UserError(f"{option} {text} is not a size of at least 1M", f"Write it like {option} 500M or {option} 5G")
    return int(count)


def announce(prepared: PreparedCapture) -> None:
    """Say what a capture does to the server, and what it costs."""
    request, attached, settings = prepared.request, prepared.attached, prepared.settings
    now = prepared.variables
    for note in attached.account.notes:
        say(f"Note: {note}")
    say(f"dialin did not start this server: {attached.build.id}, {attached.account}. It will")
    for name, value in {**settings.quiet, **settings.arm}.items():
        say(f"  set {name} (now {visible(now[name]) or 'empty'}) to {'empty' if value == '' else value}")
    if prepared.source is Source.SLOW:
        say(f"  wait up to {duration(request.arm)} for clients to reconnect: older sessions are not logged")
    ((switch, value), *_) = settings.fire.items()
    ends = f"until the log has {size(request.max_bytes)} or its disk less than {size(prepared.min_free)} free"
    say(f"  set {switch} to {value} for {duration(60 * request.minutes)}, or {ends}")
    sample, cost = prepared.sample, prepared.cost
    say(
        f"Load now: {number(sample.statements)} statements/s. The log takes about {size(cost.bytes_per_second)} per second, "
        f"about {size(prepared.expected_bytes)} in all, and about {number(100 * cost.cpus)} % of one CPU"
    )
    if cost.bytes_per_second and request.max_bytes < cost.bytes_per_second * 60 * request.minutes:
        say(f"Note: --max-size is reached after {about(request.max_bytes / cost.bytes_per_second)}")
    for note in _notes(prepared):
        say(f"Note: {note}")
    say(
        "Every value is written down first and put back at the end. A separate process does so if dialin dies; "
        "after a crash of the machine: dialin restore"
    )


def _notes(prepared: PreparedCapture) -> list[str]:
    notes = []
    log = "slow log" if prepared.source is Source.SLOW else "general log"
    if prepared.was_on:
        notes.append(f"the server's own {log} gets nothing from now until the end of the capture; what it has stays")
    if leaves_sessions_logging(prepared.source, prepared.variables):
        notes.append(
            "sessions that begin during the capture keep long_query_time=0 until they end, and fill the server's own slow log"
        )
    if not prepared.place.is_removable:
        notes.append(f"you may not remove files from {prepared.place.directory}: delete the log yourself afterwards")
    return notes


@contextmanager
def watching() -> Iterator[Watcher]:
    """Show progress as one line that is redrawn, or as lines from time to time where there is no terminal."""
    console = errors()
    if console.is_terminal and not console.is_dumb_terminal:
        with console.status("Starting") as status:
            yield _StatusLine(console, status)
    else:
        yield _Lines()


class _StatusLine:
    """One line at the bottom of the terminal."""

    def __init__(self, console: Console, status: Status) -> None:
        self._console = console
        self._status = status

    def message(self, text: str) -> None:
        self._console.print(text, soft_wrap=True, markup=False)

    def progress(self, progress: Progress) -> None:
        self._status.update(progress_text(progress))


class _Lines:
    """A line when waiting begins, a line when logging begins, and then a line every `_LINE_EVERY` seconds."""

    def __init__(self) -> None:
        self._next: dict[bool, float] = {}

    def message(self, text: str) -> None:
        say(text)

    def progress(self, progress: Progress) -> None:
        is_logging = progress.log_bytes is not None
        if progress.seconds_left <= self._next.get(is_logging, progress.seconds_left):
            self._next[is_logging] = progress.seconds_left - _LINE_EVERY
            say(progress_text(progress))


def progress_text(progress: Progress) -> str:
    """Return how far a capture is: time left, bytes and statements, or the sessions that it waits for."""
    left = duration(progress.seconds_left)
    if progress.log_bytes is None:
        waiting = unarmed_text(progress.sessions) if progress.sessions else "sessions"
        return f"Waiting at most {left} more for clients to reconnect: {waiting} are older than long_query_time=0"
    return f"Logging: {left} left, {size(progress.log_bytes)}, about {counted(progress.statements, 'statement')}"


def say_end(captured: Captured, directory: str) -> None:
    """Say how a capture ended, how much it covers, and what comes next."""
    if captured.reason in _ENDED:
        say(_ENDED[captured.reason])
    if captured.sessions is not None and captured.sessions.unarmed:
        say(f"{unarmed_text(captured.sessions)} began before long_query_time was 0: the coverage shows how much they sent")
    coverage = captured.summary.coverage
    share = coverage.share if coverage else None
    if coverage is None or share is None:
        covers = "Coverage unknown: the server's counters could not be read at the end"
    else:
        covers = f"Coverage {100 * share:.2f} % ({coverage.logged:,} of {coverage.questions:,} Questions)"
    say(f"{covers}. Next: {command_line('dialin capture show', directory)}")

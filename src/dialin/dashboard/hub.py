"""Looks at the study once a second for all viewers together, and not at all while there are none."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

from dialin.clock import Clock
from dialin.dashboard.follow import Follower, Key, Snapshot
from dialin.dashboard.study_state import State
from dialin.dashboard.view import view
from dialin.errors import DialinError
from dialin.report.board import Board
from dialin.store import lock, requests
from dialin.store.lock import Holder

Signal = Callable[[int, int], None]


def stop_now(holder: Holder, directory: Path, identity: Callable[[int], str], send: Signal = signal.pidfd_send_signal) -> bool:
    """Signal the process that runs a study to stop cleanly; return False where it is gone, or belongs to another user.

    The owner of the directory can write any process id into the lock file. The process must therefore have that file open too,
    so that no other process is ever signalled.
    """
    try:
        process = os.pidfd_open(holder.pid)
    except (OSError, OverflowError):
        return False
    try:
        is_alive = holder.identity and identity(holder.pid) == holder.identity
        if not is_alive or not _has_open(holder.pid, directory / lock.LOCK_FILE):
            return False
        # Not SIGINT: a process that a shell started in the background ignores it. dialin treats both signals alike.
        send(process, signal.SIGTERM)
    except OSError:
        return False
    finally:
        os.close(process)
    return True


def _has_open(pid: int, path: Path) -> bool:
    """Return whether a process has a file open. A symbolic link does not count: it could lead to a file that any process opens.

    Raises:
        OSError: the file is gone, or the process, or it is another user's.
    """
    facts = path.lstat()
    if not stat.S_ISREG(facts.st_mode):
        return False
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            if os.path.samestat(descriptor.stat(), facts):
                return True
    return False


LINGER = 60.0
"""Seconds that a page which ends by itself waits for a viewer once its study has ended."""

_EVERY = 1.0
_STILL_THERE = 15.0
"""Seconds after which a silent stream sends a comment; without it, a viewer that is gone would not be noticed."""

_MOST_OF_A_CPU = 0.05
"""The share of a CPU that reports may take while the study runs: after a report that took long, the next one waits longer."""

_ENDED = b"event: over\ndata:\n\n"


class Hub:
    """One reader for all viewers; `alone` is called when the study has ended and nobody has looked for a while."""

    def __init__(
        self,
        follower: Follower,
        clock: Clock,
        identity: Callable[[int], str],
        alone: Callable[[], None] | None = None,
        every: float = _EVERY,
        cpu: Callable[[], float] = time.thread_time,
    ) -> None:
        self._follower = follower
        self._clock = clock
        self._identity = identity
        self._alone = alone
        self._every = every
        self._cpu = cpu
        self._viewers = 0
        self._attended = clock.monotonic()
        self._wanted = asyncio.Event()
        self._news = asyncio.Event()
        self._snapshot = Snapshot(State.READYING, Board())
        self._live = b""
        self.report = b""
        """The newest report, as JSON: its number, title, main part, menu and data; empty where there is none yet."""
        self._number = 0
        self._key: Key = ()
        self._rests_until = 0.0
        self._making: asyncio.Task[None] | None = None
        self._trouble = ""
        self._stopped: Holder | None = None
        self._over = False

    async def run(self) -> None:
        """Look at the study until the page ends."""
        try:
            while not self._over:
                self._wanted.clear()
                if self._viewers:
                    await self.look()
                try:
                    self._end_where_alone()
                except Exception as error:  # as with a look: if this loop ended, the page would show old data
                    with suppress(Exception):
                        self._report_error(error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wanted.wait(), self._every)
        finally:
            if self._making is not None:
                self._making.cancel()

    def end(self) -> None:
        """End the page: every stream says so and closes."""
        self._over = True
        self._wanted.set()
        self._publish()

    async def look(self) -> None:
        """Read the study once, and send its viewers what has changed."""
        try:
            self._snapshot = await asyncio.to_thread(self._follower.look)
            self._make_report(self._snapshot)
            self._say(self._trouble)
        except Exception as error:  # the directory may be gone, or its disk; the last snapshot stays
            self._follower.forget()
            with suppress(Exception):  # the next look may show more
                self._report_error(error)

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield the live part of the page, again whenever it changes, as server-sent events."""
        self._viewers += 1
        self._wanted.set()
        try:
            last = b""
            while not self._over:
                news = self._news
                if self._live and self._live != last:
                    last = self._live
                    yield b"data: " + last + b"\n\n"
                    continue
                try:
                    await asyncio.wait_for(news.wait(), _STILL_THERE)
                except TimeoutError:
                    yield b": still here\n\n"
            yield _ENDED
        finally:
            self._viewers -= 1
            self._attended = self._clock.monotonic()

    def stop_after_block(self, *, wanted: bool) -> None:
        """Ask the study to stop after the block under way, or take that back."""
        (requests.ask_to_stop if wanted else requests.withdraw_stop)(self._follower.directory)
        self._wanted.set()

    def stop_now(self) -> bool:
        """Stop the study at once, and only once; False where it has no process that can be stopped."""
        holder = self._follower.holder()
        if holder is None:
            return False
        if holder == self._stopped:
            return True  # a second signal would make it give up its cleanup
        if not stop_now(holder, self._follower.directory, self._identity):
            return False
        self._stopped = holder
        self._wanted.set()
        return True

    def _say(self, trouble: str) -> None:
        directory, stopping = self._follower.directory, self._stopped is not None and self._follower.holder() == self._stopped
        now, number = self._clock.now(), self._number
        live = view(self._snapshot, directory, now, stopping=stopping, report=number, trouble=trouble).encode()
        if live != self._live:
            self._live = live
            self._publish()

    def _report_error(self, error: Exception) -> None:
        words = f"The study cannot be read: {error if isinstance(error, DialinError) else type(error).__name__}"
        try:
            self._say(words)
        except Exception:  # the last snapshot itself cannot be shown
            self._snapshot = Snapshot(State.READYING, Board())
            self._say(words)

    def _publish(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _make_report(self, snapshot: Snapshot) -> None:
        """Begin to make a new report if the study has changed; only one is made at a time."""
        if not snapshot.key or snapshot.key == self._key or (self._making is not None and not self._making.done()):
            return
        if snapshot.state is State.RUNNING and self._clock.monotonic() < self._rests_until:
            return
        self._making = asyncio.create_task(self._finish_report(snapshot.key))

    async def _finish_report(self, key: Key) -> None:
        took = 0.0
        try:
            self.report, took = await asyncio.to_thread(self._render_report, self._number + 1)
            self._number += 1
            self._trouble = ""
        except DialinError as error:
            self._trouble = str(error)
        except Exception as error:
            self._trouble = f"The report could not be made, by a fault of dialin itself: {type(error).__name__}"
        self._key = key
        self._rests_until = self._clock.monotonic() + took / _MOST_OF_A_CPU
        self._wanted.set()

    def _render_report(self, number: int) -> tuple[bytes, float]:
        began = self._cpu()
        body = self._follower.report()
        report = {"number": number, "title": body.title, "main": body.main, "menu": body.menu, "data": body.data}
        return json.dumps(report, separators=(",", ":"), allow_nan=False).encode(), self._cpu() - began

    def _end_where_alone(self) -> None:
        if self._alone is None:
            return
        if self._viewers or self._follower.holder() is not None:
            self._attended = self._clock.monotonic()
        elif self._clock.monotonic() - self._attended > LINGER:
            self._alone()

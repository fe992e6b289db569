"""The line of progress on a real terminal that changes its size while it runs."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pyte
import pytest

from live import until

SIZES = [(100, 30), (20, 5), (200, 50), (37, 9), (100, 30)]

STUDY = """
import sys, time
from rich.console import Console
from dialin.clock import SystemClock
from dialin.report.progress_line import ProgressLine
from fixtures import example_studies
from fixtures.event_replay import drive

class EndError(Exception):
    pass

left = 150

def tick(at):
    global left
    left -= 1
    if left < 0:
        raise EndError

with ProgressLine(Console(stderr=True), SystemClock()) as line:
    try:
        drive(example_studies.EVERY[sys.argv[1]](), line, tick)
    except EndError:
        pass
    print("drawn", file=open(sys.argv[2], "w"))
    sys.stdin.readline()
print("left as it was found", file=sys.stderr)
"""


class Terminal:
    """A terminal of any size with a program in it, and what it shows."""

    def __init__(self, words, width, height):
        self._screen = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self._screen)
        self.master, slave = pty.openpty()
        self._set_size(width, height)
        attributes = termios.tcgetattr(slave)
        attributes[3] &= ~termios.ECHO  # a key that is pressed moves no line
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        environment |= {"TERM": "xterm-256color", "PYTHONPATH": str(Path(__file__).parents[1] / "tests")}
        self.process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True)
        os.close(slave)

    def _set_size(self, width, height):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def resize(self, width, height):
        """Become another size, as a window that is dragged: what does not fit is cut off, and the program is told."""
        self._screen.resize(height, width)
        self._set_size(width, height)
        os.killpg(self.process.pid, signal.SIGWINCH)

    def read(self, seconds):
        """Take what the program writes for a while."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([self.master], [], [], left)[0]:
                try:
                    self._stream.feed(os.read(self.master, 65536))
                except OSError:
                    return

    def settled(self, wanted):
        """Return what is shown once it is as wanted, or after a long while."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            self.read(0.3)
            if wanted(self.lines):
                break
        return self.lines

    @property
    def lines(self):
        return [line.rstrip() for line in self._screen.display]

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def terminal(tmp_path):
    opened = []

    def run(record):
        path = tmp_path / "drawn"
        made = Terminal([sys.executable, "-c", STUDY, record, str(path)], *SIZES[0])
        opened.append(made)
        deadline = time.monotonic() + 120
        while not path.exists() and time.monotonic() < deadline:
            made.read(0.2)
        return made

    yield run
    for one in opened:
        one.end()


@pytest.mark.parametrize("record", ["winner", "hostile"])
def test_a_terminal_may_shrink_to_nearly_nothing_and_grow_again_and_the_line_is_as_wide_as_it(terminal, record):
    shown = terminal(record)

    def newest(lines):
        return next((line for line in reversed(lines) if line), "")

    for width, height in SIZES:
        shown.resize(width, height)
        shown.read(1.5)  # what was drawn for the size before has come by then
        lines = shown.settled(lambda lines: newest(lines).startswith("block "))
        assert shown.process.poll() is None, "it died"
        assert newest(lines).startswith("block "), lines
        assert newest(lines).endswith("…") or width > 100, lines


def test_the_line_is_taken_away_at_the_end_and_messages_stay(terminal):
    shown = terminal("winner")
    os.write(shown.master, b"\n")
    until(lambda: shown.read(0.3) or shown.process.poll() is not None)
    shown.read(0.3)
    assert shown.process.returncode == 0
    message, last = [line for line in shown.lines if line]
    assert message.startswith("Data is prepared: ")
    assert last == "left as it was found"
    assert not shown._screen.cursor.hidden

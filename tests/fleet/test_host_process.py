"""The process that runs trials on a host: it ends by itself where nobody is there, and runs no more of what is broken off."""

import os
import pickle
import subprocess
import sys
import textwrap
import time

import pytest

from dialin.fleet.host_process import BreakOff, Orders, RunBlock, StillThere

WAITING = """
import sys, time
from dialin.fleet.host_process import Orders
from dialin.fleet.stop_signals import stopping_cleanly
try:
    with stopping_cleanly():
        orders = Orders(sys.stdin.buffer, silence=float(sys.argv[1]))
        print("ready", flush=True)
        while True:
            time.sleep(60)
except KeyboardInterrupt:
    print("ended cleanly", flush=True)
"""


@pytest.fixture
def waiting():
    """A process that waits for orders, as one with a trial under way does."""
    started = []

    def start(silence):
        words = [sys.executable, "-c", textwrap.dedent(WAITING), str(silence)]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=False)
        started.append(process)
        assert process.stdout.readline() == b"ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait()


def test_it_ends_cleanly_when_the_agent_is_gone(waiting):
    process = waiting(600)
    process.stdin.close()
    assert process.stdout.readline() == b"ended cleanly\n"
    assert process.wait(60) == 0


def test_it_ends_cleanly_when_nobody_asks_any_more_and_not_before(waiting):
    process = waiting(2)
    began = time.monotonic()
    while time.monotonic() - began < 3:
        process.stdin.write(pickle.dumps(StillThere()))
        process.stdin.flush()
        assert process.poll() is None
        time.sleep(0.1)
    assert process.stdout.readline() == b"ended cleanly\n"


def test_an_order_to_break_off_is_seen_while_a_block_runs():
    read, write = os.pipe()
    orders = Orders(os.fdopen(read, "rb"), silence=600)
    for order in (StillThere(), RunBlock(3, None), BreakOff(3)):
        os.write(write, pickle.dumps(order))
    assert orders.next() == RunBlock(3, None)
    until = time.monotonic() + 60
    while orders.broken_off < 3 and time.monotonic() < until:
        time.sleep(0.01)
    assert orders.broken_off == 3

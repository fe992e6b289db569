"""A host that stands still is told from a server that stalls, on a real server under load."""

import os
import signal
import statistics
import time

import pytest

from dialin.clock import SystemClock
from dialin.model.trial import LOST_GAP, Step
from dialin.probes.hiccups import Heartbeat
from dialin.store.store import Store
from live import EASY, FAST, LITTLE, children, interrupt, measuring, until

LONG = ["--measure", "60", "--warmup", "1", "--minutes", "12"]
SWEEP = ["sweep", "read_buffer_size=128K,256K", "--server", FAST, *LITTLE, *EASY, *LONG]
FROZEN = 2.0


def measured(directory):
    """The measured seconds of the first trial."""
    with Store.open(directory) as store:
        return [sample for sample in store.samples()[1] if sample.step is Step.MEASURE]


def freeze(directory, *pids):
    """Stop processes for a while; for how long, and what was measured from then until a second after they went on."""
    before, began = len(measured(directory)), time.monotonic()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(FROZEN)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    stood, went_on = time.monotonic() - began, time.time()
    until(lambda: measured(directory)[-1].at > went_on + 1, every=0.3)
    return stood, measured(directory)[before:]


def test_seconds_in_which_the_host_stood_still_are_lost_and_those_in_which_the_server_stalled_are_not(dialin):
    out = dialin.directory / "study"
    process = dialin.start(*SWEEP, "--out", out)
    measuring(out)
    running = children(process)
    with Heartbeat(SystemClock()) as witness:
        stood, frozen = freeze(out, process.pid, running["load"], running["server"])
        _, stalled = freeze(out, running["server"])
        stood_still = witness.taken()
    interrupt(process)
    if stood_still >= LOST_GAP / 2:
        pytest.skip(f"the machine itself stood still for {stood_still:.1f} s meanwhile")
    (lost,) = [sample for sample in frozen if sample.lost]
    # It may take a busy machine a while to let them go on.
    assert FROZEN - 0.5 < lost.gap < stood + 1
    assert min(sample.tps for sample in stalled) < statistics.median(sample.tps for sample in measured(out)) / 100
    assert not any(sample.lost for sample in stalled), "a stall of the server is what a study is about"

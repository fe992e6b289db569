import os

import pytest

from dialin.errors import ServerError
from dialin.probes.process import ProcessProbe
from dialin.sentences.probe_notes import probe_note_text

STAT = "7 (my) sq l) S 1 7 7 0 -1 1077936384 1500 0 25 0 300 120 0 0 20 0 34 0 12345 989888000 1000 18446744073709551615 1"
IO = "rchar: 100\nwchar: 200\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n"


def status(voluntary, involuntary):
    return f"Name:\tmysqld\nvoluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{involuntary}\nx86_Thread:\t\n"


@pytest.fixture
def proc(tmp_path):
    def write(name, text):
        path = tmp_path / "proc/7" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    write("stat", STAT)
    write("io", IO)
    write("task/7/status", status(10, 1))
    write("task/8/status", status(100, 20))
    return write


@pytest.fixture
def probe(proc, tmp_path):
    return ProcessProbe(7, lambda: 2.5, tmp_path)


def test_cpu_and_memory_of_the_process_are_read(probe):
    reading = probe.read()
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    assert reading.counters == {
        "server_cpu_user": 300 / ticks,
        "server_cpu_system": 120 / ticks,
        "client_cpu": 2.5,
        "voluntary_switches": 110,
        "involuntary_switches": 21,
        "minor_faults": 1500,
        "major_faults": 25,
        "read_chars": 100,
        "write_chars": 200,
        "read_calls": 3,
        "write_calls": 4,
        "read_bytes": 4096,
        "write_bytes": 8192,
    }
    assert reading.gauges == {"resident_bytes": 1000 * page, "threads": 34}
    assert reading.notes == ()


def switches(probe):
    return probe.read().counters["voluntary_switches"]


def test_a_thread_that_ends_takes_nothing_away(probe, tmp_path, proc):
    assert switches(probe) == 110
    proc("task/7/status", status(15, 1))
    (tmp_path / "proc/7/task/8/status").unlink()
    assert switches(probe) == 115


def test_a_new_thread_begins_at_nothing_even_under_an_old_number(probe, proc):
    switches(probe)
    proc("task/8/status", status(30, 1))
    proc("task/9/status", status(4, 0))
    assert switches(probe) == 144


def test_hidden_figures_of_a_process_are_said(probe, tmp_path):
    (tmp_path / "proc/7/io").unlink()
    reading = probe.read()
    assert "read_bytes" not in reading.counters
    assert "server_cpu_user" in reading.counters
    assert "root" in probe_note_text(reading.notes[0])


def test_a_process_that_is_gone_is_the_servers_fault(tmp_path):
    with pytest.raises(ServerError):
        ProcessProbe(7, lambda: 0.0, tmp_path).read()


def test_the_figures_of_this_process_never_fall():
    reader = ProcessProbe(os.getpid(), lambda: 0.0)
    first, second = reader.read(), reader.read()
    assert first.counters.keys() == second.counters.keys()
    assert all(second.counters[name] >= value for name, value in first.counters.items())

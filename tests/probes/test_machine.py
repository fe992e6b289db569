import os

import pytest

from dialin.probes.machine import MachineProbe
from dialin.sentences.probe_notes import probe_note_text

STAT = (
    "cpu  100 0 50 900 5 0 3 250 0 0\ncpu0 50 0 25 450 2 0 1 125 0 0\nintr 5 1\nctxt 987654\nprocs_running 4\nprocs_blocked 0\n"
)
DISK = "   10  2  80  7  20  3  160  9  1  30  0 0 0 0 0 0 0\n"


@pytest.fixture
def root(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    write("proc/stat", STAT)
    write("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n")
    write("proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=250000\nfull avg10=0 total=7\n")
    write("proc/self/mountinfo", "27 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n")
    write("sys/devices/vda/queue/rotational", "0")
    write("sys/devices/vda/stat", DISK)
    write("sys/devices/vda/vda1/stat", "0 0 0 0 0 0 0 0 0 0 0\n")
    (tmp_path / "sys/dev/block").mkdir(parents=True)
    (tmp_path / "sys/dev/block/254:1").symlink_to(tmp_path / "sys/devices/vda/vda1")
    return tmp_path


def test_the_machine_and_the_whole_disk_below_the_data_are_read(root):
    reading = MachineProbe(root, root).read()
    assert reading.counters == {
        "context_switches": 987654,
        "steal_seconds": 250 / os.sysconf("SC_CLK_TCK"),
        "pressure_cpu_seconds": 1.5,
        "pressure_io_seconds": 0.25,
        "disk_reads": 10,
        "disk_writes": 20,
        "disk_read_bytes": 80 * 512,
        "disk_write_bytes": 160 * 512,
        "disk_read_seconds": 0.007,
        "disk_write_seconds": 0.009,
        "disk_busy_seconds": 0.03,
    }
    assert reading.gauges == {"run_queue": 3}, "the reader itself is not counted"
    assert reading.notes == ()


def test_without_a_data_directory_here_no_disk_is_reported(root):
    reading = MachineProbe(None, root).read()
    assert not any(name.startswith("disk") for name in reading.counters)
    assert tuple(map(probe_note_text, reading.notes)) == ("The disk of the data is unknown, so its figures are not available",)


def test_data_in_memory_has_no_disk(root):
    (root / "proc/self/mountinfo").write_text("27 1 0:40 / / rw - tmpfs tmpfs rw\n")
    assert "is unknown" in probe_note_text(MachineProbe(root, root).read().notes[0])


def test_a_kernel_that_reports_nothing_is_no_error(tmp_path):
    reading = MachineProbe(tmp_path, tmp_path).read()
    assert (reading.counters, reading.gauges) == ({}, {})

"""What is reported of the machine."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dialin.probes import host

X86 = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Intel(R)  Xeon(R) CPU @ 2.80GHz\n\nprocessor\t: 1\nmodel name\t: another\n"
ARM = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Makes a machine whose kernel tells this of its CPUs, and on which `lscpu` prints that, or is missing."""

    def make(reported, printed=None):
        monkeypatch.setattr(host, "read", lambda path: reported if path == Path("/proc/cpuinfo") else "")
        monkeypatch.setenv("PATH", str(tmp_path))
        if printed is not None:
            program = tmp_path / "lscpu"
            program.write_text(f"#!/bin/sh\necho '{printed}'\n")
            program.chmod(0o755)
        return host.inventory(tmp_path)["cpu"]

    return make


def test_the_cpu_is_named_as_the_kernel_names_it(machine):
    assert machine(X86, "Model name: not asked") == "Intel(R) Xeon(R) CPU @ 2.80GHz"


def test_a_cpu_that_the_kernel_has_no_name_for_has_that_of_lscpu(machine):
    assert machine(ARM, "Architecture:  aarch64\nVendor ID:  ARM\n  Model name:  Neoverse-N1") == "Neoverse-N1"


@pytest.mark.parametrize("printed", [None, "", "Architecture: aarch64"])
def test_a_cpu_that_nothing_names_is_unknown(machine, printed):
    assert machine(ARM, printed) == "unknown"


def test_the_cpu_time_of_a_process_is_finer_than_a_tick():
    began, before = time.process_time(), host.cpu_seconds(os.getpid())
    while time.process_time() < began + 0.002:
        pass
    used = host.cpu_seconds(os.getpid()) - before
    assert 0.001 <= used <= time.process_time() - began


def test_a_process_that_ended_has_its_cpu_time_until_it_is_waited_for_and_then_none():
    with subprocess.Popen([sys.executable, "-c", "pass"], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.read()
        assert host.cpu_seconds(process.pid) > 0
        process.wait()
        assert host.cpu_seconds(process.pid) == 0


def test_the_limits_of_a_servers_container_count_where_they_are_lower(monkeypatch):
    limits = {7: (1000, 0.4), 8: (None, None), 9: (9000, 64.0)}
    monkeypatch.setattr(host.control_groups, "memory_limit", lambda memory, process: limits[process][0])
    monkeypatch.setattr(host.control_groups, "cpu_quota", lambda process: limits[process][1])
    assert [host.memory_within(pid, 5000) for pid in limits] == [1000, 5000, 5000]
    assert [host.cpus_of(pid) for pid in limits] == [1, host.cpu_count(), host.cpu_count()]

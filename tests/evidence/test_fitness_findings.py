"""What is said of a machine follows from its facts, and from nothing else."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.evidence import fitness_findings
from dialin.model.fitness import (
    Busy,
    CpuFacts,
    DiskFacts,
    Facts,
    LimitFacts,
    LoadFacts,
    MemoryFacts,
    PlaceFacts,
    Severity,
)

GIB = 1024**3
GOOD = Facts(
    cpu=CpuFacts(
        usable=16,
        governors={"performance": 16},
        driver="intel_pstate",
        turbo=False,
        turbo_switch="/sys/devices/system/cpu/intel_pstate/no_turbo",
        base_hz=2.1e9,
        most_hz=3.5e9,
        clock_source="tsc",
        clock_sources=("tsc", "hpet"),
        clock_read=9e-8,
        nodes={0: "0-15"},
        distance=1.0,
    ),
    memory=MemoryFacts(64 * GIB, 60 * GIB, 0, 0, 60, "madvise", "madvise"),
    disk=DiskFacts("/data", "ext4", ("rw",), "nvme0n1", "Fast One", False, "none", "write back", 500 * GIB, (0.0002,) * 20),
    load=LoadFacts(1.0, 0.005, 0, 0.0, 0.0001, 0.0, 0.0, 0.0, 0.0),
    limits=LimitFacts(65536, 65536, False, 0, 65536, None, None),
    place=PlaceFacts(False, "Maker Model", ""),
)
NOTHING = Facts(CpuFacts(16), MemoryFacts(), DiskFacts("/data"), LoadFacts(1.0), LimitFacts(), PlaceFacts())
NEEDED = 2 * GIB


def with_(**groups):
    """The good machine with some facts changed."""
    return replace(GOOD, **{name: replace(getattr(GOOD, name), **changes) for name, changes in groups.items()})


def found(subject, **groups):
    (finding,) = [each for each in fitness_findings.findings(with_(**groups), NEEDED) if each.subject == subject]
    return finding


def test_of_a_good_machine_everything_is_reported_and_nothing_is_to_mend():
    findings = fitness_findings.findings(GOOD, NEEDED)
    assert {finding.severity for finding in findings} == {Severity.GOOD}
    assert not any(finding.remedy or finding.command for finding in findings)
    assert fitness_findings.unknown_subjects(GOOD) == []
    assert len(findings) == len({finding.subject for finding in findings}) == 19


def test_facts_that_are_not_reported_are_neither_good_nor_bad():
    assert [finding.subject for finding in fitness_findings.findings(NOTHING, NEEDED)] == ["CPUs", "container"]
    unknown = fitness_findings.unknown_subjects(NOTHING)
    assert {"CPU governor", "fsync", "free space", "steal", "hypervisor"} <= set(unknown)
    assert len(unknown) == 17


SPOILED = [
    ("CPUs", Severity.NOTICE, {"cpu": {"usable": 2}}, "2 CPUs"),
    ("CPU governor", Severity.NOTICE, {"cpu": {"governors": {"schedutil": 16}}}, "schedutil on 16 CPUs"),
    ("CPU governor", Severity.NOTICE, {"cpu": {"governors": {"powersave": 16}}}, "powersave on 16 CPUs"),
    ("CPU governor", Severity.NOTICE, {"cpu": {"governors": {"userspace": 16}}}, "userspace"),
    ("CPU governor", Severity.BAD, {"cpu": {"governors": {"powersave": 16}, "driver": "acpi-cpufreq"}}, "powersave"),
    (
        "CPU governor",
        Severity.NOTICE,
        {"cpu": {"governors": {"performance": 15, "ondemand": 1}}},
        "15 CPUs and ondemand on 1 CPU",
    ),
    ("turbo", Severity.NOTICE, {"cpu": {"turbo": True}}, "from 2.1 up to 3.5 GHz"),
    ("clock source", Severity.NOTICE, {"cpu": {"clock_source": "hpet", "clock_read": 1.2e-6}}, "hpet, 1,200 ns"),
    ("NUMA", Severity.NOTICE, {"cpu": {"nodes": {0: "0-7", 1: "8-15"}, "distance": 2.1}}, "2.10 times as far"),
    ("memory", Severity.BAD, {"memory": {"available": GIB // 2}}, "512 MiB available of 64 GiB"),
    ("swap", Severity.NOTICE, {"memory": {"swap_total": GIB}}, "swappiness 60"),
    ("swap", Severity.NOTICE, {"memory": {"swap_total": GIB, "swap_used": 1024**2, "swappiness": 1}}, "1.0 MiB of 1.0 GiB"),
    ("swap", Severity.BAD, {"memory": {"swap_total": GIB}, "load": {"swapped": 200.0}}, "200 pages/s"),
    ("huge pages", Severity.NOTICE, {"memory": {"huge_pages": "always"}}, "always, defrag madvise"),
    ("file system", Severity.BAD, {"disk": {"file_system": "tmpfs"}}, "tmpfs at /data"),
    ("file system", Severity.NOTICE, {"disk": {"options": ("rw", "nobarrier")}}, "nobarrier"),
    ("file system", Severity.NOTICE, {"disk": {"file_system": "nfs4"}}, "nfs4"),
    ("file system", Severity.NOTICE, {"disk": {"file_system": "fuse.sshfs"}}, "fuse.sshfs"),
    ("file system", Severity.NOTICE, {"disk": {"file_system": "btrfs"}}, "btrfs"),
    ("file system", Severity.NOTICE, {"disk": {"file_system": "overlay"}}, "overlay"),
    ("disk", Severity.NOTICE, {"disk": {"rotational": True, "fsyncs": (0.009,) * 20}}, "reported as rotating"),
    ("disk", Severity.NOTICE, {"disk": {"rotational": True}}, "reported as rotating"),
    ("disk", Severity.NOTICE, {"disk": {"scheduler": "bfq"}}, "scheduler bfq"),
    ("fsync", Severity.NOTICE, {"disk": {"fsyncs": (0.008,) * 20}}, "8.00 ms (median)"),
    ("fsync", Severity.NOTICE, {"disk": {"fsyncs": (*(0.0002,) * 19, 0.05)}}, "50.0 ms (worst)"),
    ("fsync", Severity.NOTICE, {"disk": {"fsyncs": (0.000004,) * 20}}, "0.004 ms"),
    ("free space", Severity.BAD, {"disk": {"free": GIB}}, "1.0 GiB"),
    ("other load", Severity.NOTICE, {"load": {"busy": 0.05}}, "5.0 % of 16 CPUs"),
    ("other load", Severity.BAD, {"load": {"busy": 0.2, "busiest": (Busy("chrome", 7, 1.5),)}}, "chrome (7) 150.0 % of one"),
    ("waiting (PSI)", Severity.NOTICE, {"load": {"waited_io": 0.3}}, "a disk 30.0 %"),
    ("waiting (PSI)", Severity.NOTICE, {"load": {"waited_memory": 0.02}}, "memory 2.0 %"),
    ("steal", Severity.NOTICE, {"load": {"stolen_since_boot": 0.02}}, "2.0 % of the requested CPU time since boot"),
    ("steal", Severity.BAD, {"load": {"stolen": 0.08}}, "8.0 % now"),
    ("open files", Severity.NOTICE, {"limits": {"files": 1024, "files_most": 4096}}, "1,024, and up to 4,096"),
    ("asynchronous I/O", Severity.BAD, {"limits": {"aio_used": 64000}}, "64,000 of 65,536"),
    ("container", Severity.BAD, {"limits": {"cpu_quota": 2.0}, "place": {"container": "docker"}}, "docker, a quota of 2 CPUs"),
    ("hypervisor", Severity.NOTICE, {"place": {"virtual": True}}, "virtual machine (Maker Model)"),
]


@pytest.mark.parametrize(("subject", "severity", "groups", "says"), SPOILED, ids=lambda value: str(value)[:40])
def test_a_disturbance_is_said_with_its_figures_its_effect_and_how_to_mend_it(subject, severity, groups, says):
    finding = found(subject, **groups)
    assert finding.severity is severity
    assert says in finding.observed
    assert finding.effect.endswith(".")
    assert finding.remedy.endswith((".", ":"))
    assert bool(finding.command) == finding.remedy.endswith(":")


@pytest.mark.parametrize(
    ("subject", "groups", "command"),
    [
        ("turbo", {"cpu": {"turbo": True}}, "echo 1 | tee /sys/devices/system/cpu/intel_pstate/no_turbo"),
        ("turbo", {"cpu": {"turbo": True, "turbo_switch": "/x/cpufreq/boost"}}, "echo 0 | tee /x/cpufreq/boost"),
        ("clock source", {"cpu": {"clock_source": "tsc", "clock_read": 2e-6}}, ""),
        ("swap", {"memory": {"swap_total": GIB}}, "swapoff -a"),
        ("swap", {"memory": {"swap_total": 90 * GIB, "swap_used": 80 * GIB}}, "sysctl vm.swappiness=1"),
        ("disk", {"disk": {"rotational": True, "disk": "vda"}}, "echo 0 | tee /sys/block/vda/queue/rotational"),
        ("open files", {"limits": {"files": 20000, "files_most": 20000}}, ""),
        ("asynchronous I/O", {"limits": {"aio_used": 65536}}, "sysctl fs.aio-max-nr=1048576"),
    ],
)
def test_the_command_that_mends_it_fits_the_machine(subject, groups, command):
    assert found(subject, **groups).command == command


# As the help mode of mysql 8.0.33 and 9.7.4, and of mariadb 10.11.19 and 11.4.5, printed them under these limits.
@pytest.mark.parametrize(
    ("soft", "hard", "mysql", "mariadb"),
    [
        (1024, 1024, "get 1,024 and reduce table_open_cache from 4,000 to 431", "to 421 and its instances from 8 to 1"),
        (1024, 20000, None, "get 20,000 and reduce table_open_cache_instances from 8 to 4"),
        (8160, 8160, "get 8,160 and reduce table_open_cache from 4,000 to 3,999", "table_open_cache_instances from 8 to 1"),
        (8161, 8161, None, "get 8,161 and reduce table_open_cache_instances from 8 to 1"),
        (20000, 20000, None, "get 20,000 and reduce table_open_cache_instances from 8 to 4"),
    ],
)
def test_the_cut_for_want_of_open_files_is_the_one_that_servers_make(soft, hard, mysql, mariadb):
    effect = found("open files", limits={"files": soft, "files_most": hard}).effect
    assert (mysql or "get") in effect
    assert ("MySQL" in effect) == (mysql is not None)
    assert mariadb in effect


def test_servers_take_what_they_want_where_they_are_allowed_to():
    assert found("open files", limits={"files": 1024, "files_most": 32184}).severity is Severity.GOOD


def test_root_that_may_raise_its_limits_lacks_no_files():
    assert found("open files", limits={"files": 1024, "files_most": 1024, "may_raise": True}).severity is Severity.GOOD


def test_a_quota_of_all_cpus_stops_nobody():
    assert found("container", limits={"cpu_quota": 16.0}).severity is Severity.GOOD


def test_an_fsync_on_a_busy_machine_is_not_blamed_on_the_disk_alone():
    slow = {"disk": {"fsyncs": (0.004,) * 20}}
    assert "may be faster" in found("fsync", **slow, load={"busy": 0.9}).effect
    assert "may be faster" not in found("fsync", **slow).effect


def test_the_gravest_finding_comes_first():
    findings = fitness_findings.findings(with_(load={"busy": 0.5}, cpu={"turbo": True}), NEEDED)
    assert [finding.severity for finding in findings[:3]] == [Severity.BAD, Severity.NOTICE, Severity.GOOD]


def test_names_of_processes_are_shown_and_never_obeyed():
    evil = Busy("\x1b[31mred\u202e", 7, 1.5)
    assert "\\x1b[31mred\\u202e (7)" in found("other load", load={"busy": 0.2, "busiest": (evil,)}).observed


shares = st.none() | st.floats(0, 1)
counts = st.none() | st.integers(0, 2**50)


@given(
    st.builds(
        Facts,
        cpu=st.builds(
            CpuFacts,
            usable=st.integers(1, 1024),
            governors=st.none() | st.dictionaries(st.text(min_size=1), st.integers(1, 99), min_size=1),
            turbo=st.none() | st.booleans(),
            turbo_switch=st.none() | st.text(),
            base_hz=st.none() | st.floats(1e8, 1e10),
            most_hz=st.none() | st.floats(1e8, 1e10),
            clock_read=st.none() | st.floats(0, 1e-3),
            nodes=st.none() | st.dictionaries(st.integers(0, 64), st.text(min_size=1), min_size=1),
            distance=st.none() | st.floats(1, 25),
        ),
        memory=st.builds(
            MemoryFacts,
            total=counts,
            available=counts,
            swap_total=counts,
            swap_used=counts,
            swappiness=st.none() | st.integers(0, 200),
        ),
        disk=st.builds(
            DiskFacts,
            directory=st.text(),
            rotational=st.none() | st.booleans(),
            free=counts,
            fsyncs=st.none() | st.lists(st.floats(0, 10), max_size=20).map(tuple),
        ),
        load=st.builds(LoadFacts, seconds=st.just(1.0), busy=shares, stolen=shares, stolen_since_boot=shares, waited_io=shares),
        limits=st.builds(
            LimitFacts,
            files=counts,
            files_most=counts,
            aio_used=counts,
            aio_most=counts,
            cpu_quota=st.none() | st.floats(0.01, 999),
        ),
        place=st.builds(PlaceFacts),
    )
)
def test_whatever_a_machine_reports_each_subject_is_found_or_not_reported(facts):
    findings, unknown = fitness_findings.findings(facts, NEEDED), fitness_findings.unknown_subjects(facts)
    assert sorted([finding.subject for finding in findings] + unknown) == sorted(
        [finding.subject for finding in fitness_findings.findings(GOOD, NEEDED)]
    )
    for finding in findings:
        assert finding.observed
        assert finding.severity is Severity.GOOD or (finding.effect and finding.remedy)

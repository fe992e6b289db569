"""The facts of a machine that is made of files: what it tells is read, what it does not tell is None."""

import os

import pytest

from dialin.model.fitness import Busy, CpuFacts
from dialin.probes import control_groups, disk, fitness_facts
from dialin.probes.host import Lost

SERVER = {
    "proc/meminfo": "MemTotal:       16384 kB\nSwapTotal:   2048 kB\nSwapFree:   1024 kB\nHugePages_Total:       0\n",
    "proc/sys/vm/swappiness": "60\n",
    "proc/sys/fs/aio-nr": "2305",
    "proc/sys/fs/aio-max-nr": "65536",
    "proc/self/status": "Name:\tx\nCapEff:\t000001ffffffffff\n",
    "proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu vme hypervisor avx\n",
    "proc/vmstat": "nr_free_pages 5\npswpin 10\npswpout 30\n",
    "proc/loadavg": "0.40 2.47 4.02 3/86 9988\n",
    "proc/pressure/io": "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\n",
    "proc/pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    "run/systemd/container": "lxc\n",
    "sys/class/dmi/id/sys_vendor": "QEMU\n",
    "sys/class/dmi/id/product_name": "Standard PC\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "schedutil\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/cpu10/cpufreq/scaling_governor": "schedutil\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver": "acpi-cpufreq\n",
    "sys/devices/system/cpu/cpu0/cpufreq/base_frequency": "2100000\n",
    "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "3500000\n",
    "sys/devices/system/cpu/cpufreq/boost": "1\n",
    "sys/devices/system/node/node0/cpulist": "0-3\n",
    "sys/devices/system/node/node1/cpulist": "4-7\n",
    "sys/devices/system/node/node0/distance": "10 21\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
    "sys/kernel/mm/transparent_hugepage/defrag": "always defer [madvise] never\n",
}


@pytest.fixture
def machine(tmp_path):
    """Write the files of a machine; its root."""

    def make(files):
        root = tmp_path / "root"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return root

    return make


def test_facts_that_a_server_reports_of_itself_are_read(machine, clock, tmp_path):
    facts = fitness_facts.facts(tmp_path, clock, machine(SERVER))
    cpu = facts.cpu
    assert cpu.governors == {"performance": 1, "schedutil": 2}
    assert (cpu.driver, cpu.turbo, cpu.turbo_switch) == ("acpi-cpufreq", True, "/sys/devices/system/cpu/cpufreq/boost")
    assert (cpu.base_hz, cpu.most_hz) == (2.1e9, 3.5e9)
    assert (cpu.clock_source, cpu.clock_sources) == ("hpet", ("tsc", "hpet", "acpi_pm"))
    assert (cpu.nodes, cpu.distance) == ({0: "0-3", 1: "4-7"}, pytest.approx(2.1))
    memory = facts.memory
    assert (memory.total, memory.swap_total, memory.swap_used) == (2**24, 2**21, 2**20)
    assert (memory.swappiness, memory.huge_pages, memory.huge_pages_defrag) == (60, "always", "madvise")
    assert (facts.limits.aio_used, facts.limits.aio_most, facts.limits.may_raise) == (2305, 65536, True)
    assert (facts.place.virtual, facts.place.maker, facts.place.container) == (True, "QEMU Standard PC", "lxc")


def test_a_machine_that_reports_nothing_has_no_facts_and_no_errors(machine, clock, tmp_path):
    facts = fitness_facts.facts(tmp_path, clock, machine({"empty": ""}))
    assert facts.cpu == CpuFacts(usable=facts.cpu.usable, clock_read=0.0)
    assert set(vars_of(facts.memory)) == {None}
    assert (facts.disk.file_system, facts.disk.disk, facts.disk.rotational) == (None, None, None)
    assert (facts.limits.aio_used, facts.limits.cpu_quota, facts.limits.memory_limit) == (None, None, None)
    assert (facts.place.virtual, facts.place.maker, facts.place.container) == (None, None, "")
    assert (facts.load.runnable, facts.load.waited_io, facts.load.swapped) == (None, None, None)


def vars_of(facts):
    return [getattr(facts, name) for name in facts.__dataclass_fields__]


@pytest.mark.parametrize("text", ["many", "", "1.5\n", "\x00\xff"])
def test_facts_that_are_no_numbers_are_not_reported(machine, clock, tmp_path, text):
    facts = fitness_facts.facts(tmp_path, clock, machine({**SERVER, "proc/sys/vm/swappiness": text, "proc/loadavg": text}))
    assert facts.memory.swappiness is None
    assert facts.load.runnable is None


def test_turbo_is_off_where_intels_driver_says_no_turbo(machine, clock, tmp_path):
    files = {name: text for name, text in SERVER.items() if not name.endswith("boost")}
    facts = fitness_facts.facts(tmp_path, clock, machine({**files, "sys/devices/system/cpu/intel_pstate/no_turbo": "1\n"}))
    assert facts.cpu.turbo is False
    assert facts.cpu.turbo_switch.endswith("no_turbo")


def test_a_machine_is_watched_for_a_second_and_shares_are_of_that(machine, clock, monkeypatch):
    monkeypatch.setattr("dialin.probes.host.cpu_count", lambda: 2)
    counts = iter(
        [
            fitness_facts.Counters(100.0, Lost(10.0, 50.0, 4), 5.0, 1.0, 100),
            fitness_facts.Counters(101.0, Lost(10.2, 50.5, 4), 5.1, 1.0, 300),
        ]
    )
    used = iter([{(1, "old"): 5.0, (2, "idle"): 7.0, (3, "gone"): 1.0}, {(1, "old"): 5.8, (2, "idle"): 7.0, (9, "new"): 4.0}])
    load = fitness_facts.watch(clock, lambda: next(counts), lambda: next(used), machine(SERVER))
    assert load.seconds == pytest.approx(1.0)
    assert load.busy == pytest.approx(0.5)
    assert load.stolen == pytest.approx(0.05)
    assert load.stolen_since_boot == pytest.approx(10.2 / 101)
    assert (load.waited_cpu, load.waited_io, load.waited_memory) == (pytest.approx(0.5), pytest.approx(0.1), 0.0)
    assert load.swapped == pytest.approx(200)
    assert load.runnable == 2, "the reader itself is not counted"
    assert load.busiest == (Busy("old", 1, pytest.approx(0.8)),)


def test_pages_that_were_swapped_are_counted_both_ways(machine):
    assert fitness_facts.counters(machine(SERVER)).swapped == 40


MOUNTS = (
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,nobarrier\n"
    "30 27 8:17 / {place} rw,noatime - xfs /dev/sdb1 rw\n"
)


def disk_of(machine, clock, place, mounts, **files):
    base = "sys/devices/pci/block/sdb"
    root = machine(
        {
            "proc/self/mountinfo": mounts,
            f"{base}/queue/rotational": "0\n",
            f"{base}/queue/scheduler": "none mq-deadline [bfq]\n",
            f"{base}/queue/write_cache": "write back\n",
            f"{base}/device/model": "Fast One\n",
            f"{base}/sdb1/partition": "1\n",
        }
    )
    (root / "sys/dev/block").mkdir(parents=True, exist_ok=True)
    (root / "sys/dev/block/8:17").symlink_to(root / base / "sdb1")
    return disk.facts(place, clock, root)


def test_the_disk_is_that_of_the_innermost_mount_and_the_whole_of_its_partition(machine, clock, tmp_path):
    place = tmp_path / "a place"
    place.mkdir()
    facts = disk_of(machine, clock, place, MOUNTS.format(place=str(place).replace(" ", "\\040")))
    assert (facts.file_system, facts.disk, facts.model) == ("xfs", "sdb", "Fast One")
    assert (facts.rotational, facts.scheduler, facts.write_cache) == (False, "bfq", "write back")
    assert facts.options == ("rw", "noatime", "rw")
    assert facts.free > 0


def test_a_mount_hides_what_was_mounted_there_before(machine, clock, tmp_path):
    mounts = MOUNTS.format(place=tmp_path) + f"31 27 0:40 / {tmp_path} rw - tmpfs tmpfs rw\n"
    facts = disk_of(machine, clock, tmp_path, mounts)
    assert (facts.file_system, facts.disk) == ("tmpfs", None)


def test_a_mount_beside_whose_name_begins_alike_is_not_taken(machine, clock, tmp_path):
    place = tmp_path / "data"
    place.mkdir()
    facts = disk_of(machine, clock, place, MOUNTS.format(place=tmp_path / "dat"))
    assert (facts.file_system, facts.options) == ("ext4", ("rw", "relatime", "rw", "nobarrier"))


def test_each_fsync_is_timed_and_nothing_is_left(clock, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: clock.sleep(0.01))
    assert disk.fsyncs(tmp_path, clock) == pytest.approx([0.01] * 20)
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_written_no_fsync_is_reported(clock, tmp_path):
    assert disk.fsyncs(tmp_path / "nowhere", clock) is None


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "150000 100000\n"}, 1.5),
        (
            {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "max 100000\n", "sys/fs/cgroup/cpu.max": "50000 100000"},
            0.5,
        ),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "nonsense\n"}, None),
        (
            {
                "proc/self/cgroup": "5:cpu,cpuacct:/docker/x\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            2.0,
        ),
        (
            {
                "proc/self/cgroup": "5:cpu,cpuacct:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
        ({}, None),
    ],
)
def test_the_tightest_quota_of_the_groups_above_counts(machine, files, quota):
    assert control_groups.cpu_quota(machine({"x": "", **files})) == quota


def test_a_limit_of_memory_counts_only_below_what_the_machine_has(machine):
    root = machine({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "1000", "sys/fs/cgroup/memory.max": "max"})
    assert control_groups.memory_limit(5000, root) == 1000
    assert control_groups.memory_limit(500, root) is None


def test_the_tightest_limit_of_memory_says_how_much_is_left(machine):
    files = {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "1000", "sys/fs/cgroup/a/memory.current": "400"}
    outer = {"sys/fs/cgroup/memory.max": "900", "sys/fs/cgroup/memory.current": "800"}
    assert control_groups.memory_left(machine({"proc/self/cgroup": "0::/b\n"})) is None
    assert control_groups.memory_left(machine(files)) == 600
    assert control_groups.memory_left(machine({**files, **outer})) == 100


def test_the_limits_of_another_process_are_those_of_its_own_groups(machine):
    files = {
        "proc/self/cgroup": "0::/a\n",
        "proc/7/cgroup": "2:memory:/pod\n1:cpu,cpuacct:/pod\n",
        "sys/fs/cgroup/memory/pod/memory.limit_in_bytes": "2000",
        "sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us": "150000",
        "sys/fs/cgroup/cpu/pod/cpu.cfs_period_us": "100000",
        "sys/fs/cgroup/cpu/pod/cpu.stat": "nr_periods 40\nnr_throttled 9\nthrottled_time 5\n",
    }
    root = machine(files)
    assert (control_groups.memory_limit(None, root, 7), control_groups.cpu_quota(root, 7)) == (2000, 1.5)
    assert control_groups.throttled(7, root) == (9, 40)
    assert (control_groups.memory_limit(None, root), control_groups.cpu_quota(root)) == (None, None)


@pytest.mark.parametrize(("line", "mounted"), [("0::", ""), ("4:cpu,cpuacct:", "cpu/")])
def test_the_quota_of_a_pod_stops_each_container_in_it(machine, line, mounted):
    pod, container = f"sys/fs/cgroup/{mounted}pod/cpu.stat", f"sys/fs/cgroup/{mounted}pod/server/cpu.stat"
    files = {"proc/7/cgroup": f"{line}/pod/server\n", pod: "nr_periods 50\nnr_throttled 12\n"}
    assert control_groups.throttled(7, machine({**files, container: "nr_periods 0\nnr_throttled 0\n"})) == (12, 50)
    assert control_groups.throttled(7, machine({**files, container: "nr_periods 40\nnr_throttled 9\n"})) == (21, 50)


def test_a_group_of_version_2_counts_its_periods_only_with_a_quota(machine):
    files = {"proc/7/cgroup": "0::/pod\n", "sys/fs/cgroup/pod/cpu.stat": "usage_usec 7\nnr_periods 0\nnr_throttled 0\n"}
    assert control_groups.throttled(7, machine(files)) is None
    assert control_groups.throttled(7, machine({"proc/7/cgroup": "0::/pod\n"})) is None


def test_the_limits_of_a_servers_container_are_those_of_its_machine(machine, clock):
    known = fitness_facts.facts(machine(SERVER), clock, machine(SERVER))
    assert fitness_facts.limited(known, None, None) == known
    facts = fitness_facts.limited(known, 2**20, "0.5")
    assert (facts.memory.total, facts.limits.memory_limit, facts.limits.cpu_quota) == (2**20, 2**20, 0.5)
    assert (facts.cpu.usable, facts.limits.are_chosen) == (1, True)
    assert fitness_facts.limited(known, None, "0").limits.cpu_quota is None

"""`dialin doctor`: the machine is made up."""

import json
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner

from dialin.cli import doctor as command
from dialin.errors import UserError
from dialin.model.fitness import (
    Busy,
    CpuFacts,
    DiskFacts,
    Facts,
    LimitFacts,
    LoadFacts,
    MemoryFacts,
    PlaceFacts,
)
from fixtures.loads import with_traits

FIT = Facts(
    CpuFacts(16, {"performance": 16}, clock_source="tsc", clock_read=9e-8, nodes={0: "0-15"}),
    MemoryFacts(2**36, 2**35, 0, 0, 60, "madvise"),
    DiskFacts("/data", "ext4", ("rw",), "sda", None, False, free=2**40, fsyncs=(0.0002,) * 20),
    LoadFacts(1.0, 0.01, 0, 0.0, 0.0),
    LimitFacts(65536, 65536, False, 0, 65536),
    PlaceFacts(False),
)


@pytest.fixture
def doctor(monkeypatch, home):
    monkeypatch.setenv("DIALIN_HOME", str(home.root))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(16)))
    app = typer.Typer()
    app.command()(command.doctor)

    def call(*words, facts=FIT, **environment):
        looked = []
        monkeypatch.setattr("dialin.probes.fitness_facts.facts", lambda directory, clock: looked.append(directory) or facts)
        result = CliRunner().invoke(app, words, env={"COLUMNS": "80", **environment})
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        call.looked = looked
        return result.exit_code, result.stdout

    return call


LOADS = {
    "oltp_read_write": "oltp_read_write, 16 threads, 4 tables of 100,000 rows",
    "tpcc-like": "tpcc-like, 16 threads",
    "tpcc-like --workload-option warehouses=2 --threads 4": "tpcc-like, 4 threads, warehouses=2",
    "scan": "scan, 1 thread, 1 table of ",
    "mine.toml": "/mine.toml, 16 threads",
}


@pytest.mark.parametrize("words", LOADS)
def test_the_noise_is_measured_under_every_load_that_a_study_may_have(doctor, monkeypatch, words):
    asked = []

    def conduct(question, directory, *_, **__):
        asked.append(with_traits(question.workload_spec(directory)).describe())
        raise typer.Exit

    monkeypatch.setattr("dialin.cli.noise.conduct", conduct)
    assert doctor("--noise", "--workload", *words.split()) == (0, "")
    assert LOADS[words] in asked[0]


def spoiled(**changes):
    return replace(FIT, **{name: replace(getattr(FIT, name), **facts) for name, facts in changes.items()})


def test_a_fit_machine_is_said_to_be_fit_and_what_it_does_not_tell_is_named(doctor):
    code, out = doctor()
    assert code == 0
    assert out.splitlines()[0] == "Fit to measure."
    assert "good: fsync: 0.2 ms (median)" in out
    assert "Not available here: turbo, waiting (PSI)" in out


def test_a_notice_leaves_a_machine_fit(doctor):
    code, out = doctor(facts=spoiled(memory={"huge_pages": "always"}))
    assert code == 0
    assert out.splitlines()[0] == "Fit to measure, with 1 notice: huge pages."
    assert "    echo madvise | tee /sys/kernel/mm/transparent_hugepage/enabled\n" in out


def test_a_machine_of_which_something_is_bad_is_not_fit_and_the_exit_code_says_so(doctor):
    code, out = doctor(facts=spoiled(load={"busy": 0.4}, memory={"huge_pages": "always"}))
    assert code == 1
    assert out.splitlines()[0] == "Not fit to measure: other load. Fix that first."
    assert out.index("bad: other load") < out.index("notice: huge pages") < out.index("good: ")


@pytest.mark.parametrize("width", [30, 80, 120])
def test_no_line_but_a_command_is_wider_than_the_terminal(doctor, width):
    _, out = doctor(facts=spoiled(load={"busy": 0.4}, memory={"huge_pages": "always"}), COLUMNS=str(width))
    assert all(len(line) <= width or line.startswith("    ") for line in out.splitlines())


def test_json_tells_the_same_and_the_facts(doctor):
    code, out = doctor("--json", facts=spoiled(load={"busy": 0.4, "busiest": (Busy("\x1b[2J", 7, 0.5),)}))
    reported = json.loads(out)
    assert code == 1
    assert reported["fit"] is False
    assert reported["findings"][0]["subject"] == "other load"
    assert set(reported["findings"][0]) == {"subject", "observed", "severity", "effect", "remedy", "command"}
    assert "turbo" in reported["not_told"]
    assert reported["facts"]["load"]["busy"] == 0.4
    assert reported["facts"]["cpu"]["turbo"] is None
    assert "\x1b" not in out


def test_the_disk_looked_at_is_that_of_dialins_data_though_there_is_none_yet(doctor, home):
    doctor()
    assert doctor.looked == [home.root.parent]
    home.root.mkdir()
    doctor()
    assert doctor.looked == [home.root]


def test_another_directory_can_be_named_and_must_be_there(doctor, tmp_path):
    doctor("--dir", tmp_path)
    assert doctor.looked == [tmp_path]
    with pytest.raises(UserError, match="There is no directory"):
        doctor("--dir", tmp_path / "nowhere")


def test_markup_in_the_name_of_a_process_is_shown_as_it_is(doctor):
    _, out = doctor(facts=spoiled(load={"busy": 0.4, "busiest": (Busy("[red]x[/]", 7, 0.5),)}))
    assert "[red]x[/]" in out


def test_the_limits_of_a_container_count_as_the_machine(doctor):
    words = ("--server", "image:mysql:8.4", "--server-memory", "2G", "--server-cpus", "1.5", "--json")
    code, out = doctor(*words)
    found = {one["subject"]: one for one in json.loads(out)["findings"]}
    assert found["memory"]["observed"] == "2.0 GiB available of 2.0 GiB"
    assert found["CPUs"]["observed"] == "2 CPUs"
    assert "the server's container, a quota of 1.5 CPUs, 2.0 GiB of memory at most" in found["container"]["observed"]
    assert (code, found["container"]["severity"]) == (0, "notice")


def test_cpus_that_the_machine_does_not_have_are_refused(doctor):
    with pytest.raises(UserError, match="this machine has no CPU 16"):
        doctor("--server-cpus", "14-16")
    with pytest.raises(UserError, match="this machine has 16 CPUs"):
        doctor("--server", "image:mysql:8.4", "--server-cpus", "16.5")


def test_a_memory_limit_needs_an_image_here_too(doctor):
    with pytest.raises(UserError, match="add server image:NAME"):
        doctor("--server", "mysql@9.7", "--server-memory", "2G")
    with pytest.raises(UserError, match="a server that dialin starts"):
        doctor("--attach", "--server-memory", "2G")

"""The ready workflow of a gate: it is YAML as runners read it, and its commands are dialin's own."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import typer
import yaml

from dialin.cli.app import app
from dialin.errors import ExitCode
from dialin.suites.members import requested_suite

WORKFLOW = Path(__file__).parents[2] / "examples" / "ci" / "performance.yml"
DOCUMENT = yaml.safe_load(WORKFLOW.read_text())
JOBS = DOCUMENT["jobs"]
STEPS = [step for job in JOBS.values() for step in job["steps"]]
SCRIPTS = [step["run"] for step in STEPS if "run" in step]
COMMANDS = re.findall(r"^dialin .+?(?= \|\| |$)", "\n".join(SCRIPTS), flags=re.MULTILINE)


def parsed(command):
    """The parameters of a command line of dialin, as it takes them."""
    context, words = typer.main.get_command(app).make_context("dialin", shlex.split(command)[1:]), []
    while words := [*context._protected_args, *context.args] if hasattr(context.command, "commands") else []:
        _, below, rest = context.command.resolve_command(context, words)
        context = below.make_context(below.name, rest, parent=context)
    return context.params


def test_every_job_runs_on_a_machine_of_ones_own_and_ends():
    assert JOBS.keys() == {"option-file", "builds"}
    for job in JOBS.values():
        assert "self-hosted" in job["runs-on"]
        assert job["timeout-minutes"] > 0


def test_no_fork_runs_anything_on_that_machine_and_no_job_may_change_the_repository():
    started_by = {"option-file": "pull_request", "builds": "workflow_dispatch"}
    for name, event in started_by.items():
        condition = JOBS[name]["if"]
        assert condition.startswith(f"github.event_name == '{event}'")
        is_own = "github.event.pull_request.head.repo.full_name == github.repository"
        assert is_own in condition or event == "workflow_dispatch", "only who may write to the repository can dispatch"
    assert "pull_request_target" not in DOCUMENT[True], "`on` is a boolean in YAML"
    assert DOCUMENT["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("command", COMMANDS)
def test_its_commands_are_taken(command):
    parsed(command)


def test_its_comparisons_are_suites_with_a_gate(tmp_path):
    compared = [parsed(command) for command in COMMANDS if command.startswith("dialin compare")]
    assert len(compared) == 2
    for given in compared:
        keys = {"workload": given["workload"], "suite": given["suite"], "fail-if-worse": given["fail_if_worse"]}
        request = requested_suite(keys, tmp_path)
        assert request.fail_if_worse == pytest.approx(0.03)
        assert len(request.members) >= 2


@pytest.mark.parametrize(("code", "ends"), [(ExitCode.VERDICT, 0), (ExitCode.WORSE, 4), (ExitCode.NO_VERDICT, 0), (2, 2)])
def test_it_fails_where_something_is_worse_and_only_warns_where_time_did_not_suffice(tmp_path, code, ends):
    program = tmp_path / "dialin"
    program.write_text(f"#!/bin/sh\nexit {int(code)}\n")
    program.chmod(0o755)
    script = next(step["run"] for step in JOBS["option-file"]["steps"] if step.get("name") == "compare")
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-e", "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == ends
    assert ("::warning::" in done.stdout) == (code is ExitCode.NO_VERDICT)

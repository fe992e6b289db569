"""The options that commands share are the keys of a study file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from dialin.cli import study_flags


def asked(*words: str) -> Mapping[str, Any]:
    """Return what a command with the shared options receives."""
    app, received = typer.Typer(), {}

    @app.command()
    @study_flags.with_study_options
    def command(*, shared: Mapping[str, Any], common: Mapping[str, Any]) -> None:
        received.update(shared)

    ended = CliRunner().invoke(app, list(words))
    assert ended.exit_code == 0, ended.output
    return received


@pytest.mark.parametrize(("words", "watched"), [((), True), (("--probes",), True), (("--no-probes",), False)])
def test_watching_can_be_left_out(words, watched):
    assert asked(*words)["probes"] is watched


def test_options_of_a_workload_are_read_as_names_with_values():
    given = asked("--workload", "scan", "--workload-option", "engine=MyISAM", "--workload-option", "runs=5")
    assert given["workload-options"] == {"engine": "MyISAM", "runs": 5}


def test_a_command_says_of_an_option_what_it_does_there_and_leaves_out_what_it_does_not_take():
    app = typer.Typer()

    def command(*, shared: Mapping[str, Any], common: Mapping[str, Any]) -> None:
        pass

    app.command()(study_flags.with_study_options(command, hidden=("waits",), helps={"server": "The build that is tuned."}))
    text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    assert "The build that is tuned." in text
    assert "several builds are compared" not in text
    assert "--waits" not in text
    assert CliRunner().invoke(app, ["--waits", "x"]).exit_code == 0

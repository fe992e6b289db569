"""The options that commands share are the keys of a study file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from dialin.cli import study_flags
from dialin.cli.app import app
from dialin.question.conflicts import Kind


def asked(*words: str) -> Mapping[str, Any]:
    """Return what a command with the shared options receives."""
    program, received = typer.Typer(), {}

    @program.command()
    @study_flags.takes_study(Kind.COMPARISON)
    def command(*, asked: Mapping[str, Any], how: Mapping[str, Any]) -> None:
        received.update(asked)

    ended = CliRunner().invoke(program, list(words))
    assert ended.exit_code == 0, ended.output
    return received


@pytest.mark.parametrize(("words", "watched"), [((), True), (("--probes",), True), (("--no-probes",), False)])
def test_watching_can_be_left_out(words, watched):
    assert asked(*words)["probes"] is watched


def test_options_of_a_workload_are_read_as_names_with_values():
    given = asked("--workload", "scan", "--workload-option", "engine=MyISAM", "--workload-option", "runs=5")
    assert given["workload-options"] == {"engine": "MyISAM", "runs": 5}


def shown(*words: str) -> str:
    """Return what `dialin` prints for a person with a wide terminal."""
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "200"}).output


def listed(*words: str) -> set[str]:
    """Return the options that a help lists."""
    return set(re.findall(r"^│[ *]+(--[a-z-]+)", shown(*words), re.MULTILINE))


def test_a_command_says_of_an_option_what_it_does_there_and_leaves_out_what_it_does_not_take():
    text = shown("tune", "--help-all")
    assert "The build to tune" in text
    assert "or image:NAME" not in text
    assert "are a suite" not in text
    assert "--traffic own" not in text
    assert "live traffic" not in text
    assert not {"--waits", "--traffic", "--guard-lag", "--suite", "--fleet"} & listed("tune", "--help-all")
    assert "--waits" in listed("sweep", "--help-all")


@pytest.mark.parametrize(("command", "least"), [("sweep", "1 % of throughput"), ("tune", "2 % of throughput")])
def test_the_help_has_the_defaults_of_every_goal(command, least):
    text = " ".join(re.sub("[│╭╮╰╯─]", " ", shown(command, "--help-all")).split())
    assert f"{least}, 25 % of variation, 5 % of latency or a cost." in text
    assert ("Default: 15, or 30 for --goal stability, io and iops" in text) == (command == "tune")
    assert re.search(r"--goal GOAL What to optimize", text)


def test_help_shows_the_twelve_options_that_people_use_and_all_of_them_if_asked():
    options = listed("sweep", "--help")
    usual = {f"--{name.replace('_', '-')}" for name in study_flags.USUAL}
    assert options == {*usual, "--help", "--help-all"}
    assert len(usual) == 12
    assert usual < listed("sweep", "--help-all")
    assert len(listed("sweep", "--help-all")) > 60


def test_what_every_study_has_comes_before_what_few_have():
    panels = ["Load", "Method", "Attached server", "Live traffic"]
    text = shown("sweep", "--help-all")
    places = [text.index(f" {panel} ") for panel in panels]
    assert places == sorted(places)


@pytest.mark.parametrize("command", ["sweep", "tune", "advise", "doctor"])
def test_no_sentence_of_a_help_breaks_before_the_line_is_full(command):
    lines = shown(command, "--help").split("Options")[0].splitlines()
    broken = [
        line for line in lines if line.strip() and len(line) < 120 and line.strip()[-1].isalpha() and "dialin" not in line
    ]
    assert broken == []

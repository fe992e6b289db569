"""Advice on a server: read it, ask the rules, and name the command that tests each experiment."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from dialin.advice.attached_server import read_attached
from dialin.advice.commands import experiment_command
from dialin.advice.experiments import find_experiments
from dialin.advice.sandbox import read_sandbox
from dialin.advice.server_reading import ServerReading
from dialin.datasets.prepare import BLANK_SIZE
from dialin.evidence import fitness_findings
from dialin.model.advice import Advice, Experiment
from dialin.model.build import Version
from dialin.model.fitness import Finding, Severity
from dialin.probes import fitness_facts
from dialin.question.options import StudyOptions
from dialin.trials.tools import Tools

_OF_THE_SERVER = ("other load", "waiting (PSI)")
"""What an attached server that works causes itself: it is the load that is looked at."""


def advise(question: StudyOptions, directory: Path, tools: Tools, seconds: float) -> Advice:
    """Return which variables are worth an experiment on a server, and why.

    Paths in the question are relative to `directory`. An attached server is watched under its own load; a sandbox under the
    load of the question.

    Raises:
        UserError: something is not there or does not fit.
        ServerError: the server does not answer, does not start, or its trial fails.
    """
    if question.attach:
        return _attached(question, directory, tools, seconds)
    machine = _machine(tools, ())
    read = read_sandbox(question, directory, tools)
    series = _series(str(read.build.flavour), read.build.version)
    found = find_experiments(read.reading)
    return Advice(
        server=read.build.id,
        place="",
        watch=read.watch,
        experiments=_with_commands(found.experiments, question, series, read.reading),
        silent=found.silent,
        unread=read.unread,
        machine=machine,
    )


def _attached(question: StudyOptions, directory: Path, tools: Tools, seconds: float) -> Advice:
    attachment = question.attachment(directory)
    if attachment is None:
        raise RuntimeError("the question is not about an attached server")
    read = read_attached(attachment, tools.home, tools.clock, seconds, tools.say)
    for note in read.notes:
        tools.say(f"Note: {note}")
    series = _series(str(read.build.flavour), read.build.version)
    found = find_experiments(read.reading)
    return Advice(
        server=read.build.id,
        place=read.place,
        watch=read.watch,
        experiments=_with_commands(found.experiments, question, series, read.reading),
        silent=found.silent,
        unread=read.unread,
        machine=_machine(tools, _OF_THE_SERVER) if read.is_here else (),
    )


def _with_commands(
    experiments: Collection[Experiment], question: StudyOptions, series: str, reading: ServerReading
) -> tuple[Experiment, ...]:
    pool = reading.value("innodb_buffer_pool_size")
    return tuple(one.model_copy(update={"command": experiment_command(one, question, series, pool)}) for one in experiments)


def _series(flavour: str, version: Version) -> str:
    return f"{flavour}@{'.'.join(map(str, version[:2]))}"


def _machine(tools: Tools, without: Collection[str]) -> tuple[Finding, ...]:
    """Return what doctor finds to disturb experiments on this machine, the most severe first."""
    root = tools.home.root
    place = next(path for path in (root, *root.parents) if path.is_dir())
    facts = fitness_facts.facts(place, tools.clock)
    found = fitness_findings.findings(facts, 2 * BLANK_SIZE)
    return tuple(one for one in found if one.severity is not Severity.GOOD and one.subject not in without)

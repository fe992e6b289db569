"""Advice on a server: read it, ask the rules, and name the command that tests each experiment."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from dialin.advice.attached_server import read_attached, series_of
from dialin.advice.commands import capture_command, with_command
from dialin.advice.experiments import find_experiments
from dialin.advice.sandbox import read_sandbox
from dialin.advice.server_reading import ServerReading
from dialin.datasets.prepare import BLANK_SIZE
from dialin.evidence import fitness_findings
from dialin.evidence.reasons import sources
from dialin.model.advice import Advice, Experiment, Studied
from dialin.model.build import Build, Family
from dialin.model.fitness import Finding, Severity
from dialin.model.place import Attachment
from dialin.probes import fitness_facts
from dialin.question.options import StudyOptions
from dialin.servers.install.image_file_system import PREFIX
from dialin.trials.tools import Tools

_OF_THE_SERVER = ("other load", "waiting (PSI)")
"""Findings that the load of an attached server causes itself; that load is what is measured, so they are no disturbance."""


def advise(question: StudyOptions, directory: Path, tools: Tools, seconds: float, base_file: Path | None = None) -> Advice:
    """Return which variables are worth an experiment on a server, and why.

    Paths in the question are relative to `directory`. An attached server is watched under its own load; a sandbox, with the
    settings of `base_file` below those of the question, under the load of the question.

    Raises:
        UserError: something that the question names does not exist, or its options do not fit together.
        ServerError: the server does not answer, does not start, or its trial fails.
    """
    if isinstance(place := question.place(directory), Attachment):
        return _attached(question, place, tools, seconds)
    memory, cpus = (question.server_memory or (None,))[0], question.server_cpus
    machine = _machine(tools, (), memory, cpus)
    sandbox = read_sandbox(question, directory, tools, base_file)
    question = question.model_copy(update={"set": sandbox.setting})
    findings = find_experiments(sandbox.reading)
    return Advice(
        server=sandbox.build.id,
        place="",
        watch=sandbox.watch,
        experiments=_with_commands(
            findings.experiments, question, _named(sandbox.build), sandbox.reading, sandbox.build.family
        ),
        silent=findings.silent,
        unread=sandbox.unread,
        machine=machine,
    )


def _attached(question: StudyOptions, place: Attachment, tools: Tools, seconds: float) -> Advice:
    server = read_attached(place, tools.home, tools.clock, seconds, tools.say)
    for note in server.notes:
        tools.say(f"Note: {note}")
    findings = find_experiments(server.reading)
    experiments = _with_commands(
        findings.experiments,
        question,
        series_of(server.build),
        server.reading,
        server.build.family,
        in_use=server.in_use,
        may_set=server.may_set,
    )
    return Advice(
        server=server.build.id,
        place=server.place,
        watch=server.watch,
        experiments=experiments,
        capture=capture_command(question) if any(one.studied is Studied.REPLAY for one in experiments) else "",
        silent=findings.silent,
        unread=server.unread,
        machine=_machine(tools, _OF_THE_SERVER) if server.is_here else (),
    )


def _with_commands(
    experiments: Collection[Experiment],
    question: StudyOptions,
    build: str,
    reading: ServerReading,
    family: Family,
    *,
    in_use: bool = False,
    may_set: bool = True,
) -> tuple[Experiment, ...]:
    """Return experiments with their commands, and with the manual of the server's own family as their source."""
    pool = reading.value("innodb_buffer_pool_size")
    return tuple(
        with_command(_sourced(experiment, family), question, build, pool, in_use=in_use, may_set=may_set)
        for experiment in experiments
    )


def _sourced(experiment: Experiment, family: Family) -> Experiment:
    if family is not Family.MARIADB:
        return experiment
    triggers = [one.model_copy(update={"source": sources.in_mariadb(one.source)}) for one in experiment.triggers]
    return experiment.model_copy(update={"triggers": tuple(triggers)})


def _named(build: Build) -> str:
    """Return how a command names a build: by its image, by its label, or as the newest of its series."""
    if build.image is not None:
        return f"{PREFIX}{build.image.name}"
    return build.id if build.label else series_of(build)


def _machine(tools: Tools, without: Collection[str], memory: int | None = None, cpus: str | None = None) -> tuple[Finding, ...]:
    """Return what `dialin doctor` finds to disturb experiments here, the most severe first, less the subjects in `without`.

    `memory` and `cpus` are the limits of the server's container.
    """
    root = tools.home.root
    place = next(path for path in (root, *root.parents) if path.is_dir())
    facts = fitness_facts.limited(fitness_facts.facts(place, tools.clock), memory, cpus)
    findings = fitness_findings.findings(facts, 2 * BLANK_SIZE)
    return tuple(finding for finding in findings if finding.severity is not Severity.GOOD and finding.subject not in without)

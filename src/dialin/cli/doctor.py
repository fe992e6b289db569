"""`dialin doctor`: is this machine fit to measure?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from dialin.cli.console import output
from dialin.cli.study_flags import DefaultsFile, LoginPath, as_sentence, spelled, takes
from dialin.errors import ExitCode, UserError
from dialin.model.fitness import Finding, Severity
from dialin.paths import Home
from dialin.report.render.terminal_page import Page
from dialin.text import counted
from dialin.workloads.kinds import load_option_help

if TYPE_CHECKING:
    from dialin.model.fitness import Facts, ServerFacts

_STYLES = {Severity.BAD: "bold red", Severity.NOTICE: "yellow", Severity.GOOD: "green"}
_NOISE = "With --noise"


@takes(
    *("measure", "server", "server_memory", "server_cpus", "workload", "threads", "tables", "table_size"),
    *("workload_options", "set"),
    panel=_NOISE,
    helps={
        "server": "The build to run, such as mysql@9.7 (see `dialin servers`), or image:NAME.",
        "server_memory": "Memory limit of the image's container, such as 2G; counts as this machine's, also without --noise.",
        "server_cpus": "CPUs of the server, such as 0-3; of a container also 1.5; count like --server-memory.",
        "workload": "The load to measure the noise under: a name (see `dialin sweep --help`) or a file.",
        "threads": as_sentence(load_option_help("threads")),
        "measure": "Seconds measured in each trial. Default: from the minutes.",
    },
)
def doctor(
    *,
    directory: Annotated[
        Path | None,
        typer.Option("--dir", metavar="DIR", help="Directory on the disk to check. Default: where dialin keeps its data."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print findings and facts as JSON; with --noise, verdict.json.")] = False,
    attach: Annotated[
        bool,
        typer.Option("--attach", help="Check a server that dialin did not start, by what SQL shows of it; nothing is changed."),
    ] = False,
    defaults_file: DefaultsFile = None,
    login_path: LoginPath = None,
    noise: Annotated[
        bool,
        typer.Option("--noise", help="Run a study of one setting under several names (A/A) and report the noise."),
    ] = False,
    names: Annotated[int, typer.Option(min=2, max=64, help="Number of identical candidates.", rich_help_panel=_NOISE)] = 8,
    minutes: Annotated[float, typer.Option(min=0.1, help="Minutes of the study.", rich_help_panel=_NOISE)] = 10.0,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where the study is written.", rich_help_panel=_NOISE)] = None,
    asked: Mapping[str, Any],
) -> None:
    """Is this machine fit to measure? Reports what disturbs a measurement here, the effect, and how to fix it.

    Takes two seconds, writes 20 small blocks to time the disk, and changes nothing. Exit code 1 if something is bad.

    --noise runs a study of one setting under several names (A/A): how much trials vary here, and which differences a budget can
    detect. Later studies use the result. Exit code 1 if the names come out as different.

    --attach checks a server: round trip, other clients, privileges, and of its machine what is visible from here.
    """
    if not attach and (defaults_file or login_path):
        raise UserError("--defaults-file and --login-path are for an attached server", "Add --attach, or leave them out")
    if attach and noise:
        raise UserError("--noise runs on a server that dialin starts", "Leave out --attach")
    if noise:
        from dialin.cli.noise import measure_noise
        from dialin.cli.restore import tidy_up

        tidy_up()
        raise typer.Exit(measure_noise({**asked, "aa": names, "minutes": minutes}, out=out, json=json))
    if attach and (asked.keys() & {"server-memory", "server-cpus"}):
        raise UserError("--server-memory and --server-cpus are for a server that dialin starts", "Leave out --attach")
    facts, findings, unknown = _attached(defaults_file, login_path) if attach else _machine(_place(directory), asked)
    fit = all(finding.severity is not Severity.BAD for finding in findings)
    if json:
        from dialin import json_documents

        typer.echo(json_documents.ascii_json(_data(facts, findings, unknown, fit=fit)), nl=False)
    else:
        _print(findings, unknown, output())
    raise typer.Exit(ExitCode.VERDICT if fit else ExitCode.NO_VERDICT)


_Checked = tuple["Facts | ServerFacts", list[Finding], list[str]]
"""Facts, the findings on them, and the subjects that are not known."""


def _machine(place: Path, asked: Mapping[str, Any]) -> _Checked:
    """Check this machine, within the limits of a server's container where `asked`, keys of a study file, has them."""
    from dialin.clock import SystemClock
    from dialin.evidence import fitness_findings
    from dialin.preflight.checked import check_cpus
    from dialin.probes import fitness_facts as probe
    from dialin.question import study_file

    question = study_file.question({**asked, "aa": 2}, spelled=spelled, remedy="See: dialin doctor --help")
    check_cpus(question)
    memory = min(question.server_memory) if question.server_memory else None
    facts = probe.limited(probe.facts(place, SystemClock()), memory, question.server_cpus)
    return facts, fitness_findings.findings(facts, _usual_study()), fitness_findings.unknown_subjects(facts)


def _attached(defaults_file: str | None, login_path: str | None) -> _Checked:
    """Check an attached server by what SQL shows of it, and its machine if that is this one."""
    from dialin.clock import SystemClock
    from dialin.evidence.fitness_server import server_findings, unseen
    from dialin.servers.attached.client_options import find_account
    from dialin.servers.attached.server import Attached
    from dialin.servers.attached.server_fitness import server_facts

    clock = SystemClock()
    attached = Attached(find_account(Path(defaults_file) if defaults_file else None, login_path, os.environ), clock)
    facts = server_facts(attached, clock)
    findings, unknown = server_findings(facts), unseen(facts)
    if attached.data_directory is not None:
        _, of_machine, unknown_of_machine = _machine(attached.data_directory, {})
        findings, unknown = [*findings, *of_machine], [*unknown, *unknown_of_machine]
    return facts, findings, unknown


def _place(asked: Path | None) -> Path:
    """Return the directory to examine: the given one, else dialin's own or its nearest parent that exists."""
    if asked is None:
        root = Home.of().root
        return next(path for path in (root, *root.parents) if path.is_dir())
    if not asked.is_dir():
        raise UserError(f"There is no directory {asked}", "Name a directory that exists, or leave --dir out")
    return asked.absolute()


def _usual_study() -> int:
    """Return the bytes that a study with default options takes: the prepared data, and the copy of a trial."""
    from dialin.datasets.cache import MARGIN
    from dialin.datasets.prepare import BLANK_SIZE
    from dialin.model.workload import WorkloadSpec
    from dialin.workloads.kinds import make_workload

    return round(2 * (BLANK_SIZE + make_workload(WorkloadSpec()).expected_bytes()) * MARGIN)


def _data(facts: Facts | ServerFacts, findings: Sequence[Finding], unknown: Sequence[str], *, fit: bool) -> dict[str, object]:
    return {
        "fit": fit,
        "findings": [asdict(finding) for finding in findings],
        "not_told": list(unknown),
        "facts": asdict(facts),
    }


def _print(findings: Sequence[Finding], unknown: Sequence[str], console: Console) -> None:
    bad, notice, good = ([each for each in findings if each.severity is severity] for severity in _STYLES)
    page = Page(console)
    if bad:
        page.text(f"Not fit to measure: {_subjects(bad)}. Fix that first.", "bold red")
    elif notice:
        page.text(f"Fit to measure, with {counted(len(notice), 'notice')}: {_subjects(notice)}.", "bold green")
    else:
        page.text("Fit to measure.", "bold green")
    for finding in bad + notice:
        page.gap()
        page.labelled(f"{finding.severity}:", f"{finding.subject}: {finding.observed}", _STYLES[finding.severity])
        page.text(finding.effect, indent="  ")
        page.text(finding.remedy, indent="  ")
        if finding.command:
            page.copyable(f"    {finding.command}")
    if good:
        page.gap()
    for finding in good:
        page.labelled(f"{finding.severity}:", f"{finding.subject}: {finding.observed}", _STYLES[finding.severity])
    if unknown:
        page.labelled("Not available here:", ", ".join(unknown), "dim")


def _subjects(findings: Sequence[Finding]) -> str:
    return ", ".join(finding.subject for finding in findings)

"""What `dialin run recipe:NAME` does: the studies of a published experiment, one after the other."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import typer

from dialin.cli import conduct
from dialin.cli.console import may_start, output, say
from dialin.cli.study_flags import How
from dialin.errors import ExitCode
from dialin.model.place import SandboxPlace
from dialin.model.verdict import Outcome, Verdict
from dialin.recipes import execution, library
from dialin.recipes.execution import StudyPlace
from dialin.recipes.library import ScaleName
from dialin.report import files
from dialin.report.render.terminal_summary import print_summary
from dialin.text import about, command_line, visible
from dialin.trials.tools import Tools


def run_recipe(name: str, scale: ScaleName, how: How) -> ExitCode:
    """Check all studies of a recipe, run them one after the other, and show their verdicts.

    What an earlier run finished in the same directory is not run again.

    Raises:
        UserError: a study cannot be run as it is; nothing was started.
        DialinError: a study failed; those before it are finished.
    """
    recipe = library.find(name)
    how.permission.check(SandboxPlace())
    base = how.out or conduct.new_directory(f"{name}-{scale}")
    conduct.check_writable(base)
    command = command_line("dialin run", f"{library.PREFIX}{name}", "--scale", scale, "--out", base)
    tools = replace(Tools.open(say), snapshot_command=how.snapshot_command)
    places = execution.places(recipe, base)
    say(f"{recipe.title}: {about(recipe.scales[scale].minutes * 60)} at the scale {scale}; written to {base}")
    steps = [execution.check(place, scale, tools) for place in places]
    for step in steps:
        say(f"{step.place}{', started before' if step.is_resumed else ''}")
        if not step.is_resumed:
            conduct.announce(step.ready, step.place.directory)
    if not may_start(yes=how.yes, changes_server=False):
        return ExitCode.NO_VERDICT
    for step in steps:
        say(str(step.place))
        conduct.perform(step.place.directory, functools.partial(step.run, command=command), command, watch=how.watch)
    return _show(places, as_json=how.json)


def _show(places: Sequence[StudyPlace], *, as_json: bool) -> ExitCode:
    """Print the verdicts of all studies and a summary, then write their reports: a full disk loses no verdict."""
    console = output()
    studies = [(place, *conduct.read_explained(place.directory)) for place in places]
    verdicts = [(place, record.verdict) for place, record, _ in studies if record.verdict is not None]
    if as_json:
        typer.echo(_as_json(verdicts), nl=False)
    else:
        for place, record, why in studies:
            console.print(f"\n{place}", markup=False, soft_wrap=True)
            print_summary(record, console, why)
        if len(verdicts) > 1:
            summary = [f"{place.study.name}: {visible(verdict.headline)}" for place, verdict in verdicts]
            console.print("\n".join(["\nIn short", *summary]), markup=False, soft_wrap=True)
    for place, record, why in studies:
        files.write_all(record, place.directory, why)
        if as_json:  # else the summary names it
            say(f"Report: {(place.directory / 'report.html').absolute()}")
    resolved = sum(verdict.verdict is not Outcome.INCONCLUSIVE for _, verdict in verdicts)
    return ExitCode.VERDICT if resolved == len(places) else ExitCode.NO_VERDICT


def _as_json(verdicts: Sequence[tuple[StudyPlace, Verdict]]) -> str:
    from dialin import json_documents

    documents = [
        {
            "study": place.study.name,
            "directory": str(place.directory),
            "verdict": verdict.model_dump(by_alias=True, mode="json"),
        }
        for place, verdict in verdicts
    ]
    return json_documents.ascii_json(documents)

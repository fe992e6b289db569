"""What `sweep`, `compare`, `tune`, `run` and `resume` have in common: announce, run, and show the verdict."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import typer
from rich.console import Console

from dialin import json_documents
from dialin.cli.console import errors, exit_code, may_start, output, say
from dialin.cli.study_flags import How
from dialin.clock import SystemClock
from dialin.dashboard import page_process
from dialin.errors import DialinError, ExitCode, InterruptedStudyError, MachineError, UserError
from dialin.evidence.proof_view import proof_view
from dialin.evidence.server_metrics import READINGS
from dialin.evidence.why_verdict import explain
from dialin.fleet.fleet_choice import FleetChoice, check_fleet
from dialin.fleet.stop_signals import not_suspended, stopping_cleanly
from dialin.model.progress import Watcher
from dialin.model.record import StudyRecord
from dialin.model.setting import Value
from dialin.model.verdict import Verdict
from dialin.model.why import Why
from dialin.places.check_study import check_question, check_resume, rehearse
from dialin.preflight.checked import CheckedStudy
from dialin.preflight.tune_forecast import choice_text, smallest_gain
from dialin.question.options import StudyOptions
from dialin.race.lifecycle import begin, resume
from dialin.race.runner import finished
from dialin.report import files
from dialin.report.document.tune_section import left_out_pairs, space_table
from dialin.report.plain_lines import PlainLines
from dialin.report.progress_line import ProgressLine
from dialin.report.render.terminal_page import Page
from dialin.report.render.terminal_summary import print_summary
from dialin.report.render.terminal_table import GAP, columns_of, long_texts
from dialin.sentences.names import naming
from dialin.sentences.setting_notes import difference_lines
from dialin.sentences.tune_words import best_so_far, setting_text
from dialin.sentences.verdict_sentences import add_sentences
from dialin.store import UNFINISHED_STUDY_FILE, is_suite, read_only
from dialin.store.lock import LOCK_FILE
from dialin.store.store import Store
from dialin.text import command_line, counted, how_to_resume, without_secrets
from dialin.trials.tools import Tools
from dialin.variables.catalogue import Catalogue

Printed = Callable[[StudyRecord, Console, Why], None]
"""Prints a study's verdict for people."""


def conduct(question: StudyOptions, directory: Path, how: How, *, name: str, base_file: Path | None = None) -> ExitCode:
    """Check a question, ask whether to begin, run the study, and show its verdict.

    Paths in the question are relative to `directory`. Without `how.out` the study is in a new directory named after `name`.
    `base_file` is the option file that the settings of a tune's baseline come from.
    """
    hosts = FleetChoice(how.fleet, how.fleet_hosts)
    snapshots, is_tune = how.snapshot_command is not None, question.tune is not None
    check_fleet(hosts, attached=bool(question.attach), tune=is_tune, profile=question.is_profiled, snapshots=snapshots)
    where = how.out or new_directory(name)
    check_new_directory(where)
    tools = Tools.open(say)
    ready = check_question(question, directory, tools, how.permission, base_file=base_file)
    announce(ready, where)
    if not may_start(yes=how.yes, changes_server=bool(ready.changes)):
        return ExitCode.NO_VERDICT
    ready = rehearse(ready, tools, question)
    command = without_secrets(command_line("dialin", *sys.argv[1:]))
    return finish(where, lambda watcher: finished(begin(ready, where, tools, watcher, command, hosts=hosts)), how)


def check_new_directory(where: Path) -> None:
    """Make sure, before anything is started, that a new study can be written to a directory, and that nothing else is there.

    Raises:
        UserError: it cannot, or something is.
    """
    check_writable(where)
    if where.is_dir() and any(path.name not in (LOCK_FILE, UNFINISHED_STUDY_FILE) for path in where.iterdir()):
        can_resume = is_suite(where) or _is_study(where)
        remedy = f"Resume it ({how_to_resume(where)}), or name another --out" if can_resume else "Name another --out"
        raise UserError(f"{where} exists and is not empty", remedy)


def _is_study(directory: Path) -> bool:
    try:
        read_only.read(directory, lambda _store: None)
    except UserError:
        return False
    except MachineError:  # it is there, and cannot be read at the moment
        pass
    return True


def new_directory(name: str) -> Path:
    """Return a name, with the current time in it, for a study's directory below the current one where the user gave none."""
    return Path(f"dialin-{name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}")


def check_writable(directory: Path) -> None:
    """Make sure, before anything is started, that a study can be written to a directory; the directory is not created.

    Raises:
        UserError: the path is a file or lies below one, or the user may not write there.
    """
    existing = next(path for path in (directory, *directory.absolute().parents) if os.access(path, os.F_OK))
    if not existing.is_dir():
        raise UserError(f"The study cannot be written to {directory}: {existing} is not a directory", "Name another --out")
    if not os.access(existing, os.W_OK | os.X_OK):
        problem = f"The study cannot be written to {directory}: no permission to write to {existing}"
        raise UserError(problem, "Name another --out")


def go_on(directory: Path, how: How, *, minutes: float | None, confirm: bool) -> ExitCode:
    """Check that a study can be resumed, ask first if it changes a server that dialin did not start, and run it to its verdict.

    `minutes` is a new budget for the whole study; None keeps the old one. `confirm` adds confirmation trials of the recommended
    candidate, even if the study was started without them.
    """
    tools = Tools.open(say)
    ready = check_resume(directory, tools, minutes=minutes, confirm=confirm, permission=how.permission)
    hosts = FleetChoice(how.fleet, how.fleet_hosts)
    spec = ready.spec
    snapshots = how.snapshot_command is not None
    check_fleet(hosts, attached=not spec.is_sandboxed, tune=bool(spec.tuned), profile=spec.is_profiled, snapshots=snapshots)
    _say_all(ready)
    if not may_start(yes=how.yes or not ready.changes, changes_server=True):
        return ExitCode.NO_VERDICT
    ready = rehearse(ready, tools)
    return finish(directory, lambda watcher: finished(resume(ready, directory, tools, watcher, hosts=hosts)), how)


def announce(ready: CheckedStudy, where: Path) -> None:
    """Say what a study will do, before it begins."""
    spec, plan = ready.spec, ready.plan
    if spec.tuned:
        _announce_tune(ready, where)
        return
    announce_candidates(ready)
    say(f"Load: {spec.workload.describe()}")
    say(
        f"At most about {spec.minutes:g} minutes of trials: about {plan.blocks} blocks of {len(spec.candidates)} trials, "
        f"{plan.measure:.0f} s measured in each trial; written to {where}"
    )
    if ready.promise:
        say(ready.promise)
    _say_all(ready)


def announce_candidates(ready: CheckedStudy) -> None:
    spec = ready.spec
    names = ", ".join(candidate.name for candidate in spec.candidates)
    say(f"Comparing {len(spec.candidates)} candidates ({names}; baseline {spec.baseline}) on {', '.join(ready.servers)}")
    for line in differences(ready):
        say(line)


def differences(ready: CheckedStudy) -> list[str]:
    """Return the effective values in which candidates differ, a line for each; empty where their names show them."""
    spec = ready.spec
    if spec.is_aa or naming(spec).variables or not spec.variables_under_test:
        return []
    defaults = {build: Catalogue.from_json(text).defaults() for build, text in ready.catalogues.items()}
    values: dict[str, dict[str, Value]] = {
        candidate.name: {
            **defaults.get(candidate.server, {}),
            **spec.setting_of(candidate.name),
            **(ready.inspected[candidate.name].in_force if candidate.name in ready.inspected else {}),
        }
        for candidate in spec.candidates
    }
    return difference_lines(spec, values)


def _announce_tune(ready: CheckedStudy, where: Path) -> None:
    spec, plan = ready.spec, ready.plan
    page = Page(errors())
    say(f"Tuning {counted(len(spec.tuned), 'variable')} on {', '.join(ready.servers)}:")
    *columns, last = columns_of(space_table(spec))
    widths = [max(map(len, (column.title, *column.cells))) + GAP for column in columns]
    page.table([*columns, long_texts(last.title, last.cells, page.width - sum(widths))])
    if chosen := choice_text(spec, plan):
        say(chosen)
    for reason, names in left_out_pairs(spec):
        page.labelled(f"Left out, {reason}:", names)
    base, least = spec.candidate(spec.baseline).setting, smallest_gain(spec)
    say(f"Baseline: {setting_text({**spec.fixed, **base}) if base or spec.fixed else 'the server as it is by default'}")
    say(f"Load: {spec.workload.describe()}")
    say(
        f"Up to about {spec.minutes:g} minutes: about {plan.blocks} trials, each measuring {plan.measure:.0f} s; the last of "
        f"them prove the best setting{f', and show a gain from {least} on' if least else ''}; written to {where}"
    )
    _say_all(ready)


def _say_all(ready: CheckedStudy) -> None:
    for note in ready.notes:
        say(f"Note: {note}")
    for line in ready.changes:
        say(line)


def finish(directory: Path, run: Callable[[Watcher], Verdict], how: How) -> ExitCode:
    """Run a study with a progress display, write its reports and print its verdict.

    Raises:
        InterruptedStudyError: the user stopped it; what was measured is safe.
        DialinError: it failed; reports of what was measured are written all the same.
    """
    perform(directory, run, watch=how.watch)
    return show(directory, json=how.json)


def perform(
    directory: Path, run: Callable[[Watcher], Verdict], resume_command: str | None = None, *, watch: bool = False
) -> None:
    """Run a study with a progress display. No verdict is printed; reports are written only if the study is stopped or fails.

    `resume_command` resumes the study; by default it is `dialin resume`. `watch` serves a live page, from a process that
    outlives the study.

    Raises:
        InterruptedStudyError: the user stopped it; what was measured is safe.
        DialinError: it failed; reports of what was measured are written all the same.
    """
    command = resume_command or how_to_resume(directory)
    try:
        with (
            stopping_cleanly(),
            live_page(directory, wanted=watch),
            _watching(errors()) as watcher,
            not_suspended(watcher.message),
        ):
            run(watcher)
    except KeyboardInterrupt:
        if not _is_study(directory):
            raise InterruptedStudyError("Stopped before the study began; nothing was measured") from None
        write_what_there_is(directory, _write_reports)
        raise InterruptedStudyError("Stopped; all completed trials are safe", f"Resume it: {command}") from None
    except DialinError as error:
        if _has_not_run(error) or not _is_study(directory):
            raise
        write_what_there_is(directory, _write_reports)
        if error.resumable:
            error.remedy = f"{error.remedy}, then: {command}" if error.remedy else f"Resume it: {command}"
        raise


def _has_not_run(error: DialinError) -> bool:
    """Return whether nothing was run: the directory may not be a study, or another dialin may be running it."""
    return isinstance(error, UserError) and not error.resumable


def show(directory: Path, *, json: bool, must_write: bool = True, printed: Printed = print_summary) -> ExitCode:
    """Rewrite a study's reports and print its verdict; `printed` prints it, unless it is JSON.

    Without `must_write`, missing permission to write is only noted.

    Raises:
        UserError: there is no such study.
        MachineError: its reports cannot be written; the verdict is printed before that.
    """
    record, why = read_explained(directory)
    if json and record.verdict is not None:
        typer.echo(json_documents.render_verdict(add_sentences(record.spec, record.verdict)), nl=False)
    elif not json:
        printed(record, output(), why)
    try:
        files.write_all(record, directory, why)
    except files.MayNotWriteError:
        if must_write:
            raise
        say(f"Note: the files in {directory} were not rewritten: you may not write there")
    if json or record.verdict is None or printed is not print_summary:  # else the summary names it
        say(f"Report: {(directory / 'report.html').absolute()}")
    if record.verdict is None:
        say(f"There is no verdict yet. Resume the study: {how_to_resume(directory)}")
    return exit_code(record.verdict.verdict if record.verdict else None)


def read_explained(directory: Path) -> tuple[StudyRecord, Why]:
    """Return a study as its reports show it, and what explains its verdict."""
    record = proof_view(read_only.read(directory, lambda store: store.read(readings=READINGS)))
    return record, explain(record)


def write_what_there_is(directory: Path, write: Callable[[Path], None]) -> None:
    """Write and name the reports that can be written after a failure; a further error must not hide it, whatever it is."""
    report = directory / "report.html"
    try:
        write(directory)
        if report.exists():
            say(f"Report so far: {report.absolute()}")
    except (DialinError, KeyboardInterrupt):
        pass
    except BaseException as error:  # a panic of a library in Rust is no Exception
        again = command_line("dialin report", directory)
        say(f"Note: the reports were not written ({type(error).__name__}). Write them again: {again}")


def _write_reports(directory: Path) -> None:
    with Store.open(directory) as store:
        record = proof_view(store.read(readings=READINGS))
        if record.course is not None and record.verdict is None:
            say(best_so_far(record))
        files.write_all(record, directory, explain(record))


@contextmanager
def live_page(directory: Path, *, wanted: bool) -> Iterator[None]:
    """Serve the study or suite as a live page if wanted, and print its link.

    The page outlives the study, so that it shows how it ended; if no study begins, the page ends at once.
    """
    if not wanted:
        yield
        return
    try:
        process, link = page_process.start(page_process.command(directory))
    except DialinError as error:
        say(str(error))
        yield
        return
    say(f"Live page (link for one browser; it ends a minute after the study unless somebody watches): {link}")
    try:
        yield
    except DialinError as error:
        if _has_not_run(error) or not (is_suite(directory) or _is_study(directory)):
            process.terminate()
        raise


@contextmanager
def _watching(console: Console) -> Iterator[Watcher]:
    if console.is_terminal and not console.is_dumb_terminal:
        with ProgressLine(console, SystemClock()) as line:
            yield line
    else:
        yield PlainLines(sys.stderr)

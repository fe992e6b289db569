"""What `sweep`, `compare`, `run`, `resume` and `report` do with a suite: several workloads, a study each, one result."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import typer

from dialin import json_documents
from dialin.cli.conduct import announce_candidates, check_new_directory, live_page, new_directory, write_what_there_is
from dialin.cli.console import may_start, output, say
from dialin.cli.study_flags import LOCAL, How, spelled
from dialin.errors import DialinError, ExitCode, InterruptedStudyError, MachineError, UserError
from dialin.evidence.server_metrics import READINGS
from dialin.fleet.stop_signals import not_suspended, stopping_cleanly
from dialin.model.suite import GateState, Suite, SuiteOutcome, SuitePlan, SuiteResult
from dialin.paths import replace_text
from dialin.race import lifecycle
from dialin.report import files
from dialin.report.document.suite_document import moved_document, suite_diff_document, suite_document
from dialin.report.plain_lines import WorkloadLines
from dialin.report.render import suite_files
from dialin.report.render.terminal import print_document, print_suite
from dialin.sentences.suite_sentences import next_step
from dialin.servers.processes import identity
from dialin.store import read_only, requests
from dialin.store.lock import CHECKS, sole_runner
from dialin.suites.check import CheckedMember, check_resumed_suite, check_suite, inapplicable_notes, plan_suite, shared_notes
from dialin.suites.joint import SuiteStudy
from dialin.suites.members import SuiteRequest
from dialin.suites.runner import SuiteRunner
from dialin.suites.suite_file import has_begun, read_plan, read_studies, suite_of, write_suite
from dialin.text import command_line, counted, how_to_resume, listed, span, without_secrets
from dialin.trials.tools import Tools
from dialin.verdict.study_diff import compare_studies


def conduct_suite(request: SuiteRequest, where: Path, how: How, *, name: str) -> ExitCode:
    """Check a suite, ask whether to begin, run it, and show its result. Paths in the options are relative to `where`."""
    _refuse_elsewhere(how)
    directory = how.out or new_directory(f"{name}-suite")
    check_new_directory(directory)
    tools = Tools.open(say)
    command = without_secrets(command_line("dialin", *sys.argv[1:]))
    plan = plan_suite(request, spelled, command=command, started_in=where, created=time.time())
    checked = check_suite(plan, tools, how.permission)
    _announce(plan, checked, directory)
    for note in inapplicable_notes(request, plan, spelled):
        say(f"Note: {note}")
    if not may_start(yes=how.yes, changes_server=False):
        return ExitCode.NO_VERDICT
    directory.mkdir(parents=True, exist_ok=True)
    return _run(plan, directory, checked, tools, how)


def resume_suite(directory: Path, how: How, *, minutes: float | None, confirm: bool, accept_weaker: bool) -> ExitCode:
    """Run a suite to its result from where it was interrupted, or with more minutes; `confirm` is for studies, and refused."""
    _refuse_elsewhere(how)
    if confirm:
        raise UserError("--confirm is for a study of one workload", "Leave it out, or resume one study of the suite")
    if accept_weaker:
        _accept_weaker_durability(directory)
    plan = read_plan(directory)
    if minutes is not None:
        spent = sum(study.seconds for study in read_studies(directory, plan)) / 60
        if minutes < spent:
            raise UserError(
                f"--minutes {minutes:g} is less than the {spent:.1f} minutes that the suite has used already",
                "Give the minutes of the whole suite, those used included",
            )
        plan = plan.model_copy(update={"minutes": minutes})
    tools = Tools.open(say)
    checked = check_resumed_suite(directory, plan, tools, how.permission, minutes)
    return _run(plan, directory, checked, tools, how)


def _refuse_elsewhere(how: How) -> None:
    if how.fleet != LOCAL or how.fleet_hosts is not None:
        raise UserError("A suite runs on one host", "Leave --fleet and --fleet-hosts out")


def _announce(plan: SuitePlan, checked: list[CheckedMember], directory: Path) -> None:
    announce_candidates(checked[0].ready)
    loads = [f"{one.name} (weight {one.weight:g})" if one.weight != 1 else one.name for one in plan.members]
    say(f"Under {counted(len(plan.members), 'workload')}: {listed(loads)}")
    blocks = span([one.ready.plan.blocks for one in checked], "{:.0f}".format)
    measured = span([one.ready.plan.measure for one in checked], "{:.0f}".format)
    say(
        f"At most about {plan.minutes:g} minutes of trials: about {blocks} blocks of {len(checked[0].ready.spec.candidates)} "
        f"trials under each workload, {measured} s measured in each trial; written to {directory}"
    )
    for note in shared_notes(checked):
        say(f"Note: {note}")


def _run(plan: SuitePlan, directory: Path, checked: list[CheckedMember], tools: Tools, how: How) -> ExitCode:
    """Run a suite and show its result; the directory is locked until its reports are there, and its live page shows them."""
    with sole_runner(directory, identity(os.getpid())):
        write_suite(directory, Suite(plan=plan))
        requests.withdraw_stop(directory)
        with live_page(directory, wanted=how.watch):
            _run_studies(plan, directory, checked, tools)
        return show_suite(directory, json=how.json)


def _run_studies(plan: SuitePlan, directory: Path, checked: list[CheckedMember], tools: Tools) -> None:
    command = how_to_resume(directory)
    runner = SuiteRunner(plan, directory, checked, tools, lambda one: WorkloadLines(sys.stderr, one.name), say)
    try:
        with stopping_cleanly(), not_suspended(say):
            runner.run()
    except KeyboardInterrupt:
        write_what_there_is(directory, _write_reports)
        raise InterruptedStudyError("Stopped; all completed trials are safe", f"Resume it: {command}") from None
    except DialinError as error:
        write_what_there_is(directory, _write_reports)
        if error.resumable:
            error.remedy = f"{error.remedy}, then: {command}" if error.remedy else f"Resume it: {command}"
        raise


def show_suite(
    directory: Path,
    *,
    json: bool,
    markdown: bool = False,
    full: bool = False,
    must_write: bool = True,
    accept_weaker: bool = False,
) -> ExitCode:
    """Rewrite the reports of a suite and print its result; without `must_write`, missing permission to write is only noted.

    `accept_weaker` lets it recommend candidates that weaken durability from now on.

    Raises:
        UserError: the suite is damaged.
        MachineError: its reports cannot be written; the result is printed before that.
    """
    if accept_weaker:
        _accept_weaker_durability(directory)
    plan = read_plan(directory)
    studies = list(read_studies(directory, plan, explained=True))
    suite = suite_of(plan, studies)
    result = suite.result
    if result is None:
        say(f"Nothing was measured yet. Resume the suite: {how_to_resume(directory)}")
        return ExitCode.NO_VERDICT
    if json:
        typer.echo(json_documents.render(suite), nl=False)
    elif markdown:
        output().out(suite_files.markdown(suite, is_whole=full), end="", highlight=False)
    else:
        print_suite(suite_document(suite), output(), is_whole=full)
    try:
        _write_files(directory, suite, studies)
    except (OSError, files.MayNotWriteError) as error:
        if must_write or (isinstance(error, OSError) and error.errno not in files.NOT_ALLOWED):
            raise (MachineError.of(error) if isinstance(error, OSError) else error) from error
        say(f"Note: the files in {directory} were not rewritten: you may not write there")
    say(f"Report: {(directory / 'report.html').absolute()}")
    if step := next_step(plan, result, directory, is_over=all(study.is_over for study in studies)):
        say(step)
    return _exit_code(result)


def _write_reports(directory: Path) -> None:
    plan = read_plan(directory)
    studies = list(read_studies(directory, plan, explained=True))
    if studies:
        _write_files(directory, suite_of(plan, studies), studies)


def _write_files(directory: Path, suite: Suite, studies: Sequence[SuiteStudy]) -> None:
    for name, text in suite_files.texts(suite).items():
        replace_text(directory / name, text)
    for study in studies:
        place = directory / study.member.directory
        record = read_only.read(place, lambda store: store.read(readings=READINGS))
        files.write_all(record, place, study.why)


def _accept_weaker_durability(directory: Path) -> None:
    """Let a suite recommend candidates that weaken durability, on the same trials.

    Raises:
        UserError: dialin is running it, a workload has not begun, or you may not write there.
    """
    plan = read_plan(directory)
    if not all(has_begun(directory, one) for one in plan.members):
        raise UserError("Not every workload of the suite has begun", f"Resume it first: {how_to_resume(directory)}")
    try:
        with sole_runner(directory, CHECKS):
            for one in plan.members:
                lifecycle.accept_weaker_durability(directory / one.directory)
    except OSError as error:
        what = f"The suite in {directory} cannot be written: {error.strerror}"
        raise UserError(what, "Copy it to a directory of yours") from error


def _exit_code(result: SuiteResult) -> ExitCode:
    if all(row.failure and row.baseline is None for row in result.rows):
        return ExitCode.FAILED_THROUGHOUT
    if result.gate is not None and result.gate.state is GateState.WORSE:
        return ExitCode.WORSE
    is_good = result.is_answered and (result.gate is not None or result.outcome is not SuiteOutcome.FALSE_CLAIM)
    return ExitCode.VERDICT if is_good else ExitCode.NO_VERDICT


def explain_suite(directory: Path, *, json: bool) -> ExitCode:
    """Print what an operation costs under each workload, and what moved where workloads differ; as JSON, all of each study."""
    plan = read_plan(directory)
    studies = list(read_studies(directory, plan, explained=True))
    if json:
        typer.echo(json_documents.render_by_workload({one.member.name: one.why for one in studies if one.why}), nl=False)
        return ExitCode.VERDICT
    suite = suite_of(plan, studies)
    if suite.result is None:
        say("Nothing was measured yet")
        return ExitCode.NO_VERDICT
    print_document(moved_document(suite), output())
    return _exit_code(suite.result)


def diff_suites(first: Path, second: Path, *, json: bool) -> None:
    """Compare two suites, each workload that both have; one that cannot be compared is named with the reason.

    Raises:
        UserError: they have no workload in common, or ask different questions.
    """
    names = {one: {member.name: one / member.directory for member in read_plan(one).members} for one in (first, second)}
    diffs, left_out = {}, {}
    common = [name for name in names[first] if name in names[second]]
    if not common:
        raise UserError("The suites have no workload in common", "Compare suites of the same workloads")
    for name in common:
        try:
            a, b = (read_only.read(names[one][name], lambda store: store.read()) for one in (first, second))
            diffs[name] = compare_studies(a, b, together=len(common))
        except UserError as error:
            left_out[name] = error
    if not diffs:
        raise left_out[common[0]]
    if json:
        typer.echo(json_documents.render_by_workload(diffs), nl=False)
        return
    only = sorted(names[first].keys() ^ names[second].keys())
    print_document(suite_diff_document(diffs, only, {name: error.what for name, error in left_out.items()}), output())

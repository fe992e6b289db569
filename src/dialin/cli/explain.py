"""`dialin explain`: why a study's verdict came out as it did; and `dialin diff`: how two studies differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialin.cli.console import exit_code, output, say
from dialin.cli.studies import Directory
from dialin.errors import ExitCode, UserError
from dialin.store import is_suite
from dialin.text import how_to_resume, visible

if TYPE_CHECKING:
    from dialin.model.record import StudyRecord


def explain(
    directory: Directory,
    json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON; see schema/why.schema.json.")] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Show only the CPU profile of the baseline and the choice.")
    ] = False,
    folded: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the profiles as folded stacks into this directory, for programs that draw flame graphs."
        ),
    ] = None,
) -> None:
    """Explain a verdict: what changed with it, what was never used, and what a query costs.

    Reads what the probes of the study recorded and measures nothing. It works for a study without a verdict, too.

    dialin explain dialin-innodb_buffer_pool_instances-20260902-120041
    """
    if is_suite(directory):
        if folded is not None or (profile and not json):
            raise typer.Exit(_explain_profiles(directory, folded))
        from dialin.cli.conduct_suite import explain_suite

        raise typer.Exit(explain_suite(directory, json=json))
    from dialin import json_documents
    from dialin.evidence.proof_view import proof_view
    from dialin.evidence.why_verdict import explain as explain_verdict
    from dialin.report.document import profile_parts
    from dialin.report.render.terminal import print_why
    from dialin.store import read_only

    record = proof_view(read_only.read(directory, lambda store: store.read()))
    if (profile or folded is not None) and not record.profiles:
        raise _without_profile(directory, record)
    if folded is not None:
        _write_folded(record, folded)
        return
    why = explain_verdict(record)
    if json:
        typer.echo(json_documents.render(why), nl=False)
    else:
        print_why(record, why, output(), only=profile_parts.KEY if profile else "")
    raise typer.Exit(exit_code(record.verdict.verdict if record.verdict else None))


def _without_profile(directory: Path, *records: StudyRecord) -> UserError:
    from dialin.report.document import profile_parts

    reasons = " ".join(dict.fromkeys(reason for record in records for reason in profile_parts.missing(record)))
    if not records[0].spec.is_profiled:
        remedy = "Run the study with --profile"
    else:
        remedy = f"If the study is not at its end: {how_to_resume(directory)}"
    return UserError(f"{directory} has no CPU profile{f'. {reasons}' if reasons else ''}", remedy)


def _explain_profiles(directory: Path, folded: Path | None) -> ExitCode:
    """Print the profiles of each study of a suite, or write them as folded stacks, into a directory for each.

    Raises:
        UserError: no study has one.
    """
    from dialin.evidence.why_verdict import explain as explain_verdict
    from dialin.report.document import profile_parts
    from dialin.report.render.terminal import print_why
    from dialin.store import read_only
    from dialin.suites.suite_file import has_begun, read_plan

    members = [one for one in read_plan(directory).members if has_begun(directory, one)]
    records = [read_only.read(directory / one.directory, lambda store: store.read()) for one in members]
    if not any(record.profiles for record in records):
        if records:
            raise _without_profile(directory, *records)
        raise UserError(f"{directory} has no CPU profile: nothing was measured yet", how_to_resume(directory))
    for member, record in zip(members, records, strict=True):
        if folded is not None:
            _write_folded(record, folded / member.directory)
        else:
            output().print(visible(member.name), style="bold", markup=False, highlight=False)
            print_why(record, explain_verdict(record), output(), only=profile_parts.KEY)
    return ExitCode.VERDICT


def _write_folded(record: StudyRecord, directory: Path) -> None:
    from dialin.store import profile_file

    names = {trial.id: trial.candidate for trial in record.trials}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for trial, profile in record.profiles.items():
            path = directory / f"trial-{trial}.folded"
            path.write_text(profile_file.folded(profile), encoding="utf-8")
            say(f"{visible(names[trial])}, {profile.samples:,} samples: {path.absolute()}")
            if profile.waits is not None:
                path = directory / f"trial-{trial}.waits.folded"
                path.write_text(profile_file.folded(profile.waits), encoding="utf-8")
                say(f"{visible(names[trial])}, microseconds of waiting: {path.absolute()}")
    except OSError as error:
        raise UserError(f"{directory} cannot be written: {error.strerror}", "Name another directory") from error


def diff(
    first: Annotated[Path, typer.Argument(metavar="A", help="The directory of the first study.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The directory of the second study.")],
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON; see schema/diff.schema.json.")] = False,
) -> None:
    """Compare two studies of one question, or two suites: another version, another month, another machine.

    Shows first what differs in build, host, workload and options, then how each candidate's gain over the baseline and its
    throughput changed, with 95 % intervals, and whether the noise differed. Studies of different questions are refused.

    dialin diff pool-instances-8.0 pool-instances-9.7
    """
    from dialin import json_documents
    from dialin.evidence.proof_view import proof_view
    from dialin.report.document.diff_document import diff_document
    from dialin.report.render.terminal import print_document
    from dialin.store import read_only
    from dialin.verdict.study_diff import compare_studies

    if is_suite(first) and is_suite(second):
        from dialin.cli.conduct_suite import diff_suites

        diff_suites(first, second, json=json)
        return
    a, b = (proof_view(read_only.read(directory, lambda store: store.read())) for directory in (first, second))
    result = compare_studies(a, b)
    if json:
        typer.echo(json_documents.render(result), nl=False)
    else:
        print_document(diff_document(result, a.spec), output())

"""`dialin diff`: two studies of one question, compared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dialin.cli.console import output
from dialin.store import is_suite


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

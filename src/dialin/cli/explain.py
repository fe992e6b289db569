"""`dialin explain`: why a study's verdict came out as it did."""

from __future__ import annotations

from typing import Annotated

import typer

from dialin.cli.console import output
from dialin.cli.exit_codes import exit_code
from dialin.cli.studies import Directory
from dialin.store import is_suite


def explain(
    directory: Directory,
    json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON; see schema/why.schema.json.")] = False,
) -> None:
    """Explain a verdict: what changed with it, what was never used, and what a query costs.

    Reads what the probes of the study recorded and measures nothing. It works for a study without a verdict, too.

    dialin explain dialin-innodb_buffer_pool_instances-20260902-120041
    """
    if is_suite(directory):
        from dialin.cli.conduct_suite import explain_suite

        raise typer.Exit(explain_suite(directory, json=json))
    from dialin.evidence.why_verdict import explain as explain_verdict
    from dialin.report import json_documents
    from dialin.report.render.terminal import print_why
    from dialin.store import read_only

    record = read_only.read(directory, lambda store: store.read())
    why = explain_verdict(record)
    if json:
        typer.echo(json_documents.render(why), nl=False)
    else:
        print_why(record, why, output())
    raise typer.Exit(exit_code(record.verdict.verdict if record.verdict else None))

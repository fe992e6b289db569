"""`dialin analyze`: a verdict from the logs of runs made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dialin.cli.console import exit_code, output
from dialin.errors import ExitCode, UserError
from dialin.measures.table import default_of, goals_of_logs
from dialin.model.setting import share_of
from dialin.model.study import Goal
from dialin.paths import read_toml, replace_text
from dialin.text import listed

_REMEDY = 'Write it like "8 instances" = ["*bpi8*"], a line for each candidate'


def analyze(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", help="Logs of load programs, plain, gz, bz2, xz, zst, zip or tar, or directories that hold them."
        ),
    ],
    by: Annotated[
        str | None,
        typer.Option(metavar="REGEX", help=r"Expression whose groups name the candidate in a log's path, such as 'bpi(\d+)'."),
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help='File that assigns logs to candidates: lines such as small = ["*bpi8*"] or old = "10.11" (a whole directory).',
        ),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="NAME", help="The candidate that the others are compared with. Default: the first.")
    ] = None,
    goal: Annotated[Goal, typer.Option(metavar="GOAL", help=f"What to optimize: {listed(goals_of_logs())}.")] = Goal.THROUGHPUT,
    worthwhile: Annotated[
        str | None,
        typer.Option(
            help=f"The smallest difference that matters. Default: {listed([default_of(goal) for goal in goals_of_logs()])}."
        ),
    ] = None,
    confidence: Annotated[str, typer.Option(help="Confidence of all intervals together.")] = "95%",
    skip: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0, help="Seconds to leave out at the start of each run. Default: the warm-up is detected."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A factor to ignore, such as an id in the names; repeat for more."),
    ] = None,
    restarted: Annotated[
        bool, typer.Option("--restarted", help="The server was restarted before each run, so that repeats are separate starts.")
    ] = False,
    time_column: Annotated[
        str, typer.Option(metavar="NAME|N", help="Column of the time in a CSV of your own, by name or number from 1.")
    ] = "",
    throughput_column: Annotated[
        str, typer.Option(metavar="NAME|N", help="Column of the throughput in a CSV of your own.")
    ] = "",
    threads_column: Annotated[
        str, typer.Option(metavar="NAME|N", help="Column of the threads, if runs of several are in one file.")
    ] = "",
    label_column: Annotated[
        str, typer.Option(metavar="NAME|N", help="Column of what each run is called, if several are in one file.")
    ] = "",
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the analysis as a page, with charts, into one file.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the analysis as Markdown, for a ticket.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the analysis as JSON.")] = False,
) -> None:
    r"""Compare runs made elsewhere by their logs: of sysbench, HammerDB, go-tpc, BenchBase and others, or any CSV.

    First it says what kind of folder it is: alternatives and suites are compared, a scaling over threads and a ramp of
    requested rates are not. What tells candidates apart is found where only one thing does. Without a second run in a cell
    there is no interval and no winner.

    dialin analyze results/ --by 'bpi(\d+)'
    """
    from dialin.logs.analyze_runs import analyze as analyze_logs
    from dialin.logs.assignment import AssignmentRule
    from dialin.logs.beside_logs import read_beside
    from dialin.logs.csv_tables import CsvColumns
    from dialin.logs.judgement import Request
    from dialin.logs.log_folder import load

    if goal not in goals_of_logs():
        raise UserError(f"--goal {goal} is not in logs of runs made elsewhere", f"Use one of {listed(goals_of_logs())}")
    if by is not None and candidates is not None:
        raise UserError("--by and --candidates cannot be combined", "Use one of them")
    table = None if candidates is None else _table(candidates)
    request = Request(
        rule=AssignmentRule(by=by, table=table, where=str(candidates or ""), ignored=tuple(ignore or ())),
        goal=goal,
        baseline=baseline,
        confidence=_share("--confidence", confidence, 0.5, 0.999),
        worthwhile=None if worthwhile is None else _share("--worthwhile", worthwhile, 0.0001, 1.0),
        skip=skip,
        restarted=restarted,
    )
    columns = CsvColumns(time_column, throughput_column, threads_column, label_column)
    if bool(time_column) != bool(throughput_column):
        raise UserError("--time-column and --throughput-column belong together", "Give both")
    folder = load(paths, columns)
    logs, roots = {run.name: run.path for run in folder.runs}, [path for path in paths if path.is_dir()]
    analysis = analyze_logs(folder, request, read_beside(logs, roots))
    if html is not None:
        from dialin.report.charts.analysis_charts import RunSeries, looks
        from dialin.report.document.analysis_document import analysis_document
        from dialin.report.render.html import document_body, page_of

        series = [RunSeries(run.name, run.log.times.tolist(), run.log.tps.tolist()) for run in folder.runs]
        _write(html, page_of(document_body(analysis_document(analysis, series), looks(analysis)), "analysis of logs"))
    if markdown:
        from dialin.report.document.analysis_document import analysis_document
        from dialin.report.render.markdown import to_markdown

        output().out(to_markdown(analysis_document(analysis)), end="", highlight=False)
    elif json:
        from dialin import json_documents

        typer.echo(json_documents.render(analysis), nl=False)
    else:
        from dialin.report.render.terminal_writer import print_analysis

        print_analysis(analysis, output())
    raise typer.Exit(ExitCode.VERDICT if analysis.verdict is None else exit_code(analysis.verdict))


def _write(path: Path, text: str) -> None:
    try:
        replace_text(path, text)
    except OSError as error:
        raise UserError(
            f"{path} cannot be written: {error.strerror}", "Name a file in a directory that you may write to"
        ) from None


def _share(option: str, text: str, low: float, high: float) -> float:
    try:
        share = share_of(text)
    except ValueError as error:
        raise UserError(f"{option} {text}: {error}", f"Write it like {option} 95%") from None
    if not low <= share <= high:
        raise UserError(f"{option} {text} does not lie between {low:.4g} and {high:.4g}", "Write shares like 0.95 or 95%")
    return share


def _table(path: Path) -> dict[str, list[str]]:
    """Read the file that assigns logs to candidates.

    Raises:
        UserError: the file cannot be read, or a value is not a list of patterns.
    """
    table = {name: [patterns] if isinstance(patterns, str) else patterns for name, patterns in read_toml(path, _REMEDY).items()}
    for name, patterns in table.items():
        if not name or not patterns or not isinstance(patterns, list) or not all(isinstance(text, str) for text in patterns):
            raise UserError(f"{path}: {name!r} is not a list of patterns", _REMEDY)
    if not table:
        raise UserError(f"{path} names no candidate", _REMEDY)
    return table

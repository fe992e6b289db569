"""The summary of a capture, for the terminal: digests and figures, never a value of a statement."""

from __future__ import annotations

from rich.console import Console

from dialin.model.capture import (
    Autocommit,
    CaptureCheck,
    CapturedDigest,
    CaptureSummary,
    Obstacle,
    OpenSessions,
    TransactionShape,
)
from dialin.report.capture_check_page import add_check
from dialin.report.render.terminal_page import Page
from dialin.report.render.terminal_table import TerminalColumn, long_texts
from dialin.text import NOTHING, clock_time, counted, duration, moment, number, percent, size, visible

_MOST_DIGESTS = 20
_MOST_SHAPES = 10
_FIGURES = 62
"""Columns of a terminal that the figures of a table take."""

_OBSTACLES = {
    Obstacle.ACCOUNT: "about accounts or with a password; dropped from the capture",
    Obstacle.SQL_PREPARE: "PREPARE, EXECUTE and DEALLOCATE; dropped, because the logs have what they ran with its values",
    Obstacle.IN_ROUTINE: "ran within a stored routine; dropped, because its CALL runs them",
    Obstacle.XA: "XA transactions",
    Obstacle.LOAD_DATA: "LOAD DATA or LOAD XML; the logs do not have the file",
    Obstacle.INTO_OUTFILE: "SELECT ... INTO OUTFILE; writes a file on the server",
    Obstacle.NAMED_LOCK: "use named locks (GET_LOCK); the logs do not show who waits for whom",
    Obstacle.ADMINISTRATION: "change the server, not the data (SET GLOBAL, FLUSH, KILL and others)",
    Obstacle.CURSOR: "fetches from a cursor of the protocol",
    Obstacle.OPEN_QUOTE: "have a quote that is not closed",
    Obstacle.NO_SESSION: "without the number of their session in the log",
    Obstacle.NO_TIME: "without a time in the log",
}

_SAMPLED = {"query": "statements", "session": "sessions"}

_SOURCES = {
    "slow": "slow log",
    "slow+extra": "slow log with error numbers",
    "general": "general log",
    "slow+general": "slow log and general log",
    "slow+extra+general": "slow log with error numbers, and general log",
}


def print_capture(
    summary: CaptureSummary,
    check: CaptureCheck,
    console: Console,
    kept_until: str | None,
    sessions: OpenSessions | None = None,
) -> None:
    """Print the summary of a capture.

    Args:
        summary: the summary.
        check: how well it can be replayed.
        console: where to print.
        kept_until: the day until which it keeps its statements; None if it has none.
        sessions: those that were open when its log began; None if that is not known.
    """
    page, header = Page(console), summary.capture
    if header.lack:
        page.text(counted(summary.statements, "statement"), "bold")
    else:
        page.text(f"{counted(header.statements, 'statement')} in {counted(summary.sessions, 'session')}", "bold")
    if summary.begin is not None and summary.end is not None:
        lasted = duration(summary.end - summary.begin)
        page.fact("Time:", f"{moment(summary.begin)} to {clock_time(summary.end)}, {lasted}; times to the {header.clock}")
    page.fact("Source:", f"{_SOURCES[header.source]}, {size(summary.log_bytes)}; server {visible(header.server or NOTHING)}")
    page.fact("Kept:", f"statements until {kept_until}" if kept_until else "no statements, only digests and figures")
    page.fact("Coverage:", _coverage(summary))
    if sessions is not None and sessions.unarmed:
        page.fact("Not in it:", unlogged_text(sessions))
    page.fact("Autocommit:", _autocommit(summary.autocommit))
    if comparison := _comparison(summary.digests):
        page.fact("Digests:", comparison)
    page.gap()
    _digests(page, summary)
    page.gap()
    _transactions(page, summary)
    page.gap()
    if not check.why_not:
        _obstacles(page, summary)
        page.gap()
    add_check(page, check)
    for problem in _unread(summary):
        page.labelled("Not read:", problem, "yellow")


def _coverage(summary: CaptureSummary) -> str:
    coverage = summary.coverage
    sampling = summary.capture.sampling
    if coverage is None and sampling:
        return f"about {_fine_percent(sampling.share)}: the log has 1 of {sampling.one_of} {_SAMPLED[sampling.by]}"
    if coverage is None:
        return "unknown without the server's counters from before and after (dialin capture counters, --digests)"
    words = f"{coverage.logged:,} of {coverage.questions:,} Questions"
    share = coverage.share
    return words if share is None else f"{_fine_percent(share)} ({words})"


def unlogged_text(sessions: OpenSessions) -> str:
    """Return which sessions are not in the slow log of a capture."""
    most = "" if sessions.is_exact else "at most "
    return (
        f"{most}{len(sessions.unarmed):,} of {counted(sessions.clients, 'session')}, which began before the log had all "
        f"statements: {sessions.unarmed_numbers}. The coverage shows how much they sent"
    )


def _autocommit(autocommit: Autocommit) -> str:
    """Return with which autocommit the sessions of a capture began, and how that is known."""
    groups = {
        "known": autocommit.known,
        "on, as their BEGINs show": autocommit.inferred_on,
        "off, as COMMIT or ROLLBACK after changes without BEGIN shows": autocommit.inferred_off,
        "unknown, taken as on": autocommit.unknown,
    }
    return "; ".join([f"off at the start of {counted(autocommit.off, 'session')}", *_counts(groups)])


def _counts(groups: dict[str, int]) -> list[str]:
    return [f"{count:,} {name}" for name, count in groups.items() if count]


def _fine_percent(share: float) -> str:
    """Return a share with two decimals: whether 99.9 % was reached is the question here."""
    return f"{100 * share:.2f} %"


def _comparison(digests: list[CapturedDigest]) -> str:
    """Return how many digests have the same count in the logs and in the performance schema; empty if none has both."""
    both = [digest for digest in digests if digest.counted is not None and digest.logged is not None]
    if not both:
        return ""
    equal = [digest for digest in both if digest.counted == digest.logged]
    statements = sum(digest.counted or 0 for digest in both)
    equal_statements = sum(digest.counted or 0 for digest in equal)
    share = percent(equal_statements / statements) if statements else NOTHING
    return f"{len(equal)} of {len(both)} have the count of the performance schema, {share} of its statements"


def _digests(page: Page, summary: CaptureSummary) -> None:
    all_digests = [digest for digest in summary.digests if digest.statements]
    shown = all_digests[:_MOST_DIGESTS]
    if not shown:
        page.text("No statement is in the logs.")
        return
    per_statement = [digest.seconds / digest.statements if digest.seconds is not None else None for digest in shown]
    page.table(
        [
            TerminalColumn("#", [str(place) for place, _ in enumerate(shown)]),
            TerminalColumn("statements", [f"{digest.statements:,}" for digest in shown]),
            TerminalColumn("mean ms", [number(1000 * each) if each is not None else NOTHING for each in per_statement], rank=1),
            TerminalColumn("rows read", [_each(digest.rows_examined, digest.statements) for digest in shown], rank=3),
            TerminalColumn("failed", [f"{digest.failed:,}" for digest in shown], rank=2),
            long_texts("digest", [visible(digest.digest) for digest in shown], page.width - _FIGURES),
        ]
    )
    if more := len(all_digests) - len(shown):
        page.text(f"And {counted(more, 'more digest')}: --json has all of them.", "dim")


def _each(total: int | None, count: int) -> str:
    return NOTHING if total is None else number(total / count)


def _transactions(page: Page, summary: CaptureSummary) -> None:
    shown = summary.transactions[:_MOST_SHAPES]
    if not shown:
        return
    total = sum(shape.transactions for shape in summary.transactions)
    shapes = counted(len(summary.transactions), "shape")
    page.text(f"{counted(total, 'transaction')} of {shapes}; numbers are digests, × several in a row:")
    page.table(
        [
            TerminalColumn("transactions", [f"{shape.transactions:,}" for shape in shown]),
            TerminalColumn("statements", [number(shape.statements / shape.transactions) for shape in shown]),
            TerminalColumn("mean ms", [number(1000 * shape.seconds / shape.transactions) for shape in shown], rank=1),
            TerminalColumn("rolled back", [f"{shape.rolled_back:,}" for shape in shown], rank=3),
            TerminalColumn("unfinished", [f"{shape.unfinished:,}" for shape in shown], rank=2),
            long_texts("shape", [_shape(shape) for shape in shown], page.width - _FIGURES),
        ]
    )
    if more := len(summary.transactions) - len(shown):
        page.text(f"And {counted(more, 'more shape')}: --json has all of them.", "dim")


def _shape(shape: TransactionShape) -> str:
    steps = " ".join(f"{step.digest}×" if step.repeated else str(step.digest) for step in shape.steps)
    return steps or "others"


def _obstacles(page: Page, summary: CaptureSummary) -> None:
    if not summary.not_replayed:
        page.text("Every statement can be replayed.")
        return
    page.text("Cannot be replayed:")
    for group in summary.not_replayed:
        page.text(f"{group.statements:,}  {_OBSTACLES[group.reason]}", indent="  ")


def _unread(summary: CaptureSummary) -> list[str]:
    unread = summary.unread
    problems = {
        f"{size(unread.skipped_bytes)} that belong to no entry": unread.skipped_bytes,
        f"{unread.cut_off:,} entries whose end is not in the logs": unread.cut_off,
        f"{unread.too_long:,} statements of more than 64 MiB": unread.too_long,
    }
    return [problem for problem, count in problems.items() if count]

"""A capture, how well it can be replayed, and one replay, for the terminal; never a value of a statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from dialin.model.capture import (
    Autocommit,
    CaptureCheck,
    CapturedDigest,
    CaptureSummary,
    CheckCode,
    CheckFinding,
    Fitness,
    Lack,
    Obstacle,
    OpenSessions,
    TransactionShape,
)
from dialin.model.load_driver import ReplayedDigest
from dialin.report.render.terminal_page import Page
from dialin.report.render.terminal_table import TerminalColumn, long_texts
from dialin.sentences.replay_sentences import AMOUNTS, COUNTS, ReplayPart, fidelity
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


_HEADLINES = {
    Fitness.GOOD: "The capture has the whole load, and can be replayed",
    Fitness.LIMITED: "The capture can be replayed, with the limits below",
    Fitness.POOR: "The capture lacks too much: a replay of it is not the load that was captured",
}

_CANNOT = "The capture cannot be replayed: it has digests and figures only"

_LACKING = {
    Lack.SESSIONS.value: "the logs have no session numbers: only digests and figures are known; a general log has them",
    Lack.TIMES.value: "the logs have no times: only digests and figures are known",
}

_STYLES = {Fitness.GOOD: "green", Fitness.LIMITED: "yellow", Fitness.POOR: "bold red"}


def add_check(page: Page, check: CaptureCheck) -> None:
    """Add to a page how well a capture can be replayed, and what limits that, the worst first."""
    is_bare = any(one.code is CheckCode.REPLAYABLE and one.figures["lack"] for one in check.findings)
    headline = "The capture cannot be replayed" if check.why_not else _CANNOT if is_bare else _HEADLINES[check.fitness]
    page.text(headline, _STYLES[check.fitness])
    for finding in check.findings:
        if finding.fitness is not Fitness.GOOD:
            page.labelled(f"{finding.fitness.capitalize()}:", finding_text(finding), _STYLES[finding.fitness])


def finding_text(finding: CheckFinding) -> str:
    """Return what a finding says, as a sentence without its full stop."""
    figures = finding.figures
    share = figures.get("share")
    in_percent = percent(share) if isinstance(share, (int, float)) else ""
    match finding.code:
        case CheckCode.REPLAYABLE:
            return visible(figures["why_not"] or _LACKING.get(str(figures["lack"]), "the statements have sessions and times"))
        case CheckCode.SAMPLING if figures["by"] == "query":
            return f"the log has 1 of {figures['of']} statements (log_slow_rate_limit): only the mix of statements is known"
        case CheckCode.SAMPLING if figures["by"] == "session":
            return f"the log has 1 of {figures['of']} sessions (log_slow_rate_limit): a replay is only that part of the load"
        case CheckCode.SAMPLING:
            return "the log has all statements that the server was to write"
        case CheckCode.COVERAGE:
            if not isinstance(share, (int, float)):
                return "coverage is unknown: the server's counters were not read before and after"
            return f"{100 * share:.2f} % of what the server counted is in the logs"
        case CheckCode.SESSIONS if figures["unarmed"] is None:
            return "the log is taken to have all sessions"
        case CheckCode.SESSIONS if not figures["unarmed"]:
            return "the slow log has all sessions"
        case CheckCode.SESSIONS:
            return (
                f"{figures['unarmed']:,} sessions ({in_percent}; {figures['named']}) began before the slow log had all "
                "statements: what they sent is not in it, and the coverage shows how much that is"
            )
        case CheckCode.AUTOCOMMIT:
            return (
                f"nothing shows whether autocommit was on in {figures['sessions']:,} sessions: {figures['statements']:,} of "
                f"their statements, {figures['changes']:,} of them changes, are transactions by themselves only if it was "
                "(--autocommit off decides otherwise)"
            )
        case CheckCode.NOT_REPLAYED:
            return f"{figures['statements']:,} statements ({in_percent}) cannot be replayed"
        case CheckCode.UNREAD:
            return f"{figures['bytes']:,} bytes of the logs ({in_percent}) could not be read"
        case CheckCode.CUT_TRANSACTIONS:
            return f"{figures['transactions']:,} transactions ({in_percent}) have no end in the logs"
        case CheckCode.TIMES if figures["clock"] is None:
            return "times are unknown"
        case CheckCode.TIMES if figures["clock"] == "second":
            return "times are to the second: the order of transactions within a second is unknown"
        case CheckCode.TIMES:
            return "times are finer than a second"
        case CheckCode.ERRORS if figures["known"]:
            return "errors are known"
        case CheckCode.ERRORS:
            return "errors are unknown: a transaction that the server rolled back looks like one that was committed"
        case CheckCode.DURATIONS if figures["known"]:
            return "durations and rows are known"
        case CheckCode.DURATIONS:
            return "durations and rows are unknown: those of a replay cannot be compared with them"


_REPLAY_FIGURES = 110
"""Columns of a terminal that the figures of the digests take."""


def print_replay(
    parts: Sequence[ReplayPart], facts: Mapping[str, float], digests: Sequence[ReplayedDigest], console: Console
) -> None:
    """Print how one replay differs from its capture; `facts` are the driver's figures."""
    page = Page(console)
    page.text(fidelity(parts, ""), "bold")
    for part in parts:
        page.text(f"{part.shown:>8}  {part.name} (limit {part.limit_shown})", hanging=" " * 10)
        if part.is_exceeded and part.cause:
            page.text(f"Possible cause: {part.cause}", "yellow", indent=" " * 10)
    for name, text in {**AMOUNTS, **COUNTS}.items():
        if name in facts:
            page.text(f"{number(facts[name]):>8}  {text}", hanging=" " * 10)
    if digests:
        page.gap()
        page.text("The statements that took most time, and those that differ most from the capture, by digest:")
        _replayed_digests(page, sorted(digests, key=lambda one: -one.statements * (one.replayed_ms or 0.0)))


def _replayed_digests(page: Page, digests: Sequence[ReplayedDigest]) -> None:
    page.table(
        [
            TerminalColumn("statements", [f"{one.statements:,}" for one in digests], rank=4),
            TerminalColumn("new errors", [_new_errors(one) for one in digests]),
            TerminalColumn("missing errors", [f"{one.missing_errors:,}" for one in digests], rank=3),
            TerminalColumn("other rows", [f"{one.other_rows:,}" for one in digests]),
            TerminalColumn("other changes", [f"{one.other_changes:,}" for one in digests], rank=1),
            TerminalColumn("captured ms", [number(one.captured_ms) for one in digests], rank=2),
            TerminalColumn("ms", [number(one.replayed_ms) for one in digests], rank=2),
            TerminalColumn("of the time", [_shares(one) for one in digests], rank=5),
            long_texts("digest", [visible(one.digest) for one in digests], page.width - _REPLAY_FIGURES),
        ]
    )


def _new_errors(one: ReplayedDigest) -> str:
    return f"{one.new_errors:,}" if one.last_error is None else f"{one.new_errors:,} ({one.last_error})"


def _shares(one: ReplayedDigest) -> str:
    if one.captured_time is None or one.replayed_time is None:
        return NOTHING
    return f"{percent(one.captured_time)} → {percent(one.replayed_time)}"

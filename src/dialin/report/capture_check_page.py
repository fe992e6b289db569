"""How well a capture can be replayed, as lines of a page for the terminal."""

from __future__ import annotations

from rich.console import Console

from dialin.model.capture import CaptureCheck, CheckCode, CheckFinding, Fitness, Lack
from dialin.report.render.terminal_page import Page
from dialin.text import percent, visible

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


def print_check(check: CaptureCheck, console: Console) -> None:
    """Print how well a capture can be replayed."""
    add_check(Page(console), check)


def add_check(page: Page, check: CaptureCheck) -> None:
    """Add to a page how well a capture can be replayed, and what limits that, the worst first."""
    page.text(_headline(check), _STYLES[check.fitness])
    for finding in check.findings:
        if finding.fitness is not Fitness.GOOD:
            page.labelled(f"{finding.fitness.capitalize()}:", finding_text(finding), _STYLES[finding.fitness])


def _headline(check: CaptureCheck) -> str:
    if check.why_not:
        return "The capture cannot be replayed"
    return _CANNOT if _is_without_records(check) else _HEADLINES[check.fitness]


def _is_without_records(check: CaptureCheck) -> bool:
    return any(finding.code is CheckCode.REPLAYABLE and finding.figures["lack"] for finding in check.findings)


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

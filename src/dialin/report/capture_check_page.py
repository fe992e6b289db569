"""How well a capture can be replayed, as lines of a page for the terminal."""

from __future__ import annotations

from rich.console import Console

from dialin.model.capture import CaptureCheck, CheckCode, CheckFinding, Fitness
from dialin.report.render.terminal_page import Page
from dialin.text import percent

_HEADLINES = {
    Fitness.GOOD: "The capture has the whole load, and can be replayed",
    Fitness.LIMITED: "The capture can be replayed, with the limits below",
    Fitness.POOR: "The capture lacks too much: a replay of it is not the load that was captured",
}

_STYLES = {Fitness.GOOD: "green", Fitness.LIMITED: "yellow", Fitness.POOR: "bold red"}


def print_check(check: CaptureCheck, console: Console) -> None:
    """Print how well a capture can be replayed."""
    add_check(Page(console), check)


def add_check(page: Page, check: CaptureCheck) -> None:
    """Add to a page how well a capture can be replayed, and what limits that, the worst first."""
    page.text(_HEADLINES[check.fitness], _STYLES[check.fitness])
    for finding in check.findings:
        if finding.fitness is not Fitness.GOOD:
            page.labelled(f"{finding.fitness.capitalize()}:", finding_text(finding), _STYLES[finding.fitness])


def finding_text(finding: CheckFinding) -> str:
    """Return what a finding says, as a sentence without its full stop."""
    figures = finding.figures
    share = figures.get("share")
    in_percent = percent(share) if isinstance(share, (int, float)) else ""
    match finding.code:
        case CheckCode.COVERAGE:
            if not isinstance(share, (int, float)):
                return "coverage is unknown: the server's counters were not read before and after"
            return f"{100 * share:.2f} % of what the server counted is in the logs"
        case CheckCode.NOT_REPLAYED:
            return f"{figures['statements']:,} statements ({in_percent}) cannot be replayed"
        case CheckCode.UNREAD:
            return f"{figures['bytes']:,} bytes of the logs ({in_percent}) could not be read"
        case CheckCode.CUT_TRANSACTIONS:
            return f"{figures['transactions']:,} transactions ({in_percent}) have no end in the logs"
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

"""One replay of a capture, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from dialin.model.replay import DigestDifference
from dialin.report.render.terminal_page import Page
from dialin.report.render.terminal_table import TerminalColumn, long_texts
from dialin.report.replay_sentences import COUNTS, ReplayPart, fidelity
from dialin.text import NOTHING, number, percent, visible

_FIGURES = 82
"""Columns of a terminal that the figures of the digests take."""


def print_replay(
    parts: Sequence[ReplayPart], facts: Mapping[str, float], differences: Sequence[DigestDifference], console: Console
) -> None:
    """Print how one replay differs from its capture; `facts` are the driver's figures."""
    page = Page(console)
    page.text(fidelity(parts, ""), "bold")
    for part in parts:
        page.text(f"{part.shown:>8}  {part.name} (limit {part.limit_shown})", hanging=" " * 10)
        if part.is_exceeded and part.cause:
            page.text(f"Possible cause: {part.cause}", "yellow", indent=" " * 10)
    for name, text in COUNTS.items():
        if name in facts:
            page.text(f"{number(facts[name]):>8}  {text}", hanging=" " * 10)
    if differences:
        page.gap()
        page.text("The statements that differ most from the capture, by digest:")
        _digests(page, differences)


def _digests(page: Page, differences: Sequence[DigestDifference]) -> None:
    page.table(
        [
            TerminalColumn("statements", [f"{one.statements:,}" for one in differences], rank=3),
            TerminalColumn("new errors", [_new_errors(one) for one in differences]),
            TerminalColumn("missing errors", [f"{one.missing_errors:,}" for one in differences], rank=2),
            TerminalColumn("other rows", [f"{one.other_rows:,}" for one in differences]),
            TerminalColumn("time, captured", [_share(one.captured_time) for one in differences], rank=1),
            TerminalColumn("replayed", [_share(one.replayed_time) for one in differences], rank=1),
            long_texts("digest", [visible(one.digest) for one in differences], page.width - _FIGURES),
        ]
    )


def _new_errors(one: DigestDifference) -> str:
    return f"{one.new_errors:,}" if one.last_error is None else f"{one.new_errors:,} ({one.last_error})"


def _share(share: float | None) -> str:
    return NOTHING if share is None else percent(share)

"""One replay of a capture, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from dialin.model.load_driver import ReplayedDigest
from dialin.report.render.terminal_page import Page
from dialin.report.render.terminal_table import TerminalColumn, long_texts
from dialin.sentences.replay_sentences import AMOUNTS, COUNTS, ReplayPart, fidelity
from dialin.text import NOTHING, number, percent, visible

_FIGURES = 110
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
        _digests(page, sorted(digests, key=lambda one: -one.statements * (one.replayed_ms or 0.0)))


def _digests(page: Page, digests: Sequence[ReplayedDigest]) -> None:
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
            long_texts("digest", [visible(one.digest) for one in digests], page.width - _FIGURES),
        ]
    )


def _new_errors(one: ReplayedDigest) -> str:
    return f"{one.new_errors:,}" if one.last_error is None else f"{one.new_errors:,} ({one.last_error})"


def _shares(one: ReplayedDigest) -> str:
    if one.captured_time is None or one.replayed_time is None:
        return NOTHING
    return f"{percent(one.captured_time)} → {percent(one.replayed_time)}"

"""One replay of a capture, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from dialin.report.render.terminal_page import Page
from dialin.report.replay_sentences import COUNTS, ReplayPart, fidelity
from dialin.text import number


def print_replay(parts: Sequence[ReplayPart], facts: Mapping[str, float], console: Console) -> None:
    """Print how one replay differs from its capture; `facts` are the driver's figures."""
    page = Page(console)
    page.text(fidelity(parts, ""), "bold")
    for part in parts:
        page.text(f"{part.shown:>8}  {part.name} (limit {part.limit_shown})")
    for name, text in COUNTS.items():
        if name in facts:
            page.text(f"{number(facts[name]):>8}  {text}")

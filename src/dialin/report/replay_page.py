"""One replay of a capture, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from dialin.model.workload import LoadLimit
from dialin.report.render.terminal_page import Page
from dialin.report.replay_sentences import COUNTS, SHARES, fidelity
from dialin.text import number, percent


def print_replay(facts: Mapping[str, float], limits: Sequence[LoadLimit], console: Console) -> None:
    """Print how one replay differs from its capture."""
    page = Page(console)
    shares = {name: facts[name] for name in SHARES if name in facts}
    page.text(fidelity(shares, limits, ""), "bold")
    most = {limit.gauge: limit.most for limit in limits}
    for name, share in shares.items():
        page.text(f"{percent(share):>8}  {SHARES[name]} (limit {percent(most[name])})")
    for name, text in COUNTS.items():
        if name in facts:
            page.text(f"{number(facts[name]):>8}  {text}")

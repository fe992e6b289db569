"""Advice on a terminal."""

from __future__ import annotations

from rich.console import Console

from dialin.model.advice import Advice, Studied, Weight
from dialin.report.render.terminal_page import Page
from dialin.report.render.terminal_table import TerminalColumn
from dialin.sentences.advice_sentences import STUDIED, WEIGHTS, value_list, watch_text
from dialin.text import counted, visible

_STYLES = {Weight.WAITED: "bold red", Weight.WORK: "yellow", Weight.MACHINE: "cyan", Weight.CHANGED: "dim"}


def print_advice(advice: Advice, console: Console) -> None:
    """Print which variables are worth an experiment on a server, why, and the command of each."""
    page = Page(console)
    page.text(_headline(advice), "bold")
    page.text(visible(f"{advice.server}{f', {advice.place}' if advice.place else ', a sandbox of its own'}"))
    page.text(watch_text(advice.watch))
    if advice.experiments:
        _print_experiments(page, advice)
    if advice.unread:
        page.gap()
        page.text("Not read, so that some rules were silent:", "dim")
        for unread in advice.unread:
            page.text(unread.text, "dim", indent="  ")
    if advice.machine:
        page.gap()
        subjects = ", ".join(finding.subject for finding in advice.machine)
        page.text(f"This machine disturbs measurements ({subjects}). See: dialin doctor", "yellow")


def _headline(advice: Advice) -> str:
    count = len(advice.experiments)
    if not count:
        return "No figure of this server speaks for an experiment."
    return f"{counted(count, 'variable')} worth an experiment, strongest reason first."


def _print_experiments(page: Page, advice: Advice) -> None:
    """Print a table of the experiments, then the reasons of each with its command, then the sources."""
    experiments = advice.experiments
    numbers = [str(place) for place in range(1, len(experiments) + 1)]
    page.gap()
    page.table(
        [
            TerminalColumn("#", numbers),
            TerminalColumn("variable", [one.variable for one in experiments], left=True),
            TerminalColumn("now", [value_list(one.variable, [one.now]) for one in experiments], rank=2),
            TerminalColumn("try", [value_list(one.variable, one.values) for one in experiments], left=True),
            TerminalColumn("why", [str(one.weight) for one in experiments], rank=1, left=True),
        ],
        styles=[_STYLES[one.weight] for one in experiments],
    )
    sources = list(dict.fromkeys(trigger.source for one in experiments for trigger in one.triggers))
    footnotes = {source: number for number, source in enumerate(sources, 1)}
    for place, experiment in enumerate(experiments, 1):
        page.gap()
        reasons = (f"{trigger.text.removesuffix('.')} [{footnotes[trigger.source]}]." for trigger in experiment.triggers)
        page.numbered(place, " ".join(reasons))
        if experiment.command:
            page.copyable(f"    {experiment.command}")
    page.gap()
    for weight in dict.fromkeys(one.weight for one in experiments):
        page.text(f"{weight}: {WEIGHTS[weight]}.", "dim")
    for source, number in footnotes.items():
        page.text(f"[{number}] {source}", "dim", hanging="    ")
    page.gap()
    page.text("These are questions, not recommendations: the experiment decides. A gain is not promised.")
    for studied in dict.fromkeys(one.studied for one in experiments):
        if advice.place:
            page.text(STUDIED[studied])
        if studied is Studied.REPLAY and advice.capture:
            page.copyable(f"    {advice.capture}")

"""Advice on a terminal."""

from __future__ import annotations

from rich.console import Console

from dialin.model.advice import Advice, Experiment, Weight
from dialin.report.advice_sentences import WEIGHTS, trigger_text, unread_text, values_text, watch_text
from dialin.report.render.terminal_page import Page
from dialin.text import counted, visible

_STYLES = {Weight.WAITED: "bold red", Weight.WORK: "yellow", Weight.MACHINE: "cyan", Weight.CHANGED: "dim"}


def print_advice(advice: Advice, console: Console) -> None:
    """Print which variables are worth an experiment on a server, why, and the command of each."""
    page = Page(console)
    page.text(_headline(advice), "bold")
    page.text(visible(f"{advice.server}{f', {advice.place}' if advice.place else ', a sandbox of its own'}"))
    page.text(watch_text(advice.watch))
    for place, experiment in enumerate(advice.experiments, 1):
        page.gap()
        _print_experiment(page, place, experiment)
    if advice.experiments:
        page.gap()
        page.text("These are questions, not recommendations: the experiment decides. A gain is not promised.")
        if advice.place:
            page.text("The commands with --attach put a load of their own on the server: use a copy of it, or a quiet hour.")
    if advice.unread:
        page.gap()
        page.text("Not read, so that some rules were silent:", "dim")
        for unread in advice.unread:
            page.text(f"{unread_text(unread)}.", "dim", indent="  ")
    if advice.machine:
        page.gap()
        subjects = ", ".join(finding.subject for finding in advice.machine)
        page.text(f"This machine disturbs measurements ({subjects}). See: dialin doctor", "yellow")


def _headline(advice: Advice) -> str:
    count = len(advice.experiments)
    if not count:
        return "No figure of this server speaks for an experiment."
    return f"{counted(count, 'variable')} worth an experiment, strongest reason first."


def _print_experiment(page: Page, place: int, experiment: Experiment) -> None:
    page.text(f"{place:>2}. {experiment.variable}: {values_text(experiment)}", "bold", hanging="    ")
    strongest = experiment.triggers[0]
    page.text(f"[{strongest.weight}] {WEIGHTS[strongest.weight]}", _STYLES[strongest.weight], indent="    ")
    for trigger in experiment.triggers:
        page.text(f"{trigger_text(experiment.variable, trigger)}.", indent="    ")
        page.text(f"Source: {trigger.source}", "dim", indent="      ")
    if experiment.command:
        page.copyable(f"    {experiment.command}")

"""Runs the published experiments for some minutes, and writes docs/published.md from all that is stored of them.

    PYTHONPATH=scripts python -m published [--minutes MINUTES] [--only RECIPE/STUDY ...] [--runs DIR]

Without minutes it runs nothing: it shows what each study is expected to need, and writes the pages. With minutes it resumes the
studies of which an hour is worth most, one after another, until the minutes are used, and stores their state
(`published.studies`), from which a later call goes on, on this machine or another one of the same kind.
"""

from __future__ import annotations

import argparse
import functools
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dialin.cli import conduct
from dialin.cli.console import say
from dialin.errors import DialinError, InterruptedStudyError, UserError
from dialin.model.record import kind_of
from dialin.model.study import Candidate
from dialin.paths import Home, replace_text
from dialin.probes import host
from dialin.race.runner import InSuite
from dialin.recipes import execution, library
from dialin.recipes.execution import RecipeStep, StudyPlace
from dialin.recipes.library import ExpectationRule
from dialin.search.proposer import History, Room
from dialin.servers.ledger import Ledger
from dialin.store import STUDY_FILE
from dialin.text import counted, number
from dialin.trials.tools import Tools
from published.page import page, pictures, summary
from published.studies import SCALE, PublishedStudy, all_studies, of_recipe, pack, unpack

ROOT = Path(__file__).parents[2]

_ALL_EACH = 3
"""One block in so many has all candidates; the others have those that claims are about."""

THE_WHOLE_SESSION = InSuite(is_decided=lambda _judgement: False)
"""A study uses all of its minutes: it is to answer claims, not to find a choice, and stopping at an answer would favour it."""


@dataclass(frozen=True, slots=True)
class OfClaims:
    """Proposes the candidates that claims are about, and all of them in one block of `_ALL_EACH`."""

    names: frozenset[str]

    def propose(self, history: History, room: Room) -> Sequence[Candidate]:
        racing = history.in_the_race
        claimed = [candidate for candidate in racing if candidate.name in self.names]
        wants_all = room.first_on_host or room.block % _ALL_EACH == 1 or len(claimed) < 2
        return racing if wants_all and len(racing) <= room.trials else claimed


def main() -> int:
    """Run what the minutes hold, and write the pages."""
    asked = _arguments()
    for orphan, ran in Ledger(Home.of().ledger).end_orphans():
        if ran and not orphan.keep:
            say(f"Stopped a server that an earlier dialin left running: {orphan.build or orphan.id}")
    studies = all_studies()
    for line in forecast(studies):
        say(line)
    code = _run(studies, asked) if asked.minutes else 0
    write(all_studies())
    return code


def _run(studies: list[PublishedStudy], asked: argparse.Namespace) -> int:
    tools, failed, left = Tools.open(say), [], asked.minutes
    waiting = {_name(one): one for one in studies if not asked.only or {one.name, _name(one)} & set(asked.only)}
    while ready := [one for one in waiting.values() if one.answers_per_hour and 60 * one.least_hours <= left]:
        study = max(ready, key=lambda one: one.answers_per_hour)
        began, minutes = time.monotonic(), round(min(left, max(60 * study.least_hours, 60 * study.open_hours[-1])), 1)
        say(f"{_name(study)}: {number(minutes)} of {counted(round(left), 'minute')}")
        try:
            run(study, asked.runs, minutes, tools)
        except InterruptedStudyError as error:
            say(str(error))
            return 130
        except DialinError as error:
            say(str(error))
            failed.append(_name(study))
            del waiting[_name(study)]
        else:
            waiting[_name(study)] = of_recipe(study.name, study.study)
        left -= (time.monotonic() - began) / 60
    if failed:
        say(f"Not run to the end: {', '.join(failed)}")
    return 1 if failed else 0


def run(study: PublishedStudy, runs: Path, minutes: float, tools: Tools) -> None:
    """Run a study for some minutes, and store its state, which is also done where it is stopped or fails.

    Raises:
        UserError: it was measured on a machine of another kind.
        DialinError: it failed, or the user stopped it.
    """
    where = runs / study.name / study.study.name
    if not (where / STUDY_FILE).is_file() and study.archive.is_file():  # else a session was killed there
        check_machine(study, host.inventory(tools.home.root))
        unpack(study.archive, where)
    claims = [result.expectation for result in study.results]
    names = {study.spec.baseline, *(name for claim in claims for name in claim.candidates)}
    names |= set(study.spec.names) if any(claim.rule is ExpectationRule.BEST for claim in claims) else set()
    step = _with_more_waits(execution.check(StudyPlace(1, 1, study.study, where), SCALE, tools, minutes), study, minutes)
    conduct.announce(step.ready, where)
    command = f"dialin run {library.PREFIX}{study.name} --scale {SCALE}"
    race = functools.partial(step.run, command=command, proposer=OfClaims(frozenset(names)), suite=THE_WHOLE_SESSION)
    try:
        conduct.perform(where, race, "make published MINUTES=...")
    finally:
        if (where / STUDY_FILE).is_file():
            pack(where, study.archive)
            shutil.rmtree(where)


def _with_more_waits(step: RecipeStep, study: PublishedStudy, minutes: float) -> RecipeStep:
    """Let a study of raw waits that is resumed use its minutes for more of their trials, but for one block of the race."""
    spec = step.ready.spec
    if not step.is_resumed or not spec.waits:
        return step
    more = max(0, int(60 * minutes / (len(spec.candidates) * study.trial_seconds)) - 1)
    return replace(step, ready=replace(step.ready, spec=spec.model_copy(update={"wait_trials": spec.wait_trials + more})))


def check_machine(study: PublishedStudy, here: Mapping[str, object]) -> None:
    """Make sure that a study goes on only where it was measured, or on a machine like that.

    Raises:
        UserError: this machine is of another kind.
    """
    known = dict(kind_of(here))
    there = kind_of(study.record.host) if study.record is not None else ()
    for key, value in there:
        if known.get(key) != value:
            what = f"{_name(study)} was measured where {key} is {value}, and here it is {known.get(key)}"
            raise UserError(what, f"Go on there, or remove {study.archive} and begin anew")


def forecast(studies: Sequence[PublishedStudy]) -> list[str]:
    """Return in lines what each study is expected to need."""
    lines = ["Open claims, hours so far, further hours for the first and for all of them, seconds per trial:"]
    for one in sorted(studies, key=lambda one: -one.answers_per_hour):
        hours = one.open_hours
        needs = f"{_hours(hours[0])} to {_hours(hours[-1])} h" if hours else "answered"
        claims = f"{len(hours)} of {counted(len(one.results), 'claim')} open"
        lines.append(f"  {_name(one)}: {claims}, {one.spent:.1f} h so far, {needs}, {one.trial_seconds:.0f} s per trial")
    return lines


def _hours(hours: float) -> str:
    return f"{hours:.1f}" if hours < 1000 else "over 1,000"


def write(studies: Sequence[PublishedStudy]) -> None:
    """Write the pages and pictures of all that is stored."""
    written = {"docs/published.md": summary(studies), "benchmarks/results/published.md": page(studies), **pictures(studies)}
    for path, text in written.items():
        replace_text(ROOT / path, text)
    say(f"Written: {', '.join(written)}")


def _name(study: PublishedStudy) -> str:
    return f"{study.name}/{study.study.name}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m published", description="Run the published experiments and write docs/published.md."
    )
    runs = Path(os.environ.get("DIALIN_PUBLISHED_RUNS", "published-runs"))
    parser.add_argument("--minutes", type=float, default=0.0, help="wall clock to use; without it nothing runs")
    parser.add_argument("--runs", type=Path, default=runs, metavar="DIR", help="where studies are while they run")
    parser.add_argument("--only", action="append", default=[], metavar="RECIPE[/STUDY]", help="run these only; may be repeated")
    asked = parser.parse_args()
    known = {f"{recipe}/{study.name}" for recipe in library.names() for study in library.find(recipe).study}
    known |= set(library.names())
    if unknown := sorted(set(asked.only) - known):
        parser.error(f"there is no recipe or study {unknown[0]!r}")
    return asked


if __name__ == "__main__":
    sys.exit(main())

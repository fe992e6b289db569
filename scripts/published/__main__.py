"""Runs the published experiments and writes docs/published.md and all figures: theirs beside those of this machine.

    PYTHONPATH=scripts python -m published [--runs DIR] [--scale SCALE] [--only NAME ...] [--write-only] [--output DIR]

What an earlier call finished in the same directory is not run again. The pages tell of every recipe that has runs there, those
that `--only` left out too. A recipe that cannot be run is said, the others are run all the same, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from dialin.cli.console import say
from dialin.cli.run_recipe import run_recipe
from dialin.cli.study_flags import How
from dialin.errors import DialinError, InterruptedStudyError
from dialin.evidence.why_verdict import explain
from dialin.paths import Home, replace_text
from dialin.recipes import execution, library
from dialin.recipes.library import ScaleName
from dialin.servers.ledger import Ledger
from dialin.store.store import Store
from published.page import Done, Reproduction, page, summary


def main() -> int:
    """Run what is asked for, and write the page."""
    asked = _arguments()
    for orphan, ran in Ledger(Home.of().ledger).end_orphans():
        if ran and not orphan.keep:
            say(f"Stopped a server that an earlier dialin left running: {orphan.build or orphan.id}")
    failed = []
    for name in [] if asked.write_only else asked.only or library.names():
        say(f"Recipe {name}")
        try:
            run_recipe(name, asked.scale, How(out=asked.runs / name, yes=True))
        except InterruptedStudyError as error:
            say(str(error))
            return 130
        except DialinError as error:
            say(str(error))
            failed.append(name)
    found = [reproduction(name, asked.scale, asked.runs / name) for name in library.names()]
    with_runs = [each for each in found if each.done]
    for path, text in (("docs/published.md", summary(with_runs)), ("benchmarks/results/published.md", page(with_runs))):
        replace_text(asked.output / path, text)
        say(f"Written: {asked.output / path}")
    if failed:
        say(f"Not run to the end: {', '.join(failed)}")
    return 1 if failed else 0


def reproduction(name: str, scale: ScaleName, directory: Path) -> Reproduction:
    """Read the studies of a recipe that have a verdict."""
    recipe = library.find(name)
    done = []
    for place in execution.places(recipe, directory):
        if not place.begun:
            continue
        with Store.open(place.directory) as store:
            record = store.read()
        if record.verdict is not None:
            done.append(Done(place.study, record, explain(record)))
    return Reproduction(name, recipe, scale, done)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m published", description="Run the published experiments and write docs/published.md."
    )
    runs = Path(os.environ.get("DIALIN_PUBLISHED_RUNS", "published-runs"))
    parser.add_argument("--runs", type=Path, default=runs, metavar="DIR", help="where the studies are written")
    parser.add_argument("--scale", type=ScaleName, default=ScaleName.LAPTOP, choices=list(ScaleName))
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="run this recipe only; may be repeated")
    parser.add_argument("--write-only", action="store_true", help="run nothing, write the page from the runs that are there")
    parser.add_argument("--output", type=Path, default=Path(__file__).parents[2], metavar="DIR")
    asked = parser.parse_args()
    if unknown := sorted(set(asked.only) - set(library.names())):
        parser.error(f"there is no recipe {unknown[0]!r}; they are {', '.join(library.names())}")
    return asked


if __name__ == "__main__":
    sys.exit(main())

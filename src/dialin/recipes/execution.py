"""Running a recipe: its studies one after the other, each in a directory of its own; finished studies are not run again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dialin.errors import DialinError, UserError
from dialin.model.progress import Watcher
from dialin.model.study import StudySpec
from dialin.model.trial import seconds_of
from dialin.model.verdict import Verdict
from dialin.places.check_study import check_question, check_resume
from dialin.preflight.checked import CheckedStudy
from dialin.question.options import StudyOptions
from dialin.race.lifecycle import begin, resume
from dialin.race.runner import ALONE, InSuite, finished
from dialin.recipes import library
from dialin.recipes.library import Recipe, RecipeStudy, ScaleName
from dialin.search.proposer import CONTENDERS, Proposer
from dialin.store import STUDY_FILE
from dialin.store.store import Store
from dialin.trials.tools import Tools


@dataclass(frozen=True, slots=True)
class StudyPlace:
    """One study of a recipe and where it is written."""

    number: int
    of: int
    study: RecipeStudy
    directory: Path

    @property
    def begun(self) -> bool:
        """Whether the study was begun before, so that it is resumed."""
        return (self.directory / STUDY_FILE).is_file()

    def __str__(self) -> str:
        return f"Study {self.number} of {self.of}: {self.study.title}" if self.of > 1 else self.study.title


@dataclass(frozen=True, slots=True)
class RecipeStep:
    """A study of a recipe that was checked."""

    place: StudyPlace
    ready: CheckedStudy
    tools: Tools
    is_resumed: bool

    def run(self, watcher: Watcher, command: str, proposer: Proposer = CONTENDERS, suite: InSuite = ALONE) -> Verdict:
        """Run the study to its verdict; finished trials are not run again. `command` is the command line that is stored.

        Raises:
            DialinError: it could not be finished; the trials measured so far are in the directory.
        """
        ready, where, tools = self.ready, self.place.directory, self.tools
        if self.is_resumed:
            return finished(resume(ready, where, tools, watcher, proposer, suite=suite))
        return finished(begin(ready, where, tools, watcher, command, proposer, suite=suite))


def places(recipe: Recipe, out: Path) -> list[StudyPlace]:
    """Return where the studies of a recipe are written: a single one in the directory itself, several in subdirectories."""
    count = len(recipe.study)
    return [
        StudyPlace(number, count, study, out / study.name if count > 1 else out)
        for number, study in enumerate(recipe.study, start=1)
    ]


def check(place: StudyPlace, scale: ScaleName, tools: Tools, minutes: float | None = None) -> RecipeStep:
    """Check all that one study needs to begin, or to be resumed.

    `minutes` is a budget beside what the study has used already; None leaves it at that of the recipe.

    Raises:
        UserError: something is not there, the directory holds something else, or a study of another scale.
        ServerError: a build does not start.
    """
    try:
        return _checked(place, scale, tools, minutes)
    except DialinError as error:
        error.what = f"{place.study.name}: {error.what}"
        raise


def _checked(place: StudyPlace, scale: ScaleName, tools: Tools, minutes: float | None) -> RecipeStep:
    question, where = place.study.question(scale), place.directory
    if place.begun:
        with Store.open(where) as store:
            record = store.read(samples=False)
        if not asks(question, record.spec):
            raise UserError(f"{where} holds another study, or one with another scale", "Name another --out")
        total = None if minutes is None else seconds_of(record.trials) / 60 + minutes
        return RecipeStep(place, check_resume(where, tools, minutes=total), tools, is_resumed=True)
    question = question if minutes is None else question.model_copy(update={"minutes": minutes})
    if where.exists() and (not where.is_dir() or any(where.iterdir())):
        raise UserError(f"{where} already exists and is not empty", "Name another --out")
    return RecipeStep(place, check_question(question, library.DIRECTORY, tools), tools, is_resumed=False)


def asks(question: StudyOptions, spec: StudySpec) -> bool:
    """Return whether a stored study asks a recipe's question, whatever its budget was."""
    settings = question.settings()
    load = question.workload_spec(library.DIRECTORY)
    return (
        load.model_copy(update={"traits": spec.workload.traits}) == spec.workload
        and [setting for _, setting in settings] == [candidate.setting for candidate in spec.candidates]
        and question.set == spec.fixed
        and (question.goal, question.waits, question.measure or spec.measure) == (spec.goal, spec.waits, spec.measure)
    )

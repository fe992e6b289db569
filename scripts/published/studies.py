"""The studies of the recipes, each with its stored state: what is answered, and how many hours the rest may take.

A study's state is an archive in `benchmarks/results/published`: its database alone, in which every trial is. It is resumed from
there, on this machine or on another one of the same kind, and judged again by today's method whenever it is read.
"""

from __future__ import annotations

import math
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from dialin.errors import UserError
from dialin.evidence.why_verdict import explain
from dialin.model.place import SandboxPlace
from dialin.model.record import StudyRecord
from dialin.model.study import StudySpec
from dialin.model.trial import TrialState, seconds_of
from dialin.model.why import Why
from dialin.preflight.machine_noise import ASSUMED
from dialin.question.candidates import candidates_of, find_baseline
from dialin.question.plan import BudgetTooSmallError, Plan, plan
from dialin.recipes import execution, library
from dialin.recipes.library import ExpectationRule, Recipe, RecipeStudy, ScaleName
from dialin.stats.forecast import detectable
from dialin.store import STUDY_FILE
from dialin.store.store import Store
from dialin.verdict.reach_verdict import reach_verdict
from dialin.workloads import kinds
from published.expectations import Agreement, Result, check

ARCHIVES = Path(__file__).parents[2] / "benchmarks" / "results" / "published"

SCALE = ScaleName.LAPTOP

OF_WAITS = (ExpectationRule.MEAN_ABOVE_P99, ExpectationRule.TAIL_SHRINKS, ExpectationRule.P90_ALIKE)

_NOISE_OF_VARIATION = 1.0
"""Standard deviation of a trial's coefficient of variation on the log scale, times the root of its seconds. Were seconds
independent, it would be 0.7."""


@dataclass(frozen=True)
class PublishedStudy:
    """A study of a recipe; `record` is what was measured so far, judged by today's method, None where nothing was."""

    name: str
    recipe: Recipe
    study: RecipeStudy
    record: StudyRecord | None

    @cached_property
    def why(self) -> Why | None:
        return None if self.record is None else explain(self.record)

    @cached_property
    def results(self) -> list[Result]:
        """What the study says of each of its claims; those of a study that did not run are open."""
        claims = [one for one in self.recipe.expect if one.study == self.study.name]
        if self.record is None:
            return [Result(claim, Agreement.INCONCLUSIVE, "it was not measured", math.inf) for claim in claims]
        return [check(claim, self.record) for claim in claims]

    @property
    def spent(self) -> float:
        """Hours that its trials took so far."""
        return seconds_of(self.record.trials) / 3600 if self.record is not None else 0.0

    def hours(self, result: Result) -> float:
        """Return the further hours that a claim is expected to need; 0 where it is answered."""
        if result.agreement is not Agreement.INCONCLUSIVE:
            return 0.0
        if self.record is None:
            return self.planned_hours
        more = self.spent * (result.narrower**2 - 1)
        return max(self.least_hours, more if math.isfinite(more) else self.planned_hours)

    @property
    def open_hours(self) -> list[float]:
        """The further hours that each open claim is expected to need, the fewest first."""
        return sorted(filter(None, map(self.hours, self.results)))

    @property
    def answers_per_hour(self) -> float:
        """What an hour is worth: the most open claims that it is expected to answer, spread over the hours that these need."""
        return max((count / hours for count, hours in enumerate(self.open_hours, 1)), default=0.0)

    @cached_property
    def spec(self) -> StudySpec:
        """The study as the recipe asks for it, without looking at a server."""
        question = self.study.question(SCALE)
        load = question.workload_spec(library.DIRECTORY)
        load = load.model_copy(update={"traits": kinds.make_workload(load).traits})
        candidates = candidates_of(question.settings(), question.servers)
        return question.spec(candidates, find_baseline(question.baseline or "", candidates), load, SandboxPlace())

    @cached_property
    def plan(self) -> Plan:
        return plan(self.spec)

    @property
    def trial_seconds(self) -> float:
        """Seconds that a trial takes: as measured so far, else as planned."""
        done = [one.seconds for one in self.record.trials if one.state is TrialState.DONE] if self.record else []
        return sum(done) / len(done) if done else self.plan.trial_seconds

    @cached_property
    def least_hours(self) -> float:
        """Hours below which a session is of no use: the smallest budget of a new study, a block of one that has begun."""
        if self.record is not None:
            return len(self.spec.candidates) * self.trial_seconds / 3600
        try:
            plan(self.spec.model_copy(update={"minutes": 0.1}))
        except BudgetTooSmallError as error:
            return error.minutes / 60
        return 0.0

    @cached_property
    def planned_hours(self) -> float:
        """Hours that a study which did not run is expected to need for what its claims ask, at the noise of a usual machine."""
        of_race = [claim.expectation for claim in self.results if claim.expectation.rule not in OF_WAITS]
        count, seconds = len(self.spec.candidates), self.plan.measure * self.spec.workload.number_of_levels
        trials = 0
        for claim in of_race:
            noise = ASSUMED.of_trial(seconds)
            if claim.rule is ExpectationRule.STEADIER:
                noise = _NOISE_OF_VARIATION / math.sqrt(seconds)
            needed = count
            while detectable(noise, count, needed + count, confidence=self.spec.confidence) > claim.difference:
                needed += count
            trials = max(trials, needed + count)
        return max(self.least_hours, trials * self.plan.trial_seconds / 3600)

    @property
    def archive(self) -> Path:
        return ARCHIVES / self.name / f"{self.study.name}.tar.xz"


def all_studies() -> list[PublishedStudy]:
    """Return the studies of all recipes, with what is stored of them."""
    return [of_recipe(name, study) for name in library.names() for study in library.find(name).study]


def of_recipe(name: str, study: RecipeStudy) -> PublishedStudy:
    """Return a study with what is stored of it.

    Raises:
        UserError: what is stored asks something else than the recipe does today.
    """
    bare = PublishedStudy(name, library.find(name), study, None)
    if not bare.archive.is_file():
        return bare
    with unpacked(bare.archive) as directory:
        record = judged(directory)
    if not execution.asks(study.question(SCALE), record.spec):
        raise UserError(f"{bare.archive} does not ask what the recipe asks today", "Remove it, and run the study anew")
    return replace(bare, record=record)


def judged(directory: Path) -> StudyRecord:
    """Return a study with the verdict of today's method, which may not be able to read the one that is stored."""
    with closing(sqlite3.connect(directory / STUDY_FILE)) as connection, connection:
        connection.execute("UPDATE study SET verdict = NULL")
    with Store.open(directory) as store:
        record = replace(store.read(), directory="")
    return replace(record, verdict=reach_verdict(record).verdict) if record.trials else record


@contextmanager
def unpacked(archive: Path) -> Iterator[Path]:
    """Yield a copy of a stored study, which is removed afterwards."""
    with TemporaryDirectory() as scratch:
        unpack(archive, Path(scratch))
        yield Path(scratch)


def unpack(archive: Path, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as packed:
        packed.extract(STUDY_FILE, directory, filter="data")


def pack(directory: Path, archive: Path) -> None:
    """Store a study: its database without the files beside it, which only its reports need."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch:
        copy, made = Path(scratch) / STUDY_FILE, Path(scratch) / archive.name
        with closing(sqlite3.connect(directory / STUDY_FILE)) as connection:
            connection.execute("VACUUM INTO ?", (str(copy),))
        with tarfile.open(made, "w:xz", preset=9) as packed:
            packed.add(copy, STUDY_FILE, filter=_anonymous)
        making = archive.with_suffix(".making")
        making.write_bytes(made.read_bytes())
        making.replace(archive)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member

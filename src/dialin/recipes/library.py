"""Recipes: published experiments as data, at the size of the paper, of a server and of a laptop.

A recipe is a TOML file beside this module. Each of its studies is a study file in parts: the keys that all scales share, and
those that each scale adds or overrides.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, assert_never

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema, field_validator, model_validator

from dialin.errors import UserError
from dialin.model.option_types import kebab
from dialin.paths import read_toml
from dialin.question import study_file
from dialin.question.options import StudyOptions

PREFIX = "recipe:"
"""The prefix that tells a recipe's name from the path of a study file."""

DIRECTORY = Path(__file__).parent
"""The directory of the recipes."""

_NAME = r"[a-z0-9][a-z0-9.-]{0,60}"


class ScaleName(StrEnum):
    """The size of a recipe: as published, for a current server, or for a laptop."""

    LAPTOP = "laptop"
    SERVER = "server"
    PAPER = "paper"


class Ratio(StrEnum):
    """A ratio that a smaller scale can keep from a published experiment."""

    DATA_TO_POOL = "data-to-pool"
    POOL_TO_MEMORY = "pool-to-memory"
    THREADS_TO_CPUS = "threads-to-cpus"
    THREADS = "threads"


_KEYS = [kebab(name) for name in StudyOptions.model_fields]
Keys = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "propertyNames": {"enum": _KEYS}})]
"""Some of the keys of a study file, with their values."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=kebab)


class Publication(_Part):
    """Where an experiment was published."""

    title: str
    author: str
    publisher: str
    address: str = Field(pattern=r"^https://")
    date: str
    read: str = Field(description="which parts could be read, and what of the experiment is unknown or was inferred")


class PublishedFigures(_Part):
    """One row of published figures, by candidate."""

    study: str = Field(description="the study of this recipe that they belong to")
    name: str = Field(description="what was measured")
    unit: str
    read_from: Literal["table", "chart", "text", "title", "raw data"]
    better: Literal["lower", "higher"]
    values: dict[str, float] = Field(min_length=1)
    note: str = ""

    def relative(self, baseline: str) -> dict[str, float]:
        """Return how fast each candidate was, as a ratio to a baseline: above 1 is better. Empty where that has no figure."""
        base = self.values.get(baseline)
        if not base:
            return {}
        return {name: value / base if self.better == "higher" else base / value for name, value in self.values.items() if value}


class ExpectationRule(StrEnum):
    """The rule that compares a run with what was published.

    `faster`, `slower` and `alike` compare the throughput of candidates, as a ratio to the baseline's; `steadier` compares their
    variation; `best` asks whether no other candidate is faster; `moves-up` whether candidates gain on the baseline from the
    fewest threads to the most; `mean-above-p99`, `tail-shrinks` and `p90-alike` use raw waits.
    """

    FASTER = "faster"
    SLOWER = "slower"
    ALIKE = "alike"
    STEADIER = "steadier"
    BEST = "best"
    MOVES_UP = "moves-up"
    MEAN_ABOVE_P99 = "mean-above-p99"
    TAIL_SHRINKS = "tail-shrinks"
    P90_ALIKE = "p90-alike"


class Expectation(_Part):
    """A claim of the publication, the rule that compares a run with it, and an explanation of each outcome."""

    study: str
    claim: str = Field(description="what was published, in a sentence")
    rule: ExpectationRule
    candidates: list[str] = Field(min_length=1)
    within: float = Field(default=0.05, gt=0, lt=1, description="relative difference below which values are equal")
    low: float | None = Field(
        default=None, gt=0, description="for `faster` and `slower`: the least ratio to the baseline that says the same"
    )
    high: float | None = Field(
        default=None, gt=0, description="for `faster` and `slower`: the greatest ratio to the baseline that says the same"
    )
    agrees: str = Field(description="why it is to be expected that the run says the same")
    differs: str = Field(description="why it may be that the run says something else")
    inconclusive: str = Field(description="why the run may be inconclusive")
    cpus: int = Field(default=1, ge=1, description="CPUs below which a disagreement refutes nothing")
    cannot: str = Field(default="", description="why the effect cannot show on fewer CPUs; follows the word because")

    @property
    def range(self) -> tuple[float, float]:
        """The ratios that agree with the claim: `low` and `high`, or those of the rule."""
        low, high = self._range_of_rule()
        return low if self.low is None else self.low, high if self.high is None else self.high

    def _range_of_rule(self) -> tuple[float, float]:
        match self.rule:
            case ExpectationRule.ALIKE | ExpectationRule.P90_ALIKE | ExpectationRule.BEST:
                return 1 - self.within, 1 + self.within
            case ExpectationRule.FASTER | ExpectationRule.MOVES_UP:
                return 1 + self.within, math.inf
            case ExpectationRule.SLOWER | ExpectationRule.STEADIER | ExpectationRule.TAIL_SHRINKS:
                return 0.0, 1 - self.within
            case ExpectationRule.MEAN_ABOVE_P99:
                return 1.0, math.inf
            case _:
                assert_never(self.rule)

    @property
    def difference(self) -> float:
        """The smallest relative difference that answers the claim."""
        low, high = self.range
        return max(self.within, low - 1, 1 - high)

    @model_validator(mode="after")
    def _range_is_right(self) -> Expectation:
        if bool(self.cannot) is not (self.cpus > 1):
            raise ValueError("cpus and cannot need each other")
        if self.low is None and self.high is None:
            return self
        if self.rule not in (ExpectationRule.FASTER, ExpectationRule.SLOWER):
            raise ValueError("low and high are for the rules faster and slower")
        low, high = self.range
        if not low < high:
            raise ValueError("low must be below high")
        if (low < 1) if self.rule is ExpectationRule.FASTER else (high > 1):
            raise ValueError(f"{self.rule} takes ratios {'from' if self.rule is ExpectationRule.FASTER else 'up to'} 1")
        return self


class Machine(_Part):
    """The machine that a scale is meant for."""

    cpus: int = Field(ge=1, description="as the operating system counts them")
    memory: str = Field(pattern=r"^[0-9]+[MGT]$")


class Scale(_Part):
    """What a scale needs, and what it keeps from the publication."""

    machine: Machine
    minutes: float = Field(gt=0, description="of wall clock, preparing data for the first time included")
    disk: str = Field(pattern=r"^[0-9]+[MGT]$", description="free disk for data and one copy of it")
    memory: str = Field(pattern=r"^[0-9]+[MGT]$", description="free memory")
    shrunk: str = Field(description="which ratios are used, and which are not")


class RecipeStudy(_Part):
    """One study of a recipe, in parts."""

    name: str = Field(pattern=f"^{_NAME}$")
    title: str
    common: Keys
    paper: Keys = Field(default_factory=dict)
    server: Keys = Field(default_factory=dict)
    laptop: Keys = Field(default_factory=dict)

    def keys(self, scale: ScaleName) -> dict[str, Any]:
        """Return the keys of the study file at a scale."""
        return _over(self.common, getattr(self, scale))

    def question(self, scale: ScaleName) -> StudyOptions:
        """Return the study at a scale.

        Raises:
            UserError: the keys are not a valid study file.
        """
        return study_file.question(self.keys(scale), where=f"study {self.name} at {scale}")


class Recipe(_Part):
    """A published experiment that can be run."""

    title: str
    compares: str = Field(description="what is compared, in a few words")
    finding: str = Field(description="what was published, in our words")
    source: Publication
    scales: dict[ScaleName, Scale]
    keeps: dict[Ratio, float] = Field(
        default_factory=dict, description="ratios that every scale keeps, each with the relative tolerance"
    )
    study: list[RecipeStudy] = Field(min_length=1)
    figures: list[PublishedFigures] = Field(default_factory=list)
    expect: list[Expectation] = Field(default_factory=list)

    @field_validator("scales")
    @classmethod
    def _all_scales(cls, value: dict[ScaleName, Scale]) -> dict[ScaleName, Scale]:
        if missing := [str(scale) for scale in ScaleName if scale not in value]:
            raise ValueError(f"lacks the scale {missing[0]}")
        return value

    @model_validator(mode="after")
    def _studies_are_right(self) -> Recipe:
        names = [study.name for study in self.study]
        if len(set(names)) < len(names):
            raise ValueError("two studies have the same name")
        for name in (*(row.study for row in self.figures), *(each.study for each in self.expect)):
            if name not in names:
                raise ValueError(f"there is no study {name!r}; they are {', '.join(names)}")
        for study in self.study:
            for scale in ScaleName:
                try:
                    study.question(scale)
                except UserError as error:
                    raise ValueError(str(error)) from None
        return self


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return two tables merged: nested tables are merged too; any other value of `above` wins."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        merged[key] = _over(under, value) if isinstance(under, Mapping) and isinstance(value, Mapping) else value
    return merged


def names() -> list[str]:
    return sorted(path.stem for path in DIRECTORY.glob("*.toml"))


def find(name: str) -> Recipe:
    """Return a recipe; raise UserError where there is none of that name."""
    all_names = names()
    if name not in all_names:
        near = difflib.get_close_matches(name, all_names, n=1, cutoff=0.4)
        remedy = f"Did you mean {near[0]!r}?" if near else f"They are {', '.join(all_names)}"
        raise UserError(f"There is no recipe {name!r}", remedy)
    return read(DIRECTORY / f"{name}.toml")


def read(path: Path) -> Recipe:
    """Read a recipe; raise UserError where it has a mistake, in one line that names the key."""
    remedy = "See docs/recipes.md"
    data = read_toml(path, remedy)
    try:
        return Recipe.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        text = re.sub(r"^(Value error|Assertion failed), ", "", first["msg"])
        place = f"{path}: {key}: " if key else f"{path}: "
        if first["type"] == "extra_forbidden":
            raise UserError(f"{path}: unknown key {key!r}", remedy) from None
        raise UserError(f"{place}{text[:1].lower()}{text[1:]}", remedy) from None

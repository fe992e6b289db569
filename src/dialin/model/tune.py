"""A tune: the space that is searched, what its trials cost, and what each trial is for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pydantic import Field

from dialin.model.dimension import Dimension
from dialin.model.frozen import FrozenModel
from dialin.model.setting import Value, as_number
from dialin.model.trial import Purpose, Trial


@dataclass(frozen=True, slots=True)
class MemoryFormula:
    """An estimate of the memory that a server takes: a constant plus a factor times each variable's value.

    Attributes:
        constant: bytes that the server takes in any case.
        factors: bytes for each unit of a variable: 1 for a pool, the number of connections for a buffer of each.
        limit: bytes that are available.
    """

    constant: float
    factors: Mapping[str, float]
    limit: float

    def needed(self, values: Mapping[str, Value]) -> float:
        """Return the estimate for effective values; a value that is not a number counts as 0."""
        return self.constant + sum(factor * as_size(values.get(name, 0)) for name, factor in self.factors.items())


def as_size(value: Value) -> float:
    """Return a value as an amount of memory; 0 for one that is not a number, or is below 0."""
    return max(0.0, float(as_number(value) or 0.0))


@dataclass(frozen=True, slots=True)
class AtMost:
    """One variable must not exceed another, or a fixed share of it: innodb_io_capacity and innodb_io_capacity_max."""

    lower: str
    upper: str
    share: float = 1.0


class LeftOutReason(StrEnum):
    """Why a variable that can change throughput is not tuned.

    `durability`: its values weaken durability. `load`: this load does not use it. `needs`: another variable switches it off.
    `limited`: the value of another variable leaves no other value that has an effect. `room`: the baseline's value is enough,
    or this machine and build have no other one worth a try. `restart`: only a start sets it, and there is none. `service`: the
    service of the server sets it. `budget`: there are too few trials.
    """

    DURABILITY = "durability"
    LOAD = "load"
    NEEDS = "needs"
    LIMITED = "limited"
    ROOM = "room"
    RESTART = "restart"
    SERVICE = "service"
    BUDGET = "budget"


class LeftOut(FrozenModel):
    """A variable that is not tuned although it can change throughput.

    Attributes:
        by: the other variable that is the reason; empty where there is none.
        value: the value of that one.
    """

    name: str
    reason: LeftOutReason
    by: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class ActsFrom:
    """A variable has no effect while another one is below a number: instances of a pool below 1 GiB."""

    name: str
    other: str
    least: float


class TunePlan(FrozenModel):
    """Which setting of many variables is the best? What the search changes, and what its trials cost.

    Attributes:
        search_seconds: seconds measured in a trial of the search, for each number of threads.
        proof_seconds: seconds measured in a trial of the proof, for each number of threads.
        start_seconds: about how many seconds pass from a start of the server until it can be measured.
        set_seconds: about how many seconds pass from a change by SET GLOBAL until it can be measured.
        memory: the estimate of the memory of a setting; None where memory is not limited.
        order: variables that may not exceed others.
        acts_from: variables that act only from some value of another one on.
        left_out: what else dialin knows and did not take; empty where the user named the variables.
        searched: trials up to this number count as trials of the search, whatever they were for: a tune that is resumed with
            a larger budget continues its search, and repeats the proof.
        proofs: proofs that it had before.
    """

    kind: Literal["tune"] = "tune"
    variables: tuple[Dimension, ...] = Field(min_length=1)
    search_seconds: float = Field(gt=0)
    proof_seconds: float = Field(gt=0)
    start_seconds: float = Field(ge=0)
    set_seconds: float = Field(ge=0)
    memory: MemoryFormula | None = None
    order: tuple[AtMost, ...] = ()
    acts_from: tuple[ActsFrom, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    searched: int = Field(default=0, ge=0)
    proofs: int = Field(default=0, ge=0)

    @property
    def at_start(self) -> frozenset[str]:
        """The variables that only a start of the server can set."""
        return frozenset(variable.name for variable in self.variables if variable.static)


class TuneStage(StrEnum):
    """What a trial of a tune is for.

    `start`: the first settings. `anchor`: the baseline again. `search`: an improvement is expected. `refine`: the setting that
    would be proven next. `proof`: confirmation trials of the best setting and subsets of it, and the baseline.
    """

    START = "start"
    ANCHOR = "anchor"
    SEARCH = "search"
    REFINE = "refine"
    PROOF = "proof"


@dataclass(frozen=True, slots=True)
class TuneAsk:
    """A trial that a tune requested; stored before it begins.

    Attributes:
        number: its place in the order, from 1.
        seconds: the seconds to measure, for each number of threads.
        improvement: by how much it was expected to improve on the best setting, log scale; None where that was not its aim.
        block: the number of its block in the proof, as the study counts them; 0 for other trials.
        subset: the search's name for the candidate of the proof; empty for other trials.
    """

    number: int
    candidate: str
    stage: TuneStage
    seconds: float
    improvement: float | None = None
    block: int = 0
    subset: str = ""


def ask_finder(asks: Sequence[TuneAsk]) -> Callable[[Trial], TuneAsk | None]:
    """Return a function that finds the request that a trial answers; it returns None for any other trial."""
    searched = {ask.number: ask for ask in asks if ask.stage is not TuneStage.PROOF}
    proven: dict[int, list[TuneAsk]] = defaultdict(list)
    for ask in asks:
        if ask.stage is TuneStage.PROOF:
            proven[ask.block].append(ask)

    def find(trial: Trial) -> TuneAsk | None:
        if trial.purpose is Purpose.RACE:
            return next(iter(proven.get(trial.block, [])[trial.position - 1 :]), None)
        return searched.get(trial.block) if trial.purpose is Purpose.SEARCH else None

    return find

"""How long each trial measures, and in which order the candidates of a block run. No I/O: the seed decides the order."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dialin.errors import UserError
from dialin.model.live import PERIOD
from dialin.model.place import LivePlace, LoadedServer, SandboxPlace
from dialin.model.study import Goal, StudySpec, Switch
from dialin.model.trial import Purpose
from dialin.model.tune import TunePlan
from dialin.model.workload import latency_name
from dialin.stats.allocation import SIZE, pair_order
from dialin.stats.forecast import fewest_trials
from dialin.stats.switchback import QUADS_TO_DECIDE

BLOCKS_WANTED = 6
"""The default number of blocks that a budget is divided into. More short trials beat fewer long ones: most of the spread lies
between trials (docs/method.md)."""

BLOCKS_NEEDED = 3
"""The fewest blocks of any verdict: with fewer, the spread is unknown. A pair whose trials start servers needs more."""

OVERHEAD = {Switch.RESTART: 2.0, Switch.SET: 0.2}
"""Seconds that a trial takes beside its load and restoring its data; used until the study has measured them."""

_PROFILED = 2
"""Trials that profile a server, where that is requested: one of the baseline and one of the choice."""

_MEASURE_LEAST = 10.0
_MEASURE_MOST = {Switch.RESTART: 60.0, Switch.SET: 30.0}
"""The longest window of a trial, seconds: more short ones beat fewer long ones where a switch costs little."""
_WARMUP_SHARE = {Switch.RESTART: 0.6, Switch.SET: 0.4}
"""Longest warm-up as a share of the measured seconds, up to `_WARMUP_MOST`."""
_WARMUP_MOST = {Switch.RESTART: 12.0, Switch.SET: 6.0}
"""Longest warm-up unless one is given, seconds. The buffer pool is loaded before the load begins, so the rest settles quickly:
in A/A studies by restart (benchmarks/aa.py) the seconds from here to the end of the warm-up differ from later ones by 3 % or
less on average. On a noisy machine more seconds do not show whether a warm-up is over; they are better measured."""


class BudgetTooSmallError(UserError):
    """A budget holds fewer blocks than a verdict needs; `minutes` would be enough."""

    def __init__(self, what: str, remedy: str, minutes: float) -> None:
        super().__init__(what, remedy)
        self.minutes = minutes


LONGEST = 2
"""How many times the planned seconds a trial measures at most, where it is not steady or seconds were lost."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the budget allows.

    Attributes:
        measure: seconds measured in each trial, for each number of threads.
        warmup: the most seconds that a trial warms up before them; on live traffic, the washout.
        blocks: about how many blocks fit the budget, beside the trials with costly instruments.
        trial_seconds: about how long a trial takes in all.
    """

    measure: float
    warmup: float
    blocks: int
    trial_seconds: float

    def with_washout(self, seconds: float) -> Plan:
        """Return the plan with another washout; its blocks are those of before."""
        return replace(self, warmup=seconds, trial_seconds=self.trial_seconds + seconds - self.warmup)


def plan(spec: StudySpec) -> Plan:
    """Divide a study's budget.

    Raises:
        UserError: the budget holds fewer blocks than a verdict needs.
    """
    _check_reports(spec)
    if isinstance(spec.question, TunePlan):
        return _plan_of_tune(spec, spec.question)
    if isinstance(spec.place, LivePlace):
        return _plan_of_live(spec, spec.place)
    budget = spec.minutes * 60
    count = len(spec.candidates)
    slot = budget / (count * (BLOCKS_WANTED + (spec.wait_trials if spec.waits else 0)) + profile_trials(spec))
    overhead, share, most = _overhead(spec), _WARMUP_SHARE[spec.switch], _WARMUP_MOST[spec.switch]
    levels = spec.workload.number_of_levels
    if (runs := spec.workload.traits.runs) is not None:
        measure, warmup = runs.measured * runs.seconds, runs.warm_up * runs.seconds
        trial_seconds = overhead + levels * (warmup + measure)
        return Plan(max(2.0, measure), warmup, _blocks(spec, trial_seconds), trial_seconds)
    loaded = (slot - overhead) / levels - (spec.warmup if spec.warmup is not None else 0)
    wanted = loaded if spec.warmup is not None else max(loaded / (1 + share), loaded - most)
    interval = spec.workload.traits.interval
    least = max(_MEASURE_LEAST, FEWEST_INTERVALS * interval)
    measure = spec.measure or float(round(max(least, min(wanted, _MEASURE_MOST[spec.switch]))))
    warmup = spec.warmup if spec.warmup is not None else max(interval, longest_warmup(spec.switch, measure))
    # Trials are planned with the whole warm-up, because noisy ones mostly use it up.
    trial_seconds = overhead + levels * (warmup + measure)
    shorter = f", or a shorter --measure than {measure:.0f} s" if spec.measure else ""
    return Plan(measure, warmup, _blocks(spec, trial_seconds, shorter), trial_seconds)


def _overhead(spec: StudySpec) -> float:
    """Return the seconds that a trial takes beside its load, those of the user's command and of restoring data included."""
    if isinstance(spec.place, LoadedServer) and spec.place.command_seconds is not None:
        return spec.place.command_seconds + OVERHEAD[Switch.SET]
    return OVERHEAD[spec.switch] + (_restore_seconds(spec) if spec.switch is Switch.RESTART else 0.0)


_SHORT_RESTORE = 5.0
"""Fewer seconds of restoring are not planned: they vary with what else the disk does, and a study measures its trials."""


def _restore_seconds(spec: StudySpec) -> float:
    restore = spec.place.restore if isinstance(spec.place, SandboxPlace) else None
    return restore.seconds if restore is not None and restore.measured and restore.seconds > _SHORT_RESTORE else 0.0


FEWEST_INTERVALS = 3
"""The fewest reports of a load that a trial measures."""


def _check_reports(spec: StudySpec) -> None:
    """Refuse what the reports of a load cannot show.

    Raises:
        UserError: the window holds too few of them, the goal needs single seconds, or they have no latency for it.
    """
    interval = spec.workload.traits.interval
    measure = spec.question.search_seconds if isinstance(spec.question, TunePlan) else spec.measure
    if interval > 1 and measure is not None and measure < FEWEST_INTERVALS * interval:
        raise UserError(
            f"{spec.workload.asked} reports every {interval:g} s, and a trial measures {FEWEST_INTERVALS} reports at least",
            f"Give --measure {FEWEST_INTERVALS * interval:g} or more, or leave it out",
        )
    if spec.goal is Goal.STABILITY and interval > 1:
        raise UserError(
            f"{spec.workload.asked} reports every {interval:g} s, which does not show how single seconds vary",
            "Let the program report every second (interval in its file), or choose another --goal",
        )
    if spec.goal is Goal.LATENCY and not spec.workload.traits.has_latency:
        raise UserError(
            f"{spec.workload.asked} reports neither {latency_name(spec.workload.percentile)} latency nor its mean",
            "Choose a --percentile that it reports, or another --goal",
        )


_LEAST_WASHOUT = 1.0

_SWITCHING = 0.5
"""Seconds that a period takes beside its washout and its measured seconds: to read all variables, set some, and record that."""


def _plan_of_live(spec: StudySpec, live: LivePlace) -> Plan:
    """Return the plan of a study on live traffic.

    Raises:
        UserError: the budget holds too few periods for a verdict, or the washout is too short.
    """
    measure, washout = spec.measure or PERIOD, live.washout
    if washout < _LEAST_WASHOUT:
        raise UserError(
            f"Periods of a live server have a washout of at least {_LEAST_WASHOUT:g} s: in the second in which a value is set "
            "both values are in force",
            "Give a longer --warmup, or leave it out",
        )
    slot = measure + washout + _SWITCHING
    block = slot * len(spec.candidates)
    blocks = int((spec.minutes * 60 - live.observe) // block)
    is_lengthened = spec.warmup is not None and washout > spec.warmup  # by the study, which saw that its budget holds it
    if blocks < 2 * QUADS_TO_DECIDE and not is_lengthened:
        needed = int((live.observe + 2 * QUADS_TO_DECIDE * block) / 60) + 1
        raise UserError(
            f"{spec.minutes:g} minutes are enough for {max(blocks, 0)} periods of each candidate, after {live.observe:g} s of "
            f"observation; nothing is decided before {2 * QUADS_TO_DECIDE}",
            f"Give --minutes {needed} or more, or a shorter --measure than {measure:g} s",
        )
    return Plan(measure, washout, blocks, slot)


FEWEST_OF_TUNE = 14
"""The fewest trials of a tune's search, beside its proof: with fewer, a tune says nothing."""


def _plan_of_tune(spec: StudySpec, tune: TunePlan) -> Plan:
    """Return the plan of a tune: its blocks are single trials, about a third of which start a server.

    Raises:
        UserError: the budget is too small for a search and its proof.
    """
    warmup = spec.warmup if spec.warmup is not None else longest_warmup(Switch.RESTART, tune.search_seconds)
    levels = spec.workload.number_of_levels
    starts = tune.start_seconds / 3 if tune.at_start else 0.0
    trial_seconds = levels * tune.search_seconds + tune.set_seconds + starts
    # Each block of the proof begins with the server that runs, and starts one for the other candidate.
    restart = tune.start_seconds - tune.set_seconds if tune.at_start else 0.0
    proof = fewest_trials(2) * (levels * tune.proof_seconds + tune.set_seconds + restart / 2) + tune.start_seconds
    least = proof + max(FEWEST_OF_TUNE * trial_seconds, proof)  # the proof has half of the budget at most
    if spec.minutes * 60 < least:
        raise UserError(
            f"{spec.minutes:g} minutes are too short for a search and its proof",
            f"Give --minutes {int(least / 60) + 1} or more",
        )
    return Plan(tune.search_seconds, warmup, int(spec.minutes * 60 / trial_seconds), trial_seconds)


def longest_warmup(switch: Switch, measure: float) -> float:
    """Return the longest warm-up of a trial unless one is given, in seconds; `measure` are the seconds that it measures."""
    return float(round(min(_WARMUP_SHARE[switch] * measure, _WARMUP_MOST[switch])))


def _blocks(spec: StudySpec, trial_seconds: float, shorter: str = "") -> int:
    count = len(spec.candidates)
    reserved = count * spec.wait_trials * wait_trial_seconds(spec, trial_seconds) if spec.waits else 0.0
    reserved += profile_trials(spec) * trial_seconds
    blocks = int((spec.minutes * 60 - reserved) // (trial_seconds * count))
    needed = max(BLOCKS_NEEDED, math.ceil(fewest_trials(count, shares_start=spec.shares_start) / count))
    if blocks < needed:
        least = (reserved + needed * trial_seconds * count) / 60
        others = " besides those with costly instruments" if reserved else ""
        raise BudgetTooSmallError(
            f"{spec.minutes:g} minutes are enough for fewer than {needed} trials of each of {count} candidates{others}",
            f"Give --minutes {int(least) + 1} or more, or fewer candidates{shorter}",
            least,
        )
    return blocks


def profile_trials(spec: StudySpec) -> int:
    """Return how many trials profile a server after the verdict."""
    return len(spec.candidates) if spec.profile_candidates else _PROFILED if spec.profile else 0


def wait_trial_seconds(spec: StudySpec, trial_seconds: float) -> float:
    """Return about how long a trial for raw waits takes, which starts its server even where others share one.

    `trial_seconds` is the time of the study's other trials.
    """
    if spec.switch is Switch.RESTART:
        return trial_seconds
    return trial_seconds + OVERHEAD[Switch.RESTART] - OVERHEAD[spec.switch] + _restore_seconds(spec)


def block_order(
    seed: int,
    block: int,
    names: Sequence[str],
    *,
    mirrored: bool = False,
    before: Sequence[Sequence[str]] = (),
    goes_on: bool = False,
    is_last: bool = False,
) -> list[str]:
    """Return the order of a block's trials, random for each block; with `mirrored`, each even block reverses the one before.

    Two candidates have an order of their own, that of `stats.allocation.pair_order`.

    Args:
        seed: the study's.
        block: the block's number.
        names: the candidates of the block.
        mirrored: whether even blocks mirror odd ones.
        before: the orders of the blocks that ran on the same host, the last one last.
        goes_on: whether all trials run on one server. Of many candidates the last one is then the first again, if it can be.
        is_last: whether the budget holds no block after this one, to make up for one candidate twice.
    """
    order = list(names)
    number = (block + 1) // 2 if mirrored else block
    rng = random.Random(f"{seed}/{number}")  # noqa: S311 - an order, not a secret
    rng.shuffle(order)
    if mirrored:
        return order[::-1] if block % 2 == 0 else order
    if len(order) == SIZE and (drawn := pair_order(order, before, rng, is_last=is_last)):
        return drawn
    if goes_on and before:
        order.sort(key=lambda name: name != before[-1][-1])
    return order


def level_order(seed: int, block: int, levels: Sequence[int], purpose: Purpose = Purpose.RACE) -> list[int]:
    """Return the order in which the trials of a block measure several numbers of threads, random for each block.

    Trials for profiles begin with the most threads, for which alone they trace waits: these are compared across trials.
    """
    if purpose is Purpose.PROFILE:
        return sorted(levels, reverse=True)
    order = list(levels)
    random.Random(f"{seed}/levels/{block}").shuffle(order)  # noqa: S311 - an order, not a secret
    return order


def load_seed(seed: int, block: int) -> int:
    """Return the seed of the load's random numbers: the same for all trials of a block, another for each block."""
    return random.Random(f"{seed}/load/{block}").randrange(1, 2**31)  # noqa: S311 - not a secret

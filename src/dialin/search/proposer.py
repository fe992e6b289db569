"""Proposers, which name the candidates of the next block."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dialin.model.study import Candidate, Goal, StudySpec
from dialin.model.trial import Trial
from dialin.stats.allocation import SIZE, next_block
from dialin.stats.decide import Rules
from dialin.stats.throughput import by_typical_speed
from dialin.stats.trial_figures import FIGURE_OF, Figures, timed_trials, trial_speeds


@dataclass(frozen=True, slots=True)
class History:
    """What a study knows before a block begins.

    It is the same for a study that was killed and resumed, but for `refused`, which covers the present run of dialin only.

    Attributes:
        spec: the study, with every candidate that has entered so far.
        trials: the trials of all blocks so far that count in the decision.
        figures: the figures of the completed trials, by trial id.
        out: the candidates that are unsafe or were given up.
        refused: the candidates that were proposed and could not enter, by name, each with the reason.
        identical: groups of candidates with identical effective settings in all of their trials.
    """

    spec: StudySpec
    trials: Sequence[Trial] = ()
    figures: Mapping[int, Figures] = field(default_factory=dict)
    out: Collection[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)
    identical: Sequence[frozenset[str]] = ()

    @property
    def in_the_race(self) -> tuple[Candidate, ...]:
        """The candidates that are still compared, in the order that they entered."""
        return tuple(candidate for candidate in self.spec.candidates if candidate.name not in self.out)


@dataclass(frozen=True, slots=True)
class Room:
    """What the next block has room for.

    Attributes:
        trials: how many trials the budget still holds.
        first_on_host: whether the block's host has run no block of this study yet: only a block of all candidates shows later
            whether they compare there as they do on other hosts.
    """

    block: int
    trials: int
    first_on_host: bool = False


class Proposer(Protocol):
    """Names the candidates of each block; called once for a block, before its first trial, also where a study is resumed."""

    def propose(self, history: History, room: Room) -> Sequence[Candidate]:
        """Return the candidates of the next block; none or one of them ends the race.

        A candidate that the study does not have yet is checked and inspected, and enters with this block. It may set the
        variables of the study's `space`, and runs on a build that the study uses. What is proposed depends on nothing but the
        arguments, so that a study that was killed continues as it would have without that.
        """
        ...


class Contenders:
    """Proposes those of the study's initial candidates that may still be the best; see `stats.allocation`.

    The first block of each host has all of them, and so has every block of an A/A study, whose question is the noise.
    """

    def propose(self, history: History, room: Room) -> Sequence[Candidate]:
        """Return all candidates where the block must have them, else the contenders."""
        racing, spec = history.in_the_race, history.spec
        if spec.aa or spec.live is not None or room.first_on_host or len(racing) <= SIZE:
            return racing
        rules = Rules(spec.worthwhile, spec.confidence, claims=spec.claims)
        if spec.goal is Goal.THROUGHPUT:
            trials = by_typical_speed(trial_speeds(history.trials, history.figures))
        else:
            trials = timed_trials(history.trials, history.figures, FIGURE_OF[spec.goal])
        names = [candidate.name for candidate in racing]
        named = next_block(trials, names, spec.baseline, rules, spec.until, identical=history.identical)
        return [candidate for candidate in racing if candidate.name in named]


CONTENDERS = Contenders()

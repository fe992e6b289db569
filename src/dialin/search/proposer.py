"""Proposers, which name the candidates of the next block."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dialin.measures.of_trials import deciding_trials
from dialin.model.study import Candidate, Goal, StudySpec
from dialin.model.trial import Trial
from dialin.model.verdict import DecidedBy
from dialin.stats.allocation import SIZE, next_block
from dialin.stats.decide import Rules
from dialin.stats.trial_figures import Figures


@dataclass(frozen=True, slots=True)
class History:
    """What a study knows before a block begins.

    Attributes:
        spec: the study.
        trials: the trials of all blocks so far that count in the decision.
        figures: the figures of the completed trials, by trial id.
        out: the candidates that are unsafe or were given up.
        identical: groups of candidates with identical effective settings in all of their trials.
    """

    spec: StudySpec
    trials: Sequence[Trial] = ()
    figures: Mapping[int, Figures] = field(default_factory=dict)
    out: Collection[str] = frozenset()
    identical: Sequence[frozenset[str]] = ()

    @property
    def in_the_race(self) -> tuple[Candidate, ...]:
        """The candidates that are still compared, in their order."""
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
        """Return those candidates of the study that the next block has; none or one of them ends the race.

        The answer depends on nothing but the arguments, so that a study that was killed goes on as it would have without that.
        """
        ...


class Contenders:
    """Proposes those candidates that may still be the best; see `stats.allocation`.

    The first block of each host has all of them, and so has every block of an A/A study, whose question is the noise.
    """

    def propose(self, history: History, room: Room) -> Sequence[Candidate]:
        """Return all candidates where the block must have them, else the contenders."""
        racing, spec = history.in_the_race, history.spec
        if spec.is_aa or spec.is_live or room.first_on_host or len(racing) <= SIZE:
            return racing
        decided_by = DecidedBy.TYPICAL_SPEED if spec.goal is Goal.THROUGHPUT else DecidedBy.GOAL
        trials = deciding_trials(history.trials, history.figures, spec.goal, decided_by)
        names = [candidate.name for candidate in racing]
        named = next_block(trials, names, spec.baseline, Rules.of(spec), spec.until, identical=history.identical)
        return [candidate for candidate in racing if candidate.name in named]


CONTENDERS = Contenders()

"""What names the candidates of the next block."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dialin.model.study import Candidate, StudySpec
from dialin.model.trial import Trial
from dialin.stats.trial_figures import Figures


@dataclass(frozen=True, slots=True)
class History:
    """What a study knows before a block begins.

    It is the same for a study that was killed and resumed, but for `refused`, which covers the present run of dialin only.

    Attributes:
        spec: the study, with every candidate that has entered so far.
        trials: those that decide, of all blocks so far.
        figures: of those that were completed, by trial id.
        out: the candidates that left the race or were given up.
        refused: the candidates that were proposed and could not enter, by name, each with the reason.
    """

    spec: StudySpec
    trials: Sequence[Trial] = ()
    figures: Mapping[int, Figures] = field(default_factory=dict)
    out: Collection[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def in_the_race(self) -> tuple[Candidate, ...]:
        """The candidates that are still compared, in the order that they entered."""
        return tuple(candidate for candidate in self.spec.candidates if candidate.name not in self.out)


@dataclass(frozen=True, slots=True)
class Room:
    """What there is room for in the next block.

    Attributes:
        block: its number.
        trials: how many trials the budget still holds.
    """

    block: int
    trials: int


class Proposer(Protocol):
    """Names the candidates of each block; asked once for a block, before its first trial, also where the study is resumed."""

    def propose(self, history: History, room: Room) -> Sequence[Candidate]:
        """Return the candidates of the next block; none or one of them ends the race.

        A candidate that the study does not have yet is checked and inspected, and enters with this block. It may set the
        variables of the study's `space`, and runs on a build that the study uses. What is proposed depends on nothing but the
        arguments, so that a study that is killed goes on as it would have.

        Args:
            history: what is known.
            room: what the budget holds.
        """
        ...


class FixedList:
    """Proposes the candidates that the study began with, without those that left the race."""

    def propose(self, history: History, room: Room) -> Sequence[Candidate]:  # noqa: ARG002 - the race itself ends with the budget
        """Return the candidates that are still in the race."""
        return history.in_the_race


FIXED_LIST = FixedList()

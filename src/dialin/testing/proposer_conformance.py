"""The conformance tests of proposers: the test class of an implementation inherits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dialin.model.study import Candidate, StudySpec
from dialin.model.trial import Purpose, Sample, Step, Trial, TrialState
from dialin.model.workload import WorkloadSpec
from dialin.search.proposer import History, Proposer, Room
from dialin.stats.trial_figures import figures

_SECONDS = 8


class ProposerConformance:
    """Tests of a proposer without a server.

    A subclass whose name begins with `Test` returns from `make_proposer` one that has proposed nothing yet, and from
    `make_spec` a study that it can propose candidates for, if it needs another than two values of `innodb_io_capacity`.
    """

    blocks = 8
    """The number of blocks that it is asked for."""

    def make_proposer(self) -> Proposer:
        """Return a proposer; a new object at each call, always of the same options."""
        raise NotImplementedError

    def make_spec(self) -> StudySpec:
        """Return the study as it begins."""
        pair = tuple(Candidate(name=str(n), setting={"innodb_io_capacity": n}, server="mysql@9.7") for n in (200, 400))
        return StudySpec(candidates=pair, baseline="200", workload=WorkloadSpec(kind="sysbench"))

    def test_it_proposes_the_same_after_a_study_was_killed(self) -> None:
        """A new proposer in the middle of a study names the candidates that the first one would have named."""
        proposer = self.make_proposer()
        for history, room in self._course(proposer):
            assert self.make_proposer().propose(history, room) == proposer.propose(history, room)

    def test_a_block_holds_each_candidate_once(self) -> None:
        """A name stands for one setting, in all blocks."""
        proposer = self.make_proposer()
        settings: dict[str, object] = {}
        for history, room in self._course(proposer):
            block = proposer.propose(history, room)
            assert len({candidate.name for candidate in block}) == len(block)
            for candidate in block:
                assert settings.setdefault(candidate.name, candidate.setting) == candidate.setting

    def test_it_names_candidates_of_the_study_only(self) -> None:
        """Candidates are checked and inspected before a study begins."""
        names = set(self.make_spec().names)
        proposer = self.make_proposer()
        for history, room in self._course(proposer):
            assert {candidate.name for candidate in proposer.propose(history, room)} <= names

    def test_a_candidate_that_is_out_does_not_come_back(self) -> None:
        """An elimination is final."""
        proposer = self.make_proposer()
        for history, room in self._course(proposer):
            out = {candidate.name for candidate in history.spec.candidates[1:2]}
            assert not out & {candidate.name for candidate in proposer.propose(replace(history, out=out), room)}

    def _course(self, proposer: Proposer) -> list[tuple[History, Room]]:
        """Return the arguments of `propose` for each block, if every candidate that it names runs."""
        history, requested = History(self.make_spec()), []
        for number in range(1, self.blocks + 1):
            room = Room(number, 100)
            requested.append((history, room))
            history = _after(history, number, proposer.propose(history, room))
        return requested


def _after(history: History, block: int, candidates: Sequence[Candidate]) -> History:
    named = {candidate.name: candidate for candidate in candidates}
    trials, measured = list(history.trials), dict(history.figures)
    for position, name in enumerate(named, 1):
        trial = Trial(len(trials) + 1, 1, block, position, name, TrialState.DONE, 30.0 * len(trials), purpose=Purpose.RACE)
        trials.append(trial)
        if trial_figures := figures([_second(number, 1000.0 + 10 * position + number % 3) for number in range(_SECONDS)]):
            measured[trial.id] = trial_figures
    return replace(history, trials=trials, figures=measured)


def _second(number: int, tps: float) -> Sample:
    return Sample(number, float(number), Step.MEASURE, tps, 14 * tps, 4 * tps, 2 * tps, 5.0, 0.0, 0.0)

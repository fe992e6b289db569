"""The state of a race: updated once for each trial, and rebuilt from the store only when a study is resumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dialin.model.record import Look, StudyRecord
from dialin.model.study import Candidate
from dialin.model.trial import Block, Purpose, Sample, Trial, TrialState
from dialin.model.tune import TuneAsk
from dialin.model.verdict import Verdict
from dialin.search.proposer import History
from dialin.stats.trial_figures import Figures, figures
from dialin.store.store import Store
from dialin.verdict import comparison


class RaceState:
    """The trials of a study so far, their figures, and the looks that were taken.

    The store is read once, at the start; from then on only what each trial adds.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        stored = store.read(whole=True)
        self.spec = stored.spec
        self.blocks: list[Block] = list(stored.blocks)
        self.trials: list[Trial] = list(stored.trials)
        self.looks: list[Look] = list(stored.looks)
        self.verdict: Verdict | None = stored.verdict
        self.figures: dict[int, Figures] = {}
        self._samples: dict[int, Sequence[Sample]] = dict(stored.samples)
        self._watched = dict(stored.watched)
        self._stored = stored
        for trial in self.trials:
            self._add_figures(trial)

    @property
    def record(self) -> StudyRecord:
        return replace(
            self._stored,
            spec=self.spec,
            blocks=self.blocks,
            trials=self.trials,
            looks=self.looks,
            samples=self._samples,
            watched=self._watched,
        )

    @property
    def raced(self) -> list[Trial]:
        return comparison.racing(self.trials)

    @property
    def ended(self) -> list[Trial]:
        """The trials that decide and are not run again."""
        return [trial for trial in self.raced if trial.state in (TrialState.DONE, TrialState.FAILED)]

    def history(self, refused: Mapping[str, str]) -> History:
        """Return what a proposer may know; `refused` holds candidates that could not enter, with the reasons."""
        raced = self.raced
        given_up = {one.name for one in self.spec.candidates if comparison.given_up(one.name, raced)}
        out = given_up | comparison.unsafe_candidates(self.spec, raced)
        return History(self.spec, raced, self.figures, out, refused, comparison.same_in_force(self.spec, raced))

    @property
    def in_the_race(self) -> tuple[Candidate, ...]:
        return self.history({}).in_the_race

    def block(self, number: int, purpose: Purpose) -> Block | None:
        return next((block for block in self.blocks if (block.number, block.purpose) == (number, purpose)), None)

    def begin_block(self, block: Block, entering: Sequence[Candidate] = ()) -> None:
        self._store.begin_block(block, entering)
        self.spec = self.spec.with_candidates(entering) if entering else self.spec
        self.blocks.append(block)

    def begin_ask(self, ask: TuneAsk, entering: Sequence[Candidate] = ()) -> None:
        """Store a trial that a tune asks for before it begins, with the candidate that enters for it."""
        self._store.begin_ask(ask, entering)
        self.spec = self.spec.with_candidates(entering) if entering else self.spec

    def add(self, trial: Trial) -> None:
        self.trials.append(trial)
        self._samples[trial.id] = self._store.samples_of(trial.id)
        self._watched[trial.id] = self._store.watched_of(trial.id)
        self._add_figures(trial)

    def add_look(self, look: Look) -> None:
        self._store.add_look(look)
        self.looks.append(look)

    def save_verdict(self, verdict: Verdict, *, decided: bool) -> None:
        """Store the verdict of the last look, and whether it decides the study."""
        look = self.looks[-1]
        self._store.save_verdict_of(look, verdict, decided=decided)
        self.looks[-1] = replace(look, decided=decided)
        self.verdict = verdict

    def _add_figures(self, trial: Trial) -> None:
        if trial.state is not TrialState.DONE:
            return
        summed = figures(self._samples.get(trial.id, ()), rate=self._stored.spec.workload.rate)
        if summed is not None:
            self.figures[trial.id] = summed

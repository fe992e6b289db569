"""The state of a race: updated once for each trial, and rebuilt from the store only when a study is resumed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dialin.model.place import Place
from dialin.model.record import Look, StudyRecord
from dialin.model.study import Candidate
from dialin.model.trial import Block, Purpose, Sample, Trial
from dialin.model.tune import TuneAsk
from dialin.model.verdict import Verdict
from dialin.search.proposer import History
from dialin.stats.trial_figures import Figures, figures_of_trial
from dialin.store.store import Store
from dialin.verdict import comparison

Slot = tuple[int, str]
"""A trial that a block lacks: its place in the block's order, from 1, and its candidate."""


_KEPT = 50_000
"""Samples that are kept in memory: a study of hours has more, of which hardly any is needed again."""


class StoredSamples(Mapping[int, Sequence[Sample]]):
    """The samples of a store's trials, of which the newest that were asked for stay in memory."""

    def __init__(self, store: Store, trials: Sequence[Trial]) -> None:
        self._store = store
        self._trials = trials
        self._kept: dict[int, Sequence[Sample]] = {}

    def __getitem__(self, trial_id: int) -> Sequence[Sample]:
        samples = self._kept.pop(trial_id, None)
        self._kept[trial_id] = samples = self._store.samples_of(trial_id) if samples is None else samples
        while len(self._kept) > 1 and sum(map(len, self._kept.values())) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return samples

    def __iter__(self) -> Iterator[int]:
        return (trial.id for trial in self._trials)

    def __len__(self) -> int:
        return len(self._trials)


class RaceState:
    """The trials of a study so far, their figures, and the looks that were taken.

    The store is read once, at the start; after that, only what each trial adds is read.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        stored = store.read(samples=False)
        self.spec = stored.spec
        self.blocks: list[Block] = list(stored.blocks)
        self.trials: list[Trial] = list(stored.trials)
        self.looks: list[Look] = list(stored.looks)
        self.verdict: Verdict | None = stored.verdict
        self.figures: dict[int, Figures] = {}
        self.hosts: dict[str, Mapping[str, Any]] = dict(stored.hosts)
        self._samples = StoredSamples(store, self.trials)
        self._watched = dict(stored.watched)
        self._stored = stored
        # A study that is resumed with more minutes gives its new blocks the numbers that its trials for raw waits have.
        self._by_block: dict[tuple[int, Purpose], list[Trial]] = {}
        self._open = {(block.number, block.purpose): block for block in self.blocks}
        for trial in self.trials:
            self._add_to_block(trial)
            self._add_figures(trial)

    @property
    def record(self) -> StudyRecord:
        return replace(
            self._stored,
            spec=self.spec,
            blocks=self.blocks,
            trials=self.trials,
            looks=self.looks,
            hosts=self.hosts,
            samples=self._samples,
            watched=self._watched,
        )

    @property
    def race_trials(self) -> list[Trial]:
        return comparison.racing(self.trials)

    @property
    def ended(self) -> list[Trial]:
        """The trials that decide and are not run again."""
        return [trial for trial in self.race_trials if trial.has_ended]

    @property
    def history(self) -> History:
        """What a proposer may know."""
        raced = self.race_trials
        given_up = {name for name in self.spec.names if comparison.is_given_up(name, raced)}
        excluded = given_up | comparison.unsafe_candidates(self.spec, raced)
        return History(self.spec, raced, self.figures, excluded, comparison.identical_candidates(self.spec, raced))

    @property
    def in_the_race(self) -> tuple[Candidate, ...]:
        return self.history.in_the_race

    def block(self, number: int, purpose: Purpose) -> Block | None:
        return next((block for block in self.blocks if (block.number, block.purpose) == (number, purpose)), None)

    def missing(self, block: Block, host: str) -> list[Slot]:
        """Return what a host must still run of a block; a trial that ended there is never run again.

        A block never spans hosts: trials that ended elsewhere are compared there, and do not count here.
        """
        trials = self._by_block.get((block.number, block.purpose), ())
        ended = {trial.position for trial in trials if trial.host == host and trial.has_ended}
        return [(place, name) for place, name in enumerate(block.order, start=1) if place not in ended]

    def orders_on(self, host: str) -> list[tuple[str, ...]]:
        """Return the orders of the blocks of which a host has run trials, in the order they began."""
        ran = {key for key, trials in self._by_block.items() if any(trial.host == host for trial in trials)}
        return [block.order for block in self.blocks if (block.number, block.purpose) in ran]

    def is_complete(self, number: int, purpose: Purpose) -> bool:
        """Return whether some host has run all trials of a block."""
        return self.block(number, purpose) is not None and (number, purpose) not in self._open

    def incomplete(self, purpose: Purpose, since: int) -> list[Block]:
        """Return the blocks, numbered `since` or higher, of which no host has run all trials, in the order they began."""
        return [block for block in self._open.values() if block.purpose is purpose and block.number >= since]

    def unfinished(self, host: str, blocks: Collection[Block], hosts: Collection[str]) -> Block | None:
        """Return the block that a host must finish before it begins another one; None where there is none.

        That is a block that it began itself, else the first that no host of the fleet has begun; none of `blocks` runs now.
        """
        unclaimed: Block | None = None
        for block in blocks:
            ran_on = {t.host for t in self._by_block.get((block.number, block.purpose), ())}
            if host in ran_on:
                return block
            if unclaimed is None and ran_on.isdisjoint(hosts):
                unclaimed = block
        return unclaimed

    def add_host(self, name: str, facts: Mapping[str, Any]) -> None:
        """Store the facts of a host, once: a study that is resumed keeps those that were stored first."""
        if name not in self.hosts:
            self._store.save_host(name, facts)
            self.hosts[name] = facts

    def change_place(self, place: Place) -> None:
        """Store what has changed of the place, which a study that is resumed goes on with."""
        self.spec = self.spec.model_copy(update={"place": place})
        self._store.set_spec(self.spec)

    def begin_block(self, block: Block) -> None:
        self._store.begin_block(block)
        self.blocks.append(block)
        self._open[block.number, block.purpose] = block

    def begin_ask(self, ask: TuneAsk, entering: Sequence[Candidate] = ()) -> None:
        """Store a trial that a tune asks for before it begins, with the candidate that enters for it."""
        self._store.begin_ask(ask, entering)
        self.spec = self.spec.with_candidates(entering) if entering else self.spec

    def add(self, trial: Trial) -> None:
        self.trials.append(trial)
        self._add_to_block(trial)
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

    def _add_to_block(self, trial: Trial) -> None:
        key = (trial.block, trial.purpose)
        self._by_block.setdefault(key, []).append(trial)
        if (block := self._open.get(key)) is not None and not self.missing(block, trial.host):
            del self._open[key]

    def _add_figures(self, trial: Trial) -> None:
        summed = figures_of_trial(trial, self._samples, self._stored.spec.workload, self._watched.get(trial.id))
        if summed is not None:
            self.figures[trial.id] = summed

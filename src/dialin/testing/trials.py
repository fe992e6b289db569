"""Trials without servers: figures of known truth, written to the store as a real trial writes them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from dialin.model.trial import Costs, Failure, Sample, Step, Trial, TrialState, WarmUpEnd
from dialin.trials.trial import Laboratory


def _nothing(trial: Trial) -> None:
    """Let the trial run."""


@dataclass(slots=True)
class SimulatedTrials:
    """Runs a trial by drawing its seconds; give an instance to `Runner` as its `run_trial`.

    Attributes:
        levels: the true throughput of each candidate, transactions a second.
        noise: relative standard deviation between trials.
        jitter: relative standard deviation between seconds of a trial.
        jitters: the same for some candidates alone.
        lost: how many measured seconds of each trial the host stands still in; they come to a tenth of the level.
        in_force: what each candidate's server says of its variables.
        fails: candidates whose server does not start.
        before: called with each trial before it runs; may raise, as a kill would.
        ran: the trials that were asked for, in order.
    """

    levels: Mapping[str, float]
    noise: float = 0.01
    jitter: float = 0.03
    jitters: Mapping[str, float] = field(default_factory=dict)
    lost: int = 0
    in_force: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    fails: frozenset[str] = frozenset()
    before: Callable[[Trial], None] = _nothing
    ran: list[Trial] = field(default_factory=list)

    def __call__(self, laboratory: Laboratory, planned: Trial) -> Trial:
        """Run one trial."""
        store, clock = laboratory.store, laboratory.clock
        trial = store.begin_trial(planned)
        self.ran.append(trial)
        self.before(trial)
        chance = random.Random(f"{laboratory.spec.seed}/{trial.block}/{trial.candidate}/{trial.session}")  # noqa: S311
        if trial.candidate in self.fails:
            failure = Failure(Step.BOOT, "server", "did not start: simulated", "[ERROR] simulated")
            ended = replace(trial, state=TrialState.FAILED, steps={Step.RESTORE: 1.0, Step.BOOT: 2.0}, failure=failure)
            store.save_trial(ended)
            return ended
        level = self.levels[trial.candidate] * (1 + chance.gauss(0, self.noise))
        jitter = self.jitters.get(trial.candidate, self.jitter)
        seconds = round(laboratory.plan.measure)
        for second in range(1, 6 + seconds):
            clock.sleep(1)
            step = Step.WARM_UP if second <= 5 else Step.MEASURE
            sample = _sample(second, clock.now(), step, level * (1 + chance.gauss(0, jitter)))
            store.add_sample(trial.id, _stood_still(sample) if 5 < second <= 5 + self.lost else sample)
        ended = replace(
            trial,
            state=TrialState.DONE,
            steps={Step.RESTORE: 1.0, Step.BOOT: 2.0, Step.VERIFY: 0.1, Step.WARM_UP: 5.0, Step.MEASURE: float(seconds)},
            warm_up_end=WarmUpEnd.STEADY,
            in_force=dict(self.in_force.get(trial.candidate, {})),
            costs=Costs(seconds, 0.5 * seconds, 0.9 * seconds, 1.5 * seconds, 2, 2),
        )
        store.save_trial(ended)
        return ended


def _sample(second: int, at: float, step: Step, tps: float) -> Sample:
    return Sample(
        second=second,
        at=at,
        step=step,
        tps=max(0.0, tps),
        reads=14 * tps,
        writes=4 * tps,
        other=2 * tps,
        latency_ms=20_000 / max(tps, 1.0),
        errors=0.0,
        reconnects=0.0,
    )


def _stood_still(sample: Sample) -> Sample:
    return replace(sample, tps=0.1 * sample.tps, gap=0.9)

"""A whole search without a server: `ask` returns the next trial, `tell` takes its outcome, `result` returns what is shown.

It starts from a design, continues by expected improvement, and ends with a proof: nested sets of the best setting and the
baseline in blocks of fresh trials. Only these trials are quoted. The same seed and history give the same answers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dialin.model.setting import Value
from dialin.model.tune import TuneStage
from dialin.model.verdict import TuneOutcome
from dialin.search import proof
from dialin.search.acquisition import PRICE, SearchSituation, changed, improve, propose
from dialin.search.attribution import contributions, interactions
from dialin.search.constraints import Constraints
from dialin.search.nested_sets import WITHOUT_RULE, nested_sets
from dialin.search.proof import FEWEST_BLOCKS, MOST_PROOF, proof_seconds, proof_share
from dialin.search.separation import TESTED, reductions, separating_sets, unseparated, with_defaults, worth_of_trials
from dialin.search.space import Point, Space
from dialin.search.start_design import FEWEST, design_size, start_design
from dialin.search.surrogate import LIFE, Guide, Observations, Surrogate, Weights, correlations, learn_weights, soften
from dialin.search.trial_records import Ask, Options, Result, TrialOutcome, crashing_values, overheads
from dialin.stats.decide import Decision
from dialin.stats.forecast import detectable, fewest_trials
from dialin.stats.trial_fit import TimedTrial

_Array = NDArray[np.float64]

BASELINE = "baseline"
_ANCHOR = 9
"""The baseline is measured again after this many trials."""
_REFIT = 5
"""The weights are learnt again after this many trials."""
_REFINE_AFTER = 0.5
"""From this share of the search on, every second trial shows which changes of the best setting are needed."""
_NOTHING = 5
"""This many proposals in a row with little expected improvement may end the search."""
_CAUTION = 1.0
"""Standard deviations that are subtracted from what a setting promises before it is chosen."""
_LITTLE = 0.25
"""The share of a trial's noise below which an expected improvement is little."""
_BLOCKS = 4.5
"""The proof compares more than one set with the baseline only if there is time for at least this many blocks."""
_MARGIN = 1.5
"""What a setting promises is to be this many times what the proof shows four times out of five: settings that look best
seldom keep all that they promise."""
_GIVEN_UP = 0.25
"""The share of what a setting promises that the changes left out of it may carry together by the model."""
_FEWEST = 2
"""Trials of the proof that a set, and the baseline, must have before the result says anything about it."""
_SAFE = 0.7
"""A set counts as near the best one when it is this probably within what is worthwhile of it, by the proof."""
_CRASH_REACH = 0.7
"""A point this much like one that crashed, unless memory explains the crash, is not tried."""


@dataclass
class _Proof:
    names: list[str]
    settings: dict[str, dict[str, Value]]
    racing: list[str]
    orders: list[list[str]] = field(default_factory=list)
    queue: list[str] = field(default_factory=list)
    over: bool = False


class Tuner:
    """Searches a space and proves what it found."""

    def __init__(self, space: Space, constraints: Constraints, options: Options, seed: int = 0) -> None:
        self.space, self.options, self.seed = space, options, seed
        self.constraints = constraints
        self.history: list[TrialOutcome] = []
        self.crashes: list[Point] = []
        self._points: list[Point] = []
        self._ends: list[float] = []
        self._spent = 0.0
        self._most_memory = constraints.memory.needed(space.defaults) if constraints.memory else 0.0
        self._proof_share = proof_share(options, restarts=bool(space.static.any()))
        self._start = start_design(space, constraints, np.random.default_rng([seed, 1]), self._design_size())
        self._weights: tuple[int, Weights] | None = None
        self._model: tuple[int, Surrogate] | None = None
        self._proof: _Proof | None = None
        self._noise = 1.0

    @classmethod
    def resume(cls, space: Space, constraints: Constraints, options: Options, seed: int, history: list[TrialOutcome]) -> Tuner:
        """Return a tuner that continues after a history as the tuner that made the history would have."""
        tuner = cls(space, constraints, options, seed)
        for outcome in history:
            if outcome.ask.purpose is TuneStage.PROOF:
                tuner.ask()  # restores the state of the blocks
            tuner.tell(outcome)
        return tuner

    def ask(self) -> Ask | None:
        """Return the next trial; None when the budget is over or the answer is known."""
        if self._proof is None:
            if len(self.history) < len(self._start) and not self._search_is_over():
                return self._start_ask()
            if not self._search_is_over() and not self._nothing_to_expect() and not self._proof_needs_the_rest():
                return self._search_ask()
            self._begin_proof()
        return self._proof_ask()

    def tell(self, outcome: TrialOutcome) -> None:
        """Learn the outcome of the trial that `ask` returned."""
        ask = outcome.ask
        ok = outcome.ok and math.isfinite(outcome.throughput) and outcome.throughput > 0
        point = self.space.point(ask.setting)
        self._spent += outcome.cost
        self.history.append(replace(outcome, ok=ok))
        self._points.append(point)
        self._ends.append(self._spent)
        if self.constraints.memory is not None and ok:
            self._most_memory = max(self._most_memory, self.constraints.memory.needed({**self.space.defaults, **ask.setting}))
        if self._proof is not None and self._proof.queue[:1] == [ask.candidate]:
            self._proof.queue.pop(0)
        if not ok:
            before = self.constraints
            self.constraints = before.after_crash(self.space, ask.setting, self._most_memory)
            if self.constraints is before:
                self.crashes.append(point)
            if self._proof is not None and ask.candidate and ask.candidate != BASELINE:
                self._proof.racing = [name for name in self._proof.racing if name != ask.candidate]

    @property
    def seconds_left(self) -> float:
        return 60 * self.options.minutes - self._spent

    @property
    def _progress(self) -> float:
        """The share of the search that is over."""
        return self._spent / self._search_seconds

    @property
    def _search_seconds(self) -> float:
        """The seconds until the proof begins; of what a resumed tune was given in addition, the search has at least half."""
        resumed = self.options.resumed
        spent = self._ends[resumed - 1] if 0 < resumed <= len(self._ends) else 0.0
        return 60 * self.options.minutes - proof_seconds(self.options, self._proof_share, spent)

    def _design_size(self) -> int | None:
        """Return how many settings the design has: fewer where the search has no time for all of them."""
        average = self.options.search_seconds + self.options.set_seconds + self.options.start_seconds / 4
        affordable = int(0.4 * (1 - self._proof_share) * 60 * self.options.minutes / average)
        return max(FEWEST, min(design_size(len(self.space)), affordable))

    def _start_ask(self) -> Ask:
        point = self._start[len(self.history)]
        deadly = [variable for variable, code in self._deadly_values() if point[variable] == code]
        point = with_defaults(point, self.space.default_point, *deadly)
        setting = self.constraints.repaired(self.space, self.space.setting(point))
        return Ask(setting, self.options.search_seconds, TuneStage.START)

    def _search_is_over(self) -> bool:
        next_trial = self.options.search_seconds + self.options.set_seconds
        if len(self.history) >= len(self._start) and not any(outcome.ok for outcome in self.history):
            return True
        return self._spent + next_trial > self._search_seconds

    def _nothing_to_expect(self) -> bool:
        """Return whether the last five proposals promised little, and the best setting even with a standard deviation more."""
        fresh = self.history[self.options.resumed :]
        expected = [outcome.ask.improvement for outcome in fresh if outcome.ask.purpose is TuneStage.SEARCH]
        recent = [one for one in expected[-_NOTHING:] if one is not None]
        little = _LITTLE * math.sqrt(self.options.variance(self.options.search_seconds))
        if len(recent) < _NOTHING or max(recent) >= little:
            return False
        model = self.surrogate()
        gain, sd = self._promise(model, self._best_tried(model)[0])
        return gain + sd < math.log1p(self.options.worthwhile) or max(recent) < little / 20

    def _proof_needs_the_rest(self) -> bool:
        """Return whether a small gain needs all of what is left to be proven; at least half of the budget is searched."""
        if self.seconds_left > MOST_PROOF * 60 * self.options.minutes or self.options.resumed:
            return False
        model = self.surrogate()
        best = self._best_tried(model)[0]
        return not self._can_show(model, best, [self.space.setting(best)])

    def _can_show(self, model: Surrogate, point: Point, settings: Sequence[Mapping[str, Value]]) -> bool:
        """Return whether a proof of these settings in the seconds left shows what a point promises, cautiously."""
        gain, sd = self._promise(model, point)
        statics = [self.space.static_part(setting) for setting in ({}, *settings)]
        trials = int(len(statics) * self.seconds_left / self._block_seconds(statics, statics[0]))
        noise = math.sqrt(model.weights.noise * self.options.variance(self.options.proof_seconds) + LIFE**2)
        shown = detectable(noise, len(statics), max(trials, fewest_trials(2)), confidence=proof.CONFIDENCE)
        return _MARGIN * shown <= math.expm1(gain - sd)

    def _promise(self, model: Surrogate, point: Point) -> tuple[float, float]:
        """Return the gain over the baseline that the model expects of a setting, and its standard deviation."""
        gain, sd = model.differences(point[None, :], self.space.default_point)
        return float(gain[0]), float(sd[0])

    def _search_ask(self) -> Ask:
        number = len(self.history)
        running = self._running()
        if self._anchor_is_due(running):
            return Ask({}, self.options.search_seconds, TuneStage.ANCHOR)
        rng = np.random.default_rng([self.seed, 2, number])
        model = self.surrogate()
        if self._progress > _REFINE_AFTER and self.history[-1].ask.purpose is not TuneStage.REFINE:
            top = self._most_promising(model)
            point = self._without_one_of_many(model, top)
            point = self._without_doubtful(model, top, running, rng) if point is None else point
            return Ask(self.space.setting(point), self.options.search_seconds, TuneStage.REFINE)
        return self._proposal(model, running, rng)

    def _proposal(self, model: Surrogate, running: Point | None, rng: np.random.Generator) -> Ask:
        best = self._best_tried(model)
        situation = SearchSituation(
            model=model,
            best=best[0],
            bases=[*best[:8], self.space.default_point, self.space.rules_point()],
            costs=lambda points: self._costs(points, running),
            allowed=self._allowed,
            repair=lambda points: self.constraints.fitted(self.space, points),
            static_now=running,
        )
        proposal = propose(self.space, situation, rng)
        setting = self.constraints.repaired(self.space, self.space.setting(proposal.point))
        return Ask(setting, self.options.search_seconds, TuneStage.SEARCH, proposal.improvement)

    def _anchor_is_due(self, running: Point | None) -> bool:
        """Return whether the baseline is measured again: after nine trials, once the server runs with its static part."""
        default = self.space.default_point
        if running is None or bool((running != default)[self.space.static].any()):
            return False
        return not any((point == default).all() for point in self._points[-_ANCHOR:])

    def _running(self) -> Point | None:
        """Return the setting of the running server; None after a crash or before the first trial."""
        return self._points[-1] if self.history and self.history[-1].ok else None

    def _costs(self, points: _Array, running: Point | None) -> _Array:
        static = self.space.static
        restarts = np.ones(len(points), dtype=bool) if running is None else (points != running)[:, static].any(axis=1)
        start_seconds, set_seconds = overheads(self.space, self.history, self._points, self.options)
        return self.options.search_seconds + np.where(restarts, start_seconds, set_seconds)

    def _allowed(self, points: _Array) -> NDArray[np.bool_]:
        allowed = np.ones(len(points), dtype=bool)
        if (limit := self.constraints.limit) is not None:
            allowed &= self.constraints.needed(self.space, points) <= limit
        default = self.space.default_point
        for crash in self.crashes:
            cause = np.flatnonzero(crash != default)
            likeness = np.ones(len(points))
            for index in cause:
                likeness = np.minimum(likeness, correlations(points[:, index], crash[None, index])[:, 0])
            allowed &= likeness < _CRASH_REACH
        for variable, code in self._deadly_values():
            allowed &= points[:, variable] != code
        return allowed

    def _deadly_values(self) -> list[tuple[int, float]]:
        return crashing_values(self._points, [outcome.ok for outcome in self.history], self.space.default_point)

    # the model

    def _observations(self, count: int | None = None) -> Observations:
        """Return the completed trials, or the first `count` of them."""
        completed = [index for index, outcome in enumerate(self.history) if outcome.ok][:count]
        outcomes = [self.history[index] for index in completed]
        return Observations(
            np.array([self._points[index] for index in completed]).reshape(len(completed), len(self.space)),
            soften([one.throughput for one in outcomes], [not one.ask.setting for one in outcomes]),
            np.array([self.options.variance(one.ask.seconds) for one in outcomes]),
            np.array([self._ends[index] / 60 for index in completed]),
            np.array([one.life for one in outcomes], dtype=np.int64),
            Guide(self.space.default_point, self.space.rules_point()),
        )

    def surrogate(self) -> Surrogate:
        """Return the model of all trials; its weights are learnt from the first 5, 10, 15, ... of them."""
        observed = self._observations()
        if self._model is not None and self._model[0] == len(observed):
            return self._model[1]
        base = max(len(observed) - len(observed) % _REFIT, min(len(observed), 2))
        if self._weights is None or self._weights[0] != base:
            self._weights = base, learn_weights(self._observations(base))
        model = Surrogate(observed, self._weights[1])
        self._model = len(observed), model
        return model

    def _best_tried(self, model: Surrogate) -> list[Point]:
        """Return the settings that completed, the best first by the model, less the price of their changes."""
        points = np.unique(np.array([p for p, outcome in zip(self._points, self.history, strict=True) if outcome.ok]), axis=0)
        points = points[self._allowed(points)] if len(points) > 1 else points
        if not len(points):
            points = self.space.default_point[None, :]
        value = model.means(points) - PRICE * changed(points, self.space.default_point)
        return list(points[np.argsort(-value, kind="stable")])

    def best(self) -> dict[str, Value]:
        """Return the best setting that is known so far, without proof; the baseline while nothing completed."""
        if not any(outcome.ok for outcome in self.history):
            return {}
        return self.space.setting(self._best_tried(self.surrogate())[0])

    def _most_promising(self, model: Surrogate) -> Point:
        """Return the setting that promises most, cautiously: tried, or near those tried."""
        default, best = self.space.default_point, self._best_tried(model)
        rng = np.random.default_rng([self.seed, 3, len(self.history)])

        def score(points: _Array) -> _Array:
            mean, sd = model.differences(points, best[0])
            value = np.where(self._allowed(points), mean - _CAUTION * sd, -np.inf)
            return np.asarray(value - PRICE * changed(points, default))

        top = improve(self.space, score, best[:8], rng, lambda points: self.constraints.fitted(self.space, points))
        return self.space.point(self.constraints.repaired(self.space, self.space.setting(top)))

    def _without_one_of_many(self, model: Surrogate, top: Point) -> Point | None:
        """Return the most promising setting without one change that no trial separates from another; None where there is none.

        As long as several changes come together, the model may attribute all that they carry to any one of them.
        """
        default = self.space.default_point
        for index in unseparated(model, top, default, TESTED):
            point = with_defaults(top, default, index)
            if not any((point == tried).all() for tried in self._points):
                return point
        return None

    def _without_doubtful(self, model: Surrogate, top: Point, running: Point | None, rng: np.random.Generator) -> Point:
        """Return the most promising setting without some changes, whose trial shows most, per second, of which are needed."""
        if (top == self.space.default_point).all():
            return top
        trials = reductions(self.space, model, top, running, rng)
        variance = model.weights.noise * self.options.variance(self.options.search_seconds)
        worth = worth_of_trials(self.space, model, top, trials, variance)
        return np.asarray(trials[np.argmax(worth / self._costs(trials, running))])

    # the proof

    def _begin_proof(self) -> None:
        default = self.space.default_point
        settings: dict[str, dict[str, Value]] = {BASELINE: {}}
        if any(outcome.ok for outcome in self.history):
            model = self.surrogate()
            self._noise = model.undisturbed_noise()
            best = self._best_tried(model)
            whole = self._most_promising(model)
            if (whole == default).all():
                others = [point for point in best if (point != default).any()]
                whole = others[0] if others else whole
            if (whole != default).any():
                for number, setting in enumerate(self._affordable_sets(model, whole), 1):
                    settings[f"set {number}"] = setting
        names = list(settings)
        self._proof = _Proof(names, settings, list(names), over=len(names) < 2)

    def _affordable_sets(self, model: Surrogate, whole: Point) -> list[dict[str, Value]]:
        """Return as many nested sets as can be compared with the baseline in enough blocks: one at least.

        Where the gain is too small to be shown of several sets, the whole setting has all trials: what many variables carry
        together may be shown, and which of them carry it cannot.
        """
        error = model.change_error(whole, self.space.default_point)

        def nested(count: int) -> list[dict[str, Value]]:
            return [self.space.setting(point) for point in nested_sets(self.space, whole, model.means, error, count)]

        most = nested(len(WITHOUT_RULE))
        leanest = self.space.point(most[-1])
        if not self._can_show(model, leanest, most) or not self._keeps_most(model, leanest, whole):
            return [self.space.setting(whole)]
        several = (most, *map(nested, range(len(WITHOUT_RULE) - 1, 1, -1)))
        settings = next((sets for sets in several if self._can_prove(sets, _BLOCKS)), None) or nested(1)
        apart = separating_sets(model, self.space.point(settings[0]), self.space.default_point)
        for count in range(len(apart), 1, -1):
            sets = [self.space.setting(point) for point in apart[:count]]
            if self._can_prove(sets, FEWEST_BLOCKS):
                return sets
        return settings

    def _keeps_most(self, model: Surrogate, lean: Point, whole: Point) -> bool:
        """Return whether a setting with fewer changes keeps most of what the whole one promises."""
        means = model.means(np.array([self.space.default_point, lean, whole]))
        return float(means[2] - means[1]) <= _GIVEN_UP * float(means[2] - means[0])

    def _can_prove(self, settings: Sequence[Mapping[str, Value]], blocks: float) -> bool:
        statics = [self.space.static_part(setting) for setting in ({}, *settings)]
        return blocks * self._block_seconds(statics, statics[0]) <= self.seconds_left

    def _block_seconds(self, statics: Sequence[tuple[object, ...]], running: tuple[object, ...] | None) -> float:
        """Return the seconds that a block takes, by its candidates' static parts; the running one needs no restart."""
        restarts = len({*statics} - {running})
        start_seconds, set_seconds = overheads(self.space, self.history, self._points, self.options)
        return len(statics) * (self.options.proof_seconds + set_seconds) + restarts * (start_seconds - set_seconds)

    def _proof_ask(self) -> Ask | None:
        state = self._proof
        if state is None or state.over:
            return None
        state.queue = [name for name in state.queue if name in state.racing]
        if not state.queue:
            self._next_block(state)
        if state.over:
            return None
        name = state.queue[0]
        setting = state.settings[name]
        running = self._running()
        cost = float(self._costs(self.space.point(setting)[None, :], running)[0])
        cost += self.options.proof_seconds - self.options.search_seconds
        if cost > self.seconds_left:
            state.over = True
            return None
        return Ask(setting, self.options.proof_seconds, TuneStage.PROOF, block=len(state.orders), candidate=name)

    def _next_block(self, state: _Proof) -> None:
        state.over = True
        trials = self._proof_trials()
        if len(state.racing) < 2 or BASELINE not in state.racing or self._shows_nothing(state, trials):
            return
        names = proof.next_candidates(trials, state.racing, BASELINE, self.options.worthwhile)
        if len(names) < 2:
            return
        running = self._running()
        now = self.space.static_part(self.space.setting(running)) if running is not None else None
        statics = [self.space.static_part(state.settings[name]) for name in names]
        if state.orders:  # where the time is too short for all of them, three blocks of the baseline and one set come first
            shortest = [BASELINE, self._safe_sets(trials, [name for name in names if name != BASELINE])[0]]
            pair = [self.space.static_part(state.settings[name]) for name in shortest]
            later = self._block_seconds(pair, None) if len(state.orders) == 1 else 0.0
            if self._block_seconds(statics, now) + later > self.seconds_left:
                names, statics = shortest, pair
        seconds = self._block_seconds(statics, now)
        if seconds > self.seconds_left:
            return
        is_last = 2 * seconds > self.seconds_left
        state.queue = proof.proof_block_order(names, statics, now, state.orders, self.seed, is_last=is_last)
        state.orders.append(list(state.queue))
        state.over = False

    def _shows_nothing(self, state: _Proof, trials: list[TimedTrial]) -> bool:
        """Return whether fresh trials exclude a worthwhile gain of every remaining set."""
        if len(state.orders) < _BLOCKS:
            return False
        sets = [name for name in state.racing if name != BASELINE]
        worthwhile = self.options.worthwhile
        return proof.excludes_gain(proof.decide_proof(trials, state.names, BASELINE, worthwhile), sets, worthwhile)

    def left_out(self) -> list[int]:
        """Return the places in the history of the proof's trials that do not count: something slowed them down."""
        completed = [place for place, one in enumerate(self.history) if one.ok]
        if self._proof is None or not completed:
            return []
        return proof.left_out(self.history, [completed[place] for place in np.flatnonzero(self.surrogate().disturbed)])

    def _proof_trials(self) -> list[TimedTrial]:
        left_out = self.left_out()
        # Where a trial's own seconds are not known, its error is as the search estimated the noise.
        error = math.sqrt(self._noise * self.options.variance(self.options.proof_seconds))
        return [
            TimedTrial(0, one.ask.candidate, end - one.ask.seconds / 2, one.throughput, one.error or error)
            for place, (one, end) in enumerate(zip(self.history, self._ends, strict=True))
            if one.ok and one.ask.purpose is TuneStage.PROOF and place not in left_out
        ]

    def result(self) -> Result:
        """Return what is recommended and what fresh trials show of it."""
        guess = self.best()
        state, trials = self._proof, self._proof_trials()
        counts = Counter(trial.candidate for trial in trials)
        sets = [name for name in state.racing if name != BASELINE and counts[name] >= _FEWEST] if state else []
        if state is None or not sets or counts[BASELINE] < _FEWEST:
            return Result(TuneOutcome.INCONCLUSIVE, {}, None, guess)
        worthwhile = self.options.worthwhile
        decision = proof.decide_proof(trials, state.names, BASELINE, worthwhile, proofs=self.options.proofs + 1)
        safe = self._safe_sets(trials, sets)
        for name in safe:
            if name in decision.better:
                return self._gain(state, decision, name)
        excludes = counts.total() >= fewest_trials(len(counts)) and proof.excludes_gain(decision, sets, worthwhile)
        outcome = TuneOutcome.NOTHING if excludes else TuneOutcome.INCONCLUSIVE
        return Result(outcome, {}, decision.ratios[safe[0]], state.settings[safe[0]])

    def _gain(self, state: _Proof, decision: Decision, name: str) -> Result:
        setting, model, ratio = state.settings[name], self.surrogate(), decision.ratios[name]
        shares = contributions(self.space, setting, model, decision.fit, state.settings, name)
        pairs = interactions(self.space, setting, model, [share.variable for share in shares])
        return Result(TuneOutcome.GAIN, setting, ratio, setting, shares, pairs)

    def _safe_sets(self, trials: list[TimedTrial], names: list[str]) -> list[str]:
        """Return the sets that are probably near the best one by the trials of the proof, smallest first."""
        sizes = {name: len(self._proof.settings[name]) for name in names} if self._proof else {}
        near = proof.chances_of(trials, names, self.options.worthwhile)
        safe = [name for name in names if near[name] >= _SAFE] or [max(names, key=lambda name: near[name])]
        return sorted(safe, key=lambda name: sizes[name])

"""The tuner against servers of known truth, without any server."""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from dialin.model.dimension import Dimension
from dialin.model.setting import Value
from dialin.model.tune import MemoryFormula, TuneStage
from dialin.model.verdict import TuneOutcome
from dialin.search.constraints import Constraints
from dialin.search.space import Space
from dialin.search.trial_records import Options, TrialOutcome
from dialin.search.tuner import BASELINE, Tuner
from dialin.stats.forecast import fewest_trials
from fixtures.long_form import IS_LONG

SPACE = Space(
    (
        Dimension("pool", 1, 1024, log=True, step=1, static=True, default=4, rule=200),
        Dimension("capacity", 100, 20_000, log=True, step=1, default=200),
        Dimension("limit", 1, 100, special=(0,), default=0),
        Dimension("method", values=("a", "b"), static=True, default="a"),
        *(Dimension(f"idle{i}", 0, 100, default=50.0) for i in range(4)),
    )
)
CONSTRAINTS = Constraints(MemoryFormula(0, {"pool": 1}, 800))


def gains(setting: Mapping[str, Value]) -> float:
    """Return a log throughput whose best, 0.4, is at a pool of 512 and a capacity of 3,000."""
    values = {**SPACE.defaults, **setting}
    pool, capacity = math.log(float(values["pool"]) / 4), math.log(float(values["capacity"]) / 3000)
    return 0.25 * min(1.0, pool / math.log(128)) + 0.15 - 0.0205 * capacity**2


def no_gain(setting: Mapping[str, Value]) -> float:
    values = {**SPACE.defaults, **setting}
    return -0.1 * (values["method"] == "b") - 0.05 * (float(values["limit"]) > 0)


@dataclass
class Server:
    """What a trial of a simulated server comes to."""

    truth: Callable[[Mapping[str, Value]], float] = gains
    dies_above: float = 2000.0
    seed: int = 0
    life: int = 0
    static: object = None
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def run(self, setting: Mapping[str, Value], seconds: float) -> tuple[bool, float, int, float]:
        static = SPACE.static_part({name: setting[name] for name in setting.keys() & SPACE.defaults.keys()})
        cost = 8.0 if static == self.static else 60.0
        self.life += static != self.static
        self.static = static
        if float(setting.get("pool", 4)) > self.dies_above:
            self.static = None
            return False, 0.0, self.life, 90.0
        noise = self.rng.normal(scale=math.sqrt(0.02**2 + 0.12**2 / seconds))
        return True, 1000 * math.exp(self.truth(setting) + noise), self.life, cost + seconds


def play(tuner: Tuner, server: Server, most: int = 1000) -> Tuner:
    for _ in range(most):
        if (ask := tuner.ask()) is None:
            break
        ok, throughput, life, cost = server.run(ask.setting, ask.seconds)
        tuner.tell(TrialOutcome(ask, ok, throughput, life, cost))
    return tuner


def tuner(minutes: float = 60, seed: int = 1) -> Tuner:
    return Tuner(SPACE, CONSTRAINTS, Options(minutes), seed)


@pytest.fixture(scope="module")
def searched() -> Tuner:
    return play(tuner(), Server())


def test_it_finds_most_of_the_gain_and_proves_it(searched: Tuner) -> None:
    result = searched.result()
    truth = gains(result.setting)
    assert result.outcome is TuneOutcome.GAIN
    assert truth > 0.34
    assert result.gain is not None
    assert result.gain.low is not None
    assert result.gain.high is not None
    assert 1 < result.gain.low <= math.exp(truth) <= result.gain.high


def test_it_recommends_few_variables_that_carry_nothing(searched: Tuner) -> None:
    setting = searched.result().setting
    assert {"pool", "capacity"} <= setting.keys()
    assert len(setting) <= 4


def test_the_proof_rests_on_fresh_trials_in_blocks(searched: Tuner) -> None:
    trials = [outcome.ask for outcome in searched.history if outcome.ask.purpose is TuneStage.PROOF]
    assert searched.history[-1].ask.purpose is TuneStage.PROOF
    first = [ask.candidate for ask in trials if ask.block == 1]
    assert BASELINE in first
    assert len(first) == len(set(first)) >= 2
    assert max(ask.block for ask in trials) >= 4


def test_it_keeps_to_the_budget(searched: Tuner) -> None:
    assert sum(outcome.cost for outcome in searched.history) <= 60 * 60


def test_the_search_begins_with_baseline_rules_baseline(searched: Tuner) -> None:
    assert [dict(outcome.ask.setting) for outcome in searched.history[:3]] == [{}, {"pool": 200}, {}]


def test_the_same_seed_asks_the_same() -> None:
    one, other = (play(tuner(30), Server(), 40) for _ in range(2))
    assert [outcome.ask for outcome in one.history] == [outcome.ask for outcome in other.history]


@pytest.mark.parametrize("after", [3, 17, 31, 60])
def test_a_tuner_that_was_killed_goes_on_as_it_would_have(searched: Tuner, after: int) -> None:
    resumed = Tuner.resume(SPACE, CONSTRAINTS, Options(60), 1, searched.history[:after])
    assert resumed.ask() == searched.history[after].ask


def test_one_killed_in_its_proof_ends_the_same(searched: Tuner) -> None:
    resumed = Tuner.resume(SPACE, CONSTRAINTS, Options(60), 1, searched.history[:-2])
    for outcome in searched.history[-2:]:
        assert resumed.ask() == outcome.ask
        resumed.tell(outcome)
    assert resumed.ask() is None
    assert resumed.result() == searched.result()


@pytest.fixture(scope="module", params=range(4 if IS_LONG else 2))
def without_gain(request: pytest.FixtureRequest) -> Tuner:
    return play(tuner(60, request.param), Server(no_gain, seed=request.param))


def test_where_nothing_is_to_gain_nothing_changes(without_gain: Tuner) -> None:
    result = without_gain.result()
    assert result.outcome is not TuneOutcome.GAIN
    assert result.setting == {}


def test_without_a_gain_in_sight_the_proof_compares_one_set_with_the_baseline(without_gain: Tuner) -> None:
    proof = Counter(outcome.ask.candidate for outcome in without_gain.history if outcome.ask.purpose is TuneStage.PROOF)
    assert proof.keys() == {BASELINE, "set 1"}
    assert proof[BASELINE] >= 5


def test_nothing_to_gain_is_said_only_after_the_trials_of_a_decision(without_gain: Tuner) -> None:
    fresh = [place for place, outcome in enumerate(without_gain.history, 1) if outcome.ask.purpose is TuneStage.PROOF]
    said = []
    for trials, place in enumerate(fresh[: fewest_trials(2)], 1):
        early = Tuner.resume(SPACE, CONSTRAINTS, Options(60), without_gain.seed, without_gain.history[:place])
        early.options = replace(early.options, worthwhile=0.5)
        said += [trials] * (early.result().outcome is TuneOutcome.NOTHING)
    assert said == [fewest_trials(2)]


def test_a_crash_is_no_score_and_moves_the_fence() -> None:
    ended = play(tuner(seed=2), Server(dies_above=250))
    crashed = [outcome for outcome in ended.history if not outcome.ok]
    assert 1 <= len(crashed) <= 3
    assert ended.constraints.limit is not None
    assert ended.constraints.limit < 800
    assert float(ended.result().setting["pool"]) <= 250


def test_a_server_that_never_runs_ends_the_search() -> None:
    ended = play(tuner(), Server(dies_above=0))
    assert ended.ask() is None
    assert ended.result().outcome is TuneOutcome.INCONCLUSIVE
    assert ended.best() == {}


def test_at_any_time_it_says_what_is_best_so_far() -> None:
    begun = play(tuner(), Server(), 12)
    assert gains(begun.best()) > 0.1
    assert begun.result().outcome is TuneOutcome.INCONCLUSIVE
    assert begun.result().setting == {}


@pytest.mark.parametrize(
    ("gain", "error", "ends"), [(0.0, 0.01, True), (0.005, 0.01, True), (0.0, 0.03, False), (0.015, 0.01, False)]
)
def test_a_search_ends_early_only_where_a_standard_deviation_more_would_be_no_gain(
    gain: float, error: float, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = play(tuner(), Server(no_gain), 30)
    little = [replace(outcome.ask, purpose=TuneStage.SEARCH, improvement=0.005) for outcome in begun.history[-5:]]
    begun.history[-5:] = [replace(outcome, ask=ask) for outcome, ask in zip(begun.history[-5:], little, strict=True)]
    monkeypatch.setattr(begun, "_promise", lambda _model, _point: (gain, error))
    following = begun.ask()
    assert following is not None
    assert (following.purpose is TuneStage.PROOF) is ends


LITTLE = Space(tuple(Dimension(f"small{i}", 0, 100, default=20.0, rule=80.0) for i in range(12)))


def many_small_gains(setting: Mapping[str, Value]) -> float:
    """Return a log throughput to which each of twelve variables adds 0.008 at its rule, and more nowhere."""
    return sum(0.008 * min(1.0, (float(value) - 20) / 60) for value in setting.values())


@pytest.fixture(scope="module", params=range(2))
def little_each(request: pytest.FixtureRequest) -> Tuner:
    return play(Tuner(LITTLE, Constraints(), Options(40), request.param), Server(many_small_gains, seed=request.param))


def test_a_gain_that_many_variables_carry_together_is_proven(little_each: Tuner) -> None:
    result = little_each.result()
    assert result.outcome is TuneOutcome.GAIN
    assert many_small_gains(result.setting) > 0.05


def test_of_a_small_gain_only_the_whole_setting_is_proven(little_each: Tuner) -> None:
    proof = {outcome.ask.candidate for outcome in little_each.history if outcome.ask.purpose is TuneStage.PROOF}
    assert proof == {BASELINE, "set 1"}

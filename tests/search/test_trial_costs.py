"""A budget is planned with what trials really take."""

from dialin.model.dimension import Dimension
from dialin.model.tune import TuneStage
from dialin.search.space import Space
from dialin.search.trial_records import Ask, Options, TrialOutcome, overheads

SPACE = Space((Dimension("pool", 1, 9, default=1, static=True), Dimension("limit", 1, 9, default=1)))
OPTIONS = Options(60, start_seconds=60, set_seconds=8)


def known(*trials: tuple[dict[str, int], float, bool]) -> tuple[float, float]:
    outcomes = [TrialOutcome(Ask(one, 15, TuneStage.SEARCH), ok, 1000.0, 0, cost) for one, cost, ok in trials]
    return overheads(SPACE, outcomes, [SPACE.point(one) for one, _, _ in trials], OPTIONS)


def test_starts_and_sets_are_told_apart_by_what_a_start_takes() -> None:
    small, large = {"pool": 2}, {"pool": 3}
    trials = [(small, 35, True), ({**small, "limit": 5}, 20, True), (large, 36, True), (large, 19, True)]
    assert known(*trials) == (60, 8)  # two of each are too few
    assert known(*trials, (small, 40, True), (small, 25, True)) == (21, 5)


def test_after_a_crash_the_server_starts_and_the_crash_itself_says_nothing() -> None:
    assert known(({}, 35, True), ({}, 90, False), ({}, 35, True), ({}, 90, False), ({}, 50, True)) == (20, 8)

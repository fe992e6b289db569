import itertools
from collections import Counter

import pytest

from dialin.errors import UserError
from dialin.model.dimension import Dimension
from dialin.model.place import Restore, RestoreWay, SandboxPlace
from dialin.model.study import Goal, Switch
from dialin.model.trial import Purpose
from dialin.model.tune import TunePlan
from dialin.model.workload import LoadTraits
from dialin.question.plan import BLOCKS_NEEDED, BudgetTooSmallError, block_order, level_order, load_seed, plan
from dialin.stats.forecast import fewest_trials
from fixtures.live_studies import Live, live_spec
from fixtures.studies import scan, study

NAMES = ["1", "2", "4", "8"]
CAPACITY = Dimension(name="innodb_io_capacity", low=100, high=900, default=200)


def test_the_seed_decides_the_order_and_every_candidate_runs_once_a_block():
    assert [block_order(7, b, NAMES) for b in range(1, 9)] == [block_order(7, b, NAMES) for b in range(1, 9)]
    assert all(sorted(block_order(7, b, NAMES)) == NAMES for b in range(1, 50))
    assert len({tuple(block_order(s, 1, NAMES)) for s in range(200)}) > 15


def test_every_candidate_comes_first_equally_often_over_studies_and_over_blocks():
    over_studies = [block_order(seed, 1, NAMES)[0] for seed in range(4000)]
    over_blocks = [block_order(7, block, NAMES)[0] for block in range(4000)]
    assert all(900 < first.count(name) < 1100 for first in (over_studies, over_blocks) for name in NAMES)


def test_the_order_of_a_block_says_nothing_of_the_next_ones():
    follows = [block_order(7, block, "ab") == block_order(7, block + 1, "ab") for block in range(4000)]
    assert 0.45 < sum(follows) / len(follows) < 0.55


def ran_by_two(seed, blocks, *, budget=9999):
    """The candidates of as many blocks of two on one host, in the order in which they ran."""
    orders = []
    for block in range(1, blocks + 1):
        orders.append(block_order(seed, block, "ab", before=orders, is_last=block == budget))
    return list(itertools.chain(*orders))


def test_each_of_two_candidates_follows_itself_as_often_as_the_other_one():
    follows = Counter(itertools.pairwise(ran_by_two(7, 2000)))
    assert set(follows) == set(itertools.product("ab", "ab"))
    assert all(count == pytest.approx(1000, rel=0.1) for count in follows.values())


@pytest.mark.parametrize("seconds", [38, 120])
def test_two_candidates_seldom_keep_time_with_a_job_of_the_machine(seconds):
    in_time = 0
    for seed in range(200):
        met = [name for place, name in enumerate(ran_by_two(seed, 20)) if place * seconds % 300 < 90]
        in_time += abs(met.count("a") - met.count("b")) >= 0.6 * len(met)
    assert in_time <= 10


@pytest.mark.parametrize("seed", range(20))
def test_two_candidates_have_as_many_trials_each_but_for_a_block_that_the_next_one_makes_up_for(seed):
    for blocks in range(1, 30):
        ran = ran_by_two(seed, blocks)
        assert abs(ran.count("a") - ran.count("b")) in (0, 2)
    assert {tuple(ran_by_two(seed, 100)[place : place + 2]) for place in range(0, 200, 2)} == set(itertools.product("ab", "ab"))


@pytest.mark.parametrize("blocks", range(1, 12))
def test_two_candidates_have_as_many_trials_each_when_the_budget_ends(blocks):
    ran = [ran_by_two(seed, blocks, budget=blocks) for seed in range(50)]
    assert all(one.count("a") == one.count("b") == blocks for one in ran)


def test_of_many_candidates_each_follows_itself_as_often_as_each_other_one_on_a_server_that_goes_on():
    orders = []
    for block in range(1, 2001):
        orders.append(block_order(7, block, NAMES, before=orders, goes_on=True))
    assert all(sorted(order) == NAMES for order in orders)
    follows = Counter(itertools.pairwise(itertools.chain(*orders)))
    assert set(follows) == set(itertools.product(NAMES, NAMES))
    assert all(count == pytest.approx(500, rel=0.1) for count in follows.values())


def test_two_of_many_candidates_have_a_trial_each():
    assert all(sorted(block_order(7, block, "12", before=[NAMES])) == ["1", "2"] for block in range(50))
    assert all(block_order(7, b, "12", before=[NAMES, "21"], goes_on=True) == ["1", "2"] for b in range(50))
    assert {block_order(7, b, "12", before=[NAMES, "48"], goes_on=True)[0] for b in range(50)} == {"1", "2"}


def test_numbers_of_threads_are_measured_in_an_order_of_each_block_and_for_profiles_the_most_first():
    orders = [level_order(7, block, (2, 16, 64)) for block in range(1, 30)]
    assert len({tuple(order) for order in orders}) == 6
    assert [level_order(7, block, (2, 16, 64), Purpose.PROFILE) for block in (1, 2)] == [[64, 16, 2]] * 2


def test_trials_of_a_block_share_the_loads_random_numbers_and_blocks_differ():
    assert load_seed(1, 1) == load_seed(1, 1)
    assert len({load_seed(1, block) for block in range(100)}) == 100


@pytest.mark.parametrize(("switch", "longest"), [(Switch.RESTART, 60), (Switch.SET, 30)])
def test_more_budget_means_longer_windows_up_to_a_limit_and_then_more_blocks(spec, switch, longest):
    free = spec.model_copy(update={"measure": None, "warmup": None, "switch": switch})
    plans = [plan(free.model_copy(update={"minutes": minutes})) for minutes in (6, 15, 30, 120)]
    assert [p.measure for p in plans] == sorted(p.measure for p in plans)
    assert plans[-1].measure == longest
    assert plans[-1].blocks > plans[0].blocks >= BLOCKS_NEEDED


@pytest.mark.parametrize(("switch", "share", "longest"), [(Switch.RESTART, 0.8, 12), (Switch.SET, 0.85, 6)])
def test_a_longer_window_needs_no_longer_warm_up_so_most_of_a_trial_is_measured(spec, switch, share, longest):
    def planned(seconds):
        return plan(spec.model_copy(update={"measure": seconds, "warmup": None, "switch": switch, "minutes": 120}))

    assert planned(60.0).warmup == planned(120.0).warmup == longest > planned(10.0).warmup
    assert 60 / planned(60.0).trial_seconds >= share
    asked = spec.model_copy(update={"measure": 60.0, "warmup": 40.0, "switch": switch, "minutes": 120})
    assert plan(asked).warmup == 40


def test_a_budget_that_holds_too_few_blocks_is_refused_and_the_remedy_suffices(spec):
    short = spec.model_copy(update={"minutes": 1})
    with pytest.raises(UserError, match=r"--minutes (\d+)") as refused:
        plan(short)
    needed = int(refused.value.remedy.split("--minutes ")[1].split()[0])
    assert plan(spec.model_copy(update={"minutes": needed})).blocks >= BLOCKS_NEEDED


@pytest.mark.parametrize(
    ("switch", "names", "blocks"), [(Switch.RESTART, "ab", 4), (Switch.SET, "ab", 3), (Switch.RESTART, "abc", 3)]
)
def test_the_least_budget_holds_the_trials_that_a_decision_needs(switch, names, blocks):
    spec = study({name: {} for name in names}, switch=switch, measure=10.0, warmup=2.0, minutes=1)
    with pytest.raises(BudgetTooSmallError, match=f"fewer than {blocks} trials of each") as refused:
        plan(spec.model_copy(update={"minutes": 0.5}))
    least = plan(spec.model_copy(update={"minutes": refused.value.minutes + 1e-6}))
    assert least.blocks == blocks
    assert least.blocks * len(names) >= fewest_trials(len(names), shares_start=spec.shares_start)


def test_a_scan_is_planned_by_its_runs_and_their_size():
    def planned(**options):
        load = scan(table_size=2_000_000, options=options)
        return plan(study({"a": {}, "b": {}}, workload=load, minutes=60))

    few, many = planned(engine="MyISAM", runs="3"), planned(engine="MyISAM", runs="6")
    assert many.measure == pytest.approx(2 * few.measure)
    assert many.blocks < few.blocks


def test_blocks_of_a_live_server_come_in_pairs_of_mirrored_order():
    orders = [block_order(7, block, NAMES, mirrored=True) for block in range(1, 401)]
    assert all(second == first[::-1] for first, second in zip(orders[::2], orders[1::2], strict=True))
    assert 60 < sum(first[0] == "1" for first in orders[::2]) * 2 < 140


def live(washout=2.0, **changes):
    spec = live_spec(Live(effects={"400": 1.0}))
    return spec.model_copy(update={"place": spec.place.model_copy(update={"washout": washout}), "warmup": washout, **changes})


def test_a_study_of_a_live_server_has_periods_of_a_minute_after_a_washout_and_time_to_observe():
    planned = plan(live(measure=None, washout=15, minutes=240))
    assert (planned.measure, planned.warmup) == (60, 15)
    assert planned.blocks * 2 * planned.trial_seconds <= 240 * 60 - 600


def test_a_budget_of_a_live_server_that_decides_nothing_is_refused_with_the_one_that_does():
    with pytest.raises(UserError, match="nothing is decided before 16") as refused:
        plan(live(measure=60, washout=5, minutes=30))
    assert "Give --minutes 45" in refused.value.remedy
    plan(live(measure=60, washout=5, minutes=45))
    with pytest.raises(UserError, match="washout of at least 1 s"):
        plan(live(washout=0))


def test_a_live_study_that_lengthened_its_washout_is_not_refused_when_it_is_resumed():
    longer = plan(live(measure=60, washout=30, warmup=5, minutes=45))
    assert (longer.warmup, longer.blocks) == (30, 11)
    with pytest.raises(UserError, match="nothing is decided before 16"):
        plan(live(measure=60, washout=30, minutes=45))


def reporting_every(seconds, **more):
    spec = study({"a": {}, "b": {}}, **{"minutes": 60, **more})
    load = spec.workload.model_copy(update={"traits": LoadTraits(interval=seconds)})
    return spec.model_copy(update={"workload": load})


def test_a_load_that_reports_every_ten_seconds_is_measured_for_three_reports_at_least():
    planned = plan(reporting_every(10.0, minutes=8))
    assert planned.measure >= 30
    assert planned.warmup >= 10


@pytest.mark.parametrize(
    ("more", "says"),
    [({"measure": 20.0}, "measures 3 reports at least"), ({"goal": Goal.STABILITY}, "how single seconds vary")],
)
def test_goals_that_long_intervals_cannot_show_are_refused(more, says):
    with pytest.raises(UserError, match=says):
        plan(reporting_every(10.0, **more))
    plan(reporting_every(1.0, **more))


def test_a_tune_measures_three_reports_of_its_load_at_least_in_each_trial():
    def tune(seconds):
        plan_of_tune = TunePlan(variables=[CAPACITY], search_seconds=seconds, proof_seconds=30, start_seconds=9, set_seconds=5)
        return reporting_every(10.0, minutes=120).model_copy(update={"question": plan_of_tune})

    with pytest.raises(UserError, match="measures 3 reports at least"):
        plan(tune(15))
    assert plan(tune(30)).measure == 30


def test_a_goal_that_no_figure_of_the_load_shows_is_refused():
    spec = study({"a": {}, "b": {}}, minutes=60)
    silent = spec.workload.model_copy(update={"traits": LoadTraits(has_latency=False)})
    plan(spec.model_copy(update={"workload": silent}))
    with pytest.raises(UserError, match="reports neither p95 latency nor its mean"):
        plan(spec.model_copy(update={"workload": silent, "goal": Goal.LATENCY}))


def test_a_long_restore_that_was_measured_is_part_of_each_trial_that_starts_a_server(spec):
    def trial_seconds(switch, **facts):
        restore = Restore(way=RestoreWay.PAGES, **facts)
        return plan(
            spec.model_copy(update={"switch": switch, "place": SandboxPlace(restore=restore), "minutes": 120.0})
        ).trial_seconds

    without = trial_seconds(Switch.RESTART, seconds=0, measured=True)
    assert trial_seconds(Switch.RESTART, seconds=40, measured=True) == pytest.approx(without + 40)
    assert trial_seconds(Switch.RESTART, seconds=40) == without, "a guess refuses no budget"
    assert trial_seconds(Switch.RESTART, seconds=3, measured=True) == without
    assert trial_seconds(Switch.SET, seconds=40, measured=True) == trial_seconds(Switch.SET, seconds=0, measured=True)

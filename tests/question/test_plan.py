import pytest

from dialin.errors import UserError
from dialin.model.study import Switch
from dialin.question.plan import BLOCKS_NEEDED, block_order, load_seed, plan
from fixtures.studies import scan, study

NAMES = ["1", "2", "4", "8"]


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


def test_a_budget_that_holds_too_few_blocks_is_refused_and_the_remedy_suffices(spec):
    short = spec.model_copy(update={"minutes": 1})
    with pytest.raises(UserError, match=r"--minutes (\d+)") as refused:
        plan(short)
    needed = int(refused.value.remedy.split("--minutes ")[1].split()[0])
    assert plan(spec.model_copy(update={"minutes": needed})).blocks >= BLOCKS_NEEDED


def test_a_scan_is_planned_by_its_runs_and_their_size():
    def planned(**options):
        load = scan(table_size=2_000_000, options=options)
        return plan(study({"a": {}, "b": {}}, workload=load, minutes=60))

    few, many = planned(engine="MyISAM", runs="3"), planned(engine="MyISAM", runs="6")
    assert many.measure == pytest.approx(2 * few.measure)
    assert many.blocks < few.blocks

import pytest

from dialin.report import wait_groups
from dialin.report.document import wait_tables
from fixtures import example_reasons, example_studies

NAMES = [str(2**power) for power in range(7)]
LABELS = {name: name for name in NAMES}


def full():
    return example_reasons.full(example_studies.winner())


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0 ns"), (312, "312 ns"), (1_234, "1.23 µs"), (45_600_000, "45.6 ms"), (2.5e9, "2.50 s")]
)
def test_a_time_is_reported_in_the_unit_that_suits_it(value, text):
    assert wait_groups.nanoseconds(value) == text


def cells(group):
    return wait_tables.table(group, 1, LABELS, by_operation=False).rows[0].cells


def test_times_stand_beside_cycles_and_the_shares_of_the_longest():
    (group,) = wait_groups.groups(full(), NAMES)
    candidate, count, _, mean, *_, worst, ten = cells(group)
    assert (candidate.text, count.text) == ("1", "2,763,790")
    assert (mean.text, mean.detail) == ("1.40 µs", ["4,060"])
    assert (worst.text, ten.text) == ("71.0 %", "64.0 %")


def test_a_timer_whose_frequency_is_not_known_has_no_cycles():
    why = full()
    none = dict.fromkeys(
        ("mean_cycles", "p50_cycles", "p90_cycles", "p99_cycles", "p999_cycles", "max_cycles", "total_cycles"), 0.0
    )
    (group,) = wait_groups.groups(why.model_copy(update={"waits": [why.waits[0].model_copy(update=none)]}), NAMES)
    assert {cell.detail[0] for cell in cells(group) if cell.detail} == {"–"}


def test_operations_are_reported_apart_only_where_there_are_several():
    why = full()
    (group,) = wait_groups.groups(why, NAMES)
    assert [row.operation for row in group.operations[:2]] == ["shared_lock", "exclusive_lock"]
    one = [wait for wait in why.waits if wait.operation != "exclusive_lock"]
    assert wait_groups.groups(why.model_copy(update={"waits": one}), NAMES)[0].operations == []


def test_the_instrument_that_took_most_time_comes_first():
    why = full()
    small = [wait.model_copy(update={"instrument": "small", "total_ms": 1.0}) for wait in why.waits[:3]]
    found = wait_groups.groups(why.model_copy(update={"waits": [*small, *why.waits]}), NAMES)
    assert [group.instrument for group in found] == [why.waits[0].instrument, "small"]


def test_words_say_where_the_mean_lies_above_the_p99():
    (group,) = wait_groups.groups(full(), NAMES)
    reported = wait_groups.description(group, LABELS)
    assert reported.endswith("For 1, 2, 4, 8, 16, 32 and 64 the mean is above the p99: a few long waits dominate it.")


def test_events_that_were_lost_and_what_collecting_cost_are_reported():
    rows = wait_tables.collected_table(full().wait_trials, LABELS, "tps").rows
    first, second = ([cell.text for cell in row.cells] for row in rows[:2])
    assert first[3:6] == ["1,204,311", "31,207 (2.5 %)", "CYCLE at 2,900 MHz"]
    assert (first[-1], second[-1], second[4]) == ("–", "−14.0 %", "none")


def test_obstacles_to_collecting_are_reported_of_their_candidate():
    why = full()
    trials = [why.wait_trials[0].model_copy(update={"notes": ["3 waits ended before they began"]}), *why.wait_trials[1:]]
    labels = {name: f"value {name}" for name in NAMES}
    assert wait_groups.notes(why.model_copy(update={"wait_trials": trials}), labels) == [
        f"value {trials[0].candidate}: 3 waits ended before they began."
    ]

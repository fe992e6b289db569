from dialin.stats.summaries import at_share, box, resolvable_shares


def test_a_box_holds_the_percentiles_of_all_seconds_and_not_of_those_drawn():
    one = box([float(value) for value in range(101)])
    assert (one.low, one.first, one.median, one.third, one.high, one.worst) == (5, 25, 50, 75, 95, 0)


def test_one_second_is_its_own_box_and_none_has_none():
    assert box([7.0]).low == box([7.0]).high == 7.0
    assert box([]) is None


def test_a_share_is_reached_by_the_first_value_that_covers_it():
    values = [1.0, 2.0, 3.0, 4.0]
    assert [at_share(values, share) for share in (0.0, 0.25, 0.5, 0.51, 1.0)] == [1.0, 1.0, 2.0, 3.0, 4.0]


def test_few_values_resolve_few_shares():
    assert resolvable_shares(10)[-1] == 0.9
    assert resolvable_shares(1000)[-1] == 0.999

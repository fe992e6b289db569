import pytest

from dialin.stats.counted_times import known_percentile, percentile


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1.0), (0.5, 1.0), (0.51, 2.0), (0.95, 3.0), (1.0, 3.0)])
def test_a_percentile_is_the_time_that_this_share_did_not_exceed(share, expected):
    assert percentile({3.0: 20, 1.0: 50, 2.0: 30}, share) == expected


def test_nothing_has_no_percentile():
    assert percentile({}, 0.5) is None
    assert known_percentile({}, 0.5) is None


@pytest.mark.parametrize(
    ("count", "share", "is_known"), [(19, 0.95, False), (20, 0.95, True), (99, 0.99, False), (100, 0.99, True)]
)
def test_a_percentile_of_too_few_transactions_is_not_known(count, share, is_known):
    assert (known_percentile({7.0: count}, share) == 7.0) is is_known

from hypothesis import given
from hypothesis import strategies as st

from dialin.stats.standings import pareto_front

figures = st.dictionaries(
    st.sampled_from("abcdefgh"), st.tuples(st.sampled_from([90.0, 100.0, 110.0, 120.0]), st.sampled_from([-0.01, -0.05, -0.2]))
)


def test_of_a_steady_and_a_fast_one_both_are_a_good_trade():
    assert pareto_front({"8": (1318, -0.074), "32": (1370, -0.074), "64": (1250, -0.029)}) == {"32", "64"}


def test_a_candidate_both_slower_and_less_steady_is_not_on_the_front():
    assert pareto_front({"a": (100, -0.1), "b": (110, -0.05), "c": (105, -0.2)}) == {"b"}


def test_those_that_are_alike_stand_together():
    assert pareto_front({"a": (100, -0.1), "b": (100, -0.1), "c": (99, -0.1)}) == {"a", "b"}


def test_as_fast_and_steadier_is_better():
    assert pareto_front({"a": (100, -0.1), "b": (100, -0.2)}) == {"a"}


def test_one_alone_is_the_best_there_is():
    assert pareto_front({"a": (0, -5)}) == {"a"}
    assert pareto_front({}) == frozenset()


@given(figures)
def test_nothing_on_the_front_is_beaten_and_all_else_is_by_something_on_it(result):
    best = pareto_front(result)
    assert bool(best) == bool(result)

    def beaten(name, other):
        (speed, steadiness), (other_speed, other_steadiness) = result[name], result[other]
        return other_speed >= speed and other_steadiness >= steadiness and result[name] != result[other]

    assert not any(beaten(name, other) for name in best for other in result)
    assert all(any(beaten(name, other) for other in best) for name in result if name not in best)

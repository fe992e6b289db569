"""What a transaction costs, and how exactly one trial shows it, on data of known answer."""

import random
from dataclasses import replace
from statistics import fmean, stdev

import pytest

from dialin.measures.costs import costs_per_transaction
from dialin.measures.of_trials import timed_trials, value
from dialin.measures.table import MEASURES
from dialin.model.evidence import PointColumns, Watched
from dialin.model.study import Goal
from dialin.model.trial import CostFigure, Costs, Sample, Step, Trial, TrialState
from dialin.model.workload import WorkloadSpec
from dialin.stats.trial_figures import figures, figures_of_trial
from dialin.stats.trial_fit import TimedTrial, fit_trials

CPU = ("server_cpu_user", "server_cpu_system")


def sample(second, tps, threads=4, lost=False):
    return Sample(second, 1000.0 + second, Step.MEASURE, tps, 0, 0, 0, 5.0, 0, 0, threads=threads, gap=1.0 if lost else 0.0)


def reading(seconds, cpu_of, tps_of, threads=None):
    """Return the trial of a server whose CPU seconds and transactions in each second are given."""
    tps, cpu = [tps_of(n) for n in range(seconds)], [cpu_of(n) for n in range(seconds)]
    samples = [sample(n + 1, tps[n], threads[n] if threads else 4) for n in range(seconds)]
    names = (("process", "threads"), *(("process", name) for name in CPU))
    at, which, values = [1000.0], [0], [40.0]
    for n in range(seconds):
        at += [1001.0 + n] * 3
        which += [0, 1, 2]
        values += [40.0, 0.75 * cpu[n], 0.25 * cpu[n]]
    watched = Watched("process", float(seconds), {CPU[0]: 0.75 * sum(cpu), CPU[1]: 0.25 * sum(cpu)})
    return [watched], PointColumns(names, at, which, values), samples


def test_a_cost_is_what_was_counted_divided_by_the_transactions():
    costs = costs_per_transaction(*reading(20, lambda _: 1.5, lambda _: 1000.0))
    assert costs[Goal.CPU].value == pytest.approx(1.5), "1.5 s for 1,000 transactions are 1.5 ms each"
    assert set(costs) == {Goal.CPU}, "no probe read the status of the server"


def test_seconds_that_the_host_lost_count_in_both_because_the_counters_include_them():
    watched, points, samples = reading(20, lambda n: 0.2 if n == 7 else 1.0, lambda n: 200.0 if n == 7 else 1000.0)
    samples[7] = sample(8, 200.0, lost=True)
    assert costs_per_transaction(watched, points, samples)[Goal.CPU].value == pytest.approx(1.0)


def test_the_error_of_a_cost_is_how_far_trials_scatter():
    rng = random.Random(5)
    trials = []
    for _ in range(300):
        load = [rng.gauss(1000, 200) for _ in range(40)]
        each = [1e-3 * rng.gauss(1, 0.2) for _ in range(40)]
        trials.append(costs_per_transaction(*reading(40, lambda n, load=load, each=each: load[n] * each[n], load.__getitem__)))
    costs = [one[Goal.CPU] for one in trials]
    scatter = stdev(one.value for one in costs) / fmean(one.value for one in costs)
    assert fmean(one.error for one in costs) == pytest.approx(scatter, rel=0.15)


def test_a_cost_that_follows_the_load_exactly_has_next_to_no_error_however_the_load_varies():
    rng = random.Random(1)
    load = [rng.uniform(200, 1800) for _ in range(40)]
    costs = costs_per_transaction(*reading(40, lambda n: load[n] / 500, load.__getitem__))
    assert costs[Goal.CPU].value == pytest.approx(2.0)
    assert costs[Goal.CPU].error < 1e-6


def test_each_number_of_threads_has_its_own_cost_and_their_difference_is_no_error():
    costs = costs_per_transaction(
        *reading(40, lambda n: 1.0 if n < 20 else 4.0, lambda _: 1000.0, threads=[1] * 20 + [64] * 20)
    )
    assert costs[Goal.CPU].value == pytest.approx(2.5)
    assert costs[Goal.CPU].error < 1e-6


def test_too_few_readings_show_no_error_and_no_transactions_no_cost():
    assert costs_per_transaction(*reading(3, lambda _: 1.5, lambda _: 1000.0))[Goal.CPU].error == 0.0
    assert costs_per_transaction(*reading(20, lambda _: 1.5, lambda _: 0.0)) == {}


def trial(number, costs):
    costs = Costs(20.0, 1.0, 10.0, 12.0, 4, 4, costs)
    return Trial(number, 1, 1, 1, "a", TrialState.DONE, 0.0, costs=costs)


def test_the_best_possible_cost_is_the_best_and_an_unknown_one_is_not_compared():
    samples = [sample(n, 1000.0) for n in range(1, 11)]
    free, dear, unknown = (
        trial(1, {Goal.IO: CostFigure(0.0)}),
        trial(2, {Goal.IO: CostFigure(8.0, 0.02)}),
        trial(3, {}),
    )
    known = {one.id: figures_of_trial(one, {one.id: samples}, WorkloadSpec()) for one in (free, dear, unknown)}
    compared = timed_trials((free, dear, unknown), known, Goal.IO)
    assert [one.value for one in compared] == [pytest.approx(1000.0), pytest.approx(1 / 8)]
    assert [one.error for one in compared] == [0.0, 0.02]
    assert value(known[3], Goal.IO) is None


def test_a_trial_in_which_nothing_was_done_has_the_worst_figure_by_every_goal():
    nothing = figures([sample(n, 0.0) for n in range(1, 11)])
    assert {value(nothing, goal) for goal in Goal} == {0.0}


def test_every_measure_passes_the_error_of_a_trial():
    seconds = [replace(sample(n, 1000.0 + 50 * (n % 3)), latency_ms=5.0 + n % 4) for n in range(1, 21)]
    known = figures_of_trial(trial(1, dict.fromkeys(Goal, CostFigure(2.0, 0.03))), {1: seconds}, WorkloadSpec())
    assert known is not None
    assert all(row.error(known) > 0 for row in MEASURES.values())


def test_candidates_whose_costs_differ_a_thousandfold_have_their_own_levels():
    trials = [
        TimedTrial("run", name, 60.0 * place, MEASURES[Goal.IOPS].compared(cost * (1 + 0.01 * (place % 3))), 0.01)
        for place, (name, cost) in enumerate([("a", 2.0), ("b", 0.002)] * 4)
    ]
    fitted = fit_trials(trials, ("a", "b"))
    assert 1 / fitted.level("a", 0.05).mean == pytest.approx(2.0, rel=0.02)
    assert 1 / fitted.level("b", 0.05).mean == pytest.approx(0.002, rel=0.02)

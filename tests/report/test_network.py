"""The share of the network in the latency of a study on a server elsewhere, on figures of known answer."""

from dataclasses import replace

import pytest

from dialin.model.trial import Step
from dialin.report.document import facts
from dialin.trials import network
from fixtures.study_builder import VARIABLE, Plan, Shape, build


@pytest.fixture
def record():
    return build([Shape(str(value), {VARIABLE: value}, 100.0) for value in (1, 4)], None, Plan(blocks=3, measure=10))


def elsewhere(record, *, trips, statements, tps, threads):
    """A study whose trials have these round trips in ms, and seconds of so many transactions of so many statements."""
    watched = {trial.id: {network.PROBE: network.as_watched(*trips)} for trial in record.trials}
    second = {"step": Step.MEASURE, "tps": tps, "reads": tps * statements, "writes": 0.0, "other": 0.0, "threads": threads}
    samples = {number: [replace(one, **second) for one in seconds] for number, seconds in record.samples.items()}
    return replace(record, watched=watched, samples=samples)


def test_each_statement_of_a_transaction_waits_for_one_round_trip(record):
    # 8 threads with 200 transactions/s: 40 ms each, of which 20 statements at 0.5 ms on average are 10 ms
    text = facts.network(elsewhere(record, trips=(0.4, 0.6), statements=20, tps=200.0, threads=8))
    assert text.startswith("round trip 0.40 ms before the load and 0.60 ms after it")
    assert text.endswith("a transaction waits for 20 of them, about 25.0 % of its 40.0 ms")


def test_at_a_fixed_rate_threads_may_have_nothing_to_do_so_only_the_round_trip_is_shown(record):
    study = elsewhere(record, trips=(0.4, 0.6), statements=20, tps=200.0, threads=8)
    workload = study.spec.workload.model_copy(update={"rate": 200})
    text = facts.network(replace(study, spec=study.spec.model_copy(update={"workload": workload})))
    assert text == "round trip 0.40 ms before the load and 0.60 ms after it, in the median trial"


def test_on_one_machine_there_is_nothing_to_show(record):
    assert facts.network(record) == ""
    assert "network" not in dict(facts.settings(record))


def test_the_shortest_of_several_round_trips_counts(clock):
    delays = iter([0.004, 0.002, *[0.003] * 18])
    assert network.round_trip_ms(lambda statement: clock.sleep(next(delays)), clock) == pytest.approx(2.0)

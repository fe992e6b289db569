"""What a rate that was asked for came to is reported, each number of threads by what was measured with it."""

from __future__ import annotations

import pytest

from dialin.model.evidence import Gauge, Watched
from dialin.model.study import Goal
from dialin.model.trial import Sample, Step, Trial, TrialState
from dialin.model.workload import WorkloadSpec
from dialin.sentences.notes import add_note_texts
from dialin.verdict import rates
from fixtures.studies import study


def at_rate(rate, goal=Goal.LATENCY, levels=()):
    load = WorkloadSpec(rate=rate, levels=levels, threads=max(levels, default=16))
    return study({"a": {}, "b": {}, "c": {}}, workload=load, goal=goal)


def trial(number, candidate):
    return Trial(id=number, block=1, session=1, position=1, candidate=candidate, state=TrialState.DONE, started=0.0)


def seconds(tps, *, count=60, threads=16, begin=0):
    return [Sample(begin + n, 0.0, Step.MEASURE, tps, 0, 0, 0, 5.0, 0, 0, threads=threads) for n in range(1, count + 1)]


def reported(spec, reached, watched=None):
    """Return the notes on a trial of each candidate, which came to so many transactions a second."""
    trials = [trial(number, name) for number, name in enumerate(reached, 1)]
    samples = {one.id: seconds(reached[one.candidate]) for one in trials}
    return {
        note.code: note
        for note in add_note_texts(spec, [note.stored() for note in rates.notes(spec, trials, samples, watched or {})])
    }


def load_figures(**figures):
    return {1: {"load": Watched("load", 60.0, gauges={name: Gauge(f, f, f, f, f) for name, f in figures.items()})}}


def test_a_rate_that_was_reached_or_never_requested_is_not_reported_of():
    assert reported(at_rate(1000), {"a": 995, "b": 1000}) == {}
    assert reported(at_rate(0), {"a": 995, "b": 1000}) == {}


def test_a_rate_that_was_not_reached_is_reported_with_what_was():
    note = reported(at_rate(1000), {"a": 900, "b": 1000})["rate_not_reached"]
    assert "The rate of 1000 transactions/s was not reached in 1 of 2 trials (a): the lowest was 900" in note.text
    assert "their latency includes the wait" in note.text
    assert note.data.items() >= {"asked": 1000, "achieved": 900, "candidates": ["a"], "trials": [1], "of": 2}.items()


@pytest.mark.parametrize(
    ("rate", "achieved", "missed"), [(10, 9.5, False), (10, 8.0, True), (5000, 4970, False), (5000, 4900, True)]
)
def test_a_shortfall_of_a_low_rate_by_chance_is_no_miss(rate, achieved, missed):
    assert ("rate_not_reached" in reported(at_rate(rate), {"a": achieved})) is missed


def test_each_number_of_threads_is_judged_by_its_own_seconds():
    spec, one = at_rate(1000, levels=(1, 16)), trial(1, "a")
    samples = {1: [*seconds(250, threads=1), *seconds(1000, threads=16, begin=60)]}
    (note,) = add_note_texts(spec, [note.stored() for note in rates.notes(spec, [one], samples, {})])
    assert "the lowest was 250 with 1 thread" in note.text
    # 1000 and 250 have a geometric mean of 500, which nothing measured.
    assert note.data["achieved"] == 250


def test_dropped_transactions_are_counted_and_latency_is_not_said_to_tell_of_them():
    notes = reported(at_rate(1000), {"a": 900}, load_figures(dropped=1234.0, late_ms=0.1))
    assert (
        "1,234 transactions were due and never began, in 1 of 1 trial (a), warm-up included"
        in notes["transactions_dropped"].text
    )
    assert "their latency includes the wait" not in notes["rate_not_reached"].text


def test_dropped_transactions_of_each_number_of_threads_are_summed_up():
    spec = at_rate(1000, levels=(1, 16))
    gauges = {"dropped": Gauge(100.0, 0.0, 0.0, 100.0, 50.0)}
    notes = rates.notes(spec, [trial(1, "a")], {1: seconds(1000)}, {1: {"load": Watched("load", 60.0, gauges=gauges)}})
    assert [note.dropped for note in notes] == [100]


@pytest.mark.parametrize("rate", [0, 1000])
@pytest.mark.parametrize(("share", "named"), [(0.08, False), (0.4, True)])
def test_the_drivers_own_part_of_latency_is_reported_with_and_without_a_rate(rate, share, named):
    notes = reported(at_rate(rate), {"a": 1000, "b": 1000}, load_figures(driver_share_p99=share, driver_added_p99_ms=38.1))
    assert ("driver_added" in notes) is named
    if named:
        text = notes["driver_added"].text
        assert "The load driver itself added up to 38.1 ms to p99 of latency in 1 of 2 trials (a), up to 40.0 % of it" in text
        assert "not the server" in text
        assert "--load-cpus" in text


@pytest.mark.parametrize(("hosts", "share", "named"), [(2, 0.05, False), (2, 0.35, True), (1, 0.35, False)])
def test_the_part_of_separate_queues_in_latency_is_reported(hosts, share, named):
    spec = at_rate(1000)
    addresses = tuple(f"10.0.0.{number}:7306" for number in range(1, hosts + 1))
    spec = spec.model_copy(update={"workload": spec.workload.model_copy(update={"load_hosts": addresses})})
    notes = reported(spec, {"a": 1000}, load_figures(queued_share=share, queued_ms=2.4))
    assert ("separate_queues" in notes) is named
    if named:
        text = notes["separate_queues"].text
        assert "Each of the 2 load hosts has its own queue" in text
        assert "up to 2.40 ms on average, 35.0 % of latency" in text
        assert "at most that" in text


@pytest.mark.parametrize(("share", "named"), [(0.6, False), (0.97, True)])
def test_a_load_thread_that_fills_a_cpu_is_named_as_the_limit(share, named):
    notes = reported(at_rate(0), {"a": 900}, load_figures(busiest_thread=share))
    assert ("busy_load_thread" in notes) is named
    if named:
        text = notes["busy_load_thread"].text
        assert text.startswith(
            "The load driver was the limit in 1 of 1 trial (a): its busiest load thread used up to 97.0 % of a CPU"
        )
        assert "--load-cpus" in text


def test_transactions_that_were_open_at_the_end_are_reported_because_no_latency_includes_them():
    notes = reported(at_rate(0), {"a": 900}, load_figures(unfinished=404.0, unfinished_ms=2010.0, failed_ms=0.0))
    text = notes["unfinished_transactions"].text
    assert "404 transactions had not finished at the end of 1 of 1 trial (a); the oldest was due 2.0 s before" in text
    assert "slow_failures" not in notes
    assert reported(at_rate(0), {"a": 900}, load_figures(unfinished=16.0, unfinished_ms=20.0, failed_ms=40.0)) == {}


def test_a_slow_failure_is_reported_because_latency_includes_successes_only():
    note = reported(at_rate(0), {"a": 900}, load_figures(unfinished=0.0, unfinished_ms=0.0, failed_ms=50_000.0))[
        "slow_failures"
    ]
    assert "The slowest failed transaction took 50.0 s, longer than any that succeeded, in 1 of 1 trial (a)" in note.text


def test_statements_that_could_not_be_prepared_are_reported_with_the_variable_to_raise():
    note = reported(at_rate(0), {"a": 900}, load_figures(unprepared=640.0))["statements_unprepared"]
    assert "Up to 640 statements per trial could not be prepared, in 1 of 1 trial (a)" in note.text
    assert "max_prepared_stmt_count" in note.text
    assert reported(at_rate(0), {"a": 900}, load_figures(unprepared=0.0)) == {}


def test_throughput_is_said_to_tell_nothing_of_candidates_that_kept_up():
    spec = at_rate(1000, Goal.THROUGHPUT)
    all_of_them = reported(spec, {"a": 1000, "b": 1000, "c": 1000})["rate_reached"]
    assert all_of_them.text.startswith("All candidates kept up with the rate of 1000 transactions/s")
    assert "--goal latency" in all_of_them.text
    some = reported(spec, {"a": 1000, "b": 1000, "c": 900})["rate_reached"]
    assert some.text.startswith("a and b kept up")
    assert "rate_reached" not in reported(spec, {"a": 1000, "b": 900, "c": 900})
    assert "rate_reached" not in reported(at_rate(1000), {"a": 1000, "b": 1000, "c": 1000})


def test_it_is_said_before_a_study_begins_that_a_rate_and_throughput_do_not_go_together():
    assert "--goal latency" in rates.rate_warning(500, Goal.THROUGHPUT)
    assert rates.rate_warning(500, Goal.LATENCY) == rates.rate_warning(0, Goal.THROUGHPUT) == ""

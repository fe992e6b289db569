"""Whether hosts agree, on trials of known truth."""

import random

import pytest

from dialin.model.record import kind_of
from dialin.model.study import Until
from dialin.model.verdict import CandidateState, Outcome, ReasonCode
from dialin.question.plan import plan
from dialin.race.runner import Runner
from dialin.sentences.notes import note_text
from dialin.stats.host_effects import fit_groups, host_interactions
from dialin.stats.trial_fit import TimedTrial
from dialin.store.store import Store
from dialin.testing.fake_clock import FakeClock
from fixtures.silent_watcher import Silent
from fixtures.simulated_fleet import SimulatedFleet
from fixtures.simulated_runs import simulated

MARGIN, SHOWN = 0.01, 2.3


def trials(gains, noises, blocks=12, seed=1):
    """Trials of a baseline and of "8" on hosts with a gain and a noise each, whose levels differ by 30 %."""
    chance, made = random.Random(seed), []
    for number, (gain, noise) in enumerate(zip(gains, noises, strict=True)):
        level = 1000 * (1 + 0.3 * number / len(gains))
        for block in range(blocks):
            for place, name in enumerate(chance.sample(["1", "8"], 2)):
                value = level * (1 + (gain if name == "8" else 0)) * (1 + chance.gauss(0, noise))
                made.append(TimedTrial((1, f"host-{number}"), name, 40.0 * block + 20 * place, value))
    return made


def interaction(made):
    (one,) = host_interactions(fit_groups(made, ["1", "8"], lambda run: run[1]), ["1", "8"], "1", 0.95)
    return one


def test_hosts_of_one_truth_agree_though_they_differ_in_level_and_noise():
    found = interaction(trials([0.1] * 4, [0.01, 0.03] * 2))
    assert not found.differs
    assert found.p > 0.05
    assert all(0.05 < one.mean < 0.15 for one in found.differences.values())


def test_a_gain_of_ten_percent_on_half_of_the_hosts_is_a_disagreement():
    found = interaction(trials([0.1, 0.1, 0.0, 0.0], [0.01, 0.03] * 2))
    assert found.differs
    assert found.contradicts(MARGIN, SHOWN)


def test_gains_that_differ_in_size_alone_are_no_contradiction():
    found = interaction(trials([0.1, 0.1, 0.3, 0.3], [0.01] * 4))
    assert found.differs
    assert not found.contradicts(MARGIN, SHOWN)


def test_hosts_whose_estimates_are_all_gains_disagree_where_one_of_them_does_not_show_it():
    found = interaction(trials([0.2, 0.2, 0.2, 0.02], [0.01, 0.01, 0.01, 0.05]))
    assert all(one.mean > MARGIN for one in found.differences.values())
    assert found.differs
    assert found.contradicts(MARGIN, SHOWN)


def test_a_gain_is_shown_on_each_group_or_on_none_that_was_not_measured():
    found = interaction(trials([0.1, 0.1], [0.01, 0.01]))
    assert found.is_shown_on(["host-0", "host-1"], SHOWN)
    assert not found.is_shown_on(["host-0", "host-2"], SHOWN)
    assert not found.is_shown_on([], SHOWN)


def test_one_host_has_nothing_to_disagree_with():
    groups = fit_groups(trials([0.1], [0.01]), ["1", "8"], lambda run: run[1])
    assert host_interactions(groups, ["1", "8"], "1", 0.95) == []


def test_a_candidate_that_ran_on_one_host_alone_is_not_tested():
    made = [one for one in trials([0.1, 0.0], [0.01, 0.01]) if one.run[1] == "host-0" or one.candidate == "1"]
    assert interaction(made).p == 1.0


@pytest.mark.parametrize("change", [{"cpu": "Xeon"}, {"cpus": 8}, {"memory_bytes": 32 * 1024**3}, {"disk": "HDD"}])
def test_hosts_are_of_one_kind_where_processor_memory_and_disk_are_the_same(change):
    facts = {"cpu": "EPYC", "cpus": 16, "memory_bytes": 64 * 1024**3, "disk": "NVMe", "kernel": "6.1"}
    assert kind_of(facts) == kind_of({**facts, "kernel": "6.8", "memory_bytes": 64 * 1024**3 - 4096})
    assert kind_of({**facts, **change}) != kind_of(facts)


def study(path, spec, hosts):
    """The verdict and the record of a study on hosts, each with its processor, its throughput of 4, and its noise."""
    workers = {
        name: simulated(four=four, noise=noise, facts={"cpu": cpu, "cpus": 2}) for name, (cpu, four, noise) in hosts.items()
    }
    clock = FakeClock()
    with Store.create(path, spec, created=0, dialin_version="0", command="", host={}, servers={"mysql@9.7.4": {}}) as store:
        fleet = SimulatedFleet(workers, clock)
        verdict = Runner(store, clock, Silent(), plan(spec), fleet, store.begin_session()).run()
        return verdict, store.read()


@pytest.fixture(scope="module")
def disagreeing(spec, tmp_path_factory):
    """A study on four hosts of two kinds, of which one alone gains by 4: its verdict and its record."""
    spec = spec.model_copy(update={"minutes": 12, "until": Until.BEST})
    hosts = {"a": ("EPYC", 1150), "b": ("EPYC", 1150), "c": ("Xeon", 1000), "d": ("Xeon", 1000)}
    return study(tmp_path_factory.mktemp("hosts"), spec, {name: (*one, 0.015) for name, one in hosts.items()})


def test_where_kinds_of_hosts_disagree_nothing_common_is_claimed_and_each_kind_is_shown(disagreeing):
    verdict, record = disagreeing
    assert verdict.verdict is Outcome.INCONCLUSIVE
    assert verdict.winners == []
    assert (verdict.recommended_candidate, verdict.reason_code) == ("1", ReasonCode.HOSTS_DISAGREE)
    assert {one.state for one in verdict.candidates} == {CandidateState.NO_CLAIM}
    note = verdict.warnings[0]
    assert note.code == "hosts_disagree"
    by_kind = {one["kind"]["cpu"]: one for one in note.data["effects"]}
    assert by_kind["EPYC"]["hosts"] == ["a", "b"]
    assert by_kind["EPYC"]["ratio"]["low"] > 1.05
    assert by_kind["Xeon"]["ratio"]["low"] < 1.0 < by_kind["Xeon"]["ratio"]["high"]
    text = note_text(record.spec, note)
    assert "nothing is claimed for all of them" in text
    assert "on EPYC, 2 CPUs (2 hosts); no difference shown, " in text
    assert "hosts disagree on" in verdict.headline


def test_intervals_by_host_have_the_confidence_of_the_study(spec, tmp_path):
    spec = spec.model_copy(update={"minutes": 12, "until": Until.BEST, "confidence": 0.8})
    hosts = {"a": ("EPYC", 1150, 0.015), "b": ("EPYC", 1150, 0.015), "c": ("Xeon", 1000, 0.015), "d": ("Xeon", 1000, 0.015)}
    verdict, record = study(tmp_path, spec, hosts)
    note = verdict.warnings[0]
    assert note.data["confidence"] == 0.8
    text = note_text(record.spec, note)
    assert " (80 % CI " in text
    assert "95 %" not in text


def test_a_gain_that_one_kind_of_host_is_too_noisy_to_show_is_not_claimed_for_all_of_them(spec, tmp_path):
    spec = spec.model_copy(update={"minutes": 12, "until": Until.BETTER})
    hosts = {"a": ("EPYC", 1150, 0.01), "b": ("EPYC", 1150, 0.01), "c": ("Xeon", 1040, 0.15)}
    verdict, record = study(tmp_path, spec, hosts)
    assert (verdict.verdict, verdict.winners, verdict.shown_better) == (Outcome.INCONCLUSIVE, [], False)
    assert (verdict.recommended_candidate, verdict.reason_code) == ("1", ReasonCode.NOT_ON_EACH_KIND)
    (note,) = [note for note in verdict.warnings if note.code == "not_on_each_kind"]
    assert note.data["candidate"] == "4"
    assert "not shown to be on every kind of host" in note_text(record.spec, note)
    assert "is not shown to be better on every kind of host" in verdict.headline

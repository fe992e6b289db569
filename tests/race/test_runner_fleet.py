"""Studies on several hosts whose truth is known, without servers."""

from collections import defaultdict

import pytest

from dialin.errors import DialinError, InterruptedStudyError
from dialin.model.record import LogCode
from dialin.model.study import Until
from dialin.model.trial import Purpose, TrialState
from dialin.question.plan import plan
from dialin.race.runner import CONFIRMING_BLOCKS, Runner
from dialin.store.store import Store
from dialin.testing.fake_clock import FakeClock
from fixtures.silent_watcher import Silent
from fixtures.simulated_fleet import SimulatedFleet
from fixtures.simulated_runs import Killed, raced, simulated

NAMES = ("east", "north", "west")


class Noting(Silent):
    def __init__(self):
        self.hosts = []

    def hosts_changed(self, hosts):
        self.hosts.append(tuple(hosts))


def workers(*names, **truth):
    return {name: simulated(**truth) for name in names}


def runs_in(tmp_path):
    """What runs studies on simulated hosts in a directory, again in the same one where called again."""

    def run(spec, hosts, watcher=None, directory="study", joins=(), dies=(), **others):
        path, clock = tmp_path / directory, FakeClock()
        if path.exists():
            store = Store.open(path)
        else:
            path.mkdir()
            store = Store.create(path, spec, created=0, dialin_version="0", command="", host={}, servers={"mysql@9.7.4": {}})
        fleet = SimulatedFleet(hosts, clock, joins=dict(joins), dies=dict(dies))
        with store:
            store.set_spec(spec)
            runner = Runner(store, clock, watcher or Silent(), plan(spec), fleet, store.begin_session(), **others)
            try:
                runner.run()
            finally:
                run.fleet = fleet
            return store.read()

    return run


@pytest.fixture
def on_fleet(tmp_path):
    return runs_in(tmp_path)


def minutes(spec, count, **changes):
    return spec.model_copy(update={"minutes": count, "seed": 3, **changes})


def by_block_and_host(record):
    groups = defaultdict(list)
    for trial in record.trials:
        groups[trial.block, trial.host].append(trial)
    return groups


@pytest.fixture(scope="module")
def whole(tmp_path_factory, spec):
    """A study of six minutes on three hosts, of candidates that are close together."""
    return runs_in(tmp_path_factory.mktemp("whole"))(minutes(spec, 6, until=Until.BEST), workers(*NAMES, four=1003, noise=0.03))


def test_three_hosts_run_blocks_at_once_and_a_block_never_spans_hosts(whole):
    begun = {trial.host: trial.started for trial in reversed(whole.trials)}
    assert set(begun) == set(NAMES)
    assert max(begun.values()) - min(begun.values()) < 1, "all begin at once"
    assert len({block for block, _ in by_block_and_host(whole)}) == len(by_block_and_host(whole))
    orders = {block.number: block.order for block in whole.blocks}
    for (block, _), trials in by_block_and_host(whole).items():
        ran = tuple(trial.candidate for trial in trials)
        assert ran == orders[block][: len(ran)]


def test_the_first_block_of_each_host_has_all_candidates(whole):
    for host in NAMES:
        first = min(trial.block for trial in whole.trials if trial.host == host)
        assert len(raced(whole, first)) == 3


def test_every_host_uses_the_minutes_of_the_study(on_fleet, spec, whole):
    alone = on_fleet(minutes(spec, 6, until=Until.BEST), workers("east", four=1003, noise=0.03), directory="alone")
    for host in NAMES:
        used = sum(sum(trial.steps.values()) for trial in whole.trials if trial.host == host) / 60
        assert 0.8 * 6 < used < 1.05 * 6
    assert len(whole.trials) > 2.5 * len(alone.trials)


def test_numbers_of_trials_are_unique_and_every_sample_belongs_to_one(whole):
    numbers = [trial.id for trial in whole.trials]
    assert len(numbers) == len(set(numbers))
    for trial in whole.trials:
        seconds = [sample.second for sample in whole.samples[trial.id]]
        assert seconds == list(range(1, len(seconds) + 1))


def test_a_decided_study_ends_on_all_hosts_at_once(on_fleet, spec):
    record = on_fleet(minutes(spec, 60), workers(*NAMES, four=1300))
    assert record.verdict.recommended_candidate == "4"
    assert record.looks[-1].decided
    assert on_fleet.fleet.broken_off, "the others were still at work"
    assert {trial.state for trial in record.trials} <= {TrialState.DONE, TrialState.INTERRUPTED}


def test_the_block_of_a_host_that_is_lost_is_begun_anew_elsewhere(on_fleet, spec):
    watcher = Noting()
    record = on_fleet(minutes(spec, 6), workers("east", "west", noise=0.03), dies={"west": 25.0}, watcher=watcher)
    lost = [trial for trial in record.trials if trial.host == "west"]
    assert [trial.state for trial in lost] == [TrialState.DONE, TrialState.INTERRUPTED], "what it was running is kept"
    (block,) = {trial.block for trial in lost}
    anew = [trial.candidate for trial in record.trials if trial.block == block and trial.host == "east"]
    assert tuple(anew) == record.blocks[block - 1].order, "the whole block: it does not span hosts"
    assert [line.figures["host"] for line in record.log if line.code is LogCode.HOST_LOST] == ["west"]
    assert not [line for line in record.log if line.code is LogCode.TRIAL_REPEATED]
    assert watcher.hosts == [("east", "west"), ("east",)]


def test_a_host_that_joins_takes_the_next_block_and_is_stored(on_fleet, spec):
    record = on_fleet(minutes(spec, 6, until=Until.BEST), workers("east", "west", noise=0.03), joins={"west": 100.0})
    first = next(trial for trial in record.trials if trial.host == "west")
    assert first.started == pytest.approx(1_000_100)
    assert len(raced(record, first.block)) == 3
    assert set(record.hosts) == {"east", "west"}
    assert [line.figures["host"] for line in record.log if line.code is LogCode.HOST_JOINED] == ["west"]


def test_a_study_whose_hosts_are_all_lost_ends_and_goes_on_later(on_fleet, spec):
    with pytest.raises(DialinError, match="No host is left"):
        on_fleet(minutes(spec, 6), workers("east", "west", noise=0.03), dies={"east": 70.0, "west": 80.0})
    record = on_fleet(minutes(spec, 6), workers("north", noise=0.03))
    assert record.verdict is not None
    done = [(trial.block, trial.host, trial.candidate) for trial in record.trials if trial.state is TrialState.DONE]
    assert len(done) == len(set(done))
    assert "north" in {host for _, host, _ in done}


def test_a_coordinator_that_is_killed_resumes_the_blocks_of_each_host(on_fleet, spec):
    def die(trial):
        if trial.id == 8:
            raise Killed

    with pytest.raises(Killed):
        on_fleet(minutes(spec, 6, until=Until.BEST), workers(*NAMES, four=1003, noise=0.03, before=die))
    record = on_fleet(minutes(spec, 6, until=Until.BEST), workers(*NAMES, four=1003, noise=0.03))
    done = [(trial.block, trial.candidate) for trial in record.trials if trial.state is TrialState.DONE]
    assert len(done) == len(set(done)), "each host goes on with its own block"
    assert {trial.session for trial in record.trials} == {1, 2}
    orders = {block.number: set(block.order) for block in record.blocks}
    complete = defaultdict(set)
    for block, candidate in done:
        complete[block].add(candidate)
    assert sum(complete[number] == names for number, names in orders.items()) >= len(orders) - 3


def test_a_stop_lets_every_host_finish_its_block_and_begins_no_other(on_fleet, spec):
    asked = []

    def note(trial):
        if trial.id == 2:
            asked.append(trial)

    hosts = workers(*NAMES, four=1003, noise=0.03, before=note)
    with pytest.raises(InterruptedStudyError, match="after a block"):
        on_fleet(minutes(spec, 60, until=Until.BEST), hosts, stop_asked=lambda: bool(asked))
    fleet = on_fleet.fleet
    assert len(fleet.given) == 3
    assert fleet.broken_off == []
    ran = [len(worker.ran) for worker in fleet.workers.values()]
    assert ran == [3, 3, 3]


def test_fresh_trials_that_confirm_are_shared_by_all_hosts(on_fleet, spec):
    record = on_fleet(minutes(spec, 30, confirm=True), workers(*NAMES, four=1300))
    fresh = [trial for trial in record.trials if trial.purpose is Purpose.CONFIRM]
    assert {trial.host for trial in fresh} == set(NAMES)
    assert record.verdict.confirmed.blocks == CONFIRMING_BLOCKS


def test_a_host_on_which_everything_fails_that_did_not_before_is_left_out(on_fleet, spec):
    breaking = workers("east", "west", four=1003, noise=0.03)

    def fail(trial):
        if trial.block > 2:
            breaking["west"].fails = frozenset({"1", "4", "16"})

    breaking["west"].before = fail
    record = on_fleet(minutes(spec, 12, until=Until.BEST), breaking)
    assert [line.figures["host"] for line in record.log if line.code is LogCode.HOST_LEFT_OUT] == ["west"]
    failed = [trial for trial in record.trials if trial.state is TrialState.FAILED]
    assert {trial.host for trial in failed} == {"west"}
    assert 3 <= len(failed) <= 4
    assert max(record.trials, key=lambda trial: trial.started).host == "east"

"""What the host took from a second is kept with it; servers, load and host are invented."""

from contextlib import contextmanager

import pytest

from dialin.model.build import Build, Flavour
from dialin.model.progress import Silent
from dialin.model.trial import Step, Trial, TrialState
from dialin.probes.hiccups import Hiccups
from dialin.store.store import Store
from dialin.study.plan import plan
from dialin.study.trial import Laboratory, run
from dialin.workloads.base import Second


class FakeStage:
    """A server of a build that loads no pool; it says nothing of itself."""

    build = Build(Flavour.MYSQL, (5, 5, 9), binary=None)
    pid = None

    def target(self):
        return None

    def end(self, *, well):
        pass

    def ready(self, timed):
        return self

    def instance(self):
        return self

    @contextmanager
    def connect(self):
        yield lambda statement, arguments=(): []

    def is_gone(self):
        return False


class FakeLoad:
    """The same second again and again; each moves the clock."""

    def __init__(self, clock, seconds):
        self.clock, self.left = clock, seconds

    def start(self, target, *, seed, cpus):
        return self

    def read(self, timeout):
        self.clock.sleep(1)
        self.left -= 1
        return Second(1, 100.0, 0.0, 0.0, 0.0, 20.0, 0.0, 0.0) if self.left >= 0 else None

    def cpu_seconds(self):
        return 0.0

    def stop(self):
        pass


class FakeProbe:
    """Tells a longer standstill each time it is asked."""

    def __init__(self):
        self.asked, self.running = 0, False

    def __enter__(self):
        self.running = True
        return self

    def __exit__(self, *_):
        self.running = False

    def taken(self):
        assert self.running
        self.asked += 1
        return Hiccups(gap=float(self.asked), stolen=self.asked / 100, pressure=None)


@pytest.fixture
def measured(tmp_path, spec, clock):
    """Run one trial under a load of so many seconds; its samples, the trial, and the probe."""

    def call(seconds):
        probe = FakeProbe()
        with Store.create(tmp_path, spec, created=0, dialin_version="0", command="", host={}, servers={}) as store:
            laboratory = Laboratory(
                spec=spec,
                plan=plan(spec),
                clock=clock,
                store=store,
                watcher=Silent(),
                workload=FakeLoad(clock, seconds),
                stage=lambda candidate: FakeStage(),
                hiccups=lambda clock: probe,
            )
            trial = run(laboratory, Trial(0, 1, 1, 1, "4", TrialState.RUNNING, 0.0))
            return store.samples()[1], trial, probe

    return call


def test_each_second_carries_what_the_host_took_from_it_and_the_first_nothing_from_before_the_load(measured):
    samples, trial, probe = measured(1000)
    assert trial.state is TrialState.DONE
    assert {sample.step for sample in samples} == {Step.WARM_UP, Step.MEASURE}
    assert [sample.gap for sample in samples] == [float(count) for count in range(2, len(samples) + 2)]
    assert [sample.stolen for sample in samples] == [count / 100 for count in range(2, len(samples) + 2)]
    assert {sample.pressure for sample in samples} == {None}
    assert not probe.running


def test_the_host_is_watched_no_longer_once_a_trial_has_failed(measured):
    samples, trial, probe = measured(7)
    assert trial.state is TrialState.FAILED
    assert len(samples) == 7
    assert not probe.running

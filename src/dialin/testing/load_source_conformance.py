"""The conformance tests of load sources: the test class of an implementation inherits them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dialin.clock import SystemClock
from dialin.servers.connection import connect
from dialin.workloads.base import Load, LoadSource, Second, Target


class LoadSourceConformance:
    """Tests of a load source on a server.

    A subclass whose name begins with `Test` returns from `make_source` one whose data is in the schema of `make_target`.
    """

    seconds = 2
    """How many reports each test reads."""

    def make_source(self) -> LoadSource:
        """Return a load source; a new object at each call, always of the same options."""
        raise NotImplementedError

    def make_target(self) -> Target:
        """Return the server that the load is applied to, with a private directory that is empty."""
        raise NotImplementedError

    def test_it_can_run_here(self) -> None:
        """Anything that is missing is reported before the load is started."""
        source, target = self.make_source(), self.make_target()
        source.check()
        source.check_account(target.account)

    def test_it_reports_each_second_that_it_works(self) -> None:
        """Seconds rise, rates are not negative, and some transaction is done."""
        with self._running() as load:
            seconds = self._read(load)
        numbers = [second.number for second in seconds]
        assert numbers == sorted(set(numbers))
        for second in seconds:
            figures = (second.tps, second.reads, second.writes, second.other, second.latency_ms, second.errors)
            assert min(figures) >= 0
            assert second.seconds > 0
        assert sum(second.tps for second in seconds) > 0

    def test_it_says_what_it_costs(self) -> None:
        """A trial shows what share of the machine its driver used, and stores the facts that the driver reports."""
        with self._running() as load:
            before = load.cpu_seconds()
            self._read(load)
            assert load.cpu_seconds() > before >= 0
            assert all(isinstance(value, (int, float)) for value in load.facts().values())

    def test_nothing_is_left_once_it_stopped(self) -> None:
        """The next trial has the machine for itself, and a load can be started there again."""
        for _ in range(2):
            with self._running() as load:
                self._read(load)
            assert _connections(self.make_target()) == 0

    def test_it_applies_the_load_as_it_chose_in_an_earlier_trial(self) -> None:
        """The choice of the driver in the first trial of a study applies to all later ones, from their first second on."""
        source = self.make_source().pinned(None, 0.0)
        with self._running(source) as load:
            second = self._read(load)[-1]
        assert not second.is_choosing, "it did not choose by the end of its warm-up"
        later = self.make_source().pinned(second.choice, 0.0)
        assert second.choice is None or not later.is_choosing
        with self._running(later) as load:
            assert [one.choice for one in self._read(load)] == [second.choice] * self.seconds

    @contextmanager
    def _running(self, source: LoadSource | None = None) -> Iterator[Load]:
        load = (source or self.make_source()).start(self.make_target(), threads=2, seed=1, cpus=None)
        try:
            yield load
        finally:
            load.stop()

    def _read(self, load: Load) -> list[Second]:
        seconds = [load.read(30) for _ in range(self.seconds)]
        assert None not in seconds, "it reported nothing for 30 s"
        return [second for second in seconds if second is not None]


def _connections(target: Target) -> int:
    """Return how many connections use the load's schema; a server takes a moment to notice that a client is gone."""
    clock = SystemClock()
    deadline = clock.monotonic() + 10
    with connect(target.account) as query:
        while True:
            rows = query("SELECT COUNT(*) FROM information_schema.processlist WHERE db = %s", (target.database,))
            if not rows[0][0] or clock.monotonic() > deadline:
                return int(rows[0][0])
            clock.sleep(0.1)

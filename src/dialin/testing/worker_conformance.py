"""The conformance tests of workers: the test class of an implementation inherits them."""

from __future__ import annotations

import pickle
from contextlib import AbstractContextManager, closing
from dataclasses import replace

from dialin.fleet.worker import BlockRequest, Worker
from dialin.model.trial import Trial, TrialState
from dialin.trials.events import Event, Sampled, StepBegan, TrialBegan, TrialEnded


class WorkerConformance:
    """Tests of a worker that runs a block of at least two trials.

    A subclass whose name begins with `Test` returns from `open_worker` one that is ready, and from `make_request` what it runs.
    """

    def open_worker(self) -> AbstractContextManager[Worker]:
        """Return a worker; what it started is gone once the context ends."""
        raise NotImplementedError

    def make_request(self) -> BlockRequest:
        """Return a block that the worker can run to its end."""
        raise NotImplementedError

    def test_a_request_can_be_pickled(self) -> None:
        """A worker may be another process."""
        request = self.make_request()
        assert pickle.loads(pickle.dumps(request)) == request  # noqa: S301 - our own bytes

    def test_it_says_where_it_runs(self) -> None:
        """Its host can be pickled, and has the name that its trials have."""
        with self.open_worker() as worker:
            host = worker.host
            with closing(worker.run_block(self.make_request())) as events:
                began = next(events)
        assert pickle.loads(pickle.dumps(host)) == host  # noqa: S301 - our own bytes
        assert isinstance(began, TrialBegan)
        assert began.trial.host == host.name

    def test_trials_run_in_the_order_asked_for_each_from_its_beginning_to_its_end(self) -> None:
        """The events of a trial lie between its beginning and its end, and can be pickled."""
        request = self.make_request()
        with self.open_worker() as worker:
            events = list(worker.run_block(request))
        assert pickle.loads(pickle.dumps(events)) == events  # noqa: S301 - our own bytes
        began = [event.trial.started for event in events if isinstance(event, TrialBegan)]
        assert began == sorted(set(began)), "each has the time when it began itself, not that of its block"
        for trial in request.trials:
            self._is_one_trial(trial, events)
        assert events == []

    def test_a_block_that_is_broken_off_reports_no_more(self) -> None:
        """Closing the generator ends the running trial."""
        with self.open_worker() as worker, closing(worker.run_block(self.make_request())) as events:
            assert isinstance(next(events), TrialBegan)
            events.close()
            assert list(events) == []

    def _is_one_trial(self, requested: Trial, events: list[Event]) -> None:
        began = events.pop(0)
        assert isinstance(began, TrialBegan)
        trial = began.trial
        assert trial.state is TrialState.RUNNING
        assert trial.host, "the machine that runs a trial is part of what it is compared within"
        assert replace(trial, state=requested.state, host=requested.host, started=requested.started) == requested
        between = []
        while not isinstance(event := events.pop(0), TrialEnded):
            assert not isinstance(event, TrialBegan)
            between.append(event)
        assert any(isinstance(each, StepBegan) for each in between)
        assert event.trial.state in {TrialState.DONE, TrialState.FAILED, TrialState.INTERRUPTED}
        assert (event.trial.id, event.trial.candidate, event.trial.stratum) == (trial.id, trial.candidate, trial.stratum)
        if event.trial.state is TrialState.DONE:
            seconds = [each.sample.second for each in between if isinstance(each, Sampled)]
            assert seconds == sorted(seconds) != []

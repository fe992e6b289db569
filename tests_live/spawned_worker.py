"""A worker in a process of its own, which is not forked from the one that asks: all that passes between them is pickled."""

import multiprocessing
from contextlib import contextmanager

from dialin.errors import DialinError
from dialin.fleet.local_worker import local_worker
from dialin.fleet.stop_signals import stopping_cleanly
from dialin.places.sandbox.check import resume_sandboxed
from dialin.question.plan import plan
from dialin.trials.tools import Tools
from dialin.workloads import kinds


class SpawnedWorker:
    """The side that asks."""

    def __init__(self, connection, process):
        self.process = process
        self.host = connection.recv()
        if isinstance(self.host, DialinError):
            raise self.host
        self._connection = connection

    def run_block(self, request):
        self._connection.send(request)
        ended = False
        try:
            while (event := self._connection.recv()) is not None:
                if isinstance(event, DialinError):
                    raise event
                yield event
            ended = True
        finally:
            if not ended and self.process.is_alive():
                self.process.terminate()
                self.process.join()


def _serve(connection, spec, seen, load_facts, directory):
    """The side that runs blocks: it has tools, sites and probes of its own, and no store."""
    tools, workload = Tools.open(lambda line: None), kinds.make_workload(spec.workload)
    ready = resume_sandboxed(spec, plan(spec), tools, workload, seen)
    try:
        with stopping_cleanly(), local_worker(ready, load_facts, directory, tools, lambda line: None) as worker:
            connection.send(worker.host)
            while (request := connection.recv()) is not None:
                for event in worker.run_block(request):
                    connection.send(event)
                connection.send(None)
    except DialinError as error:
        connection.send(error)
    except KeyboardInterrupt:
        pass


@contextmanager
def spawned_worker(ready, load_facts, directory):
    """A worker for a study on sandboxes."""
    context = multiprocessing.get_context("spawn")
    connection, other = context.Pipe()
    process = context.Process(target=_serve, args=(other, ready.spec, dict(ready.inspected), dict(load_facts), directory))
    process.start()
    try:
        yield SpawnedWorker(connection, process)
    finally:
        if process.is_alive():
            connection.send(None)
        process.join()

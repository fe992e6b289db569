"""A study from its beginning, or from where it was interrupted, to its verdict."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import dialin
from dialin.errors import DialinError, UserError
from dialin.fleet.fleet import FleetOfOne
from dialin.fleet.local_worker import local_worker
from dialin.model.progress import Watcher
from dialin.model.verdict import Verdict
from dialin.preflight import machine_noise
from dialin.preflight.checked import CheckedStudy
from dialin.race.progress_writer import ProgressWriter
from dialin.race.runner import Runner
from dialin.race.tune_runner import TuneRunner
from dialin.search.proposer import CONTENDERS, Proposer
from dialin.servers.processes import identity
from dialin.store import requests
from dialin.store.lock import sole_runner
from dialin.store.store import Store
from dialin.store.unfinished_files import remove_unfinished_files
from dialin.trials.tools import Tools
from dialin.workloads import load_identity


def begin(
    ready: CheckedStudy, out: Path, workshop: Tools, watcher: Watcher, command: str, proposer: Proposer = CONTENDERS
) -> Verdict:
    """Start a study in the directory `out` and run it to its verdict; the caller writes reports.

    Raises:
        UserError: the directory is in use.
        DialinError: it could not be finished; what was measured is in the directory.
    """
    out.mkdir(parents=True, exist_ok=True)
    with (
        sole_runner(out, identity(os.getpid())),
        Store.create(
            out,
            ready.spec,
            created=workshop.clock.now(),
            dialin_version=dialin.__version__,
            command=command,
            host=load_identity.facts(ready.workload),
            servers=ready.servers,
            catalogues=ready.catalogues,
        ) as store,
    ):
        for note in ready.notes:
            store.say(workshop.clock.now(), note)
        return _run(ready, out, store, workshop, watcher, proposer)


def resume(ready: CheckedStudy, directory: Path, workshop: Tools, watcher: Watcher, proposer: Proposer = CONTENDERS) -> Verdict:
    """Resume a study: no finished trial is repeated, and blocks that were begun keep their candidates.

    Raises:
        UserError: a live dialin runs it.
        DialinError: it could not be finished; what was measured is in the directory.
    """
    with sole_runner(directory, identity(os.getpid())), Store.open(directory) as store:
        store.set_spec(ready.spec)
        store.add_to_host(load_identity.later(store.host, ready.workload.version()))
        return _run(ready, directory, store, workshop, watcher, proposer)


def _run(ready: CheckedStudy, directory: Path, store: Store, workshop: Tools, watcher: Watcher, proposer: Proposer) -> Verdict:
    """Prepare the data and run the blocks; a study interrupted from here on can be resumed."""
    session = store.begin_session()
    remove_unfinished_files(store)
    requests.take_back(directory)
    progress = ProgressWriter(store, workshop.clock, watcher)

    def say(text: str) -> None:
        store.say(workshop.clock.now(), text)
        progress.message(text)

    try:
        with progress.session(), local_worker(ready, store.host, directory, workshop, say) as worker:
            stop_asked = functools.partial(requests.is_asked_to_stop, directory)
            common = (store, workshop.clock, progress, ready.plan, FleetOfOne(worker), session)
            if ready.spec.tune is not None:
                runner: Runner = TuneRunner(
                    *common, admit=ready.admit, inspect=ready.inspect, inspected=ready.inspected, stop_asked=stop_asked
                )
            else:
                runner = Runner(*common, proposer=proposer, admit=ready.admit, inspected=ready.inspected, stop_asked=stop_asked)
            verdict = runner.run()
        machine_noise.remember(workshop.home.noise, store.read())
        return verdict
    except UserError as error:
        raise DialinError(error.what, error.remedy, resumable=True) from error

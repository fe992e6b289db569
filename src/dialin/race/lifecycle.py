"""A study from its beginning, or from where it was interrupted, to its verdict."""

from __future__ import annotations

import functools
import os
from collections.abc import Generator
from pathlib import Path

import dialin
from dialin.errors import DialinError, ExitCode, UserError, machine_error, os_error
from dialin.evidence.proof_view import proof_view
from dialin.fleet.fleet_choice import ONE_HOST, FleetChoice, open_fleet
from dialin.model.cause import Fault
from dialin.model.progress import Watcher
from dialin.model.verdict import Verdict
from dialin.preflight import machine_noise
from dialin.preflight.checked import CheckedStudy
from dialin.race.recorder import ProgressWriter
from dialin.race.runner import ALONE, InSuite, Runner
from dialin.race.state import RaceState
from dialin.race.tune_runner import Admit, TuneRunner
from dialin.search.proposer import CONTENDERS, Proposer
from dialin.servers.processes import identity
from dialin.store import requests
from dialin.store.lock import CHECKS, sole_runner
from dialin.store.store import Store
from dialin.store.unfinished_files import remove_unfinished_files
from dialin.trials.tools import Tools
from dialin.variables import check
from dialin.variables.catalogue import Catalogue
from dialin.verdict.reach_verdict import reach_verdict
from dialin.workloads import load_identity


def begin(
    ready: CheckedStudy,
    out: Path,
    tools: Tools,
    watcher: Watcher,
    command: str,
    proposer: Proposer = CONTENDERS,
    hosts: FleetChoice = ONE_HOST,
    suite: InSuite = ALONE,
) -> Generator[None, None, Verdict]:
    """Start a study in the directory `out` and run it to its verdict; the caller writes reports.

    It pauses before each block; `finished` runs it without a pause, and closing the generator interrupts it. `hosts` says where
    its blocks run, and `suite` how it depends on other studies.

    Raises:
        UserError: the directory is in use, or cannot be written to.
        DialinError: it could not be finished; what was measured is in the directory.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"The study cannot be written to {out}: {error.strerror}"
        raise os_error(error, UserError(what, "Name another --out; nothing was measured")) from error
    with (
        sole_runner(out, identity(os.getpid())),
        Store.create(
            out,
            ready.spec,
            created=tools.clock.now(),
            dialin_version=dialin.__version__,
            command=command,
            host=load_identity.facts(ready.workload),
            servers=ready.servers,
            catalogues=ready.catalogues,
        ) as store,
    ):
        for note in ready.notes:
            store.say(tools.clock.now(), note)
        return (yield from _run(ready, out, store, tools, watcher, proposer, hosts, suite))


def resume(
    ready: CheckedStudy,
    directory: Path,
    tools: Tools,
    watcher: Watcher,
    proposer: Proposer = CONTENDERS,
    hosts: FleetChoice = ONE_HOST,
    suite: InSuite = ALONE,
) -> Generator[None, None, Verdict]:
    """Resume a study: no finished trial is repeated, and blocks that were begun keep their candidates. Pauses as `begin` does.

    Raises:
        UserError: another dialin is running it.
        DialinError: it could not be finished; what was measured is in the directory.
    """
    with sole_runner(directory, identity(os.getpid())), Store.open(directory) as store:
        store.set_spec(ready.spec)
        store.add_to_host(load_identity.later_driver_facts(store.host, ready.workload.version()))
        return (yield from _run(ready, directory, store, tools, watcher, proposer, hosts, suite))


def accept_weaker_durability(directory: Path) -> None:
    """Let a study recommend candidates that weaken durability, and decide again on its stored trials.

    Raises:
        UserError: there is no such study, dialin is running it, you may not write there, or it is a tune, whose search has left
            out such values.
    """
    Store.open(directory).close()
    try:
        with sole_runner(directory, CHECKS), Store.open(directory) as store:
            if store.spec.tuned:
                raise UserError(
                    "A tune leaves out values that weaken durability from the start",
                    "Start a new tune with --accept-weaker-durability",
                )
            store.set_spec(store.spec.model_copy(update={"accept_weaker_durability": True}))
            state = RaceState(store)
            if state.verdict is not None:
                verdict = reach_verdict(state.record, state.figures).verdict
                state.save_verdict(verdict, decided=bool(state.looks[-1].decided))
    except OSError as error:
        what = f"The study in {directory} cannot be written: {error.strerror}"
        raise UserError(what, "Copy it to a directory of yours") from error


def _admission(store: Store) -> Admit:
    """Return what checks the settings that a tune tries, by what was stored of its build's variables."""
    catalogues = {build: Catalogue.from_json(text) for build, text in store.read(samples=False).catalogues.items()}
    return lambda candidate: check.check_setting(candidate.setting, catalogues[candidate.server], {})


def _run(
    ready: CheckedStudy,
    directory: Path,
    store: Store,
    tools: Tools,
    watcher: Watcher,
    proposer: Proposer,
    hosts: FleetChoice,
    suite: InSuite,
) -> Generator[None, None, Verdict]:
    """Prepare the data and run the blocks; a study interrupted from here on can be resumed."""
    session = store.begin_session()
    remove_unfinished_files(store)
    requests.withdraw_stop(directory)
    progress = ProgressWriter(store, tools.clock, watcher)

    def say(text: str) -> None:
        store.say(tools.clock.now(), text)
        progress.message(text)

    try:
        with progress.session(), open_fleet(hosts, ready, store.host, directory, tools, say) as fleet:
            stop_asked = functools.partial(requests.is_asked_to_stop, directory)
            common = (store, tools.clock, progress, ready.plan, fleet, session)
            inspected = ready.inspected
            if ready.spec.tuned:
                admit, inspect = _admission(store), ready.inspect
                verdict = TuneRunner(*common, admit=admit, inspect=inspect, inspected=inspected, stop_asked=stop_asked).run()
            else:
                runner = Runner(*common, proposer=proposer, inspected=inspected, stop_asked=stop_asked, suite=suite)
                verdict = yield from runner.blocks()
        machine_noise.remember(tools.home.noise, proof_view(store.read()))
        return verdict
    except Exception as error:
        if known := machine_error(error):
            raise known from error
        if isinstance(error, DialinError) and error.fault is Fault.REQUEST:  # the study has begun: this is no misuse any more
            error.resumable, error.exit_code = True, ExitCode.NO_VERDICT
        raise

"""The protocol of a worker: the requests to it, its host, and the blocks that it runs."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from dialin.model.load_driver import DriverChoice
from dialin.model.study import StudySpec
from dialin.model.trial import EffectiveSettings, Trial
from dialin.trials.events import Event


@dataclass(frozen=True, slots=True)
class BlockRequest:
    """The trials that a block still lacks; it can be pickled.

    Attributes:
        spec: the study, with every candidate that has entered so far.
        effective: the effective settings of its candidates when they were inspected.
        trials: in the order in which they run, with their numbers; the worker fills in their host, and when each began.
        driver_choices: what the load driver chose in the study's first completed trial; where it is empty, the first trial of
            this block that completes chooses for those after it.
        measure: seconds to measure in each trial; None for as many as the study's plan says.
        floor: transactions per second below which a trial ends early; 0 for no limit.
        last_tries: the positions in the block whose trial is not repeated where a connection or the load driver is lost.
    """

    spec: StudySpec
    effective: Mapping[str, EffectiveSettings]
    trials: tuple[Trial, ...]
    driver_choices: tuple[DriverChoice, ...] = ()
    measure: float | None = None
    floor: float = 0.0
    last_tries: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class WorkerHost:
    """The machine that a worker runs on; it can be pickled.

    Attributes:
        name: the host of the worker's trials.
        facts: the inventory of the machine; see `probes.host.inventory`.
    """

    name: str
    facts: Mapping[str, Any]


class Worker(Protocol):
    """Runs blocks on one host. It owns what a trial needs there (servers, data, load, probes) and never touches the store."""

    @property
    def host(self) -> WorkerHost:
        """The machine that the worker runs on."""

    def run_block(self, request: BlockRequest) -> Generator[Event, None, None]:
        """Run trials one after another, and yield their events.

        Closing the generator early ends the trial under way: its load and its server are gone when `close` returns.

        Raises:
            DialinError: the block cannot continue; the trial under way has no `TrialEnded`.
        """

"""What a probe is: something that is watched while load runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from dialin.model.evidence import ProbeNote


@dataclass(frozen=True, slots=True)
class Reading:
    """What a probe read once.

    Attributes:
        counters: figures that only rise, since whenever; the watch takes differences.
        notes: what could not be read, and why; those that every reading repeats are stored once.
    """

    counters: Mapping[str, float] = field(default_factory=dict)
    gauges: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[ProbeNote, ...] = ()


class Probe(Protocol):
    """Something that is watched while load runs; its module says what a reading costs and which privileges it takes.

    A probe keeps nothing between readings but how to ask this server.
    """

    @property
    def name(self) -> str:
        """What its figures are stored under."""

    @property
    def period(self) -> float:
        """Seconds from one reading to the next; 0 where it is read at both ends of the measured window only."""

    def read(self) -> Reading:
        """Read it once.

        Raises:
            DialinError: it could not be read; after two times in a row it is not asked again in this trial.
        """

"""The protocol of a probe, which reads figures of the server or the machine while load runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from dialin.model.evidence import ProbeNote


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of a probe.

    Attributes:
        counters: figures that only rise, from any starting point; the watch calculates differences.
        gauges: figures that rise and fall.
        notes: what could not be read, and why; a note that readings repeat is stored once.
    """

    counters: Mapping[str, float] = field(default_factory=dict)
    gauges: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[ProbeNote, ...] = ()


class Probe(Protocol):
    """Reads figures while load runs. The module of a probe states the cost of a reading and the privileges that it needs."""

    @property
    def name(self) -> str:
        """The name under which its figures are stored."""

    @property
    def period(self) -> float:
        """Seconds from one reading to the next; 0 for readings only at both ends of the measured window."""

    def read(self) -> Reading:
        """Read the figures once.

        Raises:
            DialinError: they could not be read; after two failures in a row the probe is not read again in this trial.
        """

"""What load a study applies: what it prepares, and what it runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, field_validator

from dialin.model.frozen import FrozenModel
from dialin.model.option_types import LOAD, Addresses

TRANSACTION = "transaction"
"""The unit that most loads are counted in."""

MOST_THREADS = 65_535

_ADDRESS = re.compile(r"[^\s,]+:[1-9][0-9]{0,4}")


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of a timed query that a trial is made of, or the parts of a recording.

    Attributes:
        warm_up: how many come first and are not measured.
        measured: how many are.
        most: how many may be measured at most, to make up for those that the host lost.
        seconds: about how long one takes, for the plan; the study goes by what it measures.
        of: what they are parts of.
    """

    warm_up: int
    measured: int
    most: int
    seconds: float
    of: Literal["query", "recording"] = "query"


class LoadLimit(FrozenModel):
    """A figure of the load that must not exceed a limit, or the verdict has a caveat.

    Attributes:
        gauge: the figure, as the load reports it: a share from 0 to 1, or a ratio.
        text: its sentence, of a code that `sentences` does not know, with `{trials}` for how many trials exceeded
            the limit and `{share}` for the highest share.
        is_ratio: the figure is a ratio that should be 1, and its `distance` from it has the limit. A candidate may change it:
            the one whose trials are nearest to 1 is judged.
        is_equal: the figure is an amount that should be the same in all trials. What has the limit is by how much the smallest
            is below the largest, as a share of the largest.
    """

    gauge: str
    most: float
    code: str
    text: str = ""
    is_ratio: bool = False
    is_equal: bool = False

    def distance(self, figure: float) -> float:
        """Return the number that the limit applies to.

        A share is that number itself, and so is the difference of amounts. Of a ratio it is 0 where that is 1, and 0.5 for 1/2
        or 2.
        """
        if not self.is_ratio:
            return figure
        return 1 - min(figure, 1 / figure) if figure > 0 else 1.0

    def is_exceeded(self, figure: float) -> bool:
        return self.distance(figure) > self.most


class LoadTraits(FrozenModel):
    """What a study has to know of its load; stored with it, so that reports need no workload.

    Attributes:
        runs: how many runs of a timed query a trial is made of, each of them a sample, or parts of a recording; None where a
            trial is made of as many seconds as are planned.
        restarts: why each trial must start a server, in a sentence without its full stop; None where it need not.
        grows: its data grows or drains without end while it runs, so that trials must not follow each other on it.
        unit: what it is counted in, a noun in the singular.
        size: how much data there is, in words; empty where options of the workload say it.
        size_keys: the keys of a study file that say how much data there is, with their values.
        limits: figures of the load that add a caveat to the verdict.
        interval: seconds that a sample covers, which is how often the load reports.
        has_latency: it reports the percentile of latency that is asked for, or the mean.
        observed: it is a server's own traffic: nobody applies it, and each trial measures exactly the planned seconds.
    """

    runs: Runs | None = None
    restarts: str | None = None
    grows: bool = False
    unit: str = TRANSACTION
    size: str = ""
    size_keys: Mapping[str, int] = Field(default_factory=dict)
    limits: tuple[LoadLimit, ...] = ()
    observed: bool = False
    interval: float = 1.0
    has_latency: bool = True


MEAN = 0
"""Stored in place of a percentile of latency where the mean is reported, as of live traffic."""


def latency_name(percentile: int) -> str:
    """Return what a latency is called: `p95`, or `mean`."""
    return "mean" if percentile == MEAN else f"p{percentile}"


class LoadOptions(FrozenModel):
    """The options of a load that have one default for all kinds: the one home of each, for study files and the store."""

    rate: Annotated[int, LOAD] = Field(
        default=0, ge=0, description="transactions per second to start; 0 for as many as possible"
    )
    percentile: Annotated[int, LOAD] = Field(
        default=95, ge=1, le=99, description="percentile of latency to report, such as 95 or 99"
    )
    load_hosts: Annotated[Addresses | None, LOAD] = Field(
        default=None,
        description="agents of dialin-load on other hosts that apply the load to an attached server together, as "
        "HOST:PORT,HOST:PORT (docs/fleet.md); each has an account of its own",
    )
    load_token: Annotated[str | None, LOAD] = Field(
        default=None, description="file with the token that the agents of load-hosts share"
    )

    @field_validator("load_hosts")
    @classmethod
    def _distinct_addresses(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is None:
            return None
        for address in value:
            if not _ADDRESS.fullmatch(address):
                raise ValueError(f"{address!r} is not HOST:PORT")
        if not value or len(set(value)) != len(value):
            raise ValueError("must be one agent, or several different ones")
        return value


class WorkloadSpec(LoadOptions):
    """The load of a study, as it is stored; the home of the options that it shares with `StudyOptions`: default, limits, help.

    Attributes:
        name: a workload, or the path of its file.
        kind: the name of its kind, which applies it.
        asked: the workload as a study file names it.
        threads: connections that work at once; the most of them, where there are levels.
        levels: several numbers of threads, each of which every trial measures in turn; empty where there is one only.
        table_size: rows that are asked for in each of them.
        percentile: the percentile of latency to report; 0 for the mean.
        rand_type: the distribution that row numbers are drawn from; None leaves the driver's default.
        options: further options of the workload, by name without dashes in front.
        traits: what the study has to know of it, as its workload declares.
    """

    name: str = "oltp_read_write"
    kind: str = "sysbench"
    percentile: int = Field(default=95, ge=0, le=99)
    asked: str = Field(default_factory=lambda given: given["name"])
    threads: int = Field(default=16, ge=1, le=MOST_THREADS, description="concurrent connections")
    levels: tuple[int, ...] = ()
    tables: int = Field(default=4, ge=1, le=10_000, description="tables to prepare")
    table_size: int = Field(default=100_000, ge=1, description="rows of each table")
    rand_type: str | None = None
    options: Mapping[str, str] = Field(default_factory=dict)
    traits: LoadTraits = LoadTraits()

    @property
    def number_of_levels(self) -> int:
        """How many numbers of threads each trial measures."""
        return max(1, len(self.levels))

    @property
    def brief(self) -> str:
        """The load and its threads: `oltp_read_write, 16 threads`."""
        if self.traits.observed:
            return "live, own traffic"
        threads = " and ".join(filter(None, [", ".join(map(str, self.levels[:-1])), str(self.threads)]))
        return f"{self.asked}, {threads} {'thread' if self.threads == 1 else 'threads'}"

    def describe(self) -> str:
        if self.traits.observed:
            return self.brief
        parts = [self.brief, *([self.traits.size] if self.traits.size else [])]
        if self.rand_type:
            parts.append(self.rand_type)
        if self.rate:
            parts.append(f"{self.rate} transactions/s requested")
        if self.load_hosts:
            parts.append(f"from {len(self.load_hosts)} load {'host' if len(self.load_hosts) == 1 else 'hosts'}")
        parts += [f"{name}={value}" for name, value in self.options.items()]
        return ", ".join(parts)

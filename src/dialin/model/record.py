"""A study read from its store: all that a report needs, and nothing that reaches a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import wraps
from typing import Any, TypeVar

from dialin.model.evidence import PointColumns, RawWaits, Watched
from dialin.model.profile import Profile
from dialin.model.setting import Value
from dialin.model.study import StudySpec
from dialin.model.trial import Block, Sample, Trial, TrialState
from dialin.model.tune import TuneAsk, ask_finder
from dialin.model.verdict import TuneFindings, Verdict


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the data: a verdict was computed.

    Attributes:
        blocks: how many complete blocks there were.
        decided: whether it ended the study; None until its verdict is stored.
        trials: how many trials of the race had ended.
    """

    number: int
    blocks: int
    decided: bool | None = None
    trials: int = 0


class LogCode(StrEnum):
    """What a line of the study's log says."""

    TEXT = "text"
    HOST_JOINED = "host_joined"
    HOST_LOST = "host_lost"
    HOST_LEFT_OUT = "host_left_out"
    STOPPED = "stopped"
    TRIAL_FAILED = "trial_failed"
    TRIAL_REPEATED = "trial_repeated"
    TRIAL_DISTURBED = "trial_disturbed"
    SERVER_WENT_AWAY = "server_went_away"
    TRIAL_DISCARDED = "trial_discarded"
    OTHERS_CHANGED = "others_changed"
    CONFIRMING = "confirming"
    LONG_WINDOW = "long_window"
    CONFIRMING_CUT = "confirming_cut"
    WAITS_COLLECTED = "waits_collected"
    SEARCH_ENDED = "search_ended"
    SETTING_CHOSEN = "setting_chosen"
    TRIAL_CUT_SHORT = "trial_cut_short"
    BEST_SO_FAR = "best_so_far"
    OBSERVED = "observed"
    WASHOUT_LENGTHENED = "washout_lengthened"


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the study's log.

    Attributes:
        at: seconds since the epoch.
        figures: the values in its sentence; for `TEXT`, the sentence itself as `text`.
    """

    at: float
    code: LogCode
    figures: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_text(cls, at: float, text: str) -> LogLine:
        """Return a line whose text is given, such as a note on the checks before the study."""
        return cls(at, LogCode.TEXT, {"text": text})


@dataclass(frozen=True, slots=True)
class CourseFigures:
    """A completed trial of a tune: throughput, percentile of latency in ms (None if there is none), CV, figure of the goal."""

    throughput: float
    latency: float | None
    cv: float
    of_goal: float | None


@dataclass(frozen=True, slots=True)
class CoursePoint:
    """A trial of a tune: its place in the order, what it was for, and its figure by the goal; None where it failed."""

    place: int
    ask: TuneAsk
    trial: Trial
    figure: float | None


@dataclass(frozen=True, slots=True)
class TuneCourse:
    """How the search of a tune went.

    Attributes:
        asks: the trials that the search requested, in order.
        trials: all trials, those of the proof included.
        settings: per candidate, its setting.
        figures: the figures of each completed trial, by its id.
        findings: the results so far; None before the first trial ended.
    """

    asks: Sequence[TuneAsk] = ()
    trials: Sequence[Trial] = ()
    settings: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    figures: Mapping[int, CourseFigures] = field(default_factory=dict)
    findings: TuneFindings | None = None

    def points(self) -> list[CoursePoint]:
        """Return the trials that ended, in order; of a trial that was run again, only the last run counts."""
        find = ask_finder(self.asks)
        points: list[CoursePoint] = []
        for trial in self.trials:
            ask = find(trial)
            if ask is None or not trial.has_ended:
                continue
            figures = self.figures.get(trial.id)
            points.append(CoursePoint(len(points) + 1, ask, trial, figures.of_goal if figures else None))
        return points


_KIND = ("cpu", "cpus", "memory_gb", "disk")

HostKind = tuple[tuple[str, Any], ...]
"""What machines with the same hardware have in common."""


def kind_of(facts: Mapping[str, Any]) -> HostKind:
    """Return the kind of a host: CPU model, number of CPUs, memory in whole GiB, disk; unknown facts are left out."""
    memory = facts.get("memory_bytes")
    known = {**facts, "memory_gb": round(memory / 1024**3) if memory else None}
    return tuple((name, known[name]) for name in _KIND if known.get(name) is not None)


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """A study read from its store.

    Attributes:
        created: when it began, seconds since the epoch.
        host: the inventory of the first host, and what applied the load.
        hosts: per host that ran trials, its inventory.
        servers: per build id, what is known of it: `version`, `origin`.
        catalogues: per build id, its catalogue of the requested variables, as text (`variables.catalogue`).
        samples: per trial id, in order of time.
        watched: per trial id, what its probes saw, by probe.
        over_time: per trial id, the requested readings of its probes over time.
        waits: per trial id, the raw waits that it collected.
        profiles: per trial id, the profile of its server.
        course: how the search of a tune went; the other attributes then describe its proof. None in other studies.
    """

    directory: str
    spec: StudySpec
    created: float
    dialin_version: str
    host: Mapping[str, Any]
    servers: Mapping[str, Mapping[str, Any]]
    command: str
    hosts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    catalogues: Mapping[str, str] = field(default_factory=dict)
    blocks: Sequence[Block] = ()
    trials: Sequence[Trial] = ()
    samples: Mapping[int, Sequence[Sample]] = field(default_factory=dict)
    watched: Mapping[int, Mapping[str, Watched]] = field(default_factory=dict)
    over_time: Mapping[int, PointColumns] = field(default_factory=dict)
    waits: Mapping[int, RawWaits] = field(default_factory=dict)
    profiles: Mapping[int, Profile] = field(default_factory=dict)
    looks: Sequence[Look] = ()
    log: Sequence[LogLine] = ()
    verdict: Verdict | None = None
    course: TuneCourse | None = None
    _known: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def hosts_with_trials(self) -> Sequence[str]:
        """The hosts that completed trials, by name."""
        return sorted({trial.host for trial in self.trials if trial.state is TrialState.DONE})


_Found = TypeVar("_Found")


def once(find: Callable[[StudyRecord], _Found]) -> Callable[[StudyRecord], _Found]:
    """Let what is found in a record be computed at its first use only; nobody may change it, nor the record."""

    @wraps(find)
    def found(record: StudyRecord) -> _Found:
        if find not in record._known:
            record._known[find] = find(record)
        answer: _Found = record._known[find]
        return answer

    return found

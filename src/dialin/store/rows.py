"""Converts the rows of a study's database to objects of the model; packs the samples of a long trial."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from pydantic import TypeAdapter
from sqlalchemy import Row

from dialin.model.evidence import RawWaits, Watched
from dialin.model.progress import Progress
from dialin.model.record import LogCode, LogLine
from dialin.model.trial import Block, Purpose, Sample, Step, Trial
from dialin.model.tune import TuneAsk
from dialin.paths import parse_json

_NAMES = TypeAdapter(tuple[str, ...])
_TRIAL = TypeAdapter(Trial)
_ASK = TypeAdapter(TuneAsk)
_PROGRESS = TypeAdapter(Progress)
_WATCHED = TypeAdapter(Watched)
_WAITS = TypeAdapter(RawWaits)

HOSTS = "hosts"
"""The key in the column `host` of a study for the inventories of its hosts, by name."""

_CODED = '{"code": '
"""The beginning of a line of the log that is a code with figures, not a sentence."""


def host(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inventory of the first host in `HOSTS`, and what is known about the load."""
    first: Mapping[str, Any] = next(iter(stored.get(HOSTS, {}).values()), {})
    return {**first, **{name: value for name, value in stored.items() if name != HOSTS}}


def candidate(row: Row[Any]) -> dict[str, Any]:
    return {"name": row.name, "setting": row.setting, "server": row.server, "memory": row.memory}


def block(row: Row[Any]) -> Block:
    return Block(row.number, Purpose(row.purpose), _NAMES.validate_python(row.candidates))


def trial(row: Row[Any]) -> Trial:
    return _TRIAL.validate_python(dict(row._mapping))


def sample(row: Row[Any]) -> Sample:
    fields = {**row._mapping, "step": Step(row.step)}
    del fields["trial"]
    return Sample(**fields)


def ask(row: Row[Any]) -> TuneAsk:
    return _ASK.validate_python(dict(row._mapping))


def progress(stored: Mapping[str, Any]) -> Progress:
    return _PROGRESS.validate_python(stored)


def watched(stored: Mapping[str, Any]) -> Watched:
    return _WATCHED.validate_python(stored)


def waits(summary: Mapping[str, Any]) -> RawWaits:
    return _WAITS.validate_python(summary)


def log_column(line: LogLine) -> str:
    """Return the column `text` for a line of the log: its sentence if it is one, else its code and figures as JSON."""
    if line.code is LogCode.TEXT and not line.figures["text"].startswith(_CODED):
        return str(line.figures["text"])
    return json.dumps({"code": line.code, "figures": dict(line.figures)}, ensure_ascii=False)


def log_line(row: Row[Any]) -> LogLine:
    if not row.text.startswith(_CODED):
        return LogLine.of_text(row.at, row.text)
    stored = parse_json(row.text)
    return LogLine(row.at, LogCode(stored["code"]), stored["figures"])


_FEW = 2000
"""Samples of a trial up to which they stay as they are."""
_IN_ORDER = tuple(Step)
_NUMBERS = (
    *("second", "at", "tps", "reads", "writes", "other", "latency_ms", "errors", "reconnects"),
    *("gap", "stolen", "pressure", "threads", "seconds"),
)
"""The figures of a sample, all of which are 0 or more."""
_UNKNOWN = -1.0


class PackedSamples(Sequence[Sample]):
    """Samples as columns of numbers; each is made anew when it is asked for."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._steps = array("b", (_IN_ORDER.index(sample.step) for sample in samples))
        self._columns = [
            array("d", (_UNKNOWN if (value := getattr(sample, name)) is None else value for sample in samples))
            for name in _NUMBERS
        ]

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, place: int) -> Sample: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Sample]: ...

    def __getitem__(self, place: int | slice) -> Sample | Sequence[Sample]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        return _sample(self._steps[place], *(column[place] for column in self._columns))

    def __iter__(self) -> Iterator[Sample]:
        return map(_sample, self._steps, *self._columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of a list


def _sample(step: int, *figures: float) -> Sample:
    second, at, tps, reads, writes, other, latency, errors, reconnects, gap, stolen, pressure, threads, seconds = figures
    return Sample(
        *(int(second), at, _IN_ORDER[step], tps, reads, writes, other, latency, errors, reconnects, gap),
        stolen=None if stolen == _UNKNOWN else stolen,
        pressure=None if pressure == _UNKNOWN else pressure,
        threads=int(threads),
        seconds=seconds,
    )


def packed(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Return samples of one trial, packed where there are many."""
    return samples if len(samples) <= _FEW else PackedSamples(samples)

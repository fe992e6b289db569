"""The samples of a long trial in a quarter of the memory: a study of hours has hundreds of thousands."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import overload

from dialin.model.trial import Sample, Step

_FEW = 2000
"""Samples of a trial up to which they stay as they are."""
_STEPS = tuple(Step)
_NUMBERS = (
    *("second", "at", "tps", "reads", "writes", "other", "latency_ms", "errors", "reconnects"),
    *("gap", "stolen", "pressure", "threads", "seconds"),
)
"""The figures of a sample, all of which are 0 or more."""
_UNKNOWN = -1.0


class PackedSamples(Sequence[Sample]):
    """Samples as columns of numbers; each is made anew when it is asked for."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._steps = array("b", (_STEPS.index(sample.step) for sample in samples))
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
        *(int(second), at, _STEPS[step], tps, reads, writes, other, latency, errors, reconnects, gap),
        stolen=None if stolen == _UNKNOWN else stolen,
        pressure=None if pressure == _UNKNOWN else pressure,
        threads=int(threads),
        seconds=seconds,
    )


def packed(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Return samples of one trial, packed where there are many."""
    return samples if len(samples) <= _FEW else PackedSamples(samples)

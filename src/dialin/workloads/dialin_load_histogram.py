"""The histograms that dialin-load writes: HdrHistogram's V2 encoding, deflated, as base64."""

from __future__ import annotations

import base64
import binascii
import math
import struct
import zlib
from collections.abc import Iterator

from dialin.stats.counted_times import percentile

_PACKED = struct.Struct(">ii")
"""Cookie and length of the deflated rest."""

_HEAD = struct.Struct(">iiiiqqd")
"""Cookie, bytes of counts, normalizing index offset, significant digits, lowest and highest value, conversion ratio."""

_COOKIE, _PACKED_COOKIE, _WORD = 0x1C849303, 0x1C849304, 0xF0
_NINTH = 8 * 7
"""The shift of a number's ninth byte, all eight bits of which belong to the number."""

_LARGEST = 16 * 1024**2
"""The most bytes of an unpacked histogram that are read."""


def quantile(text: str, share: float) -> float | None:
    """Return the value that a share (0 to 1) of the values do not exceed, in the histogram's unit; None if it is empty.

    Raises:
        ValueError: the text is not such a histogram.
    """
    return percentile(counts_by_value(text), share)


def counts_by_value(text: str) -> dict[float, int]:
    """Return how often each value was counted, by the value in the histogram's unit.

    Raises:
        ValueError: the text is not such a histogram.
    """
    try:
        head, counts = _unpacked(base64.b64decode(text, validate=True))
    except (binascii.Error, zlib.error, struct.error) as error:
        raise ValueError(f"is no histogram: {error}") from None
    digits, least = head[3], head[4]
    if head[0] & ~_WORD != _COOKIE or not 1 <= digits <= 5 or least < 1:
        raise ValueError("is a histogram of another kind")
    return {_value(index, digits, least): count for index, count in _counted(counts)}


def _unpacked(data: bytes) -> tuple[tuple[int, ...], bytes]:
    cookie, length = _PACKED.unpack_from(data)
    if cookie & ~_WORD != _PACKED_COOKIE:
        raise struct.error("another cookie")
    inflated = zlib.decompressobj().decompress(data[_PACKED.size : _PACKED.size + length], _LARGEST)
    head = _HEAD.unpack_from(inflated)
    return head, inflated[_HEAD.size : _HEAD.size + head[1]]


def _counted(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield each index that has a count, and the count; a negative number stands for that many indexes without one."""
    index = 0
    for number in _numbers(data):
        if number < 0:
            index -= number
            continue
        if number:
            yield index, number
        index += 1


def _numbers(data: bytes) -> Iterator[int]:
    """Yield the numbers of a ZigZag LEB128 sequence."""
    number = shift = 0
    for byte in data:
        last = shift == _NINTH
        number |= (byte if last else byte & 0x7F) << shift
        if byte & 0x80 and not last:
            shift += 7
            continue
        yield (number >> 1) ^ -(number & 1)
        number = shift = 0


def _value(index: int, digits: int, least: int) -> float:
    """Return the greatest value that is counted at an index."""
    magnitude = math.ceil(math.log2(2 * 10**digits)) - 1
    half, unit = 1 << magnitude, least.bit_length() - 1
    bucket = (index >> magnitude) - 1
    place = (index & (half - 1)) + (half if bucket >= 0 else 0)
    width = max(bucket, 0) + unit
    return float((place << width) + (1 << width) - 1)

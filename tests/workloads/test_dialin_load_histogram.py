import base64
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.workloads.dialin_load_histogram import quantile


def zigzag(number):
    """A number as ZigZag LEB128."""
    left, found = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F and len(found) < 8:
        found.append(0x80 | left & 0x7F)
        left >>= 7
    found.append(left)
    return bytes(found)


def index_of(value):
    """The place of a value among the counts of a histogram of three digits."""
    bucket = max(0, value.bit_length() - 11)
    return (bucket << 10) + (value >> bucket)


def encoded(values, digits=3, cookie=0x1C849313):
    """A histogram as HdrHistogram writes it."""
    counts = [0] * (max(map(index_of, values), default=-1) + 1)
    for value in values:
        counts[index_of(value)] += 1
    payload, empty = b"", 0
    for count in [*counts, 0]:
        if count == 0:
            empty += 1
            continue
        if empty:
            payload += zigzag(-empty if empty > 1 else 0)
        payload, empty = payload + zigzag(count), 0
    whole = struct.pack(">iiiiqqd", cookie, len(payload), 0, digits, 1, 36_000_000_000, 1.0) + payload
    packed = zlib.compress(whole)
    return base64.b64encode(struct.pack(">ii", 0x1C849314, len(packed)) + packed).decode()


@given(st.lists(st.integers(0, 36_000_000_000), min_size=1, max_size=200), st.integers(1, 100))
def test_a_quantile_is_the_value_of_that_rank_to_three_digits(values, percent):
    rank = max(1, -(-percent * len(values) // 100))
    wanted = sorted(values)[rank - 1]
    found = quantile(encoded(values), percent / 100)
    assert wanted <= found <= wanted * 1.001


def test_a_histogram_without_values_has_no_quantile():
    assert quantile(encoded([]), 0.5) is None


def test_many_equal_values_are_read_as_what_they_are():
    assert quantile(encoded([1000] * 99_999 + [2000]), 0.99) == 1000
    assert quantile(encoded([1000] * 99_999 + [2000]), 1.0) == 2000


@pytest.mark.parametrize(
    "text",
    ["", "?", "SElTVA==", encoded([5])[:20], encoded([5], cookie=7), encoded([5], digits=9)],
)
def test_what_is_no_histogram_is_refused(text):
    with pytest.raises(ValueError, match=r"is no histogram|of another kind"):
        quantile(text, 0.5)

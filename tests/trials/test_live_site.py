"""When a live server may be changed."""

import time

import pytest

from dialin.trials.live_site import seconds_until

HOUR = 3600.0


def at(hour, minute=0):
    """A moment of local time."""
    return time.mktime((2026, 3, 4, hour, minute, 0, 0, 0, -1))


@pytest.mark.parametrize(
    ("hours", "now", "room", "seconds"),
    [
        ("01:00-05:00", at(2), 600, 0),
        ("01:00-05:00", at(0, 30), 600, HOUR / 2),
        ("01:00-05:00", at(4, 55), 600, 20 * HOUR + 300),
        ("22:00-04:00", at(23), 600, 0),
        ("22:00-04:00", at(3), 600, 0),
        ("22:00-04:00", at(12), 600, 10 * HOUR),
        ("01:00-01:05", at(1), 600, 0),
    ],
)
def test_a_block_begins_within_quiet_hours_that_have_room_for_it(hours, now, room, seconds):
    assert seconds_until(hours, now, room) == seconds

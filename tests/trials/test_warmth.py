"""When a long warm-up is over, by what the server reads and by its redo log."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from dialin.errors import ServerError
from dialin.trials.warmth import LONG, Reading, Warmth, is_warm

MB = 1024**2


def reading(requests=0.0, misses=0.0, read=None, pool=1000.0, written=0.0, age=0.0):
    return Reading(requests, misses, misses if read is None else read, pool, written, age)


@pytest.mark.parametrize(
    ("before", "now", "warm"),
    [
        (reading(), reading(10_000, 50), True),  # hardly any page is missing
        (reading(), reading(10_000, 200), False),
        (reading(50_000, 900), reading(60_000, 1100), True),  # as many pages were read as the pool has
        (reading(50_000, 500), reading(60_000, 700, read=1001), True),  # some of them ahead
        (reading(50_000, 900), reading(60_000, 950), True),
        (reading(50_000, 500), reading(60_000, 700), False),
    ],
)
def test_a_pool_is_warm_once_hardly_any_page_is_missing_or_it_was_read_once_over(before, now, warm):
    assert is_warm(reading(), before, now) is warm


@pytest.mark.parametrize(
    ("written", "age", "warm"),
    [
        (10 * MB, 10 * MB, True),
        (100 * MB, 90 * MB, False),
        (100 * MB, 40 * MB, True),
        (100 * MB, -20 * MB, True),
        (100 * MB, None, True),
    ],
    ids=["hardly anything was written", "the checkpoint stands", "it follows", "it was behind before", "unknown"],
)
def test_a_redo_log_is_warm_once_its_checkpoint_follows_what_is_written(written, age, warm):
    first = reading(written=500 * MB, age=30 * MB)
    now = reading(1, written=500 * MB + written, age=None if age is None else 30 * MB + age)
    assert is_warm(first, first, now) is warm


class Server:
    """A server with these figures, second by second."""

    def __init__(self, *misses, status=True):
        self.misses, self.status, self.asked = list(misses), status, []

    @contextmanager
    def connect(self, timeout=10.0):
        yield self.query

    def query(self, statement):
        self.asked.append(statement)
        if "ENGINE" in statement:
            raise ServerError("PROCESS is lacking")
        if not self.status:
            return []
        if (missing := self.misses.pop(0)) is None:
            raise ServerError("busy")
        names = {"read_requests": 1000 * len(self.asked), "reads": missing, "pages_total": 100, "read_ahead": 0}
        return [(f"Innodb_buffer_pool_{name}", str(value)) for name, value in names.items()]


def test_a_long_warm_up_is_over_once_the_server_is_warm():
    warmth = Warmth(Server(0, 60, 120, 140), LONG + 1)
    assert [warmth.is_warm() for _ in range(3)] == [False, True, True]


def test_a_server_that_does_not_answer_for_a_moment_is_not_taken_for_warm():
    warmth = Warmth(Server(0, None, 60, 60), LONG + 1)
    assert [warmth.is_warm() for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize("warmup", [None, 5.0, LONG])
def test_of_a_short_warm_up_nothing_is_asked(warmup):
    server = Server()
    assert Warmth(server, warmup).is_warm()
    assert server.asked == []


def test_a_server_that_says_nothing_is_taken_for_warm():
    assert Warmth(Server(status=False), 600.0).is_warm()
    assert Warmth(None, 600.0).is_warm()
    gone = SimpleNamespace(connect=lambda: (_ for _ in ()).throw(ServerError("gone")))
    assert Warmth(gone, 600.0).is_warm()

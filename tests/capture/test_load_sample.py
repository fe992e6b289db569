"""What a log of the present load costs, from two readings of the server's status."""

from dataclasses import dataclass

import pytest

from dialin.capture.load_sample import cost_of, sample_load
from dialin.capture.log_settings import Source
from dialin.model.build import Family, Version


@dataclass(frozen=True)
class Server:
    family: Family
    version: Version


def sample(clock, statements, received):
    readings = [{"Questions": 100, "Bytes_received": 1000}, {"Questions": 101 + statements, "Bytes_received": 1000 + received}]
    return sample_load(lambda statement, arguments=(): list(readings.pop(0).items()), clock)


def test_its_own_statements_and_the_headers_of_packets_are_left_out(clock):
    one = sample(clock, statements=200, received=82 + 200 * (50 + 5))
    assert one.statements == 100
    assert one.text_bytes == pytest.approx(100 * 50, rel=0.01)
    idle = sample(clock, statements=0, received=82)
    assert idle.statements == 0
    assert idle.text_bytes < 10


# Read off logs of oltp_read_write, whose statements have 55 bytes.
@pytest.mark.parametrize(
    ("source", "server", "each"),
    [
        (Source.SLOW, Server(Family.MYSQL, (9, 7, 4)), 656),
        (Source.SLOW, Server(Family.MYSQL, (5, 7, 44)), 260),
        (Source.SLOW, Server(Family.MYSQL, (5, 6, 24)), 218),
        (Source.GENERAL, Server(Family.MYSQL, (9, 7, 4)), 100),
        (Source.GENERAL, Server(Family.MARIADB, (10, 11, 19)), 72),
        (Source.SLOW, Server(Family.MARIADB, (10, 11, 19)), 274),
    ],
)
def test_the_bytes_of_a_statement_are_those_of_each_builds_log(clock, source, server, each):
    cost = cost_of(sample(clock, statements=2000, received=82 + 2000 * 60), source, server)
    assert cost.bytes_per_second == pytest.approx(1000 * each, rel=0.08)
    assert 0 < cost.cpus < 0.02

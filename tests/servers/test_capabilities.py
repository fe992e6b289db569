from __future__ import annotations

from dataclasses import dataclass

import pytest

from dialin.model.build import BuildReference, Family, Version
from dialin.servers.capabilities import Capability, has


@dataclass(frozen=True)
class Server:
    family: Family
    version: Version


def server(text: str) -> Server:
    reference = BuildReference.parse(text)
    return Server(reference.family, reference.version)


INITIALISES = {"mysql@8.0.33", "mysql@9.7.4"}
INSTRUMENTS = {"mysql@5.6.24", "mysql@8.0.33", "mysql@9.7.4", "mariadb@10.1.23", "mariadb@10.11.5", "mariadb@11.4.5"}


# Read off the servers, see docs/builds.md.
@pytest.mark.parametrize(
    ("capability", "having"),
    [
        (Capability.INITIALIZE_INSECURE, INITIALISES),
        (Capability.PERSIST, INITIALISES),
        (Capability.STATEMENT_HISTOGRAM, INITIALISES),
        (Capability.VALUE_ORIGIN, INSTRUMENTS - {"mysql@5.6.24"}),
        (Capability.INSTRUMENT_OPTION, INSTRUMENTS),
        (Capability.POOL_STATS, INSTRUMENTS),
        (Capability.REDO_LOG_SWITCH, {"mysql@8.0.33", "mysql@9.7.4"}),
        (Capability.POOL_DUMP, INSTRUMENTS),
        (Capability.INNODB_METRICS, INSTRUMENTS),
        (Capability.POOL_DUMP_PCT, INSTRUMENTS - {"mysql@5.6.24"}),
        (Capability.LOCKS_INSTRUMENTED_AT_START, {"mysql@5.6.24", "mariadb@10.1.23"}),
        (Capability.METRICS_ENABLED_COLUMN, {"mariadb@10.11.5", "mariadb@11.4.5"}),
        (Capability.GLOBAL_PRIV, {"mariadb@10.11.5", "mariadb@11.4.5"}),
        (Capability.SESSION_NUMBERS_IN_SLOW_LOG, INSTRUMENTS),
        (Capability.CERTIFICATE_EACH_BOOT, {"mariadb@11.4.5"}),
    ],
)
def test_the_table_says_what_each_server_was_seen_to_do(capability: Capability, having: set[str]):
    servers = INSTRUMENTS | {"mysql@5.5.9"}
    assert {text for text in servers if has(server(text), capability)} == having


def test_every_capability_is_somebodys():
    versions = [server(text) for text in INSTRUMENTS | {"mysql@5.5.9", "mysql@5.7.44"}]
    assert [each for each in Capability if not any(has(version, each) for version in versions)] == []


def test_a_server_that_dialin_is_attached_to_needs_no_binary():
    assert has(Server(Family.MYSQL, (8, 0, 33)), Capability.PERSIST)

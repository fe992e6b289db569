"""A build: a server binary with its vendor, family and version."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path


class Family(StrEnum):
    """What servers share: variables, SQL and behaviour, but for what a vendor adds. MariaDB is never taken for MySQL."""

    MYSQL = "mysql"
    MARIADB = "mariadb"


class Vendor(StrEnum):
    """Who makes a server; its builds' names begin with it. Distributions' builds of Oracle's MySQL count as Oracle's."""

    ORACLE = "mysql"
    PERCONA = "percona"
    MARIADB = "mariadb"

    @classmethod
    def named_in(cls, text: str) -> Vendor:
        """Return the vendor that a server names in its version or `version_comment`."""
        words = text.lower()
        return next((vendor for vendor in cls if vendor is not cls.ORACLE and vendor in words), cls.ORACLE)

    @property
    def family(self) -> Family:
        return Family.MARIADB if self is Vendor.MARIADB else Family.MYSQL


VENDOR_TITLES = {Vendor.ORACLE: "MySQL", Vendor.PERCONA: "Percona Server", Vendor.MARIADB: "MariaDB"}
_REFERENCE = re.compile(rf"({'|'.join(Vendor)})(?:@(\d+(?:\.\d+){{0,2}})(?:-([a-z0-9][a-z0-9._]*))?)?")


Version = tuple[int, ...]
"""A version as numbers, e.g. `(9, 7, 4)`; a prefix such as `(9, 7)` stands for all versions that begin with it."""


@dataclass(frozen=True, slots=True)
class BuildReference:
    """What a user writes to name a build: `mysql@9.7`, `percona@8.0.36`, or a vendor alone for its newest version.

    Attributes:
        label: distinguishes a build from others of its version, as in `mysql@9.7.4-patched`; only the full name refers to it.
    """

    vendor: Vendor
    version: Version = ()
    label: str = ""

    @classmethod
    def parse(cls, text: str) -> BuildReference:
        """Read a reference such as `mysql@9.7`; raise ValueError for other text."""
        match = _REFERENCE.fullmatch(text.strip().lower())
        if not match:
            raise ValueError(f"{text!r} does not name a build; write it like mysql@9.7, percona@8.0 or mariadb@10.11")
        version = tuple(int(part) for part in match[2].split(".")) if match[2] else ()
        return cls(Vendor(match[1]), version, match[3] or "")

    @classmethod
    def of(cls, build_id: str) -> BuildReference | None:
        """Return what a build's name refers to; None for other text."""
        try:
            return cls.parse(build_id)
        except ValueError:
            return None

    @property
    def family(self) -> Family:
        return self.vendor.family

    def matches(self, build: Build | BuildReference) -> bool:
        """Return whether a build, or the reference that is its name, is one of those that this reference stands for."""
        is_of_version = build.version[: len(self.version)] == self.version
        return build.vendor is self.vendor and is_of_version and build.label == self.label

    def __str__(self) -> str:
        if not self.version:
            return str(self.vendor)
        return f"{self.vendor}@{'.'.join(map(str, self.version))}{f'-{self.label}' if self.label else ''}"


@dataclass(frozen=True, slots=True)
class Image:
    """The container image that a build runs in, and the limits of the container.

    Attributes:
        engine: the command that runs it: `podman` or `docker`.
        name: as the user wrote it, such as `mysql:8.4`.
        digest: the ID of its content, by which it is run.
        binary: the server's path inside.
        memory: the container's limit, in bytes; None for none.
        cpus: the CPUs that the container may use, such as `0-3`, or how much CPU time, such as `1.5`; None for all.
    """

    engine: str
    name: str
    digest: str
    binary: str
    memory: int | None = None
    cpus: str | None = None


@dataclass(frozen=True, slots=True)
class Build:
    """A server binary that this machine can run.

    Attributes:
        vendor: who made it, read from the binary unless the user said otherwise.
        version: its version, read from the binary unless the user said otherwise.
        launcher: what precedes the binary on a command line (a private loader with its library path); often empty.
        basedir: the root of the share and plugin directories, or None where the binary finds them itself.
        messages: the directory of error messages, or None where the binary finds it itself.
        origin: where it was found, in words: "installed by dialin", "on PATH".
        label: tells it from other builds of its version; see `BuildReference`.
        image: what its servers run in; `binary` is then a copy of the image's file system, which answers questions about the
            build, and None where they are processes of this machine.
    """

    vendor: Vendor
    version: Version
    binary: Path
    launcher: tuple[str, ...] = ()
    basedir: Path | None = None
    messages: Path | None = None
    origin: str = ""
    version_text: str = field(default="", compare=False)
    label: str = ""
    image: Image | None = None

    @property
    def family(self) -> Family:
        return self.vendor.family

    @property
    def reference(self) -> BuildReference:
        return BuildReference(self.vendor, self.version, self.label)

    @property
    def id(self) -> str:
        """The build's name in full, e.g. `mysql@9.7.4`."""
        return str(self.reference)

    def limited(self, memory: int | None, cpus: str | None) -> Build:
        """Return the build with other limits for its containers; a build without an image has none."""
        return replace(self, image=replace(self.image, memory=memory, cpus=cpus)) if self.image else self

"""A build: a server binary with its flavour and version."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

_REFERENCE = re.compile(r"(mysql|mariadb)(?:@(\d+(?:\.\d+){0,2}))?")


class Flavour(StrEnum):
    """Which family of servers a binary belongs to; MariaDB is never taken for MySQL."""

    MYSQL = "mysql"
    MARIADB = "mariadb"


Version = tuple[int, ...]
"""A version as numbers, e.g. `(9, 7, 4)`; a prefix such as `(9, 7)` stands for all versions that begin with it."""


@dataclass(frozen=True, slots=True)
class BuildReference:
    """What a user writes to name a build: `mysql@9.7`, `mariadb@10.11`, or a flavour alone for its newest version."""

    flavour: Flavour
    version: Version = ()

    @classmethod
    def parse(cls, text: str) -> BuildReference:
        """Read a reference such as `mysql@9.7`; raise ValueError for other text."""
        match = _REFERENCE.fullmatch(text.strip().lower())
        if not match:
            raise ValueError(f"{text!r} does not name a build; write it like mysql@9.7 or mariadb@10.11")
        version = tuple(int(part) for part in match[2].split(".")) if match[2] else ()
        return cls(Flavour(match[1]), version)

    def matches(self, build: Build) -> bool:
        return build.flavour is self.flavour and build.version[: len(self.version)] == self.version

    def __str__(self) -> str:
        return f"{self.flavour}@{'.'.join(map(str, self.version))}" if self.version else str(self.flavour)


@dataclass(frozen=True, slots=True)
class Build:
    """A server binary that this machine can run.

    Attributes:
        flavour: MySQL or MariaDB, read from the binary.
        version: its version, read from the binary.
        launcher: what precedes the binary on a command line (a private loader with its library path); often empty.
        basedir: the root of the share and plugin directories, or None where the binary finds them itself.
        messages: the directory of error messages, or None where the binary finds it itself.
        origin: where it was found, in words: "installed by dialin", "on PATH".
    """

    flavour: Flavour
    version: Version
    binary: Path
    launcher: tuple[str, ...] = ()
    basedir: Path | None = None
    messages: Path | None = None
    origin: str = ""
    version_text: str = field(default="", compare=False)

    @property
    def id(self) -> str:
        """The build's name in full, e.g. `mysql@9.7.4`."""
        return f"{self.flavour}@{'.'.join(map(str, self.version))}"

"""Which server dialin is attached to, and what it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dialin.errors import UserError
from dialin.model.build import Flavour, Version


@dataclass(frozen=True, slots=True)
class AttachedBuild:
    """What an attached server runs, and which server it is.

    Attributes:
        flavour: MySQL or MariaDB.
        version: its version.
        version_text: the version as the server spells it.
        hostname: of the machine, as the server knows it.
        port: its TCP port.
        datadir: its data directory.
        uuid: its own identity, empty where it has none.
    """

    flavour: Flavour
    version: Version
    version_text: str = field(default="", compare=False)
    hostname: str = ""
    port: int = 0
    datadir: str = ""
    uuid: str = ""

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> AttachedBuild:
        """Read it from a server's variables; MariaDB is never taken for MySQL, whatever version it pretends to be.

        Raises:
            UserError: the version is not one.
        """
        text = variables.get("version", "")
        numbers = text.partition("-")[0].split(".")
        if not numbers or not all(number.isdecimal() for number in numbers):
            raise UserError(f"The server says that its version is {text!r}", "dialin studies MySQL and MariaDB")
        words = f"{text} {variables.get('version_comment', '')}".lower()
        is_mariadb = "mariadb" in words or "aria_pagecache_buffer_size" in variables
        return cls(
            Flavour.MARIADB if is_mariadb else Flavour.MYSQL,
            tuple(int(number) for number in numbers),
            text,
            variables.get("hostname", ""),
            int(variables.get("port", "0")),
            variables.get("datadir", ""),
            variables.get("server_uuid", ""),
        )

    @property
    def id(self) -> str:
        """The build's name in full, e.g. `mysql@9.7.4`."""
        return f"{self.flavour}@{'.'.join(map(str, self.version))}"

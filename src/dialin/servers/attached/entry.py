"""What is written down of one study on one attached server, so that it can be put back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dialin.errors import UserError
from dialin.model.setting import Value
from dialin.servers.account import Account
from dialin.servers.attached.build import AttachedBuild
from dialin.servers.attached.client_options import find_account
from dialin.servers.attached.server import Attached
from dialin.servers.processes import identity
from dialin.text import listed


@dataclass(frozen=True, slots=True)
class Entry:
    """What one study changes on one server.

    Attributes:
        id: its name.
        owner: the process number of the dialin that wrote it.
        owner_identity: what tells that process from a later one of the same number; see `processes.identity`.
        attachment: where the account is found, its paths absolute.
        place: how the server was reached: socket, or host and port, and user.
        server: which server it is: build, hostname, port, datadir, uuid.
        before: every variable as the server showed it.
        exact: those that are to be changed, as SET takes them back.
        given: by variable, the values that dialin asked for, and what they came to.
        moved: variables that changed along with them.
        pending: variables that are being set, so that what they come to is not known yet.
        persisted: variables with values for the next start, and what those were before; None for those that had none.
        at_start: those of them that dialin gave one.
        restarted: whether dialin restarted the server, so that values which were set at run time before are lost.
        schema: the schema that dialin makes.
    """

    id: str
    owner: int
    owner_identity: str
    attachment: dict[str, str | None]
    place: dict[str, str | int | None]
    server: dict[str, str | int]
    before: dict[str, str] = field(repr=False)
    exact: dict[str, Value | None]
    given: dict[str, list[str]] = field(default_factory=dict)
    moved: list[str] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    persisted: dict[str, str | None] = field(default_factory=dict)
    at_start: list[str] = field(default_factory=list)
    restarted: bool = False
    schema: str | None = None

    @property
    def where(self) -> str:
        """The server, in a few words."""
        return f"{self.server['build']} at {self.place['socket'] or '{host}:{port}'.format(**self.place)}"

    @property
    def is_orphan(self) -> bool:
        """Whether the dialin that wrote it is gone."""
        return identity(self.owner) != self.owner_identity

    def account(self, environment: Mapping[str, str]) -> Account:
        """Return how the server is reached: as it was, with the password found anew.

        Raises:
            UserError: the option file or login path is gone.
        """
        file, login_path = self.attachment.get("defaults_file"), self.attachment.get("login_path")
        found = find_account(Path(file) if file else None, login_path, environment)
        socket = self.place["socket"]
        return replace(
            found,
            socket=Path(str(socket)) if socket else None,
            host=str(self.place["host"]),
            port=int(self.place["port"] or 0),
            user=str(self.place["user"]),
        )


def read(path: Path) -> Entry | None:
    """Return the entry of a file, or None where there is none that can be read."""
    try:
        return Entry(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def facts(build: AttachedBuild) -> dict[str, str | int]:
    """Return what tells a server from others."""
    return {
        "build": build.id,
        "hostname": build.hostname,
        "port": build.port,
        "datadir": build.datadir,
        "uuid": build.uuid,
    }


def check_same_server(entry: Entry, attached: Attached) -> None:
    """Make sure that the server that answers is the one that was changed.

    Raises:
        UserError: it is another one.
        ServerError: it does not answer.
    """
    there = facts(AttachedBuild.of(attached.variables()))
    told = ("hostname", "port", "datadir", "uuid")
    if other := [name for name in told if there[name] != entry.server[name]]:
        raise UserError(
            f"Another server answers where {entry.where} was: its {listed(other)} differ{'s' if len(other) == 1 else ''}",
            f"Nothing was changed there. Bring that server back, or give it up: dialin restore --forget {entry.id}",
        )

"""Where the trials of a study run, one class a place: what the study stores of it, and nothing that other places have."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from dialin.model.frozen import FrozenModel
from dialin.model.live import DEFAULT_WASHOUT, LiveOptions


class RestoreWay(StrEnum):
    """How the data of a sandbox is restored before a trial."""

    REFLINK = "reflink"
    """A copy that shares all blocks with the prepared data."""

    PAGES = "pages"
    """Only what the last trial has changed is copied."""

    COPY = "copy"
    """All data is copied."""

    SNAPSHOT = "snapshot"
    """A command of the user makes a copy, by a snapshot of its volume."""


class Restore(FrozenModel):
    """How data is restored before each trial, and in about how many seconds; `measured`: the last time it took so many.

    The seconds of a snapshot that was not measured yet are not known, and 0.
    """

    way: RestoreWay
    seconds: float = Field(ge=0)
    measured: bool = False


class SandboxPlace(FrozenModel):
    """Servers that dialin starts, in containers where the build is an image; `restore` is how their data is restored."""

    kind: Literal["sandbox"] = "sandbox"
    restore: Restore | None = None


class Attachment(FrozenModel):
    """Where the account of a server that dialin did not start is found; never the account itself.

    Attributes:
        defaults_file: an option file with a `[client]` group; None for those that the standard client reads.
        login_path: a login path of `~/.mylogin.cnf`.
    """

    defaults_file: str | None = None
    login_path: str | None = None


WAIT_FOR_SERVER = 120.0
"""Seconds to wait for an attached server that does not answer: a restart takes about as long, crash recovery included."""


class LoadedServer(Attachment):
    """A server that dialin did not start and applies a load to.

    Attributes:
        database: a schema that holds the workload's tables already; None where dialin makes one, and removes it at the end.
        wait_for_server: seconds to wait, during the study, for a server that does not answer.
        command_seconds: seconds that the user's command takes to apply a setting or to restart the server; None where there is
            none, or it was not measured yet.
    """

    database: str | None = None
    wait_for_server: float = WAIT_FOR_SERVER
    command_seconds: float | None = None


class AttachedPlace(LoadedServer):
    """A running server whose variables dialin sets; a command of the user restarts it where a variable requires that."""

    kind: Literal["attached"] = "attached"


class ManagedPlace(LoadedServer):
    """A running server whose settings a command of the user applies; it may hold a secret, and is not stored."""

    kind: Literal["managed"] = "managed"


LoadedPlace = AttachedPlace | ManagedPlace


class LivePlace(Attachment, LiveOptions):
    """A running server under its own traffic; `washout` are the seconds that are left out at the start of a period."""

    kind: Literal["live"] = "live"
    washout: float = Field(default=DEFAULT_WASHOUT, ge=0)


Place = Annotated[SandboxPlace | AttachedPlace | ManagedPlace | LivePlace, Field(discriminator="kind")]
"""Each but the first is an `Attachment`: a server that dialin did not start."""

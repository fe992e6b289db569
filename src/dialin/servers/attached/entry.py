"""The undo entry of one study on one attached server: everything that is needed to restore the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from pydantic import TypeAdapter

from dialin.errors import UserError, os_error
from dialin.model.setting import Value
from dialin.paths import OthersRecordError, read_record
from dialin.servers.account import Account
from dialin.servers.attached.client_options import find_account
from dialin.text import command_line, visible


def study_text(directory: str, process: int | str, host: str) -> str:
    """Return which study holds a server: `the study /work/pool (process 4711 on db1)`; what is not known is left out."""
    where = f" on {visible(host)}" if host else ""
    who = f"process {process}{where}" if process else where.strip()
    what = f"the study {visible(directory)}" if directory else "a study"
    return f"{what} ({who})" if who else what


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """Return the variables whose value is another one than before, with their value now.

    A container that was made again has another host name, after which servers name files by default: that is no change.
    """
    host, host_now = before.get("hostname", ""), now.get("hostname", "")

    def is_same(was: str, value: str) -> bool:
        return value == was or (bool(host and host_now) and value.replace(host_now, host) == was)

    return {name: value for name, value in now.items() if name in before and not is_same(before[name], value)}


@dataclass(frozen=True, slots=True)
class UndoEntry:
    """What one study changes on one server.

    Attributes:
        owner: the PID of the dialin that wrote it.
        study: the directory of the study; empty if it is not known.
        machine: the machine that this dialin runs on; see `servers.origin.machine`.
        attachment: where the account is found, its paths absolute.
        place: how dialin connected: socket, or host and port, and user.
        server: which server it is: build, hostname, port, datadir, uuid.
        before: every variable as the server showed it.
        exact: the original values of the variables that will be changed, as SET accepts them.
        given: by variable, the value that dialin set last, and the value in force after that; while the variable is pending,
            earlier ones too.
        also_changed: variables that the server changed along with them.
        pending: variables that are being set, whose values in force are not known yet.
        others: values that others had set before the pending ones were set.
        persisted: by variable, the persisted value before the study; None if there was none. Empty if no restart is planned.
        at_start: the variables for which dialin persisted a value.
        persisted_here: by variable, the value that dialin persisted last, empty where it removed one; until that is read back,
            earlier ones too.
        command: what applies settings to the server, and `work` the directory that it runs in; empty where dialin sets them. It
            may contain a secret, so that it is shown nowhere.
        static: the variables that only a start can set.
        defaults: the variables that had the default of the server, which nobody had set.
        applied: whether that command has been called.
        started: the start of the server before the study: between these times in seconds since 1970, by its clock.
        restarted: whether dialin restarted the server, so that values which were set at run time before are lost.
        as_started: what differed from `before` just after the last restart; None if that is not known.
        schema_made: whether the server has created `schema` for dialin.
        files: files on this dialin's machine that the server, or dialin, writes during the study; the undo removes them.
    """

    id: str
    owner: int
    machine: str
    attachment: dict[str, str | None]
    place: dict[str, str | int | None]
    server: dict[str, str | int]
    before: dict[str, str] = field(repr=False)
    exact: dict[str, Value | None]
    given: dict[str, list[str]] = field(default_factory=dict)
    also_changed: list[str] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)
    persisted: dict[str, str | None] = field(default_factory=dict)
    at_start: list[str] = field(default_factory=list)
    persisted_here: dict[str, list[str]] = field(default_factory=dict)
    command: str = field(default="", repr=False)
    work: str = ""
    static: list[str] = field(default_factory=list)
    defaults: list[str] = field(default_factory=list)
    applied: bool = False
    started: list[float] = field(default_factory=list)
    restarted: bool = False
    as_started: dict[str, str] | None = None
    schema: str | None = None
    schema_made: bool = False
    study: str = ""
    files: list[str] = field(default_factory=list)

    @property
    def studied_by(self) -> str:
        """The study that changes the server, as text: its directory and its process."""
        return study_text(self.study, self.owner, self.host)

    @property
    def where(self) -> str:
        return f"{self.server['build']} at {self.place['socket'] or '{host}:{port}'.format(**self.place)}"

    @property
    def host(self) -> str:
        return self.machine.rpartition("/")[2]

    def differing(self, now: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that do not have their value of `before`, with their value now."""
        return changed(self.before, now)

    def account(self, environment: Mapping[str, str]) -> Account:
        """Return the account of the study, with the password read again.

        Raises:
            UserError: the option file or login path is gone, or names another user or host by now, whose password must not be
                sent to this server.
        """
        file, login_path = self.attachment.get("defaults_file"), self.attachment.get("login_path")
        account = find_account(Path(file) if file else None, login_path, environment)
        place = self.place
        if (account.user, account.host) != (place["user"], place["host"]):
            raise UserError(
                f"{self.where} was changed as {place['user']} at {place['host']}, and the client's options are about "
                f"{account.user} at {account.host} now",
                f"Bring {file or 'the option files, the login path or the environment'} back to what the study started with",
            )
        socket = place["socket"]
        return replace(account, socket=Path(str(socket)) if socket else None, port=int(place["port"] or 0))


def read(path: Path, *, of_others: bool = False) -> UndoEntry | None:
    """Return the entry in a file; None if there is no such file.

    An entry names a command that is run, files that are removed, and where a password is sent: so it may be of another user
    only where it is just compared (`of_others`).

    Raises:
        UserError: it is no entry, is of another user, or may not be read.
        MachineError: this machine failed; the entry may be read later.
    """
    try:
        stored = read_record(path, of_others=of_others)
        known = {each.name: stored[each.name] for each in fields(UndoEntry) if each.name in stored}
        entry = TypeAdapter(UndoEntry).validate_python(known)
        _ = entry.where  # its parts are there
        return entry
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, LookupError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not an entry of this version of dialin"
        by = "Run `dialin restore` as that user" if isinstance(error, OthersRecordError) else "Fix it"
        fault = UserError(
            f"{path} records what dialin changed on a server, and cannot be read: {why}",
            f"{by}, or restore that server yourself and delete the record: "
            f"{command_line('dialin restore --forget', path.stem)}",
        )
        raise (os_error(error, fault) if isinstance(error, OSError) else fault) from None

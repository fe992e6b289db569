"""What the user allows dialin to do to a server that it did not start, and the commands that do it."""

from __future__ import annotations

from dataclasses import dataclass

from dialin.errors import UserError
from dialin.model.place import LivePlace, Place, SandboxPlace
from dialin.servers.attached import user_command


@dataclass(frozen=True, slots=True)
class Permission:
    """What the user allows dialin to do, and the commands that do it: they may hold a secret. Never read from a file.

    Attributes:
        live: the server may be in use by others.
        restart_command: what restarts it; None where it must not be restarted.
        apply_command: what applies settings to it; None where dialin sets them.
        snapshot_command: what restores the data of servers that dialin starts; None where dialin does.
    """

    live: bool = False
    restart_command: str | None = None
    apply_command: str | None = None
    snapshot_command: str | None = None

    def check(self, place: Place) -> None:
        """Raise UserError where a place has no use for what is allowed, a command cannot be read, or there are two."""
        given = {"--restart-command": self.restart_command, "--apply-command": self.apply_command}
        commands = [option for option, command in given.items() if command is not None]
        if isinstance(place, SandboxPlace) and (commands or self.live):
            option = commands[0] if commands else "--i-know-it-is-live"
            raise UserError(f"{option} is for a server that dialin is attached to", "Give --attach as well, or leave it out")
        if isinstance(place, LivePlace) and commands:
            raise UserError(f"{commands[0]} is not for a live server, which is never restarted", "Leave it out")
        if len(commands) > 1:
            raise UserError(
                "--apply-command and --restart-command are both given",
                "Leave out --restart-command: the apply command restarts the server where a setting needs it",
            )
        if self.snapshot_command is not None:
            if not isinstance(place, SandboxPlace):
                raise UserError("--snapshot-command is for servers that dialin starts", "Leave it out")
            user_command.split_command(self.snapshot_command, user_command.SNAPSHOT)
        if self.apply_command is not None:
            user_command.split_command(self.apply_command, user_command.APPLY)
        if self.restart_command is not None:
            user_command.split_command(self.restart_command)


NO_PERMISSION = Permission()

"""What can be replayed of a capture, as dialin-load reports it."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from dialin.errors import UserError
from dialin.model.capture import DONE_BY_OTHERS
from dialin.paths import parse_json
from dialin.servers.sandbox_client import dump_command
from dialin.workloads import private
from dialin.workloads.dialin_load_lines import ErrorLine, parse_stream_line
from dialin.workloads.driver_process import call
from dialin.workloads.replay.replay_options import ReplayOptions

_LIMIT = 3600.0
"""Seconds that reading a capture may take: enough for a terabyte of log."""


@dataclass(frozen=True, slots=True)
class ReplayFacts:
    """What a replay of a capture consists of.

    Attributes:
        connections: the most sessions at a time.
        seconds: from the first captured statement to the last.
        not_replayed: number of statements that are not replayed, by reason.
        prepared: statements that are prepared, as in the capture.
        prepared_as_text: statements that were prepared in the capture, and are sent as text.
        begins_added: transactions that begin with a BEGIN that the log lacks.
        backups: when backups were taken during the capture, in seconds since 1970.
        random: statements that draw random values; a replay draws other ones.
    """

    connections: int
    sessions: int
    transactions: int
    statements: int
    seconds: float
    not_replayed: Mapping[str, int]
    prepared: int
    prepared_as_text: int
    begins_added: int
    backups: tuple[float, ...]
    random: int

    @property
    def share_left_out(self) -> float:
        """The share of the captured statements that is not replayed, and whose work no other statement does."""
        left_out = sum(count for reason, count in self.not_replayed.items() if reason not in DONE_BY_OTHERS)
        return left_out / (left_out + self.statements)


def replay_facts(binary: Path, directory: Path, options: ReplayOptions) -> ReplayFacts:
    """Return what a replay of a capture consists of.

    Raises:
        UserError: the capture cannot be read, or has nothing to replay.
    """
    if isinstance(options.since, str):
        raise TypeError("the moment of the backup is found first")
    return _replay_facts(binary, directory, options.since)


def moment_of_backup(binary: Path, directory: Path) -> float:
    """Return the moment of the data in the backup that was taken during the capture, in seconds since 1970.

    Raises:
        UserError: the capture shows no backup, or several.
    """
    match _replay_facts(binary, directory, None).backups:
        case (moment,):
            return moment
        case ():
            raise UserError(
                f"{directory} shows no backup: none of its statements begins one",
                "Give its moment as --workload-option from=SECONDS since 1970, leave it out for data from before, or dump "
                f"while the capture runs: {dump_command(captured_server(directory))}",
            )
        case several:
            raise UserError(
                f"{directory} shows {len(several)} backups: {', '.join(f'{moment:.6f}' for moment in several)}",
                "Give the moment of yours: --workload-option from=SECONDS",
            )


@functools.lru_cache(maxsize=4)
def _replay_facts(binary: Path, directory: Path, since: float | None) -> ReplayFacts:
    given = [] if since is None else [f"--option=from={since:.6f}"]
    words = [str(binary), "--json", "show", f"capture:{directory}", *given]
    done = call(words, private.environment(), _LIMIT, stderr=subprocess.PIPE)
    if done.returncode != 0:
        line = next((each for each in map(parse_stream_line, done.stdout.splitlines()) if isinstance(each, ErrorLine)), None)
        if line is None:
            raise UserError(f"{directory} cannot be replayed: {done.stderr.strip()[:300]}", "See dialin capture show")
        raise UserError(line.what, line.remedy)
    shown = parse_json(done.stdout)
    shown |= {"seconds": shown["captured_seconds"], "backups": tuple(backup["at"] for backup in shown["backups"])}
    return ReplayFacts(**{each.name: shown[each.name] for each in fields(ReplayFacts)})


def why_not_replayed(binary: Path, directory: Path) -> str:
    """Return why nothing of a capture can be replayed, such as damage of its statements, which are all read; else empty."""
    try:
        _replay_facts(binary, directory, None)
    except UserError as error:
        return error.what
    return ""


def captured_server(directory: Path) -> str | None:
    """Return the version of the server that was captured; None where it is not known."""
    try:
        server = parse_json((directory / "summary.json").read_text())["capture"]["server"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return server if isinstance(server, str) else None


def share_covered(directory: Path) -> float | None:
    """Return the share of the statements counted by the server that the capture holds; None where it is not known."""
    try:
        coverage = parse_json((directory / "summary.json").read_text())["coverage"]
        return float(coverage["logged"] / coverage["questions"]) if coverage and coverage["questions"] else None
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError):
        return None  # a capture made by hand has statements only

"""The directory of a capture: made by dialin-load, which reads the logs; its summary is read here."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from dialin.errors import DialinError, UserError
from dialin.model.capture import CaptureSummary, OpenSessions
from dialin.paths import parse_json
from dialin.store import STUDY_FILE
from dialin.workloads import load_binary, private

SUMMARY = "summary.json"
STATEMENTS = "statements.zst"
BEFORE, AFTER = "counters-before.json", "counters-after.json"
VARIABLES = "variables.json"
SESSIONS = "sessions.json"
_REMEDY = "Name the directory that dialin capture from wrote"


def check_out(out: Path) -> None:
    """Raise UserError where `out` exists, its parent does not, or it is within a study, whose directory is shown to others."""
    place = out.absolute()
    if os.path.lexists(place):
        raise UserError(f"{out} exists", "Name another --out, or remove it")
    if not place.parent.is_dir() or not os.access(place.parent, os.W_OK | os.X_OK):
        raise UserError(
            f"{out} cannot be written: {place.parent} is not a directory that you may write to", "Name another --out"
        )
    if study := next((path for path in place.parents if (path / STUDY_FILE).exists()), None):
        raise UserError(
            f"{out} is within the study {study}, whose report others may read; a capture has people's data",
            "Name an --out outside of studies",
        )


def add_variables(directory: Path, before: Mapping[str, str], after: Mapping[str, str] | None) -> None:
    """Store in a capture the server's variables before and after it; None where those after it are not known.

    Raises:
        OSError: the file cannot be written.
    """
    variables = {"schema": "dialin/capture-variables/1", "before": dict(before), "after": after}
    private.write(directory / VARIABLES, json.dumps(variables, indent=2) + "\n")


def make_capture(
    logs: Sequence[Path],
    out: Path,
    *,
    counters: tuple[Path, Path] | None,
    forget_text: bool,
    times: Path | None = None,
    sessions: Path | None = None,
    autocommit: str | None = None,
) -> CaptureSummary:
    """Make a capture of a slow log, a general log, or one of each.

    Args:
        logs: the logs.
        out: the directory to make.
        counters: what the server counted before and after, as `dialin capture counters` writes it; the capture keeps both.
        forget_text: keep no statements, only digests and figures.
        times: the log's length over time, as `LogTimes` writes it, where the log has times to the second only.
        sessions: the sessions that were open when the log began, as `OpenSessions` in JSON; the capture keeps it.
        autocommit: on or off in sessions of which neither the log nor `sessions` says it; None to infer it.

    Raises:
        UserError: a log or a file of counters is invalid or cannot be read, or the directory exists or cannot be written.
        DialinError: dialin-load failed.
    """
    words: list[str | Path] = [load_binary.need(), "--json", "capture", "--out", out.absolute()]
    if counters is not None:
        words += ["--digests", ",".join(str(path.absolute()) for path in counters)]
    if times is not None:
        words += ["--times", times.absolute()]
    if sessions is not None:
        words += ["--sessions", sessions.absolute()]
    if autocommit is not None:
        words += ["--autocommit", autocommit]
    if forget_text:
        words.append("--forget-text")
    words += ["--", *(log.absolute() for log in logs)]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        what, remedy, is_users = _error(done.stdout, done.stderr)
        raise UserError(what, remedy) if is_users else DialinError(what, remedy)
    for name, path in zip((BEFORE, AFTER), counters or (), strict=False):
        private.write(out / name, path.read_text())
    if sessions is not None:
        private.write(out / SESSIONS, sessions.read_text())
    return read_capture(out)


def read_sessions(directory: Path) -> OpenSessions | None:
    """Return the sessions that were open when the log of a capture began; None if they were not read.

    Raises:
        UserError: the file is damaged.
    """
    path = directory / SESSIONS
    if not path.is_file():
        return None
    try:
        return OpenSessions.model_validate_json(path.read_bytes())
    except ValidationError:
        raise UserError(f"{path} is damaged, or of another version of dialin", "Make the capture again") from None


def read_capture(directory: Path) -> CaptureSummary:
    """Return the summary of a capture.

    Raises:
        UserError: the directory is not a capture, or the capture was not finished, or its summary is damaged.
    """
    if not directory.is_dir():
        raise UserError(f"{directory} is not a directory", _REMEDY)
    path = directory / SUMMARY
    if not path.is_file():
        problem = "is a capture that was not finished" if any(directory.glob("*.zst")) else "is not a capture"
        raise UserError(f"{directory} {problem}", _REMEDY)
    if not os.access(path, os.R_OK):
        raise UserError(f"{path} cannot be read", "Captures are readable by their owner only")
    try:
        return CaptureSummary.model_validate_json(path.read_bytes())
    except ValidationError:
        raise UserError(f"{path} is damaged, or of another version of dialin", "Make the capture again") from None


def _error(out: str, err: str) -> tuple[str, str, bool]:
    """Return what dialin-load reports as wrong, the remedy, and whether the user can fix it."""
    try:
        line = parse_json(out.splitlines()[-1])
        return str(line["what"]), str(line["remedy"]), line["fault"] == "user"
    except (ValueError, LookupError, TypeError):
        return err.strip() or "dialin-load failed", "Report this as a defect of dialin-load", False

"""The directory of a capture: made by dialin-load, which reads the logs; its summary is read here."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from dialin.errors import DialinError, UserError
from dialin.model.capture import CaptureSummary
from dialin.workloads import load_binary

SUMMARY = "summary.json"
_REMEDY = "Name the directory that dialin capture from wrote"


def make_capture(logs: Sequence[Path], out: Path, *, counters: tuple[Path, Path] | None, forget_text: bool) -> CaptureSummary:
    """Make a capture of a slow log, a general log, or one of each.

    Args:
        logs: the logs.
        out: the directory to make.
        counters: what the server counted before and after, as `dialin capture counters` writes it.
        forget_text: keep no statements, only what they come to.

    Raises:
        UserError: a log or a file of counters is none or cannot be read, or the directory exists or cannot be written.
        DialinError: dialin-load failed.
    """
    words: list[str | Path] = [load_binary.need(), "--json", "capture", "--out", out.absolute()]
    if counters is not None:
        words += ["--digests", ",".join(str(path.absolute()) for path in counters)]
    if forget_text:
        words.append("--forget-text")
    words += ["--", *(log.absolute() for log in logs)]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        what, remedy, is_users = _error(done.stdout, done.stderr)
        raise UserError(what, remedy) if is_users else DialinError(what, remedy)
    return read_capture(out)


def read_capture(directory: Path) -> CaptureSummary:
    """Return what the statements of a capture come to.

    Raises:
        UserError: it is no capture, or one that was not finished.
    """
    if not directory.is_dir():
        raise UserError(f"{directory} is not a directory", _REMEDY)
    path = directory / SUMMARY
    if not path.exists():
        problem = "is a capture that was not finished" if any(directory.glob("*.zst")) else "is not a capture"
        raise UserError(f"{directory} {problem}", _REMEDY)
    if not os.access(path, os.R_OK):
        raise UserError(f"{path} cannot be read", "Captures are readable by their owner only")
    try:
        return CaptureSummary.model_validate_json(path.read_bytes())
    except ValidationError:
        raise UserError(f"{path} is damaged, or of another version of dialin", "Make the capture again") from None


def _error(out: str, err: str) -> tuple[str, str, bool]:
    """Return what dialin-load reports as wrong, the remedy, and whether the user can mend it."""
    try:
        line = json.loads(out.splitlines()[-1])
        return str(line["what"]), str(line["remedy"]), line["fault"] == "user"
    except (ValueError, LookupError, TypeError):
        return err.strip() or "dialin-load failed", "Report this as a defect of dialin-load", False

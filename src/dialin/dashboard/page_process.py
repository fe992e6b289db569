"""Starts the live page of a study as a separate process that outlives the study, so that the page can show that it died."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from dialin.errors import DialinError

_PATIENCE = 60.0
"""Seconds that the page may take to begin on a busy machine."""

_MOST_READ = 4096


def command(directory: Path) -> list[str]:
    """Return the command that serves the live page of a study as a separate process."""
    # -P: Python imports no modules from the current directory.
    return [sys.executable, "-P", "-m", "dialin", "watch", str(directory.absolute()), "--beside"]


def start(arguments: Sequence[str], patience: float = _PATIENCE) -> tuple[subprocess.Popen[bytes], str]:
    """Start the page; return its process and the link that opens it, which it must write within `patience` seconds.

    The process gets its own session, so that Ctrl-C at the terminal reaches only the study.

    Raises:
        DialinError: the page does not start.
    """
    try:
        process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except OSError as error:
        raise _did_not_start(error.strerror or str(error)) from error
    output, errors = process.stdout, process.stderr
    assert output is not None  # noqa: S101 - both are piped
    assert errors is not None  # noqa: S101
    with output, errors:
        link = _first_line(output, patience)
        if link.startswith("http"):
            return process, link
        process.kill()
        process.wait()
        last = errors.read(_MOST_READ).decode("utf-8", "replace").strip().rpartition("\n")[2].removeprefix("dialin: ")
    raise _did_not_start(last or "it printed nothing")


def _did_not_start(why: str) -> DialinError:
    return DialinError(f"The live page did not start: {why}", "The study continues without it; try: dialin watch DIR")


def publish_link(link: str) -> None:
    """Print the link for the process that started this one, then redirect the streams, so that this process can outlive it."""
    print(link, flush=True)  # noqa: T201 - the link is all that this process prints
    with open(os.devnull, "r+b", buffering=0) as nothing:  # noqa: PTH123 - a device
        for stream in (0, 1, 2):
            os.dup2(nothing.fileno(), stream)


def _first_line(stream: IO[bytes], patience: float) -> str:
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        if not selector.select(patience):
            return ""
    return stream.readline(_MOST_READ).decode("ascii", "replace").strip()

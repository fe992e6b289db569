"""The files that an analysis looked at, in the terminal: how many of each status, then those that were not simply used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dialin.model.analysis import FileEntry, FileStatus
from dialin.report.render.terminal_page import Page
from dialin.text import visible

_LABELS = {
    FileStatus.USED: "used",
    FileStatus.COPY: "copy",
    FileStatus.FAILED: "failed",
    FileStatus.ENDED_EARLY: "ended early",
    FileStatus.SUMMARY_ONLY: "summary only",
    FileStatus.TOO_SHORT: "too short",
    FileStatus.UNREADABLE: "unreadable",
    FileStatus.TOO_LARGE: "too large",
    FileStatus.NO_LOG: "not a log",
}
_SHOWN = 40
"""Files that are listed at most; JSON has them all."""


def print_files(files: Sequence[FileEntry], page: Page) -> None:
    """Print the number of files of each status, and a line for each file that was not simply used."""
    counts = Counter(entry.status for entry in files)
    page.labelled("Files:", f"{', '.join(f'{counts[status]} {words}' for status, words in _LABELS.items() if counts[status])}.")
    others = [entry for entry in files if entry.status is not FileStatus.USED]
    for entry in others[:_SHOWN]:
        detail = f": {visible(entry.detail)}" if entry.detail else ""
        page.text(f"{visible(entry.file)}: {_LABELS[entry.status]}{detail}")
    if len(others) > _SHOWN:
        page.text(f"{len(others) - _SHOWN} more files are not listed; --json has all.", "dim")

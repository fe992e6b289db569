"""The files that a study writes, each of them whole or not at all."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path

from dialin import json_documents
from dialin.apply import form_file, option_file, sql_file
from dialin.apply.option_file import Comments
from dialin.errors import MachineError
from dialin.model.record import StudyRecord
from dialin.model.verdict import Verdict
from dialin.model.why import Why
from dialin.paths import replace_text
from dialin.report.render import html, markdown
from dialin.sentences import headline, verdict_sentences
from dialin.sentences.notes import note_text
from dialin.sentences.reasons import reason
from dialin.text import command_line

NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
"""The errors of somebody who may read, but not write."""


class MayNotWriteError(MachineError):
    """The user may read a study but not write to its directory, such as a colleague's or one on a read-only medium."""


def write_all(record: StudyRecord, directory: Path, why: Why | None = None) -> None:
    """Write `report.html` and `report.md`, and with a verdict `verdict.json` and the files of the recommendation.

    Each file replaces its predecessor in one step, so that a reader finds either the old one or the new one. An SQL file of an
    earlier verdict is removed if this verdict has none.

    Raises:
        MayNotWriteError: the user may not write to the directory.
        MachineError: the directory cannot be written to, such as on a full disk; the study in it is as it was.
    """
    for name, text in _texts(record, why).items():
        try:
            if text is None:
                (directory / name).unlink(missing_ok=True)
            else:
                replace_text(directory / name, text)
        except OSError as error:
            command = command_line("dialin report", directory)
            raise (MayNotWriteError if error.errno in NOT_ALLOWED else MachineError)(
                f"{directory / name} cannot be written: {error.strerror}",
                f"The study is safe. Check that the disk has space and that you may write there, then run: {command}",
            ) from error


def _texts(record: StudyRecord, why: Why | None) -> Mapping[str, str | None]:
    texts: dict[str, str | None] = {"report.html": html.render(record, why), "report.md": markdown.summary(record, why)}
    if record.verdict is not None:
        texts["verdict.json"] = json_documents.render_verdict(verdict_sentences.add_sentences(record.spec, record.verdict))
        texts |= recommendation(record, record.verdict)
    return texts


def recommendation(record: StudyRecord, verdict: Verdict) -> dict[str, str | None]:
    """Return the text of each file that a user applies, by file name; None for a file that must not exist."""
    comments = _comments(record, verdict)
    return {
        "recommended.cnf": option_file.render(record, comments),
        "recommended.sql": sql_file.render(record, comments),
        "undo.sql": sql_file.render_undo(record),
        **form_file.render(record, comments),
    }


def _comments(record: StudyRecord, verdict: Verdict) -> Comments:
    texts = [
        headline.headline(record.spec, verdict),
        reason(record.spec, verdict),
        verdict_sentences.confirmation(verdict),
        f"Goal: {verdict_sentences.goal(record)}",
        verdict_sentences.compared(record),
        verdict_sentences.length(verdict),
    ]
    reasons = [text for text in texts if text] + [f"Confound: {note_text(record.spec, note)}" for note in verdict.confounds]
    return Comments(reasons, verdict_sentences.gain(record, verdict), verdict_sentences.no_change(record))

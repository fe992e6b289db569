"""How well a capture can be replayed, as far as the capture itself shows; a replay shows the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dialin.model.capture import (
    DONE_BY_OTHERS,
    CaptureCheck,
    CaptureSummary,
    CheckCode,
    CheckFinding,
    Fitness,
    OpenSessions,
)

_WORST_FIRST = (Fitness.POOR, Fitness.LIMITED, Fitness.GOOD)

_MOST_MISSING = (0.001, 0.05)
"""The largest shares of statements or bytes that may be missing from a good and from a limited capture; above the second it is
poor. With 5 % of its statements missing, a load waits for other locks and reads other pages."""

_MOST_CUT = (0.01, 0.2)
"""The same for transactions that are cut off, as each session's last one may be."""


_CLOCKS = {"microsecond": Fitness.GOOD, "second": Fitness.LIMITED, None: Fitness.POOR}


def check_capture(summary: CaptureSummary, why_not: str = "", sessions: OpenSessions | None = None) -> CaptureCheck:
    """Return how well a capture can be replayed.

    Args:
        summary: the summary.
        why_not: why nothing of it can be replayed, if its statements show that.
        sessions: those that were open when its log began; None if that is not known.
    """
    statements = summary.capture.statements or summary.statements
    lost = sum(group.statements for group in summary.not_replayed if group.reason not in DONE_BY_OTHERS)
    unread = summary.unread.skipped_bytes
    transactions = sum(shape.transactions for shape in summary.transactions)
    cut = sum(shape.unfinished for shape in summary.transactions)
    has_durations = summary.capture.source != "general"
    lack, sampling = summary.capture.lack, summary.capture.sampling
    coverage = summary.coverage.share if summary.coverage else sampling.share if sampling else None
    findings = [
        _finding(CheckCode.REPLAYABLE, _bad_if(lack or why_not), lack=lack and lack.value, why_not=why_not),
        _finding(CheckCode.SAMPLING, _bad_if(sampling), of=sampling and sampling.one_of, by=sampling and sampling.by),
        _finding(
            CheckCode.COVERAGE, Fitness.LIMITED if coverage is None else _by_share(1 - coverage, _MOST_MISSING), share=coverage
        ),
        _unarmed(sessions),
        _autocommit(summary, statements),
        _missing(CheckCode.NOT_REPLAYED, "statements", lost, statements, _MOST_MISSING),
        _missing(CheckCode.UNREAD, "bytes", unread, summary.log_bytes, _MOST_MISSING),
        _missing(CheckCode.CUT_TRANSACTIONS, "transactions", cut, transactions, _MOST_CUT),
        _finding(CheckCode.TIMES, _CLOCKS[summary.capture.clock], clock=summary.capture.clock),
        _known(CheckCode.ERRORS, is_known="extra" in summary.capture.source),
        _known(CheckCode.DURATIONS, is_known=has_durations),
    ]
    findings.sort(key=lambda finding: _WORST_FIRST.index(finding.fitness))
    return CaptureCheck(fitness=findings[0].fitness if summary.capture.statements else Fitness.POOR, findings=findings)


def _finding(code: CheckCode, fitness: Fitness, **figures: Any) -> CheckFinding:
    return CheckFinding(code=code, fitness=fitness, figures=figures)


def _bad_if(reason: object) -> Fitness:
    return Fitness.POOR if reason else Fitness.GOOD


def _missing(code: CheckCode, name: str, count: int, total: int, limits: Sequence[float], **more: str) -> CheckFinding:
    share = count / total if total else 0.0
    return _finding(code, _by_share(share, limits), **{name: count}, share=share, **more)


def _unarmed(sessions: OpenSessions | None) -> CheckFinding:
    if sessions is None:
        return _finding(CheckCode.SESSIONS, Fitness.GOOD, unarmed=None, share=None, named="")
    count, named = len(sessions.unarmed), sessions.unarmed_numbers
    return _missing(CheckCode.SESSIONS, "unarmed", count, sessions.clients, _MOST_MISSING, named=named)


def _autocommit(summary: CaptureSummary, statements: int) -> CheckFinding:
    known = summary.autocommit
    share = known.unknown_changes / statements if statements else 0.0
    # Nothing shows that they were transactions of several statements.
    fitness = min(_by_share(share, _MOST_MISSING), Fitness.LIMITED, key=_WORST_FIRST[::-1].index)
    figures = {"sessions": known.unknown, "statements": known.unknown_statements, "changes": known.unknown_changes}
    return _finding(CheckCode.AUTOCOMMIT, fitness, **figures, share=share)


def _known(code: CheckCode, *, is_known: bool) -> CheckFinding:
    return _finding(code, Fitness.GOOD if is_known else Fitness.LIMITED, known=is_known)


def _by_share(missing: float, limits: Sequence[float]) -> Fitness:
    good, limited = limits
    return Fitness.GOOD if missing <= good else Fitness.LIMITED if missing <= limited else Fitness.POOR

"""What a replay finds out about its statements."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplayedDigest:
    """The statements of a digest in a replay, and how they differ from the capture.

    Attributes:
        digest: the statement in lower case, values replaced by ?; long ones are cut off.
        statements: executed in the replay.
        new_errors: statements that failed, and did not fail with the same error in the capture.
        last_error: the number of the last of these errors; None without any.
        missing_errors: statements that failed in the capture only.
        other_rows: queries that returned another number of rows.
        other_changes: statements that changed another number of rows.
        captured_ms: mean time of a statement in the capture, as its server measured it; None if the capture has no durations.
        replayed_ms: mean time of a statement in the replay, from sending it to its answer; None if none was answered.
        captured_time: share of the time of all statements in the capture, from 0 to 1; None if it has no durations.
        replayed_time: the same in the replay.
    """

    digest: str
    statements: int
    new_errors: int = 0
    last_error: int | None = None
    missing_errors: int = 0
    other_rows: int = 0
    other_changes: int = 0
    captured_ms: float | None = None
    replayed_ms: float | None = None
    captured_time: float | None = None
    replayed_time: float | None = None


DIGEST_MS = "replay_digest_ms"
"""The figure of a digest's mean time per statement, milliseconds, among those that a trial's load reports."""

DIGEST_STATEMENTS = "replay_digest_statements"
"""The figure of a digest's number of statements."""

DIGEST_CAPTURED_MS = "replay_digest_captured_ms"
"""The figure of a digest's mean time per statement in the capture, milliseconds."""


def digest_figure(digest: str, figure: str) -> str:
    """Return the name of a figure of one digest."""
    return f"{digest}/{figure}"

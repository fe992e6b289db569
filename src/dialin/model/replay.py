"""What a replay finds out about its statements."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DigestDifference:
    """How the statements of a digest differ from the capture.

    Attributes:
        digest: the statement in lower case, values replaced by ?; long ones are cut off.
        statements: executed in the replay.
        new_errors: statements that failed, and did not fail with the same error in the capture.
        last_error: the number of the last of these errors; None without any.
        missing_errors: statements that failed in the capture only.
        other_rows: queries that returned another number of rows.
        captured_time: share of the time of all statements in the capture, from 0 to 1; None if it has no durations.
        replayed_time: the same in the replay.
    """

    digest: str
    statements: int
    new_errors: int
    last_error: int | None
    missing_errors: int
    other_rows: int
    captured_time: float | None
    replayed_time: float | None

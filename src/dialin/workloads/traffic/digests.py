"""The digests that take most of a server's time, whose latencies are compared one by one.

A digest stands for statements that differ in their literals only. A mean by kind of statement changes with the mix within the
kind: more of the slow SELECTs look like slower SELECTs. Digests come from the performance schema (MySQL 5.6 and later; MariaDB
with the performance schema on). Statements of the binary protocol (server-side prepared ones) have no digest on some servers,
and are counted by their kind only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dialin.answers import bad_answer, number
from dialin.clock import Clock
from dialin.model.query import Query
from dialin.servers.connection import RefusedError
from dialin.text import shorten, visible

MOST = 10
"""Number of digests that are compared: those that took the most time."""
LONGEST_READING_MS = 5.0
"""Digests are left out if reading them takes longer than this each second: the server is there for its clients."""

_PREFIX = "digest/"
_NAMED_BY = 16
"""Leading characters of a digest that identify it."""
_READINGS = 5
_LONGEST_TEXT = 300
_SHOWN = 60
_TABLE = "performance_schema.events_statements_summary_by_digest"

_ALL = (
    f"SELECT DIGEST, LEFT(DIGEST_TEXT, {_LONGEST_TEXT}), COUNT_STAR, SUM_TIMER_WAIT FROM {_TABLE} "  # noqa: S608
    "WHERE DIGEST IS NOT NULL AND DIGEST_TEXT IS NOT NULL"
)

_KINDS = (
    (re.compile(r"SELECT\b"), "sql/select"),
    (re.compile(r"INSERT\b.*\)\s*VALUES\b|INSERT\s+(INTO\s+)?\S+(\s*\.\s*\S+)?\s+VALUES\b", re.DOTALL), "sql/insert"),
    (re.compile(r"UPDATE\s((?!,|\bJOIN\b).)*?\sSET\s", re.DOTALL), "sql/update"),
    (re.compile(r"DELETE\s+FROM\s(?!.*\bUSING\b)", re.DOTALL), "sql/delete"),
    (re.compile(r"COMMIT\b"), "sql/commit"),
)
"""The kind of statement that the server counts a digest as, by the digest's text. Others are not used: their kind is unsure."""
_MONITORING = re.compile(r"performance_schema|information_schema|@@", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Digest:
    """A digest, in all schemas together.

    Attributes:
        key: the name by which its statements are counted.
        kind: the kind of statement that the server counts it as, too.
    """

    digest: str
    text: str
    kind: str

    @property
    def key(self) -> str:
        return _PREFIX + self.digest[:_NAMED_BY]

    def stored(self) -> dict[str, str]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class DigestTotals:
    """The text of a digest, and the total time of its statements since the server started, in ps."""

    text: str
    took: float


def read_all(query: Query) -> dict[str, DigestTotals]:
    """Return the totals of every digest; empty where the server has none, or does not show them to the account."""
    try:
        rows = query(_ALL)
    except RefusedError:
        return {}
    totals: dict[str, DigestTotals] = {}
    for digest, text, _, took in rows:
        before = totals.get(str(digest))
        totals[str(digest)] = DigestTotals(str(text), number(took) + (before.took if before else 0.0))
    return totals


def largest(before: Mapping[str, DigestTotals], after: Mapping[str, DigestTotals]) -> tuple[Digest, ...]:
    """Return the digests that took the most time between two readings; ties go by the time since the server started."""

    def took(digest: str) -> tuple[float, float]:
        now = after[digest].took
        was = before[digest].took if digest in before else 0.0
        return (now - was if now >= was else now, now)

    texts = {digest: totals.text for digest, totals in after.items() if not _MONITORING.search(totals.text)}
    kinds = {digest: kind for digest, text in texts.items() if (kind := kind_of(text))}
    chosen = sorted(kinds, key=took, reverse=True)[:MOST]
    return tuple(Digest(digest, after[digest].text, kinds[digest]) for digest in chosen)


def kind_of(text: str) -> str | None:
    """Return the kind of statement that the server counts a digest's text as; None where that is not certain."""
    return next((kind for pattern, kind in _KINDS if pattern.match(text.lstrip())), None)


def statement(digests: Sequence[Digest]) -> str:
    """Return the statement that reads some digests: their keys, how often they ran, and for how long (ps).

    UNION ALL joins it to the statement for all kinds, so that both read the same moment; that one's last column is errors.
    """
    listed = ", ".join(f"'{_checked(each.digest)}'" for each in digests)
    return (
        f"SELECT CONCAT('{_PREFIX}', LEFT(DIGEST, {_NAMED_BY})), COUNT_STAR, SUM_TIMER_WAIT, 0 FROM {_TABLE} "  # noqa: S608
        f"WHERE DIGEST IN ({listed})"
    )


def reading_ms(query: Query, digests: Sequence[Digest], clock: Clock) -> float:
    """Return the least time of several readings of some digests: waiting for a CPU is no cost of a reading."""
    took = []
    for _ in range(_READINGS):
        began = clock.monotonic()
        query(statement(digests))
        took.append(1000 * (clock.monotonic() - began))
    return min(took)


def without_digests(rises: Mapping[str, float], digests: Sequence[Digest]) -> dict[str, float]:
    """Return figures by kind, from which those of digests are subtracted."""
    rest = dict(rises)
    for digest in digests:
        if digest.kind in rest:
            rest[digest.kind] = max(rest[digest.kind] - rises.get(digest.key, 0.0), 0.0)
    return rest


def stored_digests(facts: Mapping[str, Any]) -> tuple[Digest, ...]:
    """Return the digests of a study, from the stored facts of its server."""
    return tuple(Digest(**fields) for fields in facts.get("digests", ()))


def _checked(digest: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]+", digest):
        raise bad_answer(f"'{visible(shorten(digest, _SHOWN))}' is no digest")
    return digest

"""The largest digests of a server: statements that differ in their literals only, whose latencies are compared each by itself.

A mean by kind of statement changes with the mix within the kind: more of the slow SELECTs look like slower SELECTs. Digests
come from the performance schema (MySQL 5.6 and later; MariaDB with the performance schema on). Statements of the binary
protocol (server-side prepared ones) have none on some servers, and stay in their kind.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dialin.clock import Clock
from dialin.model.query import Query
from dialin.servers.connection import RefusedError

MOST = 10
"""Digests that are compared each by itself; those that took the most time."""
LONGEST_READING_MS = 5.0
"""Digests whose reading takes longer, each second, are left out: the server is there for its clients."""

_PREFIX = "digest/"
_NAMED_BY = 16
"""Characters of a digest that are enough to tell it from others."""
_READINGS = 3
_LONGEST_TEXT = 300
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
"""The kind of statement that the server counts a digest as, by its text. Others stay in their kind: it is not certain."""
_OWN = re.compile(r"performance_schema|information_schema|@@", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Digest:
    """A digest, in all schemas together.

    Attributes:
        key: what its statements are counted as.
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
    """What a digest took since the server started, in all, ps, and its text."""

    text: str
    took: float


def read_all(query: Query) -> dict[str, DigestTotals]:
    """Read every digest; none where the server has none, or does not show them to the account."""
    try:
        rows = query(_ALL)
    except RefusedError as error:
        if error.is_from_client:
            raise
        return {}
    totals: dict[str, DigestTotals] = {}
    for digest, text, _, took in rows:
        before = totals.get(str(digest))
        totals[str(digest)] = DigestTotals(str(text), float(took) + (before.took if before else 0.0))
    return totals


def largest(before: Mapping[str, DigestTotals], after: Mapping[str, DigestTotals]) -> tuple[Digest, ...]:
    """Return the digests that took the most time between two readings; then those that did since the server started."""

    def took(digest: str) -> tuple[float, float]:
        now = after[digest].took
        was = before[digest].took if digest in before else 0.0
        return (now - was if now >= was else now, now)

    kinds = {digest: kind for digest, one in after.items() if (kind := kind_of(one.text)) and not _OWN.search(one.text)}
    chosen = sorted(kinds, key=took, reverse=True)[:MOST]
    return tuple(Digest(digest, after[digest].text, kinds[digest]) for digest in chosen)


def kind_of(text: str) -> str | None:
    """Return the kind of statement that the server counts a digest's text as; None where that is not certain."""
    return next((kind for pattern, kind in _KINDS if pattern.match(text.lstrip())), None)


def statement(digests: Sequence[Digest]) -> str:
    """Return the statement that reads some digests: as what they are counted, how often they ran, and for how long (ps).

    It is joined to that of all kinds by UNION ALL, so that both are of one moment; the last column is that one's errors.
    """
    listed = ", ".join(f"'{_checked(one.digest)}'" for one in digests)
    return (
        f"SELECT CONCAT('{_PREFIX}', LEFT(DIGEST, {_NAMED_BY})), COUNT_STAR, SUM_TIMER_WAIT, 0 FROM {_TABLE} "  # noqa: S608
        f"WHERE DIGEST IN ({listed})"
    )


def reading_ms(query: Query, digests: Sequence[Digest], clock: Clock) -> float:
    """Return what reading some digests takes."""
    took = []
    for _ in range(_READINGS):
        began = clock.monotonic()
        query(statement(digests))
        took.append(1000 * (clock.monotonic() - began))
    return statistics.median(took)


def without_digests(rises: Mapping[str, float], digests: Sequence[Digest]) -> dict[str, float]:
    """Return figures by kind of which those of digests are taken out of their kind."""
    rest = dict(rises)
    for one in digests:
        if one.kind in rest:
            rest[one.kind] = max(rest[one.kind] - rises.get(one.key, 0.0), 0.0)
    return rest


def stored_digests(facts: Mapping[str, Any]) -> tuple[Digest, ...]:
    """Return the digests of a study, from the stored facts of its server."""
    return tuple(Digest(**one) for one in facts.get("digests", ()))


def _checked(digest: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]+", digest):
        raise ValueError(f"{digest!r} is no digest")
    return digest

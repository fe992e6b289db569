"""Splits the text of SHOW ENGINE INNODB STATUS into its sections, and keeps what InnoDB says apart from what users wrote.

The text holds statements of users, line ends and all: in the latest foreign key error, in the latest deadlock and in the list
of transactions. These three follow one another. What stands before the first of them, and what stands behind the last of them,
is InnoDB's own; what stands between may be made to look like any section at all, and is not read, but for the head of the list
of transactions where there can be no doubt about it. The last of them can be found only in a text that has its end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TRANSACTIONS = "TRANSACTIONS"
_OF_USERS = ("LATEST FOREIGN KEY ERROR", "LATEST DETECTED DEADLOCK", TRANSACTIONS)

_BEHIND_USERS = "FILE I/O"
"""Every build writes it right behind the list of transactions."""

_END = "END OF INNODB MONITOR OUTPUT"
_NAME = re.compile(r"[A-Z][A-Z/ ]*[A-Z]")
_COUNTED = re.compile(r"Trx id counter .*")


@dataclass(frozen=True, slots=True)
class Sections:
    """A status text, split.

    Attributes:
        head: the lines before the first section.
        innodb: the lines of each section that is InnoDB's own.
        heads: what may be the first lines of the list of transactions; more than one where a user wrote something like it.
        cut: whether the end of the text is missing.
    """

    head: tuple[str, ...]
    innodb: Mapping[str, tuple[str, ...]]
    heads: tuple[tuple[str, ...], ...]
    cut: bool


@dataclass(frozen=True, slots=True)
class _Header:
    name: str
    begins: int


def split(text: str) -> Sections:
    lines = text.replace("\r\n", "\n").split("\n")
    end = _end(lines)
    cut = end is None
    lines = lines[:end]
    headers = [
        _Header(lines[at], at - 1)
        for at in range(1, len(lines) - 1)
        if len(lines[at - 1]) > 2
        and lines[at - 1] == lines[at + 1]
        and not lines[at - 1].strip("-")
        and _NAME.fullmatch(lines[at])
    ]
    # A last section whose header is all that is left of a cut text is of no use.
    starts = [header.begins for header in headers] + [len(lines)]
    first = next((index for index, header in enumerate(headers) if header.name in _OF_USERS), len(headers))
    behind = _behind_users(headers, first, cut=cut)
    bodies = [tuple(lines[header.begins + 3 : starts[index + 1]]) for index, header in enumerate(headers)]
    return Sections(
        head=tuple(lines[: starts[0]]),
        innodb={headers[index].name: bodies[index] for index in (*range(first), *range(behind, len(headers)))},
        heads=_heads(headers[first:behind], bodies[first:behind], cut=cut),
        cut=cut,
    )


def _end(lines: Sequence[str]) -> int | None:
    last = len(lines) - 1
    while last > 0 and not lines[last].strip():
        last -= 1
    return last - 2 if last > 2 and lines[last - 1] == _END and not lines[last].strip("=") else None


def _behind_users(headers: Sequence[_Header], first: int, *, cut: bool) -> int:
    """Return the first header that stands behind all that users wrote; their number where none is sure to."""
    if cut:
        return len(headers)  # the server's own may be missing, and what is there be a user's
    return next((index for index in range(len(headers) - 1, first, -1) if headers[index].name == _BEHIND_USERS), len(headers))


def _heads(headers: Sequence[_Header], bodies: Sequence[tuple[str, ...]], *, cut: bool) -> tuple[tuple[str, ...], ...]:
    heads = []
    for header, body in zip(headers, bodies, strict=True):
        if header.name == TRANSACTIONS and body and _COUNTED.fullmatch(body[0]):
            heads.append(body[:3])
            if header is headers[0]:
                break  # no user's text stands before it
    return () if cut and heads and headers[0].name != TRANSACTIONS else tuple(heads)

"""Splits the text of SHOW ENGINE INNODB STATUS into its sections, and separates InnoDB's output from text that users wrote.

The text contains statements of users, including their line breaks: in the latest foreign key error, in the latest deadlock and
in the list of transactions. These three sections follow one another. The text before the first of them and after the last of
them is InnoDB's. The text in between may imitate any section, so it is not read, except the head of the list of transactions
where that is unambiguous. The last of the three sections can be found only in a text that is not cut off.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TRANSACTIONS = "TRANSACTIONS"
_OF_USERS = ("LATEST FOREIGN KEY ERROR", "LATEST DETECTED DEADLOCK", TRANSACTIONS)

_AFTER_USERS = "FILE I/O"
"""The section that every build writes directly after the list of transactions."""

_END = "END OF INNODB MONITOR OUTPUT"
_NAME = re.compile(r"[A-Z][A-Z/ ]*[A-Z]")
_COUNTED = re.compile(r"Trx id counter .*")


@dataclass(frozen=True, slots=True)
class Sections:
    """A status text, split into sections.

    Attributes:
        head: the lines before the first section.
        innodb: the lines of each section that InnoDB alone writes, by its name.
        heads: the possible first lines of the list of transactions; more than one where a user's text imitates them.
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
    # A header needs a line after it, so a cut text that ends in a header's lines does not have that section.
    starts = [header.begins for header in headers] + [len(lines)]
    first = next((index for index, header in enumerate(headers) if header.name in _OF_USERS), len(headers))
    after = _after_users(headers, first, cut=cut)
    bodies = [tuple(lines[header.begins + 3 : starts[index + 1]]) for index, header in enumerate(headers)]
    return Sections(
        head=tuple(lines[: starts[0]]),
        innodb={headers[index].name: bodies[index] for index in (*range(first), *range(after, len(headers)))},
        heads=_heads(headers[first:after], bodies[first:after], cut=cut),
        cut=cut,
    )


def _end(lines: Sequence[str]) -> int | None:
    last = len(lines) - 1
    while last > 0 and not lines[last].strip():
        last -= 1
    return last - 2 if last > 2 and lines[last - 1] == _END and not lines[last].strip("=") else None


def _after_users(headers: Sequence[_Header], first: int, *, cut: bool) -> int:
    """Return the index of the first header after all text of users; the number of headers where none is certain."""
    if cut:
        return len(headers)  # the server's header may be missing, and one with that name may be a user's text
    return next((index for index in range(len(headers) - 1, first, -1) if headers[index].name == _AFTER_USERS), len(headers))


def _heads(headers: Sequence[_Header], bodies: Sequence[tuple[str, ...]], *, cut: bool) -> tuple[tuple[str, ...], ...]:
    heads = []
    for header, body in zip(headers, bodies, strict=True):
        if header.name == TRANSACTIONS and body and _COUNTED.fullmatch(body[0]):
            heads.append(body[:3])
            if header is headers[0]:
                break  # no text of a user precedes it
    return () if cut and heads and headers[0].name != TRANSACTIONS else tuple(heads)

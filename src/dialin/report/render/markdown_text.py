"""Text as GitHub-flavoured Markdown in which nothing is markup by accident, and the few elements that a report needs."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from dialin.text import visible, visible_lines

_SPECIAL = re.compile(r"[\\`*\[\]<>|~#&$]|(?<![^\W_])_|_(?![^\W_])|(?<!\w)@|:(?=//)|(?<=www)\.")
_AS_ENTITY = "@<>&|`:."
_LEADING = re.compile(r"[-+](?=\s|$)|[-=](?=[-=]*$)|(?<=\d)[.)](?=\s|$)")
_NUMBERED = re.compile(r"\d*")

_MENTIONS = re.compile("[@#]")
_UNSEEN_JOINER = "\u2060"
_JOINER = f"&#{ord(_UNSEEN_JOINER)};"
"""An invisible word joiner: after `@` or `#` it keeps a code host from taking what follows for a mention."""


def prose(text: str) -> str:
    """Return a sentence in which no character is markup, HTML, a link or a mention."""
    shown = visible(text).lstrip()
    number = _NUMBERED.match(shown)
    begins = _LEADING.match(shown, number.end() if number else 0)
    if begins is None:
        return _escaped(shown)
    place = begins.start()
    return f"{shown[:place]}\\{shown[place]}{_escaped(shown[place + 1 :])}"


def fenced(text: str, language: str = "") -> str:
    """Return lines in a code block that none of them can end."""
    shown = visible_lines(text)
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def code(text: str) -> str:
    """Return a line as code in a sentence, which nothing in it can end."""
    shown = " ".join(visible(text).split())
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    return f"{ticks} {shown} {ticks}" if "`" in shown else f"{ticks}{shown}{ticks}"


def folded(summary: str, body: str) -> str:
    """Return Markdown that is folded away behind a summary; no character of the summary is markup."""
    joined = _MENTIONS.sub(rf"\g<0>{_UNSEEN_JOINER}", visible(summary))  # before escaping, because entities contain a # too
    shown = html.escape(joined).replace(_UNSEEN_JOINER, _JOINER).replace("://", "&#58;//")
    return f"<details><summary>{shown}</summary>\n\n{body}\n\n</details>"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    shown = f"&#{ord(character)};" if character in _AS_ENTITY else f"\\{character}"
    return shown + _JOINER if character in "@#" else shown


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], alignment: str) -> str:
    """Return a table of cells that are Markdown already; `alignment` has one letter for each column: l (left) or r (right)."""
    rule = "|" + "".join("---:|" if letter == "r" else "---|" for letter in alignment)
    head, *body = [f"| {' | '.join(cells)} |" for cells in (titles, *rows)]
    return "\n".join([head, rule, *body])

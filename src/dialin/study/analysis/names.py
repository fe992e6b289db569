"""What the names of logs tell: the candidate, what else was set, and when the run was made. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from dialin.errors import UserError

_ENDINGS = re.compile(r"(?:\.(?:gz|txt|log|csv|out|dat|sysbench))+(?=#|$)", re.IGNORECASE)
_INDEX = re.compile(r"#\d+$")
"""What tells several runs in one file apart."""
_STAMP = re.compile(
    r"(?<![A-Za-z0-9])(?:\d{4}(?:[-_:T.]\d{2}){2,}|\d{2}(?:[-_:T]\d{2}){2,}|\d{8}(?:[-_T]?\d{4,6})?)Z?(?![A-Za-z0-9])"
)
"""A date, a time, or both: `08-21-06-15`, `2020-08-21T06:15`, `20200821_0615`; `10.11.10` is a version."""
_TOKEN = re.compile(
    r"(?P<word>[A-Za-z]+(?:_[A-Za-z]+)*_?)|(?P<number>\d+(?:\.\d+)*[KMGkmg]?(?![A-Za-z0-9]))|(?P<id>[A-Za-z0-9]+)"
)
_TIE = re.compile(r"[=_/.: -]?")
"""What may stand between a word and the number that it names: `io5000`, `io_capacity/5000`, `mariadb-10.11.10`."""
_NUMBER = "number"
"""What a number is called that no word stands before."""
_REPEAT = re.compile(
    "r|run|rep(?:eat)?|iter(?:ation)?|try|trial|attempt|copy|pass|round|seq|take|sample|part|rerun|again|no|nr", re.IGNORECASE
)
"""Words that tell one run from another of the same setting."""
WORDING = "wording"
"""What stands for all words that are not in every name."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a name tells beside the candidate.

    Attributes:
        settings: every number and version by the word before it: `io5000` is `io` of `5000`, `mariadb-10.11.10` is `mariadb`
            of `10.11.10`.
        words: the words without a number; a letter alone is none.
        stamp: the figures of its first date or time; empty where there is none.
    """

    settings: Mapping[str, str]
    words: frozenset[str]
    stamp: tuple[str, ...]


def by_expression(names: Sequence[str], expression: str) -> dict[str, str]:
    """Return the candidate of each name in which an expression finds one: its groups, joined by a slash, else all it finds.

    Raises:
        UserError: it is no regular expression, or finds nothing in any name.
    """
    try:
        pattern = re.compile(expression)
    except re.error as error:
        raise UserError(f"--by {expression}: not a regular expression: {error}", "Write it like --by 'bpi(\\d+)'") from None
    found = {}
    for name in names:
        if match := pattern.search(name):
            groups = [group for group in match.groups() if group]
            found[name] = "/".join(groups) or match[0]
    found = {name: candidate for name, candidate in found.items() if candidate}
    if not found:
        raise UserError(f"--by {expression} finds nothing in any name, such as {names[0]}", "Write it like --by 'bpi(\\d+)'")
    return found


def by_globs(names: Sequence[str], table: Mapping[str, Sequence[str]], where: str) -> dict[str, str]:
    """Return the candidate of each name that one of a table's patterns fits; `*` stands for anything, directories included.

    Raises:
        UserError: a pattern fits no name, or a name fits those of two candidates.
    """
    found: dict[str, str] = {}
    for candidate, patterns in table.items():
        for pattern in patterns:
            fitting = [name for name in names if _fits(name, pattern, where)]
            if not fitting:
                raise UserError(
                    f"{where}: {pattern!r} of {candidate} fits no log, such as {names[0]}", "Patterns fit whole names"
                )
            for name in fitting:
                if found.setdefault(name, candidate) != candidate:
                    raise UserError(f"{where}: {name} fits {found[name]} and {candidate}", "A run is of one candidate")
    return found


def _fits(name: str, pattern: str, where: str) -> bool:
    """Return whether a pattern fits a name: its path or its last part as a whole; one with ^ or $ is a regular expression.

    Raises:
        UserError: it is anchored and no regular expression.
    """
    if pattern.startswith("^") or pattern.endswith("$"):
        try:
            return re.search(pattern, _ENDINGS.sub("", name)) is not None
        except re.error as error:
            raise UserError(f"{where}: {pattern!r} is not a regular expression: {error}", "Correct it") from None
    return fnmatchcase(name, pattern) or fnmatchcase(name.rpartition("/")[2], pattern)


def short(names: Sequence[str]) -> dict[str, str]:
    """Return each name without what all begin and end with, as far as they stay different."""
    bare = [_ENDINGS.sub("", name) for name in names]
    if len(set(bare)) < len(names):
        return {name: name for name in names}
    if len(names) > 1:
        head, tail = _common(bare), _common([name[::-1] for name in bare])
        if all(len(name) > head + tail for name in bare):
            bare = [name[head : len(name) - tail] for name in bare]
    return dict(zip(names, bare, strict=True))


def tell(name: str, expression: str | None) -> Told:
    """Return what a name tells, without what an expression for the candidate finds in it."""
    rest = re.sub(expression, "/", name, count=1) if expression is not None else name
    rest = _INDEX.sub("", _ENDINGS.sub("", rest))
    stamp = _STAMP.search(rest)
    rest = _STAMP.sub("/", rest)
    settings: dict[str, str] = {}
    words: set[str] = set()
    word, end = "", 0
    for token in _TOKEN.finditer(rest):
        if word and not _TIE.fullmatch(rest, end, token.start()):
            _take_word(words, word)
            word = ""
        end = token.end()
        if token["number"]:
            *before, last = (word or _NUMBER).split("_")
            if _REPEAT.fullmatch(last):
                words.update(before)
            else:
                _set(settings, word or _NUMBER, token["number"])
            word = ""
        else:
            _take_word(words, word)
            word = (token["word"] or "").strip("_")
    _take_word(words, word)
    found = tuple(re.findall(r"\d+", stamp[0])) if stamp else ()
    return Told(settings, frozenset(words), found)


def _take_word(words: set[str], word: str) -> None:
    """Add a word that names no number, unless it is a letter alone."""
    *before, last = word.split("_")
    words.update(before if _REPEAT.fullmatch(last) else [word] if len(word) > 1 else [])


def _set(settings: dict[str, str], key: str, value: str) -> None:
    """Add a setting; where another number of that name follows, it is counted: `io`, `io 2`."""
    name, count = key, 1
    while name in settings:
        count += 1
        name = f"{key} {count}"
    settings[name] = value


def varying(told: Mapping[str, Told], ignored: Collection[str]) -> dict[str, dict[str, str]]:
    """Return for each name what is not alike in all, in order of first mention; what a name lacks is `none`."""
    keys = dict.fromkeys(key for one in told.values() for key in one.settings)
    shared = frozenset.intersection(*(one.words for one in told.values())) if told else frozenset()
    table = {key: {name: one.settings.get(key, "none") for name, one in told.items()} for key in keys if key not in ignored}
    if WORDING not in ignored:
        table[WORDING] = {name: " ".join(sorted(one.words - shared - set(ignored))) or "none" for name, one in told.items()}
    table = {key: values for key, values in table.items() if len(set(values.values())) > 1}
    return {name: {key: values[name] for key, values in table.items()} for name in told}


def stamps(told: Mapping[str, Told]) -> dict[str, tuple[str, ...]]:
    """Return the date in each name that has one of the most common form."""
    forms = Counter(tuple(len(part) for part in one.stamp) for one in told.values() if one.stamp)
    if not forms:
        return {}
    form = forms.most_common(1)[0][0]
    return {name: one.stamp for name, one in told.items() if tuple(len(part) for part in one.stamp) == form}


def ordered(told: Mapping[str, Told]) -> list[str] | None:
    """Return names in the order of the dates in them; None where not all have one of the same form, or two are alike."""
    forms = {tuple(len(part) for part in one.stamp) for one in told.values()}
    if len(forms) != 1 or forms == {()} or len({one.stamp for one in told.values()}) < len(told):
        return None
    return sorted(told, key=lambda name: told[name].stamp)


def _common(texts: Sequence[str]) -> int:
    """Return how many characters all texts begin with, up to the last one that is neither letter nor figure."""
    length = 0
    for index, characters in enumerate(zip(*texts, strict=False)):
        if len(set(characters)) > 1:
            break
        if not characters[0].isalnum():
            length = index + 1
    return length

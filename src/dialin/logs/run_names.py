"""Reads the names of logs: the candidate, other settings, and the date of the run. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from itertools import takewhile

from dialin.errors import UserError
from dialin.logs.stamps import Stamp, take_stamps
from dialin.model.setting import whole_number

_ENDINGS = re.compile(
    r"(?:(?:\.(?:gz|bz2|xz|zst|zip|txt|log|csv|out|dat|sysbench))+|(?<=\d)(?:txt|log|csv|out))(?=#|$)", re.IGNORECASE
)
"""Endings of files, also one whose point somebody forgot: `thr56txt`."""
_INDEX = re.compile(r"#\d+$")
_LETTER, _ALONE = r"[^\W\d_]", r"(?![^\W_])"
"""A letter of any script, and the end of letters and digits."""
_VALUE = rf"\d+(?:\.\d+)*(?:[KMGTkmgt]i?[Bb]?)?{_ALONE}"
_PART = re.compile(
    rf"(?P<named>(?!(?:run|r)[=_-]){_LETTER}{{2,}})[=_-](?P<letter>{_LETTER}){_ALONE}"
    rf"|(?P<count>\d+)(?:ths?|thr|thds?|threads?|vus?|users?|conns?|clients?){_ALONE}"
    r"|\((?P<copy>\d{1,2})\)"
    rf"|(?P<key>{_LETTER}+(?:_{_LETTER}+)*)[=_-]?(?P<value>{_VALUE})"
    rf"|(?P<number>{_VALUE})"
    rf"|(?P<word>read[_-](?:un)?committed|repeatable[_-]read|query[_-]cache|{_LETTER}[^\W_]*(?:_{_LETTER}+{_ALONE})*)"
    r"|(?P<mixed>[^\W_]+)"
)
_REPEAT = re.compile(
    "r|run|rep(?:eat|etition)?|iter(?:ation)?|try|trial|attempt|copy|pass|round|seq|take|sample|part|rerun|again|no|nr"
    "|loop|cycle|exec(?:ution)?",
    re.IGNORECASE,
)
"""Words that number the runs of one setting."""
_OUTPUT = re.compile(r"results?|output", re.IGNORECASE)
"""Words that may do so: only if the numbers after them, in all names, count without a gap."""
_OF_THREADS = re.compile(r"t|th|thr|thds?|threads?|c|conns?|clients?|vus?|users?", re.IGNORECASE)
_MOST_REPEATS = 100
"""A number of this size or larger after such a word is a setting."""
THREADS = "threads"
NUMBER = "number"
"""The factor of a number without a word before it."""
WORDING = "wording"
"""The factor of all words that are not in every name."""
NONE = "none"
"""The value of a factor that a run does not have."""
LOAD = "load"
"""The factor of the words that name a load."""
_LOADS = frozenset(
    re.findall(
        r"\w+",
        "oltp olap tpcc tpch tpce tprocc tproch ycsb tatp smallbank voter twitter epinions seats wikipedia auctionmark "
        "chbenchmark workloada workloadb workloadc workloadd workloade workloadf point points select selects query read "
        "reads write writes only random range ranges scan scans insert inserts bulk update updates delete deletes upsert "
        "replace index nonindex key pk sum order ordered distinct join joins inlist hot covered notcovered simple "
        "complex mixed ro rw wo",
    )
)
"""Words that name loads of benchmark programs."""
_OF_LOADS = frozenset({"non", "ps"})
"""Words that do so only beside these: `ps` alone is a product."""
_ID = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9]{6,}")
_WILDCARDS = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class NameParts:
    """The parts of a name besides the candidate.

    Attributes:
        settings: values by name: `io5000` and `io/5000` are `io` with `5000`. Every number is a setting, except dates and the
            numbers of repeats.
        words: the words without a number, and those that mix letters and digits.
        stamp: the dates and times.
    """

    settings: Mapping[str, str]
    words: frozenset[str]
    stamp: Stamp


def by_expression(names: Sequence[str], expression: str) -> dict[str, str]:
    """Return the candidate of each name that an expression matches: its groups, joined by a slash, else the whole match.

    Raises:
        UserError: it is not a regular expression, or it matches no name.
    """
    try:
        pattern = re.compile(expression)
    except re.error as error:
        raise UserError(f"--by {expression}: not a regular expression: {error}", "Write it like --by 'bpi(\\d+)'") from None
    candidates = {}
    for name in names:
        if match := pattern.search(name):
            groups = [group for group in match.groups() if group]
            candidates[name] = "/".join(groups) or match[0]
    candidates = {name: candidate for name, candidate in candidates.items() if candidate}
    if not candidates:
        raise UserError(f"--by {expression} matches no name, such as {names[0]}", "Write it like --by 'bpi(\\d+)'")
    return candidates


def by_patterns(names: Sequence[str], table: Mapping[str, Sequence[str]], where: str) -> dict[str, str]:
    """Return the candidate of each name that one of a table's patterns matches; see `fits_pattern`.

    Raises:
        UserError: a pattern matches no name, or a name matches patterns of two candidates.
    """
    candidates: dict[str, str] = {}
    for candidate, patterns in table.items():
        for pattern in patterns:
            fitting = [name for name in names if fits_pattern(name, pattern)]
            if not fitting:
                raise UserError(
                    f"{where}: {pattern!r} of {candidate} matches no log, such as {names[0]}",
                    "A pattern must match a whole name or, without a wildcard, a whole directory",
                )
            for name in fitting:
                if candidates.setdefault(name, candidate) != candidate:
                    raise UserError(
                        f"{where}: {name} matches {candidates[name]} and {candidate}", "A run belongs to one candidate"
                    )
    return candidates


def fits_pattern(name: str, pattern: str) -> bool:
    """Return whether a pattern matches a log's name.

    - With a wildcard (`*`, `?`, `[...]`) it must match the whole name, or the name of the file; `*` also matches slashes.
    - A leading `^` anchors it to the start of a directory or file name, a trailing `$` to the end of one; with only one of the
      two, anything may stand on the other side. `*` then stays within that part of the path.
    - Otherwise it must equal the name, or whole parts of its path: `10.11` matches `10.11/a.log` and `b/10.11.log`, but not
      `10.11.10/a.log`.
    """
    file = name.rpartition("/")[2]
    parts = [*name.split("/")[:-1], file, _ENDINGS.sub("", file)]
    if pattern.startswith("^") or pattern.endswith("$"):
        start, end = ("" if pattern.startswith("^") else "*"), ("" if pattern.endswith("$") else "*")
        expression = re.compile(translate(start + pattern.removeprefix("^").removesuffix("$") + end))
        return any(expression.match(part) for part in parts)
    if _WILDCARDS.search(pattern):
        return fnmatchcase(name, pattern) or fnmatchcase(file, pattern)
    return f"/{pattern.strip('/')}/" in f"/{name}/" or f"/{pattern.strip('/')}/" in f"/{_ENDINGS.sub('', name)}/"


def short_labels(names: Sequence[str]) -> dict[str, str]:
    """Return a short label for each name: without its ending and without the beginning and end that all names share.

    The names themselves are returned where labels without endings would be equal.
    """
    bare = [_ENDINGS.sub("", name) for name in names]
    if len(set(bare)) < len(names):
        return {name: name for name in names}
    if len(names) > 1:
        head, tail = _common(bare), _common([name[::-1] for name in bare])
        if all(len(name) > head + tail for name in bare):
            bare = [name[head : len(name) - tail] for name in bare]
    return dict(zip(names, bare, strict=True))


def read_name(name: str, expression: str | None) -> NameParts:
    """Return the parts of a name, without the part that the expression for the candidate matches."""
    rest = re.sub(expression, "/", name, count=1) if expression is not None else name
    stamp, rest = take_stamps(_ENDINGS.sub("", _INDEX.sub("", rest)))
    settings: dict[str, str] = {}
    words: set[str] = set()
    loads: list[str] = []
    before, load_end = "", -2
    for part in _PART.finditer(rest):
        if part["count"]:
            settings[_unused(THREADS, settings)] = part["count"]
            continue
        if part["copy"]:
            settings[_unused(NUMBER, settings)] = part["copy"]
            before = ""
            continue
        if part["letter"] and part["named"].lower() == "workload":
            loads.append(part[0].lower())
            continue
        if part["letter"]:
            settings[_unused(part["named"], settings)] = part["letter"]
            continue
        follows = part.start() == load_end + 1 and rest[load_end] != "/"
        if part["word"] and _is_load(part["word"].split("_"), follows=follows):
            loads.append(part["word"].lower())
            load_end, before = part.end(), ""
            continue
        if part["word"] or part["mixed"]:
            before = part["word"] or ""
            words.add(part[0])
            continue
        key, value = part["key"] or before, part["value"] or part["number"]
        words.discard(before if part["number"] else "")
        before = ""
        *others, last = key.split("_")
        counts = any(word.fullmatch(last) for word in (_REPEAT, _OUTPUT, _OF_THREADS))
        if counts and _is_load(others):
            loads.append("_".join(others).lower())  # such as `point_select_t16`
            key, others = last, []
        if _REPEAT.fullmatch(last) and (count := whole_number(value)) is not None and count < _MOST_REPEATS:
            words.update(others)
        else:
            settings[_unused(key or NUMBER, settings)] = value
    if loads:
        settings[_unused(LOAD, settings)] = " ".join(loads)
    return NameParts(settings, frozenset(words), stamp)


def _is_load(words: Iterable[str], *, follows: bool = False) -> bool:
    """Return whether words name a load; `follows` says that one stands before them."""
    names = {word.lower() for word in words}
    return names <= _LOADS | _OF_LOADS and bool(names & _LOADS or (names and follows))


def find_factors(
    parts: Mapping[str, NameParts], ignored: Collection[str], threads: Mapping[str, str] | None = None
) -> dict[str, dict[str, str]]:
    """Return for each name the factors that differ between names, in order of first occurrence; a missing value is `none`.

    `threads` are those in the logs: they tell `innodb_8` and `rocksdb_8`, words before a number of threads, from settings.
    """
    parts = _with_words(_without_numbering(parts), threads or {})
    keys = dict.fromkeys(key for one in parts.values() for key in one.settings)
    shared = frozenset.intersection(*(one.words for one in parts.values())) if parts else frozenset()
    table = {key: {name: one.settings.get(key, NONE) for name, one in parts.items()} for key in keys if key not in ignored}
    if LOAD in table:
        table[LOAD] = _without_shared_words(table[LOAD])
    if WORDING not in ignored:
        table[WORDING] = {name: " ".join(sorted(one.words - shared - set(ignored))) or NONE for name, one in parts.items()}
    table = {key: values for key, values in table.items() if len(set(values.values())) > 1}
    return {name: {key: values[name] for key, values in table.items()} for name in parts}


def find_ids(parts: Mapping[str, NameParts]) -> frozenset[str]:
    """Return the words that are IDs, such as those of jobs, where names have other parts that differ.

    An ID mixes letters and digits, and each name has one of its own.
    """
    ids = {name: frozenset(word for word in one.words if _ID.fullmatch(word)) for name, one in parts.items()}
    every = frozenset[str]().union(*ids.values())
    are_own = all(ids.values()) and len(every) == sum(map(len, ids.values()))
    others = {(tuple(sorted(one.settings.items())), one.words - every) for one in parts.values()}
    return every if are_own and len(others) > 1 else frozenset()


def _without_numbering(parts: Mapping[str, NameParts]) -> Mapping[str, NameParts]:
    """Return the parts of names without the numbers after `results` and the like that only number the runs."""
    keys = {key for one in parts.values() for key in one.settings if _OUTPUT.fullmatch(key.partition(".")[0].split("_")[-1])}
    values = {key: {one.settings[key] for one in parts.values() if key in one.settings} for key in keys}
    numbering = {key for key, of_key in values.items() if is_counting(of_key) or of_key <= {"0", "1"}}

    def without(one: NameParts) -> NameParts:
        words = {word for key in numbering & set(one.settings) for word in key.split("_")[:-1]}
        settings = {key: value for key, value in one.settings.items() if key not in numbering}
        return NameParts(settings, one.words | words, one.stamp)

    return {name: without(one) for name, one in parts.items()} if numbering else parts


def _with_words(parts: Mapping[str, NameParts], threads: Mapping[str, str]) -> Mapping[str, NameParts]:
    """Return the parts of names where some words before numbers are no settings, because other names lack them.

    Such numbers are those of the threads, or count the runs from 1 or 0 on.
    """
    partial = [
        key
        for key in dict.fromkeys(key for one in parts.values() for key in one.settings)
        if key not in (THREADS, NUMBER, LOAD) and not all(key in one.settings for one in parts.values())
    ]
    values = {key: {name: one.settings[key] for name, one in parts.items() if key in one.settings} for key in partial}
    words = {
        key
        for key, of_names in values.items()
        if all(threads.get(name) == value for name, value in of_names.items()) or _counts_runs(list(of_names.values()))
    }
    if len(words) < 2 or any(not words & set(one.settings) for one in parts.values()):
        return parts
    return {
        name: NameParts(
            {key: value for key, value in one.settings.items() if key not in words},
            one.words | (words & set(one.settings)),
            one.stamp,
        )
        for name, one in parts.items()
    }


def _counts_runs(values: Sequence[str]) -> bool:
    return len(set(values)) == len(values) and is_counting(values)


def is_counting(values: Collection[str]) -> bool:
    """Return whether values are the whole numbers from 1 or 0 on, as runs are counted; the first run may have none."""
    numbers = sorted({number for value in values if (number := whole_number(value)) is not None})
    if NONE in values and numbers:
        numbers = [numbers[0] - 1, *numbers]
    is_whole = len(numbers) == len(set(values)) > 1
    return is_whole and numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(numbers) - 1


def in_order(stamps: Mapping[str, Stamp]) -> list[str] | None:
    """Return names in the order of their dates; None if a date is missing, forms differ, or two dates are equal."""
    forms = {stamp.form for stamp in stamps.values()}
    if len(forms) != 1 or forms == {()} or len({stamp.key for stamp in stamps.values()}) < len(stamps):
        return None
    return sorted(stamps, key=lambda name: stamps[name].key)


def _without_shared_words(values: Mapping[str, str]) -> dict[str, str]:
    """Return the words that name loads, without those at the start of all of them: `point_select` for `oltp_point_select`."""
    words = {name: value.replace("_", " ").split() for name, value in values.items()}
    columns = zip(*words.values(), strict=False)
    shared = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))
    return {name: "_".join(of[shared:]) or values[name] for name, of in words.items()}


def _unused(key: str, settings: Collection[str]) -> str:
    if key not in settings:
        return key
    return next(name for name in (f"{key}.{index}" for index in range(2, len(settings) + 3)) if name not in settings)


def _common(texts: Sequence[str]) -> int:
    """Return the length of the beginning that all texts share, up to the last character that is neither letter nor digit."""
    length = 0
    for index, characters in enumerate(zip(*texts, strict=False)):
        if len(set(characters)) > 1:
            break
        if not characters[0].isalnum() and not any(re.match(r"\d\.\d", text[max(0, index - 1) : index + 2]) for text in texts):
            length = index + 1
    return length

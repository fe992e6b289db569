"""Reads options from the files beside logs that show how runs were made: `params.txt`, option files, run scripts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

SIBLINGS = ("params.txt", "*.cnf", "run*.sh")
"""The patterns of the file names that are read, in this order; a later kind overrides an earlier one."""
_LARGEST = 1024**2
_OPTION = re.compile(r"(?<![\w-])--([A-Za-z][\w-]*)(?:[=\s]+(\"[^\"]*\"|'[^']*'|[^\s\"'\\;|&-][^\s\"'\\;|&]*))?")
_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z]\w*)=(\"[^\"]*\"|'[^']*'|[^\s;|&]*)")
_PAIR = re.compile(r"(?:--)?([A-Za-z][\w.-]*)(?:\s*[=:]\s*|\s+)(.*)")
_WORD = re.compile(r"(?:--)?([A-Za-z][\w-]*)")
_SECRET = re.compile(r"(?:passw(?:or)?d\d?|pwd|pass|secret|token)$")
_ON = "on"


def read_options(logs: Mapping[str, Path], roots: Sequence[Path]) -> dict[str, dict[str, str]]:
    """Return the options that the files beside each log set.

    For each kind, the files in the log's directory are used, else those of the nearest directory above it that has any, up to
    the root that contains the log. Where a directory has several files of a kind, those are used whose names share the most
    words with the name of the log; an option that these set differently is left out. A file that cannot be read sets nothing.

    Args:
        logs: the path of each run's log, by the run's name.
        roots: directories above which nothing is read; for a log outside of all of them, only its own directory is searched.
    """
    absolute = [root.absolute() for root in roots]
    listings: dict[Path, dict[str, list[Path]]] = {}
    texts: dict[Path, dict[str, str]] = {}
    options: dict[str, dict[str, str]] = {}
    for name, path in logs.items():
        options[name] = {}
        root = next((one for one in absolute if path.is_relative_to(one)), path.parent)
        for kind in SIBLINGS:
            files = _closest_in_name(_nearest(path.parent, root, kind, listings), path.name)
            for file in files:
                if file not in texts:
                    texts[file] = parse_options(_text(file), file.name)
            options[name] |= _agreed([texts[file] for file in files])
    return options


def parse_options(text: str, file_name: str) -> dict[str, str]:
    """Return the options that a file sets, their names in lower case with underscores, the last value of each; no passwords.

    Args:
        text: the content of the file.
        file_name: determines the format: in a script (`.sh`), assignments and the `--options` of commands are read; in other
            files, lines `key=value`, `--key=value`, `key: value` and `key value`.
    """
    is_script = file_name.endswith(".sh")
    options: dict[str, str] = {}
    for line in text.replace("\\\n", " ").splitlines():
        stripped = line.strip()
        if not stripped or stripped[0] in "#;[":
            continue
        for key, value in _of_script(stripped) if is_script else _of_line(stripped):
            if not _SECRET.search(option := key.lower().replace("-", "_")):
                options[option] = value.strip().strip("\"'") or _ON
    return options


def _of_script(line: str) -> list[tuple[str, str]]:
    line = re.sub(r"\s#.*", "", line)
    assignment = _ASSIGNMENT.match(line)
    assigned = [(assignment[1], assignment[2])] if assignment and not assignment[2].startswith("$(") else []
    return assigned + [(match[1], match[2] or "") for match in _OPTION.finditer(line)]


def _of_line(line: str) -> list[tuple[str, str]]:
    line = re.sub(r"\s+[#;].*", "", line)
    if line.startswith("--") and len(options := list(_OPTION.finditer(line))) > 1:
        return [(match[1], match[2] or "") for match in options]
    if match := _PAIR.fullmatch(line):
        return [(match[1], match[2])]
    match = _WORD.fullmatch(line)
    return [(match[1], "")] if match else []


def _nearest(directory: Path, root: Path, kind: str, listings: dict[Path, dict[str, list[Path]]]) -> list[Path]:
    for place in (directory, *directory.parents):
        if place not in listings:
            listings[place] = _listing(place)
        if listings[place][kind]:
            return listings[place][kind]
        if place == root:
            break
    return []


def _listing(directory: Path) -> dict[str, list[Path]]:
    try:
        files = sorted(path for path in directory.iterdir() if path.is_file())
    except OSError:
        files = []
    return {kind: [path for path in files if fnmatchcase(path.name, kind)] for kind in SIBLINGS}


def _closest_in_name(files: Sequence[Path], log: str) -> list[Path]:
    if len(files) < 2:
        return list(files)
    words = _words(log)
    shared = {path: len(words & _words(path.name)) for path in files}
    return [path for path in files if shared[path] == max(shared.values())]


def _words(name: str) -> frozenset[str]:
    return frozenset(re.findall(r"[A-Za-z]+\d*|\d+", name.lower()))


def _agreed(options: Sequence[Mapping[str, str]]) -> dict[str, str]:
    values: dict[str, set[str]] = {}
    for of_file in options:
        for key, value in of_file.items():
            values.setdefault(key, set()).add(value)
    return {key: next(iter(distinct)) for key, distinct in values.items() if len(distinct) == 1}


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

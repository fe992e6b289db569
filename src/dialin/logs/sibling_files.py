"""Reads options from the files beside logs that show how runs were made.

These are `params.txt`, JSON files of parameters, option files, run scripts, and listings of a server's variables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from dialin.model.setting import Value, parse_value
from dialin.paths import parse_json
from dialin.text import size as exact_size
from dialin.variables import memory, reserved_variables
from dialin.variables.forms import listing

_PARAMETERS = ("params.txt",)
_JSON = ("*.json",)
OPTION_FILES = ("*.cnf", "*.cnf.*", "my.ini")
SCRIPTS = ("*.sh",)
LISTINGS = ("*vars*", "*variables*")
PATTERNS = (*_PARAMETERS, *_JSON, *OPTION_FILES, *SCRIPTS, *LISTINGS)
"""The patterns of file names that are read, in lower case."""
REDO_LOG = "redo log (effective)"
_OF_THE_BUILD = re.compile(r"^(?:innodb_)?version|_port$|_socket$|_dir$|_file$|_path$|^license$|timestamp|^system_time_zone$")
_OF_A_SERVER = "innodb_page_size"
"""A variable by which all variables of a server are told from parameters of a run."""
_LARGEST = 1024**2
_OPTION = re.compile(r"(?<![\w-])--([A-Za-z][\w-]*)(?:[=\s]+(\"[^\"]*\"|'[^']*'|[^\s\"'\\;|&-][^\s\"'\\;|&]*))?")
_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z]\w*)=(\"[^\"]*\"|'[^']*'|[^\s;|&]*)")
_PAIR = re.compile(r"(?:--)?([A-Za-z][\w.-]*)(?:\s*[=:]\s*|\s+)(.*)")
_WORD = re.compile(r"(?:--)?([A-Za-z][\w-]*)")
_KEY = re.compile(r"[A-Za-z][\w.-]*")
_SECRET = re.compile(r"(?:passw(?:or)?d\d?|pwd|pass|token)$|secret|credential|(?:api|access|private)_?key")
_LOGIN = re.compile(r":[^:/@\s]+@")
"""What stands between a user and a host where an address has a password."""
_ON = "on"


_Parse = Callable[[str, str], dict[str, str]]
"""Returns the options in a text, given the name of its file."""


class SiblingFinder:
    """Finds the files beside logs: in the directory of a log, else in the nearest directory above it that has any.

    Of several files there, those count whose names share the most words with the name of the log.

    Args:
        roots: directories above which nothing is read; for a log outside of all of them, only its own directory is searched.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = [root.absolute() for root in roots]
        self._listings: dict[Path, list[Path]] = {}
        self._matching: dict[tuple[Path, tuple[str, ...]], list[Path]] = {}

    def nearest(self, log: Path, patterns: Sequence[str]) -> list[Path]:
        root = next((one for one in self._roots if log.is_relative_to(one)), log.parent)
        for place in (log.parent, *log.parent.parents):
            if files := self._matches(place, tuple(patterns)):
                return _closest_in_name([path for path in files if path != log], log.name)
            if place == root:
                break
        return []

    def _matches(self, place: Path, patterns: tuple[str, ...]) -> list[Path]:
        """Return the files of a directory whose names match, which is found out once for all logs there."""
        if place not in self._listings:
            self._listings[place] = [path for path in _listing(place) if self._is_inside(path)]
        if (place, patterns) not in self._matching:
            self._matching[place, patterns] = [
                path for path in self._listings[place] if any(fnmatchcase(path.name.lower(), one) for one in patterns)
            ]
        return self._matching[place, patterns]

    def _is_inside(self, path: Path) -> bool:
        """Return whether a file is no link that leads out of what the user named: to an option file of the user's, perhaps."""
        if not path.is_symlink():
            return True
        target = path.resolve()
        return any(target.is_relative_to(root.resolve()) for root in (*self._roots, path.parent))


def read_options(logs: Mapping[str, Path], finder: SiblingFinder) -> dict[str, dict[str, str]]:
    """Return the options that the files beside each log set, and what the server reported of them.

    An option that several files of a kind set differently is left out. A listing of a server's variables shows what was in
    force, so that option files beside it are not read. A file that cannot be read sets nothing.

    `logs` are the paths of the runs' logs, by the run's name.
    """
    texts: dict[tuple[Path, _Parse], dict[str, str]] = {}
    options: dict[str, dict[str, str]] = {}

    def of_kind(path: Path, patterns: Sequence[str], parse: _Parse) -> dict[str, str]:
        files = finder.nearest(path, patterns)
        for file in files:
            if (file, parse) not in texts:
                texts[file, parse] = parse(read_text(file), file.name)
        return _agreed([texts[file, parse] for file in files if texts[file, parse]])

    for name, path in logs.items():
        reported = of_kind(path, LISTINGS, parse_listing)
        requested = of_kind(path, OPTION_FILES, parse_options) if not reported else {}
        options[name] = (
            of_kind(path, _PARAMETERS, parse_options)
            | of_kind(path, _JSON, parse_parameters)
            | requested
            | of_kind(path, SCRIPTS, parse_options)
            | reported
        )
    return options


def is_secret(option: str, value: str) -> bool:
    """Return whether an option is a password or the like, or its value has one."""
    return bool(_SECRET.search(re.sub("[ -]", "_", option.lower())) or _LOGIN.search(value))


def parse_listing(text: str, _file_name: str = "") -> dict[str, str]:
    """Return the variables in output of SHOW VARIABLES that settings can change, with the effective size of the redo log.

    MySQL from 8.0.30 on has `innodb_redo_log_capacity`, and ignores the size of its files; MariaDB has one file.
    """
    return _settable(listing.read(_without_warnings(text)) or {})


def _settable(variables: Mapping[str, Value]) -> dict[str, str]:
    """Return those of a server's variables that settings can change."""
    options = {
        name: str(value)
        for name, value in variables.items()
        if reserved_variables.reason(name) is None and not _OF_THE_BUILD.search(name) and not is_secret(name, str(value))
    }
    if size := memory.redo_log_size(variables):
        for name in memory.REDO_LOG:
            options.pop(name, None)
        options[REDO_LOG] = exact_size(float(size))
    return options


def parse_parameters(text: str, _file_name: str = "") -> dict[str, str]:
    """Return the plain values of a JSON object of parameters; nothing for any other JSON.

    Of an object with the variables of a server, those that settings can change; of one with its status, or with results, whose
    keys are words with units, nothing.
    """
    try:
        document = parse_json(text) if text else {}
    except ValueError:
        return {}
    values = {
        key.lower().replace("-", "_"): str(value)
        for key, value in (document.items() if isinstance(document, dict) else ())
        if _KEY.fullmatch(key) and isinstance(value, str | int | float) and not is_secret(key, str(value))
    }
    if "uptime" in values:
        return {}
    return _settable({key: parse_value(value) for key, value in values.items()}) if _OF_A_SERVER in values else values


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
            if not is_secret(key, value):
                options[key.lower().replace("-", "_")] = value.strip().strip("\"'") or _ON
    return options


def _of_script(line: str) -> list[tuple[str, str]]:
    line = re.sub(r"\s#.*", "", line)
    assignment = _ASSIGNMENT.match(line)
    assigned = [(assignment[1], assignment[2])] if assignment and not assignment[2].startswith("$(") else []
    return assigned + [(match[1], match[2] or "") for match in _OPTION.finditer(line)]


def _of_line(line: str) -> list[tuple[str, str]]:
    line = re.sub(r"\s[#;].*", "", line).rstrip()
    if line.startswith("--") and len(options := list(_OPTION.finditer(line))) > 1:
        return [(match[1], match[2] or "") for match in options]
    if match := _PAIR.fullmatch(line):
        return [(match[1], match[2])]
    match = _WORD.fullmatch(line)
    return [(match[1], "")] if match else []


def _without_warnings(text: str) -> str:
    """Return a listing without the lines that the client printed before it."""
    return "\n".join(line for line in text.splitlines() if not line.startswith(("mysql:", "mariadb:", "WARNING:")))


def _listing(directory: Path) -> list[Path]:
    try:
        return sorted(path for path in directory.iterdir() if path.is_file())
    except OSError:
        return []


def _closest_in_name(files: Sequence[Path], log: str) -> list[Path]:
    if len(files) < 2:
        return list(files)
    words = _words(log)
    shared = {path: len(words & _words(path.name)) for path in files}
    most = max(shared.values())
    return [path for path in files if shared[path] == most]


def _words(name: str) -> frozenset[str]:
    return frozenset(re.findall(r"[A-Za-z]+\d*|\d+", name.lower()))


def _agreed(options: Sequence[Mapping[str, str]]) -> dict[str, str]:
    values: dict[str, set[str]] = {}
    for of_file in options:
        for key, value in of_file.items():
            values.setdefault(key, set()).add(value)
    return {key: next(iter(distinct)) for key, distinct in values.items() if len(distinct) == 1}


def read_text(path: Path, largest: int = _LARGEST) -> str:
    """Return a small file's text; an empty one if it is large or cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(largest + 1)
        return content.decode("utf-8", "replace") if len(content) <= largest else ""
    except OSError:
        return ""

"""Options that stand in files beside a log: run scripts, option files, parameter lists. Names of logs do not tell them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_PATTERNS = ("*params*.txt", "*.cnf", "*run*.sh")
_LARGEST = 1024**2
"""Bytes of such a file that are read at most."""
_SCRIPT_OPTION = re.compile(r"--([A-Za-z][\w-]*)(?:=|[ \t]+)([^\s\\;\"'&|-][^\s\\;\"'&|]*)")
_LINE = re.compile(r"^\s*(?:--)?([A-Za-z][\w.-]*)\s*[=:\s]\s*(\S.*?)\s*$")
_NOT_SETTINGS = re.compile(
    r"(?:.*_)?(?:pass(?:word)?|user|host|socket|port|pid|file|dir|basedir|datadir|tmpdir|log|error|db|time|rand_seed|seed|id)",
    re.IGNORECASE,
)
"""Names that differ from run to run without a meaning for it, or that may hold a secret."""


def options_beside(log: Path, root: Path) -> dict[str, str]:
    """Return the options in the files beside a log, by name.

    Of several files those count whose name holds that of the log, where there are such. Where the log's directory has no file,
    the next one above it that has is taken.

    Args:
        log: the log.
        root: the directory above which nothing is looked at.
    """
    name = log.name.split(".sysbench")[0].removesuffix(".gz")
    directory = log.parent
    while True:
        files = _options_in(directory)
        own = {file: options for file, options in files.items() if name.rpartition(".")[0] and name.rpartition(".")[0] in file}
        if chosen := own or files:
            return {key: value for options in chosen.values() for key, value in options.items()}
        if directory == root or root not in directory.parents:
            return {}
        directory = directory.parent


@cache
def _options_in(directory: Path) -> dict[str, dict[str, str]]:
    return {path.name: _read(path) for pattern in _PATTERNS for path in sorted(directory.glob(pattern))}


def _read(path: Path) -> dict[str, str]:
    """Return the options of one file; nothing where it cannot be read or is too large to be one."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return {}
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    if path.suffix == ".sh":
        pairs = _SCRIPT_OPTION.findall(text)
    else:
        lines = (line.split("#")[0] for line in text.splitlines())
        pairs = [match.groups() for line in lines if (match := _LINE.match(line))]
    named = ((name.replace("-", "_"), value.strip("\"'")) for name, value in pairs)
    return {name: value for name, value in named if not _NOT_SETTINGS.fullmatch(name)}

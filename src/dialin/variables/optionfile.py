"""Option files: read the settings of a user's file, and write the file of a sandbox.

Reading follows the servers' rules: groups, `#` and `;` comments, quotes and their escapes, dashes for underscores, `skip-x`
and a bare `x`, `!include` and `!includedir`; the last of several lines for one option wins. The groups that are read are those
of the build: `[mysqld]`, `[server]`, MariaDB's own on MariaDB, and those of its version, such as `[mysqld-9.7]`. Paths in an
include are relative to the file that contains it. Options that belong to one server only are left out, see
`reserved_variables`; what a file asks of `mysqld_safe` is noted, for dialin starts servers without it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dialin.errors import UserError
from dialin.model.build import BuildReference, Family
from dialin.model.setting import Value, as_number, canonical_name, means_off, parse_value
from dialin.model.study import SettingForm
from dialin.text import listed
from dialin.variables import reserved_variables
from dialin.variables.aliases import OPTION_OF, checked_name

MAX_SIZE = 1024 * 1024
"""The largest option file that is read, in bytes; real ones are far smaller."""

MAX_DEPTH = 10
"""How deep includes may be nested; the servers' own limit."""

_MOST_FILES = 1000
"""Files that may be included: a few that include each other several times would be read without end."""

_LONGEST_LINE = 4000
"""Bytes. Servers read a line in pieces of 4096 bytes and take the second piece for a new line."""

_GROUPS = {
    Family.MYSQL: ("mysqld", "server"),
    Family.MARIADB: ("mysqld", "server", "mariadb", "mariadbd", "client-server"),
}
_WITH_VERSION = ("mysqld", "mariadb", "mariadbd")
"""Groups that a server also reads with its version behind the name, such as `[mysqld-9.7]`, where it reads them at all."""

_WRAPPERS = {
    Family.MYSQL: ("mysqld_safe", "safe_mysqld"),
    Family.MARIADB: ("mysqld_safe", "safe_mysqld", "mariadb_safe", "mariadbd_safe"),
}
_OF_THE_WRAPPER = {
    "malloc_lib": "another memory allocator",
    "numa_interleave": "NUMA interleaving",
    "thp_setting": "transparent huge pages",
    "open_files_limit": "a limit of open files",
    "flush_caches": "flushed page caches",
    "nice": "another priority",
}
"""What `mysqld_safe` gives a server beside its options, by its own option."""

_TEMPLATE = re.compile(r"\{\{|\{%|<%|\$\{")
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
"""Text in quotes, in which braces are text."""

_WITHOUT_INCLUDES = "Correct the line, or continue without includes: --no-includes"
_OPERATORS = re.compile(r"\{\{\s*container\w+")
_SKIPS_BY_NAME = {
    "skip_external_locking", "skip_grant_tables", "skip_name_resolve", "skip_networking", "skip_replica_start",
    "skip_show_database", "skip_slave_start",
}  # fmt: skip
_ESCAPE = re.compile(r"\\([ntrbs\"'\\])")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "s": " "}
_BARE = re.compile(r"[\w./:,+@%=-]+", re.ASCII)
_LARGE_SIZE = re.compile(r"\d+[tpe]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OptionFile:
    """What a user's option file asks of a server.

    Attributes:
        setting: variables with values, in the order of the file.
        ignored: names of options that were left out because dialin itself must set them.
        notes: what else the user should know, a sentence each.
        loose: the variables with the prefix `loose_`: a server that does not have them ignores them.
        places: by variable, its file and line: `/etc/my.cnf, line 7`.
        reported: values in force on the server that the file describes, whoever set them: a listing has nothing else.
        form: what the file is, where it is no option file: a recommendation is also written in that form.
    """

    setting: dict[str, Value]
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    loose: frozenset[str] = frozenset()
    places: Mapping[str, str] = field(default_factory=dict, compare=False)
    reported: Mapping[str, Value] = field(default_factory=dict)
    form: SettingForm | None = None


@dataclass(frozen=True, slots=True)
class _Reader:
    """The program that a file is for: its group and the remedy in errors, and how it is read.

    Attributes:
        is_client: an include that may not be read is skipped, and nothing is a template.
        includes: whether includes are followed.
    """

    group: str
    remedy: str
    is_client: bool
    includes: bool = True


_SERVERS = _Reader("[mysqld]", "Name a server's option file", is_client=False)
_CLIENTS = _Reader(
    "[client]", "Name a client's option file, with user, password and socket or host below [client]", is_client=True
)


@dataclass(frozen=True, slots=True)
class _Line:
    path: Path
    number: int
    text: str
    group: str = ""
    where: str = ""

    @property
    def place(self) -> str:
        return f"{self.where or self.path}, line {self.number}"

    def fault(self, what: str, remedy: str) -> UserError:
        return UserError(f"{self.place}: {what}", remedy)


def read(path: Path, build: str = "", *, includes: bool = True) -> OptionFile:
    """Read a user's option file as a build such as `mysql@9.7.4` would; without one, the groups of no version are read.

    Without `includes`, `!include` and `!includedir` are passed over, with a note.

    Raises:
        UserError: the file is missing, unreadable, malformed or a template, or it has an option that dialin cannot use; the
            error names the line.
    """
    return read_text(path, text(path), build, includes=includes)


def read_text(path: Path, content: str, build: str = "", *, includes: bool = True, where: str = "") -> OptionFile:
    """Read the text of an option file as `read` does; `where` names the text in errors where it is only a part of a file."""
    setting: dict[str, Value] = {}
    ignored: dict[str, None] = {}
    notes: dict[str, None] = {}
    loose: set[str] = set()
    places: dict[str, str] = {}
    wrapper: dict[str, str] = {}
    groups, wrappers = _groups(build, _GROUPS), _groups(build, _WRAPPERS)
    for line in _lines(path, (), content, reader=replace(_SERVERS, includes=includes), notes=notes, where=where):
        if line.group in groups:
            name, value = _option(line, notes)
            is_loose = line.text.lower().replace("-", "_").startswith("loose_")
            loose = loose | {name} if is_loose else loose - {name}
            places[name] = line.place
            if reserved_variables.reason(name) or reserved_variables.reason_for_value(name, value):
                ignored[name] = None
            else:
                setting.pop(name, None)
                setting[name] = parse_value(value) if value == value.strip() else value
        elif line.group.replace("-", "_") in wrappers:
            name, _, raw = _uncommented(line.text).partition("=")
            wrapper[name.strip().lower().replace("-", "_")] = _unquoted(raw.strip())
    if asked := [
        f"{what} ({name.replace('_', '-')}={wrapper[name] or 1})" for name, what in _OF_THE_WRAPPER.items() if name in wrapper
    ]:
        notes[f"it asks mysqld_safe for {listed(asked)}: dialin starts servers without it, and does not test that"] = None
    return OptionFile(setting, tuple(ignored), tuple(notes), frozenset(loose) & setting.keys(), places)


def _groups(build: str, table: Mapping[Family, Sequence[str]]) -> frozenset[str]:
    if not build:
        return frozenset(name for names in table.values() for name in names)
    reference = BuildReference.parse(build)
    names = table[reference.family]
    version = ".".join(map(str, reference.version[:2]))
    return frozenset((*names, *(f"{name}-{version}" for name in _WITH_VERSION if name in names)))


def render(sections: Mapping[str, Mapping[str, Value | None]]) -> str:
    """Return an option file that every server from 5.5 on reads back as the same values; None is an option without a value.

    Raises:
        UserError: a name or a value cannot stand in an option file.
    """
    lines = []
    for group, options in sections.items():
        lines.append(f"[{group}]")
        for name, value in options.items():
            lines.append(line(name, value))
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Option:
    """An option as it is written in a file, not yet interpreted.

    Attributes:
        name: lower case, with underscores, without the prefix `loose_`.
        value: unquoted; None where the option stands alone. It may be a secret.
    """

    name: str
    value: str | None = field(repr=False)
    path: Path


def options(path: Path, groups: Collection[str], content: str | None = None) -> list[Option]:
    """Return the options of some groups as they are written, in the order in which a client reads them.

    No error quotes a line, because a client's options contain passwords. An included file that may not be read is skipped, as
    clients do.

    Raises:
        UserError: the file is missing, unreadable or malformed.
    """
    written = []
    for line in _lines(path, (), content, reader=_CLIENTS, notes={}):
        if line.group in groups:
            name, equals, raw = _uncommented(line.text).partition("=")
            plain = name.strip().lower().replace("-", "_").removeprefix("loose_")
            written.append(Option(plain, _unquoted(raw.strip()) if equals else None, line.path))
    return written


def _lines(
    path: Path,
    within: tuple[Path, ...],
    content: str | None = None,
    *,
    reader: _Reader,
    notes: dict[str, None],
    where: str = "",
    reads: Iterator[int] | None = None,
) -> Iterator[_Line]:
    """Yield the options of a file and of those that it includes, in the order in which a server or client reads them.

    `reads` has an item for each file that may still be included.
    """
    group, reads = "", iter(range(_MOST_FILES)) if reads is None else reads
    for number, raw in enumerate((_text(path, reader) if content is None else content).split("\n"), start=1):
        line = _Line(path, number, raw.strip(), group, where)
        if not line.text or line.text[0] in "#;":
            continue
        if not reader.is_client and (found := _TEMPLATE.search(_QUOTED.sub("", line.text))):
            raise line.fault(f"this is a template: nothing has put a value in place of {found[0]} yet", _how_to_render(line))
        if line.text.startswith("!"):
            included = _included(line) if reader.includes else []
            if not reader.is_client:
                notes[_include_note(line, included, reader)] = None
            for target in included:
                if target.resolve() in (path.resolve(), *within) or len(within) >= MAX_DEPTH:
                    raise line.fault(f"{target} is included in itself, or too deep", "Take this line out")
                if next(reads, None) is None:
                    raise line.fault(f"more than {_MOST_FILES:,} files are included", "Include each file once")
                if not reader.is_client or os.access(target, os.R_OK):
                    inner = reader if reader.is_client else replace(reader, remedy=_WITHOUT_INCLUDES)
                    yield from _lines(target, (*within, path.resolve()), reader=inner, notes=notes, reads=reads)
        elif line.text.startswith("["):
            name, closed, _ = line.text[1:].partition("]")
            if not closed:
                raise line.fault("the name of a group has no ]", f"Write it like {reader.group}")
            group = name.rstrip()
        elif not group:
            raise line.fault("an option comes before any group", f"Put {reader.group} above it")
        else:
            yield line


def _how_to_render(line: _Line) -> str:
    if _OPERATORS.search(line.text):
        return "Name the operator's resource (YAML) instead, whose limits.memory dialin reads; or write the value"
    return "Render it first, and name the result"


def _include_note(line: _Line, included: Sequence[Path], reader: _Reader) -> str:
    if not reader.includes:
        why = "its files are elsewhere" if line.where else "--no-includes"
        return f"line {line.number}: {line.text.partition(' ')[0]} was left out ({why})"
    return f"line {line.number}: read {listed([str(path) for path in included])} of this machine; --no-includes leaves it out"


def _included(line: _Line) -> list[Path]:
    directive, _, rest = line.text.partition(" ")
    if directive not in ("!include", "!includedir") or not rest.strip():
        shown = directive if directive.startswith("!include") else "what begins with ! here"  # it may hold a secret
        raise line.fault(f"{shown} is not understood", "There are !include FILE and !includedir DIRECTORY")
    if "!include" in rest:
        raise line.fault(
            "the server takes the rest of the line for one path: a line break is missing before the second !include",
            "Put each on a line of its own",
        )
    target = line.path.parent / rest.strip()
    if directive == "!include":
        return [target]
    try:
        return sorted(path for path in target.iterdir() if path.name.endswith(".cnf"))
    except OSError as error:
        raise line.fault(f"{target} cannot be read: {error.strerror}", _WITHOUT_INCLUDES) from None


def text(path: Path) -> str:
    """Return the text of a file with a server's settings, whatever its form.

    Raises:
        UserError: it is missing, unreadable, no text, or too large for such a file.
    """
    return _text(path, _SERVERS)


def _text(path: Path, reader: _Reader) -> str:
    try:
        if not path.is_file():
            raise UserError(f"{path} {'is not a file' if path.exists() else 'does not exist'}", reader.remedy)
        if (size := path.stat().st_size) > MAX_SIZE:
            raise UserError(f"{path} is larger than 1 MiB: it is not an option file", reader.remedy)
        content = path.read_bytes() if size else b""  # a file of the kernel has no size, and some never end
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}", "Check its permissions") from None
    if b"\0" in content:
        raise UserError(f"{path} is not text: it is not an option file", reader.remedy)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _option(line: _Line, notes: dict[str, None]) -> tuple[str, str]:
    written, equals, raw = _uncommented(line.text).partition("=")
    try:
        name = canonical_name(written)
    except ValueError:
        raise line.fault(f"{written.strip()!r} is not an option", "Write it like innodb_buffer_pool_size = 1G") from None
    name = name.removeprefix("loose_")
    plain = name.removeprefix("maximum_")
    if plain != name and reserved_variables.reason(plain):
        return plain, ""
    if plain != name:
        raise line.fault(f"the prefix of {name} is not supported", f"Write {plain}, or take the line out")
    value = _unquoted(raw.strip())
    if name == "log_bin":
        if means_off(value):
            notes[f"{line.path}, line {line.number}: this switches the binary log on; skip-log-bin switches it off"] = None
        return name, "ON"
    if equals or name in _SKIPS_BY_NAME:
        return name, value if equals else "ON"
    if name == "skip_host_cache":
        return "host_cache_size", "0"
    for prefix, meaning in (("skip_", "OFF"), ("disable_", "OFF"), ("enable_", "ON")):
        if name.startswith(prefix):
            return name.removeprefix(prefix), meaning
    return name, "ON"


def _uncommented(text: str) -> str:
    """Return a line without a comment at its end; a # in quotes does not begin a comment."""
    quote, escaped = "", False
    for position, character in enumerate(text):
        if character in "\"'" and not escaped and quote in ("", character):
            quote = "" if quote else character
        if character == "#" and not quote:
            return text[:position]
        escaped = bool(quote) and character == "\\" and not escaped
    return text


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] in "\"'" and text[-1] == text[0]:
        text = text[1:-1]
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text)


def line(name: str, value: Value | None) -> str:
    written = _write_option(name, value)
    if len(written.encode()) > _LONGEST_LINE:
        raise UserError(f"The value of {name} is too long for an option file", "Give a shorter one")
    return written


def _write_option(name: str, value: Value | None) -> str:
    variable = checked_name(name)
    option = OPTION_OF.get(variable, variable)
    if value is None:
        return option
    text = str(value)
    if option == "log_bin" and text.lower() in ("on", "1", "true"):
        return option
    if option == "log_bin" and text.lower() in ("off", "0", "false"):
        return "skip-log-bin"  # log_bin=OFF would switch it on and name its files OFF.
    if _LARGE_SIZE.fullmatch(text):
        text = str(as_number(text))  # 5.5, 5.6 and MariaDB 10.1 know K, M and G only.
    return f"{option} = {_quoted(name, text)}"


def _quoted(name: str, text: str) -> str:
    if _BARE.fullmatch(text):
        return text
    if any(not character.isprintable() and character != "\t" for character in text):
        raise UserError(
            f"The value of {name} holds characters that no option file can hold", "Write it in one line of plain text"
        )
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return f'"{escaped}"'

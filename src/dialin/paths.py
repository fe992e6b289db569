"""Where dialin keeps things on this machine, and how files are read and replaced."""

from __future__ import annotations

import errno
import json
import os
import pwd
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from dialin.errors import UserError


@dataclass(frozen=True, slots=True)
class Home:
    """dialin's cache: builds, datasets, sandboxes and records of running processes.

    The trials' data lives here too, so the file system of this directory is the one that a study measures; the environment
    variable `DIALIN_HOME` moves it.
    """

    root: Path

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> Home:
        """Return the cache named by `DIALIN_HOME`, else `dialin` under `XDG_CACHE_HOME`, else `~/.cache/dialin`.

        Raises:
            UserError: the path is below the home directory, and the user has none, as in a container with an arbitrary user id.
        """
        try:
            if named := environment.get("DIALIN_HOME"):
                return cls(Path(named).expanduser().absolute())
            base = environment.get("XDG_CACHE_HOME")
            return cls((Path(base) if base else Path.home() / ".cache") / "dialin")
        except RuntimeError as error:
            raise UserError(
                "The home directory is unknown", "Set DIALIN_HOME to a directory that you may write to, without ~"
            ) from error

    @property
    def builds(self) -> Path:
        """Installed builds, one directory each."""
        return self.root / "builds"

    @property
    def downloads(self) -> Path:
        """Downloaded packages, kept so that nothing is downloaded twice."""
        return self.root / "downloads"

    @property
    def datasets(self) -> Path:
        """Prepared datasets, one directory each."""
        return self.root / "datasets"

    @property
    def sandboxes(self) -> Path:
        """Data directories of running instances; nothing here outlives its instance."""
        return self.root / "sandboxes"

    @property
    def ledger(self) -> Path:
        """Records of processes, one file each, written before the process is started."""
        return self.root / "ledger"

    @property
    def undo(self) -> Path:
        """Records for restoring attached servers, written before each change."""
        return self.root / "undo"

    @property
    def captures(self) -> Path:
        """Records of where captures are, and files that are written while a capture is made."""
        return self.root / "captures"

    @property
    def catalogues(self) -> Path:
        """The variables that each build reports."""
        return self.root / "catalogues"

    @property
    def noise(self) -> Path:
        """How much trials varied in the studies of this machine, newest last."""
        return self.root / "noise.json"

    @property
    def config(self) -> Path:
        """Directories that the user added with `dialin servers add`."""
        return self.root / "servers.json"


def replace_text(path: Path, text: str, mode: int = 0o666) -> None:
    """Replace the text of a file atomically: readers see the whole old text or the whole new text. The new text is synced.

    The file has the permissions `mode`, less those that the umask takes.

    Raises:
        OSError: the file cannot be written, or its directory does not exist; the old text stays.
    """
    with replacing(path, mode) as stream:
        stream.write(text.encode("utf-8"))


@contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Yield a stream; what was written replaces a file at the end of the `with` block, as `replace_text` does.

    Raises:
        OSError: as from `replace_text`.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC  # so that nothing is written through a link that is there
    try:
        try:
            descriptor = os.open(temporary, flags, mode)
        except FileExistsError:  # of a killed process that had the same number
            temporary.unlink()
            descriptor = os.open(temporary, flags, mode)
        with open(descriptor, "wb") as stream:  # noqa: PTH123 - a descriptor
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


class OthersRecordError(PermissionError):
    """A record belongs to another user."""


_MOST_RECORD = 16 * 1024 * 1024
"""Bytes of the largest record that is read; real ones are far smaller."""


def read_record(path: Path, *, of_others: bool = False) -> Any:
    """Return the content of a JSON document that dialin wrote, and that names files, commands or servers.

    What it names is run, removed or restored, with this user's rights: so a record in a directory that is shared must be this
    user's own, or root's. Only where nothing of the kind is done may it be `of_others`.

    Raises:
        OthersRecordError: it is another user's.
        OSError: it cannot be read, or is no regular file.
        ValueError: it is no such document; see `parse_record`.
    """
    links = 0 if of_others else os.O_NOFOLLOW
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | links)  # no wait for a pipe
    except PermissionError:
        if (owner := path.stat().st_uid) != os.geteuid():
            raise _of_another(owner, path) from None
        raise
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise PermissionError(errno.EPERM, "it is not a regular file", str(path))
        if not of_others and facts.st_uid not in (os.geteuid(), 0) and facts.st_uid != _owner_within(path.parent):
            raise _of_another(facts.st_uid, path)
        content = file.read(_MOST_RECORD + 1)
    if len(content) > _MOST_RECORD:
        raise ValueError(f"it is larger than {_MOST_RECORD // 1024**2} MiB")
    return parse_record(content.decode("utf-8"))


def _owner_within(directory: Path) -> int:
    """Return whose the files are that this user makes in a directory: another's where a network file system maps owners."""
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            return os.fstat(file.fileno()).st_uid
    except OSError:
        return os.geteuid()


def _of_another(owner: int, path: Path) -> OthersRecordError:
    try:
        name = pwd.getpwuid(owner).pw_name
    except KeyError:
        name = str(owner)
    return OthersRecordError(errno.EPERM, f"it belongs to the user {name}", str(path))


def parse_json(text: str | bytes) -> Any:
    """Return the content of a JSON document.

    Raises:
        ValueError: it is no JSON, is nested more deeply than Python reads, or has a number with more than 300 digits.
    """
    try:
        return json.loads(text, parse_int=_whole)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_record(text: str) -> Any:
    """Return the content of a JSON document that dialin wrote, and that names files.

    Raises:
        ValueError: it is none; see `parse_json`. A text in it has a NUL character, which no path can have.
    """
    record = parse_json(text)
    if _has_nul(record):
        raise ValueError("a text in it has a NUL character")
    return record


def parse_yaml(text: str) -> list[Any]:
    """Return the documents of a YAML text; objects of Python in it are refused.

    A part that stands in it several times (`&`, `*`) is one object: to write such a document out may take all memory.

    Raises:
        ValueError: it is no YAML; the message names the line and quotes nothing, for the text may hold a secret.
    """
    import yaml  # only resources and compose files need it

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # yaml has no types
        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            """Merge mappings (`<<`) into one, unless that makes a document of any other size than its text has."""
            merged = [value for key, value in node.value if key.tag == "tag:yaml.org,2002:merge"]
            parts = [part for value in merged for part in (value.value if isinstance(value, yaml.SequenceNode) else [value])]
            for part in parts:
                if isinstance(part, yaml.MappingNode):
                    self.flatten_mapping(part)
            if sum(len(part.value) for part in parts) > _MOST_MERGED:
                raise yaml.YAMLError
            super().flatten_mapping(node)

    try:
        return list(yaml.load_all(text, Loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise ValueError(f"line {mark.line + 1} is no YAML" if mark else "it is no YAML") from None
    except (yaml.YAMLError, RecursionError):
        raise ValueError("it is no YAML") from None


_MOST_MERGED = 10_000
"""Keys that may be merged into a mapping of YAML."""


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)


_MOST_DIGITS = 300
"""Digits of a whole number in a document; with more, it could not become a float."""


def _has_nul(document: Any) -> bool:
    pending = [document]
    while pending:
        one = pending.pop()
        if isinstance(one, str) and "\0" in one:
            return True
        pending += [*one, *one.values()] if isinstance(one, dict) else one if isinstance(one, list) else []
    return False


MAX_TOML = 1024 * 1024
"""The largest TOML file that is read, in bytes; real ones are far smaller."""


def read_toml(path: Path, remedy: str, unreadable: str = "") -> dict[str, Any]:
    """Return the content of a TOML file.

    Raises:
        UserError: the file cannot be read, is too large, or is not TOML. In the first two cases the remedy is `unreadable`, if
            it is given.
    """
    import tomllib

    try:
        if path.exists() and not path.is_file():
            raise UserError(f"{path} is not a file", unreadable or remedy)
        with path.open("rb") as file:
            content = file.read(MAX_TOML + 1)
        if len(content) > MAX_TOML:
            raise UserError(f"{path} is larger than 1 MiB", unreadable or remedy)
        read = tomllib.loads(content.decode("utf-8"))
        if _has_nul(read):
            raise ValueError("a text in it has a NUL character, which no program and no path can have")
        return read
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UserError(f"{path} cannot be read: {words}", unreadable or remedy) from error
    except ValueError as error:  # a number of more digits than Python reads is one as well
        raise UserError(f"{path} is not TOML: {error}", remedy) from error
    except RecursionError:
        raise UserError(f"{path} is not TOML that dialin reads: it is nested too deeply", remedy) from None

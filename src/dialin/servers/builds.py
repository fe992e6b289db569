"""The builds on this machine: installed by dialin, found in the usual places, or in directories that the user added."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from dialin.errors import UserError
from dialin.model.build import Build, BuildReference
from dialin.paths import Home, parse_json, replace_text
from dialin.servers.install.installable import INSTALLABLE, nearest, parse_reference
from dialin.servers.install.manifest import installed, messages_directory
from dialin.servers.server_binary import identify

_NAMES = ("mariadbd", "mysqld")
_SYSTEM_PREFIXES = (Path("/"), Path("/usr"))
_BINARY_DIRECTORIES = ("bin", "sbin", "libexec", "usr/sbin", "usr/bin", "usr/libexec", ".")

USUAL_DIRECTORIES = (
    "/usr/sbin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/libexec",
    "/usr/local/bin",
    "/usr/local/mysql/bin",
)
"""Directories of server binaries that are not on every user's PATH."""

USUAL_PATTERNS = ("/opt/*/bin", "/opt/*/sbin", "/usr/local/mysql-*/bin", "/usr/local/mariadb-*/bin")
"""Where servers from archives are usually unpacked."""


def discover(
    home: Home,
    environment: Mapping[str, str] = os.environ,
    usual: Iterable[Path] | None = None,
) -> list[Build]:
    """Return the builds on this machine, each binary once; a binary that does not run is left out.

    Builds that dialin installed come first, then those in added directories, on PATH, and in the usual places.
    """
    builds = installed(home)
    binaries = {build.binary.resolve() for build in builds}
    for place, origin in _places(home, environment, usual):
        for binary, basedir in find_binaries(place) if origin.startswith("added") else _binaries_in(place):
            if binary in binaries:
                continue
            binaries.add(binary)
            try:
                builds.append(_build(binary, basedir, origin))
            except UserError:
                continue
    return builds


def _places(home: Home, environment: Mapping[str, str], usual: Iterable[Path] | None) -> Iterator[tuple[Path, str]]:
    for directory in added_directories(home):
        yield directory, f"added: {directory}"
    for part in filter(None, environment.get("PATH", "").split(os.pathsep)):
        yield Path(part), "on PATH"
    for directory in usual_directories() if usual is None else usual:
        yield directory, f"in {directory}"


def usual_directories() -> list[Path]:
    """Return the usual directories of server binaries that exist on this machine."""
    globbed = (path for pattern in USUAL_PATTERNS for path in sorted(Path("/").glob(pattern.lstrip("/"))))
    return [path for path in (*map(Path, USUAL_DIRECTORIES), *globbed) if path.is_dir()]


def find_binaries(place: Path) -> list[tuple[Path, Path | None]]:
    """Return the servers in an unpacked archive, or in its binary directory, each with its basedir."""
    if place.is_file():
        return _binaries_in(place.parent, (place.name,))
    basedirs: dict[Path, Path | None] = {}
    for name in _BINARY_DIRECTORIES:
        for binary, basedir in _binaries_in(place / name):
            basedirs.setdefault(binary, basedir)
    return list(basedirs.items())


def _binaries_in(directory: Path, names: Sequence[str] = _NAMES) -> list[tuple[Path, Path | None]]:
    basedirs = {}
    for name in names:
        path = directory / name
        if path.is_file() and os.access(path, os.X_OK):
            binary = path.resolve()
            basedirs[binary] = _basedir(binary)
    return list(basedirs.items())


def _basedir(binary: Path) -> Path | None:
    candidates = (binary.parent.parent, binary.parent)  # in some archives the server is next to share/, not in bin/
    return next((each for each in candidates if each not in _SYSTEM_PREFIXES and messages_directory(each)), None)


def _build(binary: Path, basedir: Path | None, origin: str) -> Build:
    flavour, version, text = identify(binary)
    messages = messages_directory(basedir) if basedir else None
    return Build(flavour, version, binary, basedir=basedir, messages=messages, origin=origin, version_text=text)


def added_directories(home: Home) -> list[Path]:
    """Return the directories that the user added.

    Raises:
        UserError: the file that lists them cannot be read.
    """
    try:
        directories = parse_json(home.config.read_text(encoding="utf-8"))["directories"]
        return [Path(each) for each in directories]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(
            f"{home.config} cannot be read: {error.strerror}", "Set DIALIN_HOME to a directory that you may write to"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{home.config} is not dialin's list of added directories", "Delete or rename it, then add the directories again"
        ) from error


def add_directory(home: Home, path: Path) -> list[Build]:
    """Remember a directory that holds servers, e.g. an unpacked archive, and return its builds.

    Raises:
        UserError: there is no server in it that runs here; nothing is remembered.
    """
    directory = path.expanduser().resolve()
    binaries = find_binaries(directory)
    if not binaries:
        raise UserError(
            f"There is no mysqld or mariadbd in {directory}", "Name the directory that an archive was unpacked to, or its bin"
        )
    builds = [_build(binary, basedir, f"added: {directory}") for binary, basedir in binaries]
    directories = added_directories(home)
    if directory not in directories:
        _remember(home, [*directories, directory])
    return builds


def forget_directory(home: Home, path: Path) -> None:
    """Forget an added directory; its files stay.

    Raises:
        UserError: the directory was not added.
    """
    directory = path.expanduser().resolve()
    directories = added_directories(home)
    if directory not in directories:
        raise UserError(f"{directory} was not added", "`dialin servers` lists the added directories")
    _remember(home, [each for each in directories if each != directory])


def _remember(home: Home, directories: Sequence[Path]) -> None:
    home.root.mkdir(parents=True, exist_ok=True)
    replace_text(home.config, json.dumps({"directories": [str(each) for each in directories]}, indent=2) + "\n")


def resolve(reference: BuildReference, builds: Sequence[Build]) -> Build:
    """Return the newest build that matches a reference; of several with the same version, the first in `builds`.

    Raises:
        UserError: no build matches; the error names the builds that are here and how to get the missing one.
    """
    matching = [build for build in builds if reference.matches(build)]
    if matching:
        return max(matching, key=lambda build: build.version)
    ids = ", ".join(dict.fromkeys(build.id for build in builds)) or "none at all"
    what = f"No build of {reference} is on this machine, which has {ids}"
    if any(row.covers(reference) for row in INSTALLABLE):
        raise UserError(what, f"`dialin servers install {reference}` installs it")
    near = nearest(
        reference, [*(BuildReference(each.flavour, each.version) for each in builds), *(row.reference for row in INSTALLABLE)]
    )
    hint = f"The nearest is {near}; " if near else ""
    raise UserError(
        what, f"{hint}`dialin servers` lists what can be installed, `dialin servers add DIR` uses one that you have"
    )


def find(text: str, builds: Sequence[Build]) -> Build:
    """Return the build that the user's text refers to.

    Raises:
        UserError: the text names no build, or none that is on this machine.
    """
    return resolve(parse_reference(text, (build.id for build in builds)), builds)

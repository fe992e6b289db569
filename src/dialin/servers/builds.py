"""The builds on this machine: installed by dialin, found in the usual places, or added by the user."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from dialin.errors import UserError
from dialin.model.build import Build, BuildReference
from dialin.paths import Home, parse_record, replace_text
from dialin.servers.install.installable import INSTALLABLE, nearest, parse_reference
from dialin.servers.install.manifest import ADDED, UNPACKED, build_at, installed
from dialin.servers.install.unpacked import executables_in, not_executable, servers_in
from dialin.servers.server_binary import identify
from dialin.text import command_line, listed

USUAL_DIRECTORIES = (
    "/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/usr/local/libexec", "/usr/local/bin", "/usr/local/mysql/bin",
)  # fmt: skip
"""Directories of server binaries that are not on every user's PATH."""

USUAL_PATTERNS = ("/opt/*/bin", "/opt/*/sbin", "/usr/local/mysql-*/bin", "/usr/local/mariadb-*/bin")
"""Where servers from archives are usually unpacked."""


@dataclass(frozen=True, slots=True)
class Added:
    """A directory that the user added, the name that the user gave its build, and the names of the builds that were there."""

    directory: str
    name: str = ""
    builds: tuple[str, ...] = ()


def discover(
    home: Home,
    environment: Mapping[str, str] = os.environ,
    usual: Iterable[Path] | None = None,
) -> list[Build]:
    """Return the builds on this machine, each binary once; a binary that does not run is left out.

    Builds in added directories come first, so that none with the same name is used in their place; then those that dialin
    installed, those on PATH, and those in the usual places.
    """
    builds: dict[Path, Build] = {}
    for build in _all(home, environment, usual):
        builds.setdefault(build.binary.resolve(), build)
    return list(builds.values())


def _all(home: Home, environment: Mapping[str, str], usual: Iterable[Path] | None) -> Iterator[Build]:
    for added in added_directories(home):
        yield from _runnable(Path(added.directory), f"{ADDED}{added.directory}", added.name)
    yield from installed(home)
    for directory, origin in _system_directories(environment, usual):
        for binary in executables_in(directory):
            yield from _runnable(binary, origin)


def _system_directories(environment: Mapping[str, str], usual: Iterable[Path] | None) -> Iterator[tuple[Path, str]]:
    for part in filter(None, environment.get("PATH", "").split(os.pathsep)):
        yield Path(part), "on PATH"
    for directory in usual_directories() if usual is None else usual:
        yield directory, f"in {directory}"


def _runnable(place: Path, origin: str, name: str = "") -> list[Build]:
    try:
        return _builds_in(place, origin, name)
    except UserError:
        return []


def usual_directories() -> list[Path]:
    """Return the usual directories of server binaries that exist on this machine."""
    globbed = (path for pattern in USUAL_PATTERNS for path in sorted(Path("/").glob(pattern.lstrip("/"))))
    return [path for path in (*map(Path, USUAL_DIRECTORIES), *globbed) if path.is_dir()]


def _builds_in(place: Path, origin: str, name: str = "") -> list[Build]:
    builds = []
    for server in servers_in(place):
        reference, text = identify(server.binary, server.layout.launcher(server.root))
        reference = BuildReference.parse(name) if name else reference
        builds.append(build_at(server.root, server.layout, reference, text, origin))
    return builds


def added_directories(home: Home) -> list[Added]:
    """Return the directories that the user added; raise UserError where the file that lists them cannot be read."""
    try:
        listed_there = parse_record(home.config.read_text(encoding="utf-8"))["added"]
        added = TypeAdapter(list[Added]).validate_python(listed_there)
        for name in (name for each in added for name in (each.name, *each.builds) if name):
            BuildReference.parse(name)
        return added
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


@dataclass(frozen=True, slots=True)
class Lost:
    """A build that was added and is not where it was, or does not run any more; `why` is a sentence's end."""

    build: str
    directory: str
    why: str


def lost_builds(home: Home, asked: Callable[[Added], bool] = lambda _: True) -> list[Lost]:
    """Return the builds in added directories that cannot be used now: the directory was moved, or its server does not run.

    Each server is run to see that; `asked` says of which directories.
    """
    lost = []
    for added in filter(asked, added_directories(home)):
        why = "which is gone"
        here: list[str] = []
        if Path(added.directory).exists():
            why = "which has no such server now"
            try:
                here = [build.id for build in _builds_in(Path(added.directory), "", added.name)]
            except UserError as error:
                why = f"where it does not run now: {error.what}"
        lost += [Lost(build, added.directory, why) for build in added.builds if build not in here]
    return lost


def add_directory(
    home: Home, path: Path, name: BuildReference | None = None, verify: Callable[[Build], None] | None = None
) -> list[Build]:
    """Remember a directory that holds servers, e.g. an unpacked archive, and return its builds; `name` replaces what they say.

    Raises:
        UserError: there is no server in it that runs here, or its name is that of another build; nothing is remembered.
    """
    directory = path.expanduser().resolve()
    if not directory.exists():
        raise UserError(f"{directory} does not exist", "Name an archive, or the directory that one was unpacked to")
    builds = _builds_in(directory, f"{ADDED}{directory}", str(name or ""))
    if not builds and (binary := not_executable(directory)):
        raise UserError(f"{binary} may not be run", f"{command_line('chmod +x', binary)}, then add it again")
    if not builds:
        raise UserError(
            f"There is no mysqld or mariadbd in {directory}", "Name the directory that an archive was unpacked to, or its bin"
        )
    if name and len(builds) > 1:
        raise UserError(f"{directory} has several servers: {listed([str(each.binary) for each in builds])}", "Name one of them")
    for build in builds:
        check_name(home, build)
        if verify:
            verify(build)
    others = [added for added in added_directories(home) if added.directory != str(directory)]
    _remember(home, [*others, Added(str(directory), str(name or ""), tuple(build.id for build in builds))])
    return builds


def check_name(home: Home, build: Build) -> None:
    """Raise UserError if a build has the name of another one on this machine: one would run in place of the other."""
    twin = next(
        (each for each in discover(home) if each.id == build.id and each.binary.resolve() != build.binary.resolve()), None
    )
    if twin is not None:
        raise UserError(
            f"{build.id} is on this machine already ({twin.origin}: {twin.binary})",
            f"Give this one another name, such as --as {BuildReference(build.vendor, build.version, 'mine')}",
        )


def forget_directory(home: Home, path: Path) -> None:
    """Forget an added directory; its files stay. Raise UserError where the directory was not added."""
    directory = str(path.expanduser().resolve())
    added = added_directories(home)
    rest = [each for each in added if each.directory != directory]
    if rest == added:
        raise UserError(f"{directory} was not added", "`dialin servers` lists the added directories")
    _remember(home, rest)


def _remember(home: Home, added: Sequence[Added]) -> None:
    home.root.mkdir(parents=True, exist_ok=True)
    replace_text(home.config, json.dumps({"added": [asdict(each) for each in added]}, indent=2) + "\n")


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
        raise UserError(what, f"`{command_line('dialin servers install', reference)}` installs it")
    near = nearest(reference, [*(build.reference for build in builds), *(row.reference for row in INSTALLABLE)])
    hint = f"The nearest is {near}; " if near else ""
    raise UserError(
        what,
        f"{hint}`dialin servers` lists what can be installed, `dialin servers add FILE|DIR` uses an archive or a directory",
    )


def find(text: str, builds: Sequence[Build], home: Home) -> Build:
    """Return the build that the user's text refers to: its name, or the directory that it was added from.

    A build that was added and cannot be used now is named; another one with its name is never used in its place.

    Raises:
        UserError: the text names no build, or none that is on this machine.
    """
    if "/" in text:
        return _at(Path(text), builds, home)
    try:
        reference = parse_reference(text, (build.id for build in builds))
    except UserError:
        if Path(text).exists():
            return _at(Path(text), builds, home)
        raise

    def is_meant(name: str) -> bool:
        return reference.matches(BuildReference.parse(name))

    lost = [each for each in lost_builds(home, lambda added: any(map(is_meant, added.builds))) if is_meant(each.build)]
    try:
        build = resolve(reference, builds)
    except UserError as error:
        if not lost:
            raise
        raise _said(lost[0]) from error
    if twin := next((each for each in lost if each.build == build.id), None):
        raise _said(twin)
    return build


def _said(lost: Lost) -> UserError:
    return UserError(
        f"{lost.build} was added from {lost.directory}, {lost.why}",
        f"Add it again where it is now, or `{command_line('dialin servers forget', lost.directory)}`",
    )


def _at(path: Path, builds: Sequence[Build], home: Home) -> Build:
    """Return the build that was added from a directory or an archive."""
    directory = path.expanduser().resolve()
    if lost := next(iter(lost_builds(home, lambda added: added.directory == str(directory))), None):
        raise _said(lost)
    inside = [
        build
        for build in builds
        if (build.origin.startswith(ADDED) and build.binary.resolve().is_relative_to(directory))
        or build.origin == f"{UNPACKED}{directory}"
    ]
    if len(inside) == 1:
        return inside[0]
    if inside:
        raise UserError(f"{path} has several servers", f"Name one: {listed([build.id for build in inside])}")
    raise UserError(f"{path} was not added", f"`{command_line('dialin servers add', path)}` adds the server in it")

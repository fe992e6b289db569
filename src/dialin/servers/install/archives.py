"""Servers in archives that a package client downloaded: which files of an archive a sandbox needs, and where they go."""

from __future__ import annotations

import gzip
import platform
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO

from dialin.errors import UserError
from dialin.model.build import BuildReference
from dialin.servers.install.apt import AptPackages, unpack
from dialin.servers.install.clients import Clients
from dialin.servers.install.manifest import Layout, check_search_path, messages_directory

DAMAGED = (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError)


@dataclass(frozen=True, slots=True)
class Part:
    """Some members of an archive, and where they go.

    Attributes:
        keep: patterns of their names, without the prefix.
        drop: patterns of names to leave out, even if `keep` matches them.
        prefix: the beginning of their names, which is removed.
        into: the directory of the build that they go to.
        within: the name of the inner archive that holds them; None for members of the archive itself.
    """

    keep: tuple[str, ...]
    drop: tuple[str, ...] = ()
    prefix: str = ""
    into: str = "."
    within: str | None = None

    def place(self, name: str) -> PurePosixPath | None:
        """Return the path in the build for the member with this name; None if it does not belong to this part."""
        stem = name.removeprefix(self.prefix)
        if not name.startswith(self.prefix) or not _matches(stem, self.keep) or _matches(stem, self.drop):
            return None
        return None if ".." in PurePosixPath(stem).parts else PurePosixPath(self.into, stem.lstrip("/"))


@dataclass(frozen=True, slots=True)
class Contents:
    """A server in an archive.

    Attributes:
        machine: the processor that it was built for, as `uname -m` names it.
        libraries: the directory of the build that holds its shared libraries.
        finds_libraries: whether the binary looks there by itself; if not, its launcher sets the search path.
        needs: Debian packages of libraries that the archive lacks, for a machine that lacks them too.
    """

    parts: tuple[Part, ...]
    machine: str = "x86_64"
    binary: str = "bin/mysqld"
    libraries: str = "libs"
    finds_libraries: bool = False
    needs: AptPackages | None = None

    def bring(
        self,
        reference: BuildReference,
        fetch: Callable[[Path, Clients], Path],
        downloads: Path,
        into: Path,
        clients: Clients,
    ) -> Layout:
        if platform.machine() != self.machine:
            raise UserError(f"{reference} was built for {self.machine}; this machine is {platform.machine()}")
        return self.unpack(fetch(downloads, clients), downloads, into, clients)

    def unpack(self, archive: Path, downloads: Path, into: Path, clients: Clients) -> Layout:
        """Unpack the server into an empty directory, with the libraries that this machine lacks.

        Raises:
            UserError: the archive is damaged, or a library cannot be downloaded.
        """
        clients.say(f"unpacking into {into.parent}")
        extract(archive, into, self.parts)
        binary = into / self.binary
        if not binary.is_file():
            raise UserError(f"{archive.name} has no {self.binary}", "Please report this as a bug of dialin")
        binary.chmod(binary.stat().st_mode | 0o111)
        layout = self._layout(into)
        if self.needs and not runs((*layout.launcher(into), str(binary)), clients):
            clients.say(f"it needs {' or '.join(self.needs.names)}, which this machine lacks")
            self._bring_libraries(self.needs, downloads, into, clients)
            layout = self._layout(into)
        return layout

    def _layout(self, root: Path) -> Layout:
        needs_path = (root / self.libraries).is_dir() and not self.finds_libraries
        if needs_path:
            check_search_path(root)
        messages = messages_directory(root)
        return Layout(
            binary=self.binary,
            basedir=".",
            messages=str(messages.relative_to(root)) if messages else None,
            libraries=(self.libraries,) if needs_path else (),
        )

    def _bring_libraries(self, packages: AptPackages, downloads: Path, into: Path, clients: Clients) -> None:
        scratch = into / ".libraries"
        unpack(packages.fetch(downloads, clients), scratch, clients)
        (into / self.libraries).mkdir(parents=True, exist_ok=True)
        for library in scratch.rglob("*.so.*"):
            shutil.copy2(library, into / self.libraries / library.name, follow_symlinks=False)
        shutil.rmtree(scratch)


def runs(server: tuple[str, ...], clients: Clients) -> bool:
    """Return whether a server binary runs on this machine, so that it finds its libraries."""
    try:
        clients.run([*server, "--no-defaults", "--version"])
    except UserError:
        return False
    return True


def extract(archive: Path, into: Path, parts: Iterable[Part]) -> None:
    """Unpack parts of a zip or tar archive, with the permissions that it records.

    Raises:
        UserError: the archive is damaged; it is removed, so that the next attempt downloads it again.
    """
    parts = tuple(parts)
    into.mkdir(parents=True, exist_ok=True)
    try:
        with archive.open("rb") as file:
            _extract(file, into, [part for part in parts if part.within is None], [part for part in parts if part.within])
    except DAMAGED as error:
        archive.unlink(missing_ok=True)
        raise UserError(f"{archive.name} arrived damaged: {error}", "Try again; it is downloaded again") from error


def _extract(file: IO[bytes], into: Path, parts: list[Part], inner: list[Part]) -> None:
    for name, mode, member in _members(file, {name for part in inner if (name := part.within)}, parts):
        if within := [part for part in inner if part.within == name]:
            _extract(BytesIO(member.read()), into, within, [])
        for place in filter(None, (part.place(name) for part in parts)):
            path = into / place
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as target:
                shutil.copyfileobj(member, target)
            path.chmod(mode & 0o755 | 0o600)


def _members(file: IO[bytes], names: set[str], parts: list[Part]) -> Iterator[tuple[str, int, IO[bytes]]]:

    def wanted(name: str) -> bool:
        return name in names or any(part.place(name) for part in parts)

    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as opened:
            for info in opened.infolist():
                if not info.is_dir() and wanted(info.filename):
                    with opened.open(info) as content:
                        yield info.filename, info.external_attr >> 16, content
        return
    file.seek(0)
    with tarfile.open(fileobj=file) as packed:
        for member in packed:
            if member.isfile() and wanted(member.name) and (unpacked := packed.extractfile(member)):
                yield member.name, member.mode, unpacked


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)

"""Servers from artifacts of a Maven repository: immutable, and pinned to the version named."""

from __future__ import annotations

import platform
import shutil
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from dialin.errors import UserError
from dialin.model.build import BuildReference
from dialin.servers.apt import AptPackages, unpack
from dialin.servers.clients import Arrival, Clients, Say
from dialin.servers.manifest import Layout, messages_directory

_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get"
_PLUGIN_MEGABYTES = 5


@dataclass(frozen=True, slots=True)
class Artifact:
    """The coordinates of an artifact."""

    group: str
    name: str
    version: str
    extension: str
    classifier: str

    @classmethod
    def parse(cls, text: str) -> Artifact:
        """Read `GROUP:NAME:VERSION:EXTENSION:CLASSIFIER`."""
        return cls(*text.split(":"))

    @property
    def directory(self) -> str:
        """Where a repository keeps it."""
        return f"{self.group.replace('.', '/')}/{self.name}/{self.version}"

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}-{self.version}-{self.classifier}.{self.extension}"

    def __str__(self) -> str:
        return ":".join((self.group, self.name, self.version, self.extension, self.classifier))


@dataclass(frozen=True, slots=True)
class MavenServer:
    """A server inside an archive of a Maven repository.

    Attributes:
        artifact: the archive.
        megabytes: what it weighs.
        machine: the processor it was built for, as `uname -m` says it.
        binary: the server within the archive.
        keep: patterns of what is unpacked.
        drop: patterns of what is not, though kept otherwise.
        library_directory: where the binary looks for libraries that come with it.
        libraries: what it needs of Debian's where the machine lacks it.
    """

    artifact: Artifact
    megabytes: int
    machine: str
    binary: str
    keep: tuple[str, ...]
    drop: tuple[str, ...] = ()
    library_directory: str = "lib"
    libraries: AptPackages | None = None

    @property
    def description(self) -> str:
        """Where it comes from, in words."""
        return f"Maven artifact {self.artifact}"

    def bring(self, reference: BuildReference, downloads: Path, into: Path, clients: Clients, say: Say) -> Layout:
        """Fetch the server and unpack it into an empty directory.

        Raises:
            UserError: the client is missing, the artifact cannot be had, or this machine cannot run it.
        """
        if platform.machine() != self.machine:
            raise UserError(f"{reference} was built for {self.machine}; this machine is {platform.machine()}")
        archive = self._fetch(downloads, clients, say)
        say(f"unpacking into {into.parent}")
        extract(archive, into, self.keep, self.drop)
        if self.libraries and not runs(into / self.binary, clients):
            say(f"it needs {' and '.join(self.libraries.names)}, which this machine lacks")
            self._bring_libraries(self.libraries, downloads, into, clients, say)
        messages = messages_directory(into)
        return Layout(binary=self.binary, basedir=".", messages=str(messages.relative_to(into)) if messages else None)

    def _fetch(self, downloads: Path, clients: Clients, say: Say) -> Path:
        repository = downloads / "maven"
        archive = repository / self.artifact.directory / self.artifact.file
        if archive.is_file():
            say("the archive was fetched before")
            return archive
        say(f"fetching {self.megabytes} MB with Maven")
        repository.mkdir(parents=True, exist_ok=True)
        clients.run(
            [
                "mvn",
                "--batch-mode",
                "--quiet",
                _GOAL,
                f"-Dartifact={self.artifact}",
                "-Dtransitive=false",
                f"-Dmaven.repo.local={repository}",
            ],
            arrival=Arrival(repository, self.megabytes + _PLUGIN_MEGABYTES),
        )
        return archive

    def _bring_libraries(self, packages: AptPackages, downloads: Path, into: Path, clients: Clients, say: Say) -> None:
        scratch = into / ".libraries"
        unpack(packages.fetch(downloads, clients, say), scratch, clients)
        for library in scratch.rglob("*.so.*"):
            shutil.copy2(library, into / self.library_directory / library.name, follow_symlinks=False)
        shutil.rmtree(scratch)

    def tidy(self, downloads: Path, clients: Clients) -> None:  # noqa: ARG002 - other sources need their client here
        """Remove the archive: it weighs more than the build, and a second install of the same build fetches nothing."""
        shutil.rmtree(downloads / "maven" / self.artifact.directory, ignore_errors=True)


def runs(binary: Path, clients: Clients) -> bool:
    """Tell whether a binary finds its libraries on this machine."""
    try:
        clients.run([str(binary), "--no-defaults", "--version"])
    except UserError:
        return False
    return True


def extract(archive: Path, into: Path, keep: Iterable[str], drop: Iterable[str] = ()) -> None:
    """Unpack the members of a zip archive that match a pattern, with the permissions that it records.

    Raises:
        UserError: the archive is damaged; it is removed, so that the next attempt fetches it anew.
    """
    keep, drop = tuple(keep), tuple(drop)
    into.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in opened.infolist():
                wanted = _matches(member.filename, keep) and not _matches(member.filename, drop)
                if wanted and not member.is_dir():
                    path = Path(opened.extract(member, into))
                    path.chmod((member.external_attr >> 16) & 0o755 | 0o600)
    except (zipfile.BadZipFile, EOFError) as error:
        archive.unlink(missing_ok=True)
        raise UserError(f"{archive.name} arrived damaged: {error}", "Try again; it is fetched anew") from error


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)

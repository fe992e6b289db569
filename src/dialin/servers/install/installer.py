"""Installs a build into dialin's cache: completely or not at all, only once, and without a change to the system."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from dialin.errors import UserError
from dialin.file_lock import lock, opened, try_lock
from dialin.model.build import Build, BuildReference
from dialin.paths import Home
from dialin.servers.install import manifest
from dialin.servers.install.clients import MEGABYTE, Clients, Say
from dialin.servers.install.installable import INSTALLABLE, Installable, installable, row_of
from dialin.servers.install.manifest import Layout
from dialin.servers.server_binary import identify
from dialin.text import command_line, listed

FRESH = ".new-"
_DOOMED = ".old-"


def install(
    home: Home,
    reference: BuildReference,
    say: Say,
    *,
    verify: Callable[[Build], None] | None = None,
    table: Sequence[Installable] = INSTALLABLE,
    clients: Clients | None = None,
) -> Build:
    """Install a build, unless dialin installed it before.

    Args:
        home: dialin's cache, for the build and its downloads.
        reference: the build to install.
        say: takes a line for each step.
        verify: tests the build in its final place; if it raises, nothing is installed.
        table: the builds that can be installed.
        clients: runs package clients and reports their progress; None for this machine's, which report to `say`.

    Raises:
        UserError: the build cannot be downloaded, or does not run here; nothing is left half-installed.
    """
    if existing := _find_installed(home, reference, table):
        say(f"{existing.id} is already installed")
        return existing
    row = installable(reference, table)
    clients = clients or Clients(say)
    try:
        for directory in (home.builds, home.downloads):
            directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{directory} cannot be made: {error.strerror}", "Set DIALIN_HOME to a directory that you may write to"
        ) from error
    with exclusively(home, say):
        if existing := _find_installed(home, reference, table):
            say(f"{existing.id} was installed meanwhile")
            return existing
        sweep(home)
        _check_space(home, row)
        return _bring(home, reference, row, clients, say, verify)


def _bring(
    home: Home, reference: BuildReference, row: Installable, clients: Clients, say: Say, verify: Callable[[Build], None] | None
) -> Build:
    say(f"installing {reference}: {row.source.description}")
    fresh = home.builds / f"{FRESH}{os.getpid()}"
    try:
        layout = row.source.bring(reference, home.downloads, fresh, clients)
        identity, text = identify(fresh / layout.binary, layout.launcher(fresh))
        if not reference.matches(build := manifest.build_at(fresh, layout, identity, text)):
            raise UserError(f"{row.source.description} turned out to be {build.id}, not {reference}")
        build = settle(home, fresh, layout, build, row.source.description, say, verify)
    except OSError as error:
        raise UserError(f"{reference} could not be unpacked: {error.strerror}", f"Check {home.root} and try again") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    with suppress(UserError):  # a download that could not be removed only takes space
        row.source.tidy(home.downloads, clients)
    say(f"{build.id} is installed in {home.builds / build.id}")
    return build


def settle(
    home: Home,
    fresh: Path,
    layout: Layout,
    build: Build,
    source: str,
    say: Say,
    verify: Callable[[Build], None] | None,
) -> Build:
    """Move an unpacked build to its final place, try it there, and write its manifest, or leave nothing."""
    target = home.builds / build.id
    _discard(target)
    fresh.rename(target)
    build = manifest.build_at(target, layout, build.reference, build.version_text, build.origin, build.image)
    try:
        if verify:
            say(f"trying {build.id}")
            verify(build)
        manifest.write(target, layout, build, source)
    except BaseException:
        _discard(target)
        raise
    return build


def to_remove(home: Home, reference: BuildReference, builds: Sequence[Build]) -> Build | None:
    """Return the build to remove, or None; of several with the same id, the one that dialin installed.

    Raises:
        UserError: the reference matches builds with different ids.
    """
    matching = sorted((build for build in builds if reference.matches(build)), key=lambda build: build.version, reverse=True)
    names = list(dict.fromkeys(build.id for build in matching))
    if len(names) > 1:
        raise UserError(
            f"{reference} is ambiguous: it could be {listed(names)}",
            f"Give a full name, such as {command_line('dialin servers remove', names[-1])}",
        )
    installed = (build for build in matching if build.binary.is_relative_to(home.builds / build.id))
    return next(installed, matching[0] if matching else None)


def remove(home: Home, build: Build) -> None:
    """Remove a build that dialin installed; raise UserError where dialin did not install it."""
    target = home.builds / build.id
    if build.origin.startswith(manifest.ADDED):
        directory = build.origin.removeprefix(manifest.ADDED)
        raise UserError(
            f"{build.id} is used where it is: {directory}",
            f"`{command_line('dialin servers forget', directory)}` leaves its files",
        )
    if not build.binary.is_relative_to(target):
        raise UserError(f"{build.binary} was not installed by dialin", "Remove it with the tool that installed it")
    with exclusively(home, lambda _: None):
        _discard(target)


def _find_installed(home: Home, reference: BuildReference, table: Sequence[Installable]) -> Build | None:
    """Return the newest installed build that this reference would install.

    For example, `mariadb` means the preferred row, so an installed build of another row does not count.
    """
    row = row_of(reference, table)
    matching = [
        build
        for build in manifest.installed(home)
        if reference.matches(build) and (row is None or row_of(build.reference, table) in (row, None))
    ]
    return max(matching, key=lambda build: build.version, default=None)


@contextmanager
def exclusively(home: Home, say: Say) -> Iterator[None]:
    """Hold the lock of the builds directory.

    The kernel releases it however this process ends, but not before the package client that it runs has ended too: a client
    that outlives a killed dialin still writes into the directory.
    """
    with opened(home.builds / ".lock") as descriptor:
        os.set_inheritable(descriptor, True)  # noqa: FBT003 - it takes no name
        if not try_lock(descriptor):
            say("another dialin is installing; waiting for it")
            lock(descriptor)
        yield


def sweep(home: Home) -> None:
    """Remove what a dialin that was killed left unfinished. The lock of the builds directory must be held."""
    for path in home.builds.iterdir():
        # Of dialin by its name: the directory may be the user's own, by a DIALIN_HOME that has other builds.
        unfinished = "@" in path.name and path.is_dir() and not (path / manifest.MANIFEST).exists()
        if unfinished or path.name.startswith((FRESH, _DOOMED)):
            shutil.rmtree(path, ignore_errors=True)


def _discard(target: Path) -> None:
    if target.exists():
        doomed = target.with_name(f"{_DOOMED}{os.getpid()}")
        target.rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def _check_space(home: Home, row: Installable) -> None:
    """Raise UserError where a disk lacks room: that of the builds or that of the downloads, which may be links to others."""
    # Twice: files of a package that the server does not need are removed only after everything is unpacked.
    builds, downloads = home.builds.resolve(), home.downloads.resolve()
    if _disk_of(builds) == _disk_of(downloads):
        needs = {builds: row.fetched + 2 * row.unpacked}
    else:
        needs = {builds: 2 * row.unpacked, downloads: row.fetched}
    for directory, megabytes in needs.items():
        free = int(shutil.disk_usage(directory).free / MEGABYTE)
        if free < megabytes:
            raise UserError(
                f"{row.reference} needs {megabytes} MB in {directory}, where {free} MB are free",
                "Free space, or set DIALIN_HOME to a directory on another file system",
            )


def _disk_of(directory: Path) -> int:
    return directory.stat().st_dev

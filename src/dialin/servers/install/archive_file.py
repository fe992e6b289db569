"""Adds a server from an archive file that the user has: a vendor's tarball, or the exported file system of an image."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, cast

from dialin.errors import UserError
from dialin.model.build import Build, BuildReference
from dialin.paths import Home
from dialin.servers.install import installer
from dialin.servers.install.archives import DAMAGED
from dialin.servers.install.clients import Say, missing
from dialin.servers.install.manifest import build_at
from dialin.servers.install.unpacked import UnpackedServer, servers_in
from dialin.servers.server_binary import identify
from dialin.text import listed

Verify = Callable[[Build], None]
"""Tests a build in its final place, and raises if it is not good."""

_ZSTD = b"\x28\xb5\x2f\xfd"
_NOT_NEEDED = ("mysql-test", "mariadb-test", "sql-bench", "man", "doc", "docs", "debug", "proc", "sys", "dev")


def add_archive(
    home: Home,
    archive: Path,
    say: Say,
    name: BuildReference | None = None,
    *,
    check: Callable[[Build], None],
    verify: Verify,
) -> Build:
    """Unpack the server of an archive into dialin's cache, and return its build; `name` replaces what the server says.

    Args:
        home: dialin's cache.
        archive: the file.
        say: takes a line for each step.
        name: the build's name where the user gave one.
        check: refuses a build before anything is kept, e.g. because of its name.
        verify: tests the build in its final place; if it raises, nothing is kept.

    Raises:
        UserError: the file is no archive, or holds no server that runs here; nothing is left.
    """

    def name_it(server: UnpackedServer) -> Build:
        found, text = identify(server.binary, server.layout.launcher(server.root))
        build = build_at(server.root, server.layout, name or found, text, f"added from {archive}")
        check(build)
        return build

    with _opened(archive) as stream:
        return add_stream(home, stream, str(archive), say, name_it, verify)


def add_stream(
    home: Home, stream: IO[bytes], source: str, say: Say, name_it: Callable[[UnpackedServer], Build], verify: Verify
) -> Build:
    """Unpack the server of a tar stream into dialin's cache, and return its build, which `name_it` makes of what was unpacked.

    Raises:
        UserError: the stream is no archive, or holds no server that runs here; nothing is left.
    """
    home.builds.mkdir(parents=True, exist_ok=True)
    with installer.exclusively(home, say):
        fresh = home.builds / f"{installer.FRESH}{os.getpid()}"
        try:
            say(f"unpacking {source}")
            _unpack(stream, source, fresh)
            server = _only_server(source, fresh)
            build = name_it(server)
            return installer.settle(home, server.root, server.layout, build, source, say, verify)
        except OSError as error:
            raise UserError(f"{source} could not be unpacked: {error.strerror}", f"Check {home.root} and try again") from error
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


def _only_server(archive: str, root: Path) -> UnpackedServer:
    servers = servers_in(root)
    if len(servers) == 1:
        return servers[0]
    if servers:
        names = listed([str(each.binary.relative_to(root)) for each in servers])
        raise UserError(f"{archive} has several servers: {names}", "Unpack it, and add the directory of one")
    if any((root / each).exists() for each in ("oci-layout", "manifest.json")):
        raise UserError(
            f"{archive} is a saved image, whose file system lies in layers",
            "Export it instead: podman load, then podman create and podman export, or the same with docker",
        )
    raise UserError(f"There is no mysqld or mariadbd in {archive}", "Get the server's archive, not that of a client or shell")


def _unpack(stream: IO[bytes], archive: str, into: Path) -> None:
    into.mkdir()
    try:
        with tarfile.open(fileobj=stream, mode="r|*") as packed:
            packed.extractall(into, filter=_needed)  # noqa: S202 - the filter keeps what lies inside
    except tarfile.ReadError as error:
        remedy = "Give a .tar.gz, .tar.xz or .tar.zst; unpack other kinds (dpkg -x, rpm2cpio, unzip) and add the directory"
        raise UserError(f"{archive} is not a tar archive, or is damaged: {error}", remedy) from error
    except DAMAGED as error:
        raise UserError(f"{archive} is damaged: {error}", "Download it again") from error


def _needed(member: tarfile.TarInfo, into: str) -> tarfile.TarInfo | None:
    parts = PurePosixPath(member.name).parts
    is_special = member.ischr() or member.isblk() or member.isfifo()
    if is_special or any(part in _NOT_NEEDED for part in parts[:-1]) or member.name.endswith((".a", "mysqld-debug")):
        return None
    target = Path(os.path.realpath(Path(into, member.linkname)))
    if member.islnk() and not target.is_relative_to(os.path.realpath(into)):  # a later member could write through it
        return None
    try:
        safe = tarfile.tar_filter(member, into)
    except tarfile.FilterError:
        return None
    # A file that its owner may not read could not be removed or run.
    return safe.replace(mode=(safe.mode or 0) | (0o700 if member.isdir() else 0o600), deep=False)


@contextmanager
def _opened(archive: Path) -> Iterator[IO[bytes]]:
    with archive.open("rb") as file:
        is_zstd = file.read(4) == _ZSTD
        file.seek(0)
        if not is_zstd:
            yield file
            return
        if shutil.which("zstd") is None:
            raise missing("zstd")
        with subprocess.Popen(["zstd", "-dcq"], stdin=file, stdout=subprocess.PIPE) as process:
            try:
                yield cast("IO[bytes]", process.stdout)
            finally:
                process.kill()

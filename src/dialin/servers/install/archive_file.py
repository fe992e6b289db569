"""Adds a server from an archive file that the user has: a vendor's tarball, or the exported file system of an image."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, cast

from dialin.errors import UserError
from dialin.model.build import Build, BuildReference
from dialin.paths import Home
from dialin.servers.install import installer
from dialin.servers.install.archives import DAMAGED
from dialin.servers.install.clients import Say, missing
from dialin.servers.install.manifest import UNPACKED, build_at
from dialin.servers.install.unpacked import NAMES, UnpackedServer, servers_in
from dialin.servers.server_binary import identify
from dialin.tar_headers import BoundedMember
from dialin.text import listed

Verify = Callable[[Build], None]
"""Tests a build in its final place, and raises if it is not good."""

_ZSTD = b"\x28\xb5\x2f\xfd"
_PROGRAMS = (b"\x7fELF", b"#!")
_MOST_BYTES, _MOST_MEMBERS = 32 * 2**30, 200_000
"""More than any server with its debug symbols, or the whole file system of an image, unpacks to."""

_SPARE = 256 * 2**20
"""The bytes of the disk that stay free, so that nothing else on it fails."""

_NOT_NEEDED = ("mysql-test", "mariadb-test", "sql-bench", "man", "doc", "docs", "debug", "proc", "sys", "dev")


def is_archive(path: Path) -> bool:
    """Return whether a path is a file to be unpacked, which a program is not, whoever may run it.

    Raises:
        UserError: the path cannot be read, or is a pipe or device, which cannot be read twice.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise UserError(f"{path} is not a file or directory", "Save the archive as a file, and add that")
        with path.open("rb") as file:
            return not file.read(4).startswith(_PROGRAMS)
    except IsADirectoryError:
        return False
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error


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
        build = build_at(server.root, server.layout, name or found, text, f"{UNPACKED}{archive}")
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
        installer.sweep(home)
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
    root = root.resolve()
    servers = [each for each in servers_in(root) if each.root.is_relative_to(root)]
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
    into = into.resolve()
    links: dict[Path, str] = {}
    left = _MOST_BYTES
    try:
        with tarfile.open(fileobj=stream, mode="r|*", tarinfo=BoundedMember) as packed:
            for number, member in enumerate(packed):
                left -= member.size  # whether it is needed or not: it is read
                if left < 0 or number > _MOST_MEMBERS:
                    raise UserError(f"{archive} unpacks to more than a server has", "Get the server's own archive")
                if (path := _place(member.name, into)) is not None:
                    if member.size > shutil.disk_usage(into).free - _SPARE:
                        remedy = "Free space, or set DIALIN_HOME to a directory on another file system"
                        raise UserError(f"{archive} unpacks to more than the disk of {into.parent} has free", remedy)
                    _unpack_member(packed, member, path, into, links)
            _link(links, into)
    except tarfile.ReadError as error:
        remedy = "Give a .tar.gz, .tar.xz or .tar.zst; unpack other kinds (dpkg -x, rpm2cpio, unzip) and add the directory"
        raise UserError(f"{archive} is not a tar archive, or is damaged: {error}", remedy) from error
    except (*DAMAGED, ValueError) as error:  # a name or a size that none can be
        raise UserError(f"{archive} is damaged: {error}", "Download it again") from error


def _place(name: str, into: Path) -> Path | None:
    """Return where a member of an archive goes; None where it leads out of the archive or a sandbox does not need it."""
    parts = [part for part in PurePosixPath(name).parts if part != "/"]
    # What the archive's own top directory is called says nothing of what is in it.
    is_needed = not any(part in _NOT_NEEDED for part in parts[1:-1]) and not name.endswith((".a", "mysqld-debug"))
    return into.joinpath(*parts) if parts and is_needed and ".." not in parts else None


def _unpack_member(packed: tarfile.TarFile, member: tarfile.TarInfo, path: Path, into: Path, links: dict[Path, str]) -> None:
    """Unpack a directory, file or hard link; a symbolic link is only noted, so that nothing is ever written through one."""
    links.pop(path, None)
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if member.issym():
        links[path] = member.linkname
    elif member.islnk():
        target = _place(member.linkname, into)
        if target is not None and target != path and target.is_file():
            path.unlink(missing_ok=True)
            path.hardlink_to(target)
        elif target in links:
            links[path] = links[target]
    elif (content := packed.extractfile(member)) is not None:
        path.unlink(missing_ok=True)
        with path.open("wb") as file:
            shutil.copyfileobj(content, file)
        # A file that its owner may not read could not be removed or run. Some archives lose who may run a server.
        path.chmod(member.mode & 0o777 | (0o700 if path.name in NAMES else 0o600))


def _link(links: Mapping[Path, str], into: Path) -> None:
    """Make the symbolic links that stay inside; an absolute one is meant from the root of the archive, as in an image."""
    made = []
    for path, target in links.items():
        if not path.exists():
            path.symlink_to(os.path.relpath(f"{into}{target}", path.parent) if target.startswith("/") else target)
            made.append(path)
    for path in made:
        if not Path(os.path.realpath(path)).is_relative_to(into):
            path.unlink()


@contextmanager
def _opened(archive: Path) -> Iterator[IO[bytes]]:
    with archive.open("rb", buffering=0) as file:  # zstd reads on where this process stands in the file
        is_zstd = file.read(4) == _ZSTD
        file.seek(0)
        if not is_zstd:
            yield file
            return
        if shutil.which("zstd") is None:
            raise missing("zstd")
        with subprocess.Popen(["zstd", "-dcq"], stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            try:
                yield cast("IO[bytes]", process.stdout)
            finally:
                process.kill()

"""Servers in directories that dialin did not lay out: archives of vendors, file systems of images, trees of one's own.

Where the directory has its own dynamic loader, as the file system of an image has, the server runs with that loader and the
libraries beside it, never with a mixture of them and this machine's.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dialin.errors import UserError
from dialin.servers.install.manifest import Layout, check_search_path, messages_directory
from dialin.servers.server_binary import is_runnable

NAMES = ("mariadbd", "mysqld")
_SYSTEM = (Path("/"), Path("/usr"))
_USUAL = ("bin", "sbin", "libexec", "usr/sbin", "usr/bin", "usr/libexec", "runtime_output_directory", "sql", ".")
_DEEPEST = 6
_MULTIARCH = f"{platform.machine()}-linux-gnu"
_LOADER_DIRECTORIES = (f"lib/{_MULTIARCH}", f"usr/lib/{_MULTIARCH}", "lib64", "usr/lib64", "lib", "usr/lib")
_LIBRARY_DIRECTORIES = (
    *("lib/private", "lib/mysql", "libs", "lib/mysql/private", "usr/lib64/mysql/private", "usr/lib64/mysql"),
    *("usr/lib/mysql/private", "usr/lib/mysql", f"usr/lib/{_MULTIARCH}", f"lib/{_MULTIARCH}"),
    *("usr/lib64", "lib64", "usr/lib", "lib"),
)
_ELF_MACHINES = {3: "i686", 21: "ppc64le", 22: "s390x", 40: "armv7l", 62: "x86_64", 183: "aarch64", 243: "riscv64"}


@dataclass(frozen=True, slots=True)
class UnpackedServer:
    """A server binary with the root of the tree that it lies in, and where its parts are below that root."""

    root: Path
    layout: Layout

    @property
    def binary(self) -> Path:
        return self.root / self.layout.binary


def servers_in(place: Path) -> list[UnpackedServer]:
    """Return the servers at or below a path, each once; those in the usual directories, else those anywhere below.

    Raises:
        UserError: a server was built for another processor.
    """
    binaries = list(dict.fromkeys(path.resolve() for path in binaries_in(place)))
    place = place.resolve()
    if place not in _SYSTEM and _own_loader(place):  # in a file system, links to this machine's files mean its own
        binaries = [binary for binary in binaries if binary.is_relative_to(place)]
    return [_server(binary, place) for binary in binaries]


def binaries_in(place: Path) -> list[Path]:
    """Return the paths of server binaries at or below a path, links to the same file included."""
    if place.is_file():
        return [place] if os.access(place, os.X_OK) else []
    usual = [path for name in _USUAL for path in executables_in(place / name)]
    return usual or [path for directory in _walk(place) for path in executables_in(directory)]


def not_executable(place: Path) -> Path | None:
    """Return a file below a directory that is named like a server and may not be run, as a zip archive leaves it."""
    if place.is_file():
        return None if os.access(place, os.X_OK) else place
    named = (directory / name for directory in _walk(place) for name in NAMES)
    return next((path for path in named if not os.access(path, os.X_OK) and path.is_file()), None)


def executables_in(directory: Path) -> list[Path]:
    """Return the server binaries that lie in a directory itself."""
    # Access first: whether what lies in a directory of others is a file cannot be asked.
    return [path for name in NAMES if os.access(path := directory / name, os.X_OK) and path.is_file()]


def _walk(root: Path) -> Iterator[Path]:
    """Yield the directories in which a server may lie."""
    for directory, below, _ in os.walk(root):
        here = Path(directory)
        is_deepest = len(here.relative_to(root).parts) >= _DEEPEST
        below[:] = [] if is_deepest else sorted(name for name in below if not name.startswith("."))
        yield here


def basedir_of(binary: Path) -> Path | None:
    """Return the root of the share and plugin directories; None where the binary finds them itself."""
    candidates = (binary.parent.parent, binary.parent)  # in some archives the server is next to share/, not in bin/
    return next((each for each in candidates if each not in _SYSTEM and messages_directory(each)), None)


def _server(binary: Path, place: Path) -> UnpackedServer:
    check_machine(binary)
    # In a whole file system, the server may be anywhere: /opt/bitnami/mysql/bin
    around = (each for each in reversed(binary.parents) if each.is_relative_to(place) and each not in _SYSTEM)
    root = next(filter(_own_loader, around), None) or _root(binary)
    if root in _SYSTEM:
        return UnpackedServer(root, Layout(str(binary.relative_to(root)), basedir=None))
    basedir = basedir_of(binary)
    messages = messages_directory(basedir) if basedir else None
    loader, libraries = _own_libraries(root, binary)
    if libraries:
        check_search_path(root)
    base, words = (str(path.relative_to(root)) if path else None for path in (basedir, messages))
    return UnpackedServer(root, Layout(str(binary.relative_to(root)), base, words, loader, libraries))


def _root(binary: Path) -> Path:
    parent = binary.parent
    if parent.name not in ("bin", "sbin", "libexec"):
        return parent
    return parent.parent.parent if parent.parent.name == "usr" else parent.parent


def _own_libraries(root: Path, binary: Path) -> tuple[str | None, tuple[str, ...]]:
    libraries = tuple(
        name for name in _LIBRARY_DIRECTORIES if _is_within(root / name, root) and any((root / name).glob("*.so*"))
    )
    if loader := _own_loader(root):
        return loader, libraries
    return None, () if not libraries or is_runnable(binary) else libraries


def _own_loader(root: Path) -> str | None:
    loaders = (loader for name in _LOADER_DIRECTORIES for loader in sorted((root / name).glob("ld-linux*.so.*")))
    return next((str(loader.relative_to(root)) for loader in loaders if _is_within(loader, root)), None)


def _is_within(path: Path, root: Path) -> bool:
    """Return whether a path exists and no link leads it out of the tree, to files of this machine."""
    return path.exists() and path.resolve().is_relative_to(root.resolve())


def check_machine(binary: Path) -> None:
    """Raise UserError if a binary was built for another processor. A script has none."""
    with binary.open("rb") as file:
        head = file.read(20)
    if not head.startswith(b"\x7fELF"):
        return
    code = int.from_bytes(head[18:20], "little" if head[5] == 1 else "big")
    built_for = _ELF_MACHINES.get(code, f"processor {code}")
    if built_for != platform.machine():
        raise UserError(
            f"{binary} was built for {built_for}; this machine is {platform.machine()}", "Get the archive for this processor"
        )

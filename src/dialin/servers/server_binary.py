"""Identifies a server binary: its vendor and version, from `--version`; what it lacks, where it does not run."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dialin.errors import UserError
from dialin.model.build import BuildReference, Vendor
from dialin.text import listed

_TIMEOUT = 20.0
_VERSION = re.compile(r"\bVer (?P<version>(?P<numbers>\d{1,9}\.\d{1,9}\.\d{1,9})\S*)(?P<rest>[^\n]*)")
_LIBRARY = re.compile(r"error while loading shared libraries: (?P<library>[^:]+):")
_ABSENT = re.compile(r"^\s*(?P<library>\S+) => not found", re.MULTILINE)
_NEWER = re.compile(r"version `(?P<version>GLIBC[A-Z]*_[0-9.]+)' not found")

_PACKAGES = {
    "libaio.so.1": ("libaio1", "libaio"), "libaio.so.1t64": ("libaio1t64", "libaio"),
    "libnuma.so.1": ("libnuma1", "numactl-libs"), "libncurses.so.5": ("libncurses5", "ncurses-compat-libs"),
    "libncurses.so.6": ("libncurses6", "ncurses-libs"), "libtinfo.so.5": ("libtinfo5", "ncurses-compat-libs"),
    "libcrypt.so.1": ("libcrypt1", "libxcrypt-compat"), "libjemalloc.so.2": ("libjemalloc2", "jemalloc"),
    "libtcmalloc.so.4": ("libgoogle-perftools4", "gperftools-libs"), "libsystemd.so.0": ("libsystemd0", "systemd-libs"),
    "libtirpc.so.3": ("libtirpc3", "libtirpc"), "libatomic.so.1": ("libatomic1", "libatomic"),
    "liburing.so.2": ("liburing2", "liburing"), "libpmem.so.1": ("libpmem1", "libpmem"),
    "libsasl2.so.2": ("libsasl2-2", "cyrus-sasl-lib"),
}  # fmt: skip
"""The packages that have a library, of Debian and Ubuntu and of Fedora and RHEL."""


def identify(binary: Path, launcher: Sequence[str] = ()) -> tuple[BuildReference, str]:
    """Return the vendor and version of a server binary, and the version as the binary prints it.

    Raises:
        UserError: the binary does not run here, or is not a MySQL or MariaDB server.
    """
    try:
        done = _run(*launcher, str(binary), "--no-defaults", "--version")
    except subprocess.TimeoutExpired:
        raise UserError(f"{binary} did not report its version within {_TIMEOUT:.0f} s") from None
    except OSError as error:
        raise UserError(f"{binary} cannot be run: {error.strerror}", "Is it built for this machine, and executable?") from error
    output = done.stdout.decode("utf-8", "replace")
    match = _VERSION.search(output)
    if done.returncode == 0 and match:
        # The line begins with the binary's path, which may contain any word; only the text after `Ver` is the server's.
        text = match["version"]
        numbers = tuple(map(int, match["numbers"].split(".")))
        return BuildReference(Vendor.named_in(text + match["rest"]), numbers), text
    complaint = done.stderr.decode("utf-8", "replace").strip()
    if missing := _LIBRARY.search(complaint):
        raise _lacks(binary, missing_libraries(binary, launcher) or [missing["library"]])
    if newer := _NEWER.search(complaint):
        raise UserError(
            f"{binary} needs {newer['version']}, which is newer than this machine's C library",
            "Get the archive for an older glibc, or add the whole file system of an image, which brings its own",
        )
    last = (complaint or output.strip()).splitlines()[-1:] or [f"it ended with {done.returncode}"]
    raise UserError(f"{binary} is not a MySQL or MariaDB server: {last[0]}")


def is_runnable(binary: Path) -> bool:
    """Return whether a binary finds its libraries on this machine."""
    try:
        return _run(str(binary), "--no-defaults", "--version").returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def missing_libraries(binary: Path, launcher: Sequence[str] = ()) -> list[str]:
    """Return the shared libraries that the dynamic loader does not find for a binary."""
    command = [*launcher, str(binary)]
    before = command[1:2] if command[0] == "env" else []  # the loader would list the libraries of `env` itself
    rest = command[2:] if before else command
    try:
        done = _run("env", *before, "LD_TRACE_LOADED_OBJECTS=1", *rest)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return list(dict.fromkeys(match["library"] for match in _ABSENT.finditer(done.stdout.decode("utf-8", "replace"))))


def _lacks(binary: Path, libraries: Sequence[str]) -> UserError:
    known = [_PACKAGES[each] for each in libraries if each in _PACKAGES]
    ways = []
    if known:
        debian, fedora = (" ".join(dict.fromkeys(names)) for names in zip(*known, strict=True))
        ways.append(f"Debian, Ubuntu: apt-get install {debian}; Fedora, RHEL: dnf install {fedora}")
    if unknown := [each for each in libraries if each not in _PACKAGES]:
        ways.append(f"`apt-file search {unknown[0]}` or `dnf provides '*/{unknown[0]}'` names the package")
    return UserError(f"{binary} needs {listed(libraries)}, which this machine lacks", ". ".join(ways))


def _run(*command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT, check=False)

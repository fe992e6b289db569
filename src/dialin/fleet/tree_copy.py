"""Copies directories from the coordinator to hosts, in pieces; a copy without the digest of the original is refused."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, cast

from dialin.errors import DialinError, MachineError, UserError, os_error

PIECE = 32 * 1024**2
"""Bytes of a piece: large enough for a fast network, small enough to hold several in memory."""

_CHANGED = 1
"""The exit code of tar where a file was changed meanwhile: the digest shows whether that matters."""


def digest(root: Path) -> str:
    """Return the SHA-256 of a directory, or of a file: names, executable bits, targets of links and contents."""
    checksum = hashlib.sha256()
    for path in [root] if root.is_file() else sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            checksum.update(f"link {name} {path.readlink()}\n".encode())
        elif path.is_file():
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            checksum.update(f"file {name} {os.access(path, os.X_OK)} {content}\n".encode())
        elif path.is_dir():
            checksum.update(f"directory {name}\n".encode())
    return checksum.hexdigest()


def pieces(root: Path) -> Iterator[bytes]:
    """Yield an archive of a directory, or of a file, piece by piece; holes of files take no room in it.

    Raises:
        UserError: `tar` cannot be run.
        MachineError: not all could be read.
    """
    with TemporaryFile() as said:
        # Archives that Python writes have no holes, and a copy of compressed pages would take more room on the host.
        command = ["tar", "--create", "--sparse", "--format=gnu", f"--directory={root.parent}", f"./{root.name}"]
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said)
        except OSError as error:
            raise os_error(error, UserError(f"tar cannot be run: {error.strerror}", "Install GNU tar")) from error
        with process:
            while piece := cast("IO[bytes]", process.stdout).read(PIECE):
                yield piece
        if process.returncode not in (0, _CHANGED):
            said.seek(0)
            words = said.read().decode("utf-8", "replace").strip() or f"tar ended with code {process.returncode}"
            raise MachineError(f"{root} could not be read: {words.splitlines()[0]}", "Check that the disk is healthy")


class Arrival:
    """A copy that arrives piece by piece, and appears at `target` only once it is complete."""

    def __init__(self, target: Path) -> None:
        self._target = target
        target.parent.mkdir(parents=True, exist_ok=True)
        self._workplace = target.parent / f".arriving-{target.name}-{uuid.uuid4().hex[:8]}"
        self._workplace.mkdir()
        self._archive = self._workplace / "archive.tar"

    def add(self, piece: bytes) -> None:
        with self._archive.open("ab") as file:
            file.write(piece)

    def finish(self, expected: str) -> None:
        """Unpack the archive, and replace the target by its content.

        Raises:
            DialinError: the digest of the content is not the expected one.
        """
        try:
            with tarfile.open(self._archive) as archive:
                archive.extraction_filter = getattr(tarfile, "tar_filter", None)  # Python has filters from 3.11.4 on
                archive.extractall(self._workplace / "content")  # noqa: S202 - filtered, and the coordinator made it
            (content,) = (self._workplace / "content").iterdir()
            if digest(content) != expected:
                raise DialinError(f"{self._target.name} did not arrive whole", "Check the host's disk and network")
            if self._target.is_dir():
                shutil.rmtree(self._target)
            content.replace(self._target)
        finally:
            shutil.rmtree(self._workplace, ignore_errors=True)

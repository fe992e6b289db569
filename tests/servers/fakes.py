"""Stand-ins for package clients, shared by the tests of this folder."""

from __future__ import annotations

import stat
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path

from dialin.errors import UserError
from dialin.servers.install.clients import Arrival

VERSIONS = {
    "mysql": "mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))",
    "mariadb": "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1",
}


def write_server(path: Path, says: str = VERSIONS["mysql"], code: int = 0) -> Path:
    """Write a program that answers `--version` as a server does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '/any/path/{says}'\nexit {code}\n")
    path.chmod(0o755)
    return path


def make_zip(path: Path, members: Mapping[str, int]) -> Path:
    """Write a zip archive of files, each with its permissions and its name for a content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, mode in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFREG | mode) << 16
            archive.writestr(info, name)
    return path


def make_tar(path: Path, members: Mapping[str, int]) -> Path:
    """Write a compressed tar archive of files, each with its permissions and its name for a content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, mode in members.items():
            info = tarfile.TarInfo(name)
            info.mode, info.size = mode, len(name)
            archive.addfile(info, BytesIO(name.encode()))
    return path


class FakeClients:
    """Records what is run, and answers by the words that an invocation contains."""

    def __init__(self, **answers: str | UserError | Callable[[Sequence[str], Path | None], str]) -> None:
        self.answers = answers
        self.ran: list[list[str]] = []
        self.said: list[str] = []
        self.say = self.said.append

    def check(self, client: str) -> None:
        """Every client is there."""

    def run(self, arguments: Sequence[str], *, cwd: Path | None = None, arrival: Arrival | None = None) -> str:
        self.ran.append(list(arguments))
        for word, answer in self.answers.items():
            if word in arguments:
                if isinstance(answer, UserError):
                    raise answer
                return answer if isinstance(answer, str) else answer(arguments, cwd)
        return ""

    def words(self) -> list[str]:
        return [next((word for word in self.answers if word in run), run[0]) for run in self.ran]

"""Where dialin keeps things on this machine, and how files are read and replaced."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialin.errors import UserError


@dataclass(frozen=True, slots=True)
class Home:
    """dialin's cache: builds, datasets, sandboxes and what was written down about running processes.

    The trials' data lives here too, so the file system of this directory is the one that a study measures; the environment
    variable `DIALIN_HOME` moves it.
    """

    root: Path

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> Home:
        """Return the cache named by `DIALIN_HOME`, else `dialin` under `XDG_CACHE_HOME`, else `~/.cache/dialin`.

        Raises:
            UserError: that is below a home directory, and the user has none, as in a container that runs under any number.
        """
        try:
            if named := environment.get("DIALIN_HOME"):
                return cls(Path(named).expanduser().absolute())
            base = environment.get("XDG_CACHE_HOME")
            return cls((Path(base) if base else Path.home() / ".cache") / "dialin")
        except RuntimeError as error:
            raise UserError(
                "The home directory is unknown", "Set DIALIN_HOME to a directory that you may write to, without ~"
            ) from error

    @property
    def builds(self) -> Path:
        """Installed builds, a directory each."""
        return self.root / "builds"

    @property
    def downloads(self) -> Path:
        """What package clients fetched, kept so that nothing is fetched twice."""
        return self.root / "downloads"

    @property
    def datasets(self) -> Path:
        """Prepared data, a directory each."""
        return self.root / "datasets"

    @property
    def sandboxes(self) -> Path:
        """Data directories of running instances; nothing here outlives its instance."""
        return self.root / "sandboxes"

    @property
    def ledger(self) -> Path:
        """What was written down about processes before they were started, a file each."""
        return self.root / "ledger"

    @property
    def undo(self) -> Path:
        """What puts attached servers back as they were, written down before each change."""
        return self.root / "undo"

    @property
    def captures(self) -> Path:
        """Where captures are, and what is written while one is made."""
        return self.root / "captures"

    @property
    def catalogues(self) -> Path:
        """What each build said of its variables."""
        return self.root / "catalogues"

    @property
    def noise(self) -> Path:
        """How much trials varied in the studies of this machine, newest last."""
        return self.root / "noise.json"

    @property
    def config(self) -> Path:
        """Directories that the user added with `dialin servers add`."""
        return self.root / "servers.json"


def replace_text(path: Path, text: str) -> None:
    """Write a file, on disk before this returns, so that whoever reads it sees all of the old text or all of the new.

    Raises:
        OSError: it cannot be written, or its directory is not there; the old text stays.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with fresh.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


MAX_TOML = 1024 * 1024
"""Bytes of a TOML file; no real one comes near."""


def read_toml(path: Path, remedy: str, unreadable: str = "") -> dict[str, Any]:
    """Return what a TOML file holds.

    Raises:
        UserError: it cannot be read (`unreadable` is then the remedy, where it is another one), is too large, or is not TOML.
    """
    import tomllib

    try:
        if path.exists() and not path.is_file():
            raise UserError(f"{path} is not a file", unreadable or remedy)
        with path.open("rb") as file:
            content = file.read(MAX_TOML + 1)
        if len(content) > MAX_TOML:
            raise UserError(f"{path} is larger than 1 MiB: nobody wrote it by hand", unreadable or remedy)
        return tomllib.loads(content.decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UserError(f"{path} cannot be read: {words}", unreadable or remedy) from error
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} is not TOML: {error}", remedy) from error

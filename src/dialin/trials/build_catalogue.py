"""The catalogue of a build's variables, read once from a server that is started with defaults, and cached."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dialin.clock import Clock
from dialin.datasets.prepare import Preparer, fingerprint
from dialin.model.build import Build, BuildReference
from dialin.model.query import Query
from dialin.paths import Home, replace_text
from dialin.servers.connection import RefusedError
from dialin.servers.option_probe import ask_of
from dialin.variables import catalogue, option_probing
from dialin.variables.catalogue import Catalogue


def catalogue_of(build: Build, home: Home, clock: Clock, preparer: Preparer, say: Callable[[str], None]) -> Catalogue:
    """Return the catalogue of a build's variables; the first time, a server is started to read it.

    A catalogue is not cached if the server did not answer everything in time; it is then read again the next time.

    Raises:
        ServerError: the server does not start.
    """
    path = _path(build, home)
    try:
        return Catalogue.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        pass
    preparer.blank(build, {})
    say(f"Reading the variables of {build.id}")
    with preparer.running(build, {}) as sandbox, sandbox.connect() as query:
        reported = catalogue.read(query, build.id)
        # Probed before `with_dynamic`: only MariaDB's table says what is dynamic, and what it says needs no probing.
        complete = catalogue.with_dynamic(option_probing.completed(reported, ask_of(build, clock)), _setting_again(query))
    _store(complete, path, say)
    return complete


def stored_catalogues(home: Home, prefix: str) -> list[Catalogue]:
    """Return the cached catalogues of builds whose IDs begin with `prefix`, the newest build first; no server is started."""
    catalogues = []
    for path in home.catalogues.glob(f"{prefix}*.json"):
        with suppress(OSError, ValueError):
            catalogues.append(Catalogue.from_json(path.read_text(encoding="utf-8")))
    return sorted(catalogues, key=lambda stored: BuildReference.parse(stored.build_id).version, reverse=True)


def _path(build: Build, home: Home) -> Path:
    digest = hashlib.sha256(f"{catalogue.FORMAT} {fingerprint(build)}".encode()).hexdigest()[:16]
    return home.catalogues / f"{build.id}-{digest}.json"


def _store(reported: Catalogue, path: Path, say: Callable[[str], None]) -> None:
    if not reported.complete:
        say(f"{reported.build_id} did not answer everything in time; dialin will ask again next time")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, reported.to_json())


def _setting_again(query: Query) -> Callable[[str], int]:
    def set_again(name: str) -> int:
        try:
            query(f"SET GLOBAL {name} = @@GLOBAL.{name}")
        except RefusedError as error:
            return error.number
        return 0

    return set_again

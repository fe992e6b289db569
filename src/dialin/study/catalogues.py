"""What a build says of its variables, asked once of a server that is started with nothing set, and kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from dialin.clock import Clock
from dialin.datasets.cache import copy
from dialin.datasets.prepare import Preparer, fingerprint
from dialin.model.build import Build
from dialin.paths import Home, replace_text
from dialin.servers.ledger import Ledger
from dialin.servers.sandbox import Sandbox
from dialin.variables import catalogue
from dialin.variables.catalogue import Catalogue

_FORMAT = 1


def catalogue_of(
    build: Build, home: Home, ledger: Ledger, clock: Clock, preparer: Preparer, say: Callable[[str], None]
) -> Catalogue:
    """Return what a build says of its variables; the server is started for it the first time.

    Raises:
        ServerError: the server does not start.
    """
    digest = hashlib.sha256(f"{_FORMAT} {fingerprint(build)}".encode()).hexdigest()[:16]
    path = home.catalogues / f"{build.id}-{digest}.json"
    try:
        return Catalogue.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    blank = preparer.blank(build, {})
    say(f"Asking {build.id} for its variables")
    sandbox = Sandbox.create(build, home, ledger, clock)
    try:
        copy(blank.data, sandbox.data)
        sandbox.boot({})
        with sandbox.connect() as query:
            found = catalogue.read(query, build.id)
    finally:
        sandbox.remove()
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, found.to_json())
    return found

"""Who may see the page: whoever opened a link that works once, with the browser that opened it."""

from __future__ import annotations

import hmac
import secrets
from collections import deque
from collections.abc import Callable, Iterable

_MOST_LINKS = 20
"""Links that wait to be opened; a further one takes the place of the oldest."""

_MOST_VIEWERS = 200

_ROOT_BYTES = 6
"""Few, so that a link fits a line of a terminal; who guesses has one guess for each page that he leads a browser to."""


def _fresh() -> str:
    return secrets.token_urlsafe(24)


class Access:
    """Gives out links, each good for one browser, and knows the browsers that opened one.

    All of it is kept in memory alone, and is gone with the process.

    Attributes:
        root: the path that all of the page is served below, another one for each process and not to be guessed. A cookie goes
            to every port of its host, and so to pages of other users of the machine; kept to this path, it does not.
    """

    def __init__(self, fresh: Callable[[], str] = _fresh) -> None:
        self._fresh = fresh
        self.root = f"/{secrets.token_urlsafe(_ROOT_BYTES)}"
        self._tokens: deque[str] = deque(maxlen=_MOST_LINKS)
        self._viewers: deque[str] = deque(maxlen=_MOST_VIEWERS)

    def token(self) -> str:
        """Return what a new link carries."""
        self._tokens.append(self._fresh())
        return self._tokens[-1]

    def spend(self, token: str) -> str | None:
        """Use up a link's token; returns the secret for its browser's cookie, None for an unknown token."""
        known = _among(token, self._tokens)
        if known is None:
            return None
        self._tokens.remove(known)
        self._viewers.append(self._fresh())
        return self._viewers[-1]

    def knows(self, secret: str) -> bool:
        """Return whether a secret is that of a browser that opened a link."""
        return _among(secret, self._viewers) is not None


def _among(given: str, known: Iterable[str]) -> str | None:
    """Return the known secret that equals the given one, in constant time."""
    match = None
    for one in tuple(known):
        if hmac.compare_digest(one.encode(), given.encode("utf-8", "replace")):
            match = one
    return match

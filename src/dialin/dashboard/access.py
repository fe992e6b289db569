"""Access to the page: a link works once, and lets in the browser that opens it."""

from __future__ import annotations

import hmac
import secrets
from collections import deque
from collections.abc import Callable, Iterable

_MOST_LINKS = 20
"""The most links that wait to be opened; a further one replaces the oldest."""

_MOST_VIEWERS = 200

_ROOT_BYTES = 6
"""Few, so that a link fits a line of a terminal; an attacker has one guess for each page that a victim's browser opens."""


def _fresh() -> str:
    return secrets.token_urlsafe(24)


class Access:
    """Issues links, each for one browser, and recognises the browsers that opened one.

    Links and browsers are held in memory only, and are lost when the process ends.

    Attributes:
        root: the random path below which the whole page is served, different in each process. A browser sends a cookie to every
            port of its host, and so to pages of other users of the machine; a cookie for this path only is not sent to them.
    """

    def __init__(self, fresh: Callable[[], str] = _fresh) -> None:
        self._fresh = fresh
        self.root = f"/{secrets.token_urlsafe(_ROOT_BYTES)}"
        self._tokens: deque[str] = deque(maxlen=_MOST_LINKS)
        self._viewers: deque[str] = deque(maxlen=_MOST_VIEWERS)

    def token(self) -> str:
        """Return the token of a new link."""
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
    for secret in tuple(known):
        if hmac.compare_digest(secret.encode(), given.encode("utf-8", "replace")):
            match = secret
    return match

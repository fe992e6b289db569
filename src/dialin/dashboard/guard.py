"""Guards the page: a request is refused unless it is the page's own and comes from a browser that was let in.

A page of another site can make a browser send requests to this machine. It cannot name this host (DNS rebinding keeps the
name of the other site), cannot send this page's cookie, and cannot hide where a POST comes from; each of the three is checked.
Browsers send a cookie to every port of its host: the page of another user of this machine would get it, so it is kept to a path
that only this page's viewers know.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dialin.dashboard.connections import Address

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


TOKEN = "t"  # noqa: S105 - the name of what carries one
"""The query parameter with a link's token; short, so that a link fits a line of a terminal."""

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data: blob:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

_NO_LINK = (
    "This page opens with a link that works once, for one browser.\n"
    "Press Enter where `dialin watch` runs to print a new link, or make one on a page that is open already;\n"
    "or run `dialin watch` on the study's directory again.\n"
)
_OTHER_HOST = (
    "This page is not served under that name.\nOpen the link as dialin printed it, or name the host: dialin watch --host\n"
)
_OTHER_ORIGIN = "This request came from another page and is refused.\n"


def redirect_document(address: str) -> str:
    """Return a document that redirects a browser to an address of the page, which must not need escaping in HTML."""
    return (
        f'<!doctype html><html lang="en"><meta http-equiv="refresh" content="0;url={address}"><title>dialin</title>'
        f'<a href="{address}">Continue</a>'
    )


@dataclass(frozen=True, slots=True)
class Served:
    """The names under which the page is served.

    Attributes:
        names: names of the host, in lower case; the names of loopback are always served.
        any_address: whether every address of the machine serves it.
    """

    names: frozenset[str] = frozenset()
    any_address: bool = False

    def is_named_by(self, host: str) -> bool:
        """Return whether a request's Host names this server; any port is accepted, because a tunnel can use another one."""
        name = host.lower()
        name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
        return name in _LOOPBACK or name in self.names or (self.any_address and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """Passes permitted requests to the page, and adds the protective headers to every answer.

    `let_in` is called with the address of each connection of which a request was permitted, and its browser's secret.
    """

    def __init__(
        self, app: ASGIApp, access: Access, served: Served, cookie: str, let_in: Callable[[Address, str], None]
    ) -> None:
        self._app = app
        self._note_let_in = let_in
        self._access = access
        self._served = served
        self._cookie = cookie
        self._root = f"{access.root}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        request = Request(scope)
        answer = self._answer(request)
        if answer is None and request.client is not None:
            self._note_let_in((request.client.host, request.client.port), request.cookies.get(self._cookie, ""))
        await (answer or self._app)(scope, receive, send_guarded)

    def _answer(self, request: Request) -> Response | None:
        """Return the refusal or redirect of a request; None where the request may pass."""
        if not self._served.is_named_by(request.headers.get("host", "")):
            return _refused(_OTHER_HOST)
        if not request.url.path.startswith(self._root):
            return _refused(_NO_LINK)
        token = request.query_params.get(TOKEN)
        if token is not None:
            return self._let_in(request, token)
        if not self._access.knows(request.cookies.get(self._cookie, "")):
            return _refused(_NO_LINK)
        if request.method not in ("GET", "HEAD") and not _is_own(request.headers):
            return _refused(_OTHER_ORIGIN)
        return None

    def _let_in(self, request: Request, token: str) -> Response:
        purpose = request.headers.get("sec-purpose", request.headers.get("purpose", ""))
        if request.method != "GET" or request.url.path != self._root or "prefetch" in purpose:
            return _refused(_NO_LINK)
        if self._access.knows(request.cookies.get(self._cookie, "")):
            return RedirectResponse(self._root, HTTPStatus.SEE_OTHER)  # the link is left for another browser
        secret = self._access.spend(token)
        if secret is None:
            return _refused(_NO_LINK)
        elsewhere = request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        # After a link on another site, a browser sends no strict cookie with a redirect, but it does from a page served here.
        answer: Response = (
            HTMLResponse(redirect_document(self._root)) if elsewhere else RedirectResponse(self._root, HTTPStatus.SEE_OTHER)
        )
        answer.set_cookie(self._cookie, secret, path=self._root, httponly=True, samesite="strict")
        return answer


def _refused(words: str) -> Response:
    return PlainTextResponse(words, HTTPStatus.FORBIDDEN)


def _is_own(headers: Headers) -> bool:
    """Return whether the page itself sent a POST: browsers send the origin of every POST."""
    origin, host = headers.get("origin", ""), headers.get("host", "")
    return bool(host) and origin.partition("://")[2].lower() == host.lower()

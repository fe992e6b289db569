"""The page's addresses, and what each answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from dialin.dashboard.connections import Connections
from dialin.dashboard.guard import TOKEN, Access, Guard, Served
from dialin.dashboard.hub import Hub
from dialin.paths import parse_json
from dialin.report.render.html import assets

_LONGEST_BODY = 1024
"""The largest request body that is read, in bytes; the page's own are far smaller."""


def page(hub: Hub, access: Access, served: Served, cookie: str, connections: Connections) -> ASGIApp:
    """Return the page, behind its guard."""

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        looking = asyncio.create_task(hub.run())
        yield
        hub.end()
        await looking

    async def events(_request: Request) -> Response:
        return StreamingResponse(hub.stream(), media_type="text/event-stream")

    async def report(_request: Request) -> Response:
        if not hub.report:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return Response(hub.report, media_type="application/json")

    async def stop(request: Request) -> Response:
        match await _asked(request):
            case {"when": "now"}:
                if not hub.stop_now():
                    return _answer("No process runs this study, so there is nothing to stop.", HTTPStatus.CONFLICT)
            case {"when": "after_block" | "never" as when}:
                try:
                    hub.stop_after_block(wanted=when == "after_block")
                except OSError as error:
                    return _answer(f"The study's directory cannot be written to: {error.strerror}.", HTTPStatus.CONFLICT)
            case _:
                return _answer("This is not what the page asks for.", HTTPStatus.BAD_REQUEST)
        return _answer("")

    async def link(_request: Request) -> Response:
        return JSONResponse({"path": new_link(access)})

    routes = [
        _text("/", lambda: _file("live.html"), "text/html"),
        _text("/style.css", lambda: assets().css + _file("live.css"), "text/css"),
        _text("/plotly.js", lambda: assets().library, "text/javascript"),
        _text("/report.js", lambda: assets().script, "text/javascript"),
        _text("/live.js", lambda: _file("live.js"), "text/javascript"),
        Route("/events", events),
        Route("/report", report),
        Route("/stop", stop, methods=["POST"]),
        Route("/link", link, methods=["POST"]),
    ]
    application = Starlette(routes=[Mount(access.root, routes=routes)], lifespan=lifespan)
    return Guard(application, access, served, cookie, connections.let_in)


def new_link(access: Access) -> str:
    """Return the path of a new link, which works once."""
    return f"{access.root}/?{TOKEN}={access.token()}"


def _text(path: str, text: Callable[[], str], kind: str) -> Route:

    async def serve(_request: Request) -> Response:
        return Response(text(), media_type=kind)

    return Route(path, serve)


async def _asked(request: Request) -> Any:
    """Return the JSON of a request; None where it is not valid."""
    received = b""
    async for piece in request.stream():
        received += piece
        if len(received) > _LONGEST_BODY:
            return None
    try:
        return parse_json(received)
    except ValueError:
        return None


def _answer(words: str, status: HTTPStatus = HTTPStatus.OK) -> Response:
    return JSONResponse({"words": words}, status)


@cache
def _file(name: str) -> str:
    return files("dialin.dashboard").joinpath("templates", name).read_text(encoding="utf-8")

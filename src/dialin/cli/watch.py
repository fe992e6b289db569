"""`dialin watch`: the live page of a study."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from dialin.cli.console import say
from dialin.cli.studies import Directory
from dialin.errors import ExitCode
from dialin.scratch import scratch
from dialin.store import is_suite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dialin.dashboard.page_server import Place

Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on. Default: a free port.", show_default=False)]
Host = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="Name or address of this machine to listen on. By default no other machine can reach the page."
    ),
]
Open = Annotated[bool, typer.Option("--open", help="Open the page in a browser on this machine.")]
Beside = Annotated[bool, typer.Option("--beside", hidden=True)]

_OPENING = 60.0
"""Seconds that a browser may take to start on a busy machine."""


def watch(
    directory: Directory, port: Port = 0, host: Host = "127.0.0.1", open_it: Open = False, beside: Beside = False
) -> None:
    """Show a study or a suite as a live page: time left, the running trial, candidates, log, and the report.

    The printed link opens the page once, in one browser; the page can make more links. The page can stop the
    study, after its block or at once. It reads only what the study stored: close it and come back at any time.

    dialin watch dialin-innodb_buffer_pool_instances-20260902-120041
    """
    from dialin.clock import SystemClock
    from dialin.dashboard import page_process, page_server
    from dialin.dashboard.connections import Connections, Limits
    from dialin.dashboard.follow import Follower, check
    from dialin.dashboard.follow_suite import SuiteFollower
    from dialin.dashboard.guard import Access
    from dialin.dashboard.hub import Hub
    from dialin.dashboard.page import new_link, page
    from dialin.paths import Home
    from dialin.servers.processes import identity
    from dialin.suites.suite_file import JointReader, read_suite

    follower = Follower(directory.absolute())
    if is_suite(directory):
        follower = suite = SuiteFollower(directory.absolute(), read_suite, JointReader(directory.absolute()).join)
        suite.check()
    elif not beside:
        check(directory)
    listening, place = page_server.listen(host, port)
    page_server.log_errors(Home.of().root / f"fault-{os.getpid()}.log")
    access = Access()

    def link() -> str:
        return place.origin + new_link(access)

    def end() -> None:
        serving.end()

    hub = Hub(follower, SystemClock(), identity, alone=end if beside else None)
    connections = Connections(Limits.of_process())
    serving = page_server.PageServer(page(hub, access, place.served, place.cookie, connections), hub.end, connections)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # uvicorn handles it first, and raises it again when it has ended
    first = link()
    if beside:
        page_process.publish_link(first)
    else:
        _announce(place, first, link)
    with suppress(KeyboardInterrupt), _in_a_browser(first) if open_it else nullcontext():
        page_server.lower_priority()  # only now: the browser must not inherit the low priority
        serving.run(sockets=[listening])
    raise typer.Exit(ExitCode.VERDICT)


@contextmanager
def _in_a_browser(link: str) -> Iterator[None]:
    """Open a link in a browser, through a file that redirects: the arguments of a process are readable by all users."""
    from dialin.dashboard.guard import redirect_document

    with scratch() as directory:  # only this user may read it
        path = directory / "link.html"
        path.touch(mode=0o600)
        path.write_text(redirect_document(link), encoding="ascii")
        cleanup = threading.Timer(_OPENING, path.unlink, kwargs={"missing_ok": True})
        cleanup.daemon = True
        cleanup.start()
        try:
            if typer.launch(path.as_uri()):
                say("No browser could be started. Open the link yourself")
            yield
        finally:
            cleanup.cancel()


def _announce(place: Place, first: str, link: Callable[[], str]) -> None:
    say("Live page (link for one browser):")
    typer.echo(first)
    if place.is_loopback:
        tunnel = f"ssh -L {place.port}:{place.host}:{place.port} {socket.gethostname()}"
        say(f"From another machine: {tunnel}, then open the link there")
    else:
        say(
            "Warning: other machines can reach the page, and the connection is not encrypted. "
            "Anybody who opens a link can see and stop the study"
        )
    if sys.stdin.isatty():
        signal.signal(signal.SIGTTIN, signal.SIG_IGN)  # in the background a read then fails instead of stopping the page
        threading.Thread(target=_print_links, args=(link,), daemon=True).start()
        say("Press Enter for a link for another browser. Ctrl-C ends the page; the study continues")


def _print_links(link: Callable[[], str]) -> None:
    with suppress(OSError):
        while os.read(sys.stdin.fileno(), 1024):
            typer.echo(link())

"""`dialin servers`: builds on this machine, builds to install, and sandboxes for the user's own use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from dialin.cli.console import output, say
from dialin.errors import UserError
from dialin.places.sandbox import lasting_sandboxes
from dialin.servers import builds
from dialin.servers.install import archive_file, installer
from dialin.servers.install.installable import INSTALLABLE, parse_reference, row_of
from dialin.text import command_line, listed
from dialin.trials.tools import Tools

servers = typer.Typer(
    name="servers",
    add_completion=False,
    help="List, install and remove server builds, and start sandboxes for your own use.",
    no_args_is_help=False,
)

_WHOLE_VERSION = 3
BuildName = Annotated[str, typer.Argument(metavar="BUILD", help="Such as mysql@9.7, percona@8.0 or mariadb@10.11.")]


@servers.callback(invoke_without_command=True)
def _list(context: typer.Context) -> None:
    if context.invoked_subcommand is not None:
        return
    tools = Tools.open(say)
    console = output()
    installed = builds.discover(tools.home, os.environ)
    width = max((len(build.id) for build in installed), default=0)
    names: set[str] = set()
    for build in installed:
        twin = " (not used: the first of this name is)" if build.id in names else ""
        console.print(f"{build.id:<{width}}  {escape(build.origin)}: {escape(str(build.binary))}{twin}", soft_wrap=True)
        names.add(build.id)
    for lost in builds.lost_builds(tools.home):
        console.print(f"{lost.build}  cannot be used: added from {escape(lost.directory)}, {escape(lost.why)}", soft_wrap=True)
    if not installed:
        console.print("There is no MySQL or MariaDB on this machine.")
    installed_rows = [row_of(build.reference) for build in installed]
    missing = [entry for entry in INSTALLABLE if entry not in installed_rows]
    if missing:
        console.print("\nCan be installed (dialin servers install BUILD):")
        for entry in missing:
            console.print(f"  {entry.reference}  {escape(entry.source.description)}", soft_wrap=True)
    running = lasting_sandboxes.running(tools.ledger)
    if running:
        console.print("\nRunning (dialin servers stop ID):")
        for sandbox in running:
            console.print(
                f"  {sandbox.id}  {sandbox.build}  {escape(lasting_sandboxes.how_to_connect(sandbox))}", soft_wrap=True
            )
    elsewhere = tools.ledger.entries_elsewhere()
    if elsewhere:
        console.print("\nOn other machines or containers, or of other users, that share this cache (left alone here):")
        for other in elsewhere:
            console.print(escape(f"  {other.id}  {other.build}  on {other.origin.host}"), soft_wrap=True)


@servers.command("install")
def install_build(build: BuildName) -> None:
    """Install a build into dialin's cache. This needs no root and leaves the system's packages alone."""
    tools = Tools.open(say)
    installed = installer.install(tools.home, parse_reference(build), say, verify=tools.verify)
    say(f"{installed.id} is ready: {installed.binary}")


@servers.command("remove")
def remove_build(build: BuildName) -> None:
    """Remove a build that dialin installed. Give its full name; it must not be in use."""
    from dialin.servers.in_use import users_of

    tools = Tools.open(say)
    installed = builds.discover(tools.home, os.environ)
    reference = parse_reference(build, (each.id for each in installed))
    chosen = installer.to_remove(tools.home, reference, installed) or builds.find(build, installed, tools.home)
    if users := users_of(chosen.id, tools.ledger):
        raise UserError(f"{chosen.id} is in use by {listed(users)}", "End that first, or wait for it")
    installer.remove(tools.home, chosen)
    say(f"{chosen.id} is removed")


@servers.command("add")
def add(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|DIR",
            help="An archive (.tar.gz, .tar.xz, .tar.zst), or a directory: an unpacked archive, the file system of an image.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="Its name where its version text misleads, such as mysql@9.7.4-patched."),
    ] = None,
) -> None:
    """Add a server that you have, such as Percona Server or MySQL 8.4. It is started once, to try it."""
    tools = Tools.open(say)
    reference = parse_reference(name) if name else None
    if reference and len(reference.version) != _WHOLE_VERSION:
        raise UserError(
            f"--as {name} is not a whole name", "Give a vendor and a version of three numbers, as in percona@8.0.36"
        )

    if path.expanduser().exists() and archive_file.is_archive(path.expanduser()):
        added = [
            archive_file.add_archive(
                tools.home,
                path.expanduser().resolve(),
                say,
                reference,
                check=lambda build: builds.check_name(tools.home, build),
                verify=tools.verify,
            )
        ]
    else:
        added = builds.add_directory(tools.home, path, reference, tools.verify)
    for build in added:
        say(f"Added {build.id}: {build.binary}")


@servers.command("forget")
def forget(directory: Annotated[Path, typer.Argument(metavar="DIR", help="A directory that was added.")]) -> None:
    """Remove a directory that was added; its files are not changed."""
    builds.forget_directory(Tools.open(say).home, directory)
    say(f"{directory} is no longer used")


@servers.command("start")
def start(
    build: BuildName,
    fixed: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A variable to set at startup; repeat for more.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port on 127.0.0.1; 0 chooses a free one.")] = 0,
) -> None:
    """Start a sandbox for your own use: a private server that runs until `dialin servers stop`."""
    from dialin.cli.study_flags import pairs

    tools = Tools.open(say)
    chosen = builds.find(build, builds.discover(tools.home, os.environ), tools.home)
    setting = pairs(fixed, "--set")
    tools.check_setting(chosen, setting)
    sandbox = lasting_sandboxes.start(chosen, setting, port, tools.home, tools.ledger, tools.clock, tools.preparer)
    say(f"{chosen.id} runs. Connect: {lasting_sandboxes.how_to_connect(sandbox)}")
    say(f"Stop it: {command_line('dialin servers stop', sandbox.id)}")


@servers.command("stop")
def stop(name: Annotated[str | None, typer.Argument(metavar="ID", help="The sandbox to stop. Default: all.")] = None) -> None:
    """Stop sandboxes that were started with `dialin servers start`, and remove their data."""
    tools = Tools.open(say)
    running = lasting_sandboxes.running(tools.ledger)
    chosen = [sandbox for sandbox in running if name in (None, sandbox.id)]
    if name is not None and not chosen:
        raise UserError(f"No server {name!r} is running", "See `dialin servers`")
    for sandbox in chosen:
        tools.ledger.end(sandbox)
        say(f"{sandbox.build} ({sandbox.id}) is stopped")
    if not chosen:
        say("No server was running")

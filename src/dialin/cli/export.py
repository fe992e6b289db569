"""`dialin export`: every second of a study, for other programs."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialin.cli.console import say
from dialin.cli.studies import Directory
from dialin.errors import UserError
from dialin.frames import Format

if TYPE_CHECKING:
    from dialin.store.store import Store

_STANDARD_OUTPUT = Path("-")


def export(
    directory: Directory,
    form: Annotated[
        Format | None,
        typer.Option("--format", help="Format. Default: by the name of --out, or parquet.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Output file. Default: samples.parquet or samples.csv in the study's directory. - prints CSV."
        ),
    ] = None,
) -> None:
    """Write every second of every trial as one table, for other programs; docs/files.md describes the columns.

    The study may be running; it is not changed.

    dialin export dialin-innodb_buffer_pool_instances-20260902-120041 --format csv
    """
    is_csv = out is not None and (out == _STANDARD_OUTPUT or out.suffix.lower() == ".csv")
    chosen = form or (Format.CSV if is_csv else Format.PARQUET)
    if out == _STANDARD_OUTPUT:
        _print(directory, chosen)
        return
    from dialin.frames import samples_export as samples
    from dialin.store import read_only

    path = out or directory / f"samples.{chosen}"
    samples.check_place(path, directory)
    count = read_only.read(directory, lambda store: samples.write(store, path, chosen))
    say(f"{count:,} seconds: {path.absolute()}")


def _print(directory: Path, form: Format) -> None:
    import tempfile

    from dialin.frames import samples_export as samples
    from dialin.store import read_only

    if form is not Format.CSV:
        raise UserError("Parquet cannot be written to standard output", "Name a file with --out, or use --format csv")

    with tempfile.TemporaryFile() as table:

        def write_table(store: Store) -> None:
            table.seek(0)
            table.truncate()
            samples.write_csv(store, table)

        read_only.read(directory, write_table)
        table.seek(0)
        shutil.copyfileobj(table, sys.stdout.buffer)
        sys.stdout.buffer.flush()

"""Writes an invented record into a study's directory, as the study would have left it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields, replace
from operator import attrgetter
from pathlib import Path

from dialin.model.record import Look, StudyRecord
from dialin.model.trial import Sample, TrialState
from dialin.store import store as stores
from dialin.store.store import Store

_FIGURES = attrgetter(*(field.name for field in fields(Sample)))


def keep(record: StudyRecord, directory: Path) -> None:
    """Make the database of a study that reads back as this record, in an existing directory.

    Args:
        record: of a study whose trials are numbered from 1.
        directory: holds no study yet.
    """
    with Store.create(
        directory,
        record.spec,
        created=record.created,
        dialin_version=record.dialin_version,
        command=record.command,
        host=record.host,
        servers=record.servers,
        catalogues=record.catalogues,
    ) as store:
        for trial in record.trials:
            store.begin_trial(replace(trial, state=TrialState.RUNNING))
            store.save_trial(trial)
        with closing(sqlite3.connect(directory / stores.FILE)) as connection, connection:
            # One by one, each with a transaction of its own, is how a study writes them; all at once is quick.
            columns = ",".join("?" * 16)
            connection.executemany(f"INSERT INTO sample VALUES ({columns})", _rows(record))  # noqa: S608
        for number, seen in record.watched.items():
            store.save_watched(number, seen.values(), ())
        for number, waits in record.waits.items():
            store.save_waits(number, waits)
        for look in record.looks:
            store.add_look(look)
        if record.verdict is not None:
            store.save_verdict_of(Look(0, 0, 0.0), record.verdict, decided=True)  # its looks are kept as they are
        for line in record.log:
            store.say(line.at, line.text)


def _rows(record: StudyRecord) -> Iterator[tuple[object, ...]]:
    for number, seconds in record.samples.items():
        for sample in seconds:
            yield (number, *_FIGURES(sample))

"""Stores a study: its question, its trials, every sample, and its verdict.

Each call is one committed transaction, so a study killed at any instant loses at most the current second. SQLite in WAL
mode lets reports and the live page read while the study writes.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError
from sqlalchemy import URL, Connection, Engine, Row, Select, create_engine, event, func, insert, select, update
from sqlalchemy.exc import DatabaseError, OperationalError, SQLAlchemyError

from dialin.errors import MachineError, UserError
from dialin.model.evidence import PointColumns, RawWaits, Watched
from dialin.model.profile import Profile
from dialin.model.progress import Progress
from dialin.model.record import LogLine, Look, StudyRecord, TuneCourse
from dialin.model.study import Candidate, StudySpec
from dialin.model.trial import Block, Sample, Step, Trial, TrialState
from dialin.model.tune import TuneAsk
from dialin.model.verdict import TuneFindings, Verdict
from dialin.paths import parse_json
from dialin.store import STUDY_FILE, UNFINISHED_STUDY_FILE, profile_file, rows, schema, series
from dialin.store.damaged_study import (
    BAD_ROWS,
    NAME_ONE,
    check_candidates,
    check_tables,
    damaged,
    machine_failed,
    not_opened,
    read_mark,
    study_file,
)
from dialin.store.rows import packed
from dialin.text import how_to_resume

_ROWS = 10_000
"""Rows of samples that are read at a time."""


def _engine(path: Path) -> Engine:
    engine = create_engine(URL.create("sqlite", database=str(path)), json_deserializer=parse_json)

    @event.listens_for(engine, "connect")
    def _set_pragmas(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA busy_timeout=10000")

    return engine


def _steps_of_killed(connection: Connection, trial: int, started: float) -> dict[str, float]:
    """Return the seconds that a killed trial took: from its start to its last sample or line of the log."""
    newest = select(schema.sample.c.at, schema.sample.c.step).where(schema.sample.c.trial == trial)
    sample = connection.execute(newest.order_by(schema.sample.c.second.desc()).limit(1)).first()
    last_line = connection.execute(select(func.max(schema.log.c.at)).where(schema.log.c.at > started)).scalar()
    seconds = max(sample.at if sample else started, last_line or started) - started
    return {str(sample.step if sample else Step.RESTORE): seconds} if seconds > 0 else {}


def _without_candidates(spec: StudySpec) -> dict[str, Any]:
    return spec.model_dump(mode="json", exclude={"candidates"})


_ADD_SAMPLE = insert(schema.sample)
"""Built once: a study on many hosts stores hundreds of samples per second, and building the statement took most of that."""


class Store:
    """The database of one study. Use it as a context manager, or call `close`.

    Attributes:
        directory_of_series: has the figures of each trial over time, `trial-N.parquet`; raw waits and profiles have their own.
    """

    def __init__(self, directory: Path, engine: Engine) -> None:
        self._directory = directory
        self._engine = engine
        self.directory_of_series = directory / "evidence"
        self.directory_of_waits = directory / "waits"
        self.directory_of_profiles = directory / "profiles"

    @classmethod
    def create(
        cls,
        directory: Path,
        spec: StudySpec,
        *,
        created: float,
        dialin_version: str,
        command: str,
        host: Mapping[str, Any],
        servers: Mapping[str, Mapping[str, Any]],
        catalogues: Mapping[str, str] | None = None,
    ) -> Self:
        """Create the database of a new study in an existing directory.

        Raises:
            UserError: the directory holds a study already.
            MachineError: the directory cannot be written to (a full disk); no database is left there.
        """
        path, made = directory / STUDY_FILE, directory / UNFINISHED_STUDY_FILE
        if path.exists():
            raise UserError(f"{directory} holds a study already", f"Resume it: {how_to_resume(directory)}")
        study = insert(schema.study).values(
            format=schema.FORMAT,
            spec=_without_candidates(spec),
            created=created,
            dialin_version=dialin_version,
            command=command,
            host=dict(host),
            servers={name: dict(facts) for name, facts in servers.items()},
            catalogues=dict(catalogues or {}),
        )
        engine = create_engine(URL.create("sqlite", database=str(made)))
        try:
            made.unlink(missing_ok=True)
            with engine.begin() as connection:
                connection.exec_driver_sql(f"PRAGMA application_id={schema.APPLICATION_ID}")
                schema.metadata.create_all(connection)
                connection.execute(study)
                connection.execute(insert(schema.candidate), [each.model_dump(mode="json") for each in spec.candidates])
            engine.dispose()
            made.rename(path)  # whoever sees the file sees a whole study
        except OperationalError as error:
            raise MachineError(
                f"No study can be written to {directory}: {error.orig}",
                "Check that the disk has space and that you may write there, or name another --out; nothing was measured",
            ) from error
        except OSError as error:
            raise MachineError.of(error, f"No study can be written to {directory}") from error
        finally:
            engine.dispose()
            for leftover in (made, made.with_name(f"{made.name}-journal")):
                with suppress(OSError):
                    leftover.unlink(missing_ok=True)
        return cls(directory, _engine(path))

    @classmethod
    def open(cls, directory: Path) -> Self:
        """Open the database of a study.

        Raises:
            UserError: the directory holds no study, one that is damaged, or one of another version of dialin.
        """
        path = study_file(directory)
        if read_mark(path) != schema.APPLICATION_ID:
            raise UserError(f"{path} was not written by dialin", NAME_ONE)
        return cls.over(directory, _engine(path))

    @classmethod
    def over(cls, directory: Path, engine: Engine) -> Self:
        """Open a study's database with an engine, which is disposed of when the store is closed, or if this fails.

        Raises:
            UserError: the study is damaged, or one of another version of dialin.
        """
        path = directory / STUDY_FILE
        try:
            with engine.connect() as connection:
                check_tables(connection.exec_driver_sql, path)
                stored = connection.execute(select(schema.study.c.format)).scalar_one()
        except UserError:
            engine.dispose()
            raise
        except OperationalError as error:
            engine.dispose()
            raise not_opened(path, error.orig) from error
        except SQLAlchemyError as error:
            engine.dispose()
            raise damaged(path) from error
        if stored != schema.FORMAT:
            engine.dispose()
            raise UserError(
                f"{directory} was written by another version of dialin (format {stored}; this one reads {schema.FORMAT})",
                "Use that version, or start a new study",
            )
        try:
            with engine.connect() as connection:
                schema.check_rows(connection)
        except (SQLAlchemyError, ValueError) as error:
            engine.dispose()
            raise damaged(path) from error
        return cls(directory, engine)

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except OperationalError as error:
            raise self._unwritable(str(error.orig)) from error

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except OperationalError as error:
            if failed := machine_failed(error.orig, self._directory):
                raise failed from error
            raise

    def _rows(self, query: Select[Any]) -> Sequence[Row[Any]]:
        with self._reading() as connection:
            return connection.execute(query).all()

    def _scalar(self, query: Select[Any]) -> Any:
        with self._reading() as connection:
            return connection.execute(query).scalar()

    def _unwritable(self, reason: str) -> MachineError:
        remedy = "Check that you may write there, and that the disk has space and no faults"
        return MachineError(f"The study in {self._directory} cannot be written: {reason}", remedy)

    @property
    def spec(self) -> StudySpec:
        """The study's question.

        Raises:
            UserError: the stored question cannot be read.
        """
        with self._reading() as connection:
            stored = connection.execute(select(schema.study.c.spec)).scalar_one()
            candidates = connection.execute(select(schema.candidate).order_by(schema.candidate.c.id)).all()
        try:
            return StudySpec.model_validate({**stored, "candidates": [rows.candidate(row) for row in candidates]})
        except ValidationError as error:
            raise UserError(f"The study in {self._directory} cannot be read by this dialin", "Update dialin") from error

    def set_spec(self, spec: StudySpec) -> None:
        """Replace the question, without its candidates; only what does not affect finished trials (the budget) may change."""
        with self._write() as connection:
            connection.execute(update(schema.study).values(spec=_without_candidates(spec)))

    @property
    def host(self) -> dict[str, Any]:
        """The inventory of the first host, and what applied the load."""
        return rows.host(self._scalar(select(schema.study.c.host)))

    def add_to_host(self, facts: Mapping[str, Any]) -> None:
        """Add facts about the load, or replace those that have changed since the study began."""
        with self._write() as connection:
            stored = connection.execute(select(schema.study.c.host)).scalar_one()
            connection.execute(update(schema.study).values(host={**stored, **facts}))

    def save_host(self, name: str, facts: Mapping[str, Any]) -> None:
        """Store the inventory of a host that runs trials, once: a study that is resumed keeps the first one."""
        with self._write() as connection:
            stored = connection.execute(select(schema.study.c.host)).scalar_one()
            hosts = stored.get(rows.HOSTS, {})
            if name not in hosts:
                connection.execute(update(schema.study).values(host={**stored, rows.HOSTS: {**hosts, name: dict(facts)}}))

    def begin_session(self) -> int:
        """Mark trials of a killed session as interrupted, and return this session's number, from 1.

        A killed trial keeps the time that it took, since the budget was spent on it.
        """
        with self._write() as connection:
            killed = select(schema.trial.c.id, schema.trial.c.started).where(schema.trial.c.state == TrialState.RUNNING)
            for number, started in connection.execute(killed).all():
                ended = {"state": TrialState.INTERRUPTED, "steps": _steps_of_killed(connection, number, started)}
                connection.execute(update(schema.trial).where(schema.trial.c.id == number).values(**ended))
            return (connection.execute(select(func.max(schema.trial.c.session))).scalar() or 0) + 1

    def begin_block(self, block: Block) -> None:
        """Store a block before its first trial."""
        with self._write() as connection:
            row = {"number": block.number, "purpose": block.purpose, "candidates": list(block.order)}
            connection.execute(insert(schema.block).values(**row))

    def blocks(self) -> list[Block]:
        """Return every block, in the order they began."""
        return [rows.block(row) for row in self._rows(select(schema.block).order_by(schema.block.c.id))]

    def begin_ask(self, ask: TuneAsk, entering: Sequence[Candidate] = ()) -> None:
        """Store a trial that a tune asks for, with the candidate that enters for it; one that never ran is replaced."""
        with self._write() as connection:
            if entering:
                connection.execute(insert(schema.candidate), [candidate.model_dump(mode="json") for candidate in entering])
            connection.execute(insert(schema.tune_ask).prefix_with("OR REPLACE").values(**asdict(ask)))

    def asks(self) -> list[TuneAsk]:
        """Return every trial that a tune asked for, in order."""
        return [rows.ask(row) for row in self._rows(select(schema.tune_ask).order_by(schema.tune_ask.c.number))]

    def save_findings(self, findings: TuneFindings) -> None:
        """Store what a tune has found, in place of the earlier state."""
        row = {"id": 1, "found": findings.model_dump(mode="json")}
        with self._write() as connection:
            connection.execute(insert(schema.tune_findings).prefix_with("OR REPLACE").values(**row))

    def findings(self) -> TuneFindings | None:
        """Return what a tune has found; None before its first trial ended."""
        stored = self._scalar(select(schema.tune_findings.c.found))
        return TuneFindings.model_validate(stored) if stored else None

    def next_trial_id(self) -> int:
        """Return the number that the next trial may have, from 1."""
        return int(self._scalar(select(func.max(schema.trial.c.id))) or 0) + 1

    def begin_trial(self, trial: Trial) -> None:
        with self._write() as connection:
            connection.execute(insert(schema.trial).values(**asdict(trial)))

    def save_trial(self, trial: Trial) -> None:
        with self._write() as connection:
            connection.execute(update(schema.trial).where(schema.trial.c.id == trial.id).values(**asdict(trial)))

    def add_sample(self, trial_id: int, sample: Sample) -> None:
        with self._write() as connection:
            connection.execute(_ADD_SAMPLE, {"trial": trial_id, **asdict(sample)})

    def save_watched(self, trial_id: int, watched: Iterable[Watched], points: PointColumns) -> None:
        """Store what the probes of a trial read; figures over time go into `evidence/trial-N.parquet`."""
        with self._write() as connection:
            for each in watched:
                row = {"trial": trial_id, "probe": each.probe, "saw": asdict(each)}
                connection.execute(insert(schema.watched).prefix_with("OR REPLACE").values(**row))
        with self._writing_file():
            series.write(self.directory_of_series / series.file_name(trial_id), points)

    def save_waits(self, trial_id: int, waits: RawWaits, file: Path | None = None) -> None:
        """Store the summary of a trial's raw waits, and move the file of the waits themselves into the study.

        Raises:
            DialinError: the study cannot be written.
        """
        place = self.directory_of_waits / series.file_name(trial_id)
        if file is not None and file != place:
            with self._writing_file():
                place.parent.mkdir(exist_ok=True)
                shutil.move(file, place)
        with self._write() as connection:
            connection.execute(insert(schema.waits).prefix_with("OR REPLACE").values(trial=trial_id, summary=asdict(waits)))

    def save_profile(self, trial_id: int, profile: Profile) -> None:
        with self._writing_file():
            profile_file.write(self.directory_of_profiles / series.file_name(trial_id), profile)

    @contextmanager
    def _writing_file(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from error

    def add_look(self, look: Look) -> None:
        """Store that a look was taken, before its verdict is used."""
        with self._write() as connection:
            connection.execute(insert(schema.look).values(**asdict(look)))

    def save_verdict_of(self, look: Look, verdict: Verdict, *, decided: bool) -> None:
        """Store a look's verdict as the newest one, and whether it ended the study."""
        with self._write() as connection:
            connection.execute(update(schema.study).values(verdict=verdict.model_dump(mode="json", by_alias=True)))
            connection.execute(update(schema.look).where(schema.look.c.number == look.number).values(decided=decided))

    def say(self, at: float, text: str) -> None:
        self.add_line(LogLine.of_text(at, text))

    def add_line(self, line: LogLine) -> None:
        with self._write() as connection:
            connection.execute(insert(schema.log).values(at=line.at, text=rows.log_column(line)))

    def save_progress(self, progress: Progress) -> None:
        """Store how far the study has come, in place of the earlier state."""
        with self._write() as connection:
            connection.execute(insert(schema.progress).prefix_with("OR REPLACE").values(id=1, stands=asdict(progress)))

    def progress(self) -> Progress | None:
        """Return how far the study has come; None before its first session."""
        stands = self._scalar(select(schema.progress.c.stands))
        return rows.progress(stands) if stands else None

    def verdict(self) -> Verdict | None:
        """Return the newest verdict, once there is one.

        Raises:
            UserError: the verdict cannot be read.
        """
        stored = self._scalar(select(schema.study.c.verdict))
        try:
            return Verdict.model_validate(stored) if stored else None
        except ValidationError as error:
            raise UserError(f"The verdict in {self._directory} cannot be read by this dialin", "Update dialin") from error

    def log_after(self, number: int) -> list[tuple[int, LogLine]]:
        """Return the lines of the log after a line number, each with its own number; all after 0."""
        query = select(schema.log).where(schema.log.c.id > number).order_by(schema.log.c.id)
        return [(row.id, rows.log_line(row)) for row in self._rows(query)]

    def trials(self) -> list[Trial]:
        """Return every trial, in the order they began."""
        return [rows.trial(row) for row in self._rows(select(schema.trial).order_by(schema.trial.c.id))]

    def samples(self) -> dict[int, Sequence[Sample]]:
        """Return every sample by trial, in order of time."""
        query = select(schema.sample).order_by(schema.sample.c.trial, schema.sample.c.second)
        with self._reading() as connection:
            found = groupby(connection.execution_options(yield_per=_ROWS).execute(query), key=attrgetter("trial"))
            return {trial: packed([rows.sample(row) for row in of_trial]) for trial, of_trial in found}

    def samples_of(self, trial_id: int, after: int = 0) -> Sequence[Sample]:
        """Return the samples of one trial after a second, in order of time."""
        is_wanted = (schema.sample.c.trial == trial_id) & (schema.sample.c.second > after)
        query = select(schema.sample).where(is_wanted).order_by(schema.sample.c.second)
        return packed([rows.sample(row) for row in self._rows(query)])

    def sample_columns(self, size: int) -> Iterator[dict[str, Sequence[Any]]]:
        """Yield the samples of all trials in pieces of `size` rows, each by column; in order of trial and second."""
        query = select(schema.sample).order_by(schema.sample.c.trial, schema.sample.c.second)
        names = schema.sample.columns.keys()
        with self._reading() as connection:
            for piece in connection.execution_options(yield_per=size).execute(query).partitions():
                yield dict(zip(names, zip(*piece, strict=True), strict=True))

    def watched(self) -> dict[int, dict[str, Watched]]:
        """Return what the probes saw, by trial and probe."""
        grouped: dict[int, dict[str, Watched]] = {}
        for row in self._rows(select(schema.watched).order_by(schema.watched.c.trial)):
            grouped.setdefault(row.trial, {})[row.probe] = rows.watched(row.saw)
        return grouped

    def watched_of(self, trial_id: int) -> dict[str, Watched]:
        query = select(schema.watched).where(schema.watched.c.trial == trial_id)
        return {row.probe: rows.watched(row.saw) for row in self._rows(query)}

    def waits(self) -> dict[int, RawWaits]:
        return {row.trial: rows.waits(row.summary) for row in self._rows(select(schema.waits))}

    def looks(self) -> list[Look]:
        return [Look(**row._mapping) for row in self._rows(select(schema.look).order_by(schema.look.c.number))]

    def read(self, *, samples: bool = True, readings: Collection[tuple[str, str]] = ()) -> StudyRecord:
        """Return a study, of a tune all trials; see `evidence.proof_view` for what a report shows of one.

        Args:
            samples: whether to read every sample.
            readings: which figures of probes over time to read, each by its probe and name.

        Raises:
            UserError: the study cannot be read.
        """
        try:
            with self._reading() as connection:
                row = connection.execute(select(schema.study)).one()
            record = StudyRecord(
                directory=str(self._directory),
                spec=self.spec,
                created=row.created,
                dialin_version=row.dialin_version,
                host=rows.host(row.host),
                hosts=row.host.get(rows.HOSTS, {}),
                servers=row.servers,
                catalogues=row.catalogues,
                command=row.command,
                blocks=self.blocks(),
                trials=(trials := self.trials()),
                samples=self.samples() if samples else {},
                watched=self.watched(),
                over_time=series.read_all(self.directory_of_series, trials, readings),
                waits=self.waits(),
                profiles=profile_file.read_all(self.directory_of_profiles, trials),
                looks=self.looks(),
                log=[line for _, line in self.log_after(0)],
                verdict=Verdict.model_validate(row.verdict) if row.verdict else None,
            )
            check_candidates(record)
            if not record.spec.tuned:
                return record
            return replace(record, course=TuneCourse(asks=self.asks(), findings=self.findings()))
        except (DatabaseError, *BAD_ROWS) as error:
            raise damaged(self._directory / STUDY_FILE) from error

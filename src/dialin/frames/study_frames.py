"""A stored study, opened for reading: `dialin.open_study`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import polars as pl

from dialin.errors import DialinError, UserError
from dialin.evidence.proof_view import proof_view
from dialin.frames import columns, samples_export, tables, watched
from dialin.model.record import StudyRecord, TuneCourse
from dialin.model.study import StudySpec
from dialin.model.verdict import TuneFindings, Verdict
from dialin.sentences import verdict_sentences
from dialin.store import read_only
from dialin.store.store import Store
from dialin.text import counted, visible

Read = TypeVar("Read")


class Study:
    """A study as polars frames.

    Each frame is read when it is first used. While the study runs, later uses include the data that was added since. A frame
    is a copy: changing it changes neither the study nor later frames. `columns` describes the columns of a frame.

    Raises:
        UserError: the directory holds no study, or a damaged one.

    Example:
        >>> import dialin
        >>> study = dialin.open_study("./pool-instances")  # doctest: +SKIP
        >>> seconds = study.samples.filter(step="measure", purpose="race", state="done", lost=False)  # doctest: +SKIP
        >>> seconds.group_by("candidate", "trial").agg(pl.col("tps").mean())  # doctest: +SKIP
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._signature: object = None
        self._cache: dict[str, Any] = {}
        self._record()

    @property
    def headline(self) -> str:
        """The verdict in one sentence; the progress of the study while there is no verdict."""
        return verdict_sentences.headline(self._record())

    @property
    def spec(self) -> StudySpec:
        """The study's question: candidates, load, budget."""
        return self._record().spec

    @property
    def result(self) -> Verdict | None:
        """What `verdict.json` holds; None while there is no verdict."""
        return self._record().verdict

    @property
    def host(self) -> dict[str, Any]:
        """The machine: CPU, memory, disk, kernel."""
        return dict(self._record().host)

    @property
    def command(self) -> str:
        """The command line that started the study."""
        return self._record().command

    @property
    def candidates(self) -> pl.DataFrame:
        """The candidates, a row each; each variable under test has a column of its own."""
        return self._frame("candidates", lambda record: tables.candidates(record.spec, record.trials))

    @property
    def trials(self) -> pl.DataFrame:
        """Every trial: when, how long each step took (seconds), its CPU, and why it failed."""
        return self._frame("trials", lambda record: tables.trials(record.trials))

    @property
    def samples(self) -> pl.DataFrame:
        """Every second of every trial, warm-up and failed trials too: throughput, latency, errors, host disturbances."""

        def read_all(store: Store) -> pl.DataFrame:
            return samples_export.concatenate_frames(samples_export.iterate_frames(store))

        return self._once("samples", read_all).clone()

    @property
    def verdict(self) -> pl.DataFrame:
        """The candidates' table with intervals; without rows while there is no verdict."""
        return self._frame("verdict", lambda record: tables.verdict(record.verdict))

    @property
    def variables(self) -> pl.DataFrame:
        """Every variable of every trial as the server reported it, beside the requested value."""
        return self._frame("variables", lambda record: tables.variables(record.spec, record.trials))

    @property
    def looks(self) -> pl.DataFrame:
        """The looks at the data: how much of it there was, and whether the look ended the study."""
        return self._frame("looks", lambda record: tables.looks(record.looks))

    @property
    def log(self) -> pl.DataFrame:
        """What happened when, in words."""
        return self._frame("log", lambda record: tables.log(record.log))

    @property
    def counters(self) -> pl.DataFrame:
        """Counters of the probes over the measured window of each trial: increase, seconds, and increase per second."""
        return self._frame("counters", lambda record: watched.counters(record.trials, record.watched))

    @property
    def gauges(self) -> pl.DataFrame:
        """Gauges of the probes, which go up and down, over the measured window of each trial."""
        return self._frame("gauges", lambda record: watched.gauges(record.trials, record.watched))

    @property
    def evidence(self) -> pl.DataFrame:
        """All readings of the probes over time; `scan_evidence` reads only what a query needs."""
        return self.scan_evidence().collect()

    @property
    def waits(self) -> pl.DataFrame:
        """Statistics of the raw waits that trials collected, by instrument and operation; times in nanoseconds."""
        return self._frame("waits", lambda record: watched.waits(record.trials, record.waits))

    @property
    def wait_histograms(self) -> pl.DataFrame:
        """How many raw waits fell into each power of two of nanoseconds."""
        return self._frame("wait_histograms", lambda record: watched.wait_histograms(record.trials, record.waits))

    @property
    def tune_trials(self) -> pl.DataFrame:
        """Every trial of a tune: what it was for, its setting with a column for each variable, and its figures."""
        return self._frame(
            "tune_trials",
            lambda record: tables.tune_trials(record.spec, self._once("course", lambda store: proof_view(store.read()).course)),
        )

    @property
    def tune_variables(self) -> pl.DataFrame:
        """The variables of a tune: the recommended value, the effect of each, and how much each change contributes."""
        return self._frame("tune_variables", lambda record: tables.tune_variables(_findings(record.course)))

    @property
    def tune_responses(self) -> pl.DataFrame:
        """The modelled effect of each value of each variable of a tune, with its interval."""
        return self._frame("tune_responses", lambda record: tables.tune_responses(_findings(record.course)))

    def scan_evidence(self) -> pl.LazyFrame:
        """Return the readings of the probes over time as a lazy frame, which is read when it is collected.

        Example:
            >>> import polars as pl
            >>> lazy = study.scan_evidence().filter(pl.col("name") == "Innodb_row_lock_waits")  # doctest: +SKIP
            >>> lazy.collect()  # doctest: +SKIP
        """
        return watched.scan_evidence(self._record().trials, self._once("series", lambda store: store.directory_of_series))

    def scan_waits(self) -> pl.LazyFrame:
        """Return every raw wait as a lazy frame, for there may be millions; see `columns("raw_waits")`."""
        return watched.scan_waits(self._record().trials, self._once("raw waits", lambda store: store.directory_of_waits))

    @staticmethod
    def columns(name: str) -> pl.DataFrame:
        """Return the columns of a frame, with their types, meanings and units."""
        if name not in columns.EVERY:
            raise UserError(f"There is no frame {name}", f"There are {', '.join(columns.EVERY)}")
        rows = [(column, columns.kind(column_of), column_of.meaning) for column, column_of in columns.EVERY[name].items()]
        return pl.DataFrame(rows, schema=["column", "holds", "meaning"], orient="row")

    def __repr__(self) -> str:
        title = f"Study {visible(self.directory)}"
        try:
            record = self._record()
        except DialinError as error:
            return f"{title}: {error}"
        states = Counter(trial.state for trial in record.trials)
        states_text = ", ".join(f"{count} {state}" for state, count in states.items())
        trials = counted(len(record.trials), "trial") + (f" ({states_text})" if states_text else "")
        *frames, _ = columns.EVERY
        return "\n".join(
            [
                f"{title}: {verdict_sentences.outcome(record)}",
                f"  {verdict_sentences.headline(record)}",
                f"  {counted(len(record.spec.candidates), 'candidate')}, {trials}, {counted(len(record.looks), 'look')}",
                f"  frames: {', '.join(frames)}",
                "  lazy:   scan_evidence(), scan_waits()",
                '  also:   headline, result, spec, host, command; columns("samples") describes its columns',
            ]
        )

    def _frame(self, name: str, make: Callable[[StudyRecord], pl.DataFrame]) -> pl.DataFrame:
        record = self._record()
        if name not in self._cache:
            self._cache[name] = make(record)
        return cast("pl.DataFrame", self._cache[name]).clone()

    def _record(self) -> StudyRecord:
        return self._once("record", lambda store: store.read(samples=False))

    def _once(self, name: str, ask: Callable[[Store], Read]) -> Read:
        """Return what `ask` reads from the store, cached until the study is written to."""
        signature = read_only.signature(self.directory)
        if signature != self._signature:
            self._cache.clear()
        if name not in self._cache:
            self._cache[name] = read_only.read(self.directory, ask)
        self._signature = signature
        return cast("Read", self._cache[name])


def _findings(course: TuneCourse | None) -> TuneFindings | None:
    return course.findings if course else None

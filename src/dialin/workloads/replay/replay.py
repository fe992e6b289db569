"""Replays a capture with dialin-load: the same part of it in each trial, on data from before the capture.

At a fixed pace, a trial is a number of seconds of the capture, and is judged by latency: how long the statements of a
transaction take on the server, without the pauses that the captured session made between them. At full pace, a trial is a range
of transactions, and is judged by the time that they take.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Any

from dialin.errors import UserError, WorkloadError
from dialin.model.cause import Cause, CauseCode
from dialin.model.workload import LoadTraits, Runs, WorkloadSpec
from dialin.servers import copied_data
from dialin.servers.account import Account
from dialin.servers.sandbox_client import client_of, need_client
from dialin.workloads import dialin_load_account, driver_process, load_binary, private
from dialin.workloads.base import Target, Workload
from dialin.workloads.dialin_load import DialinLoad
from dialin.workloads.driver_process import DriverProcess
from dialin.workloads.replay.replay_facts import ReplayFacts, replay_facts, share_covered
from dialin.workloads.replay.replay_options import CAPTURE, LIMITS, ReplayOptions
from dialin.workloads.replay.replay_run import PARTS, PartsRun, ReplayFigures, ReplayRun
from dialin.workloads.replay.replay_work import WorkMeter, captured_work

_LOAD_WITHIN = 7 * 86_400.0
"""Seconds that loading a dump may take."""

_LEAST_SECONDS = 5
"""A shorter replay has too few seconds to compare."""


_FORBIDS_COMMANDS = rb"999999\-"
_FIRST_LINE = 200
"""In the first line of a dump, mariadb-dump forbids clients their own commands, in words that not all clients know, and some
not with --binary-mode, which forbids the same."""


class Replay(Workload):
    """The replay of a capture; the spec's name is the capture's directory."""

    def __init__(self, spec: WorkloadSpec) -> None:
        self._spec = spec
        self._options = ReplayOptions.model_validate(spec.options)

    @cached_property
    def _binary(self) -> Path:
        return load_binary.need()

    @property
    def _directory(self) -> Path:
        return Path(self._spec.name)

    @property
    def copied_data(self) -> Path:
        return Path(self._options.data)

    @property
    def _facts(self) -> ReplayFacts:
        return replay_facts(self._binary, self._directory, self._options)

    def check(self) -> None:
        """Raise UserError where the capture cannot be replayed on the data."""
        copied_data.check_data(self.copied_data)
        if self.copied_data.is_file():
            need_client()
        self._driver.check_stream()
        facts = self._facts
        if self._options.is_full:
            if facts.transactions < PARTS:
                raise UserError(
                    f"The capture has {facts.transactions} transactions, and {PARTS} are needed", "Capture for longer"
                )
        elif self._seconds < _LEAST_SECONDS:
            raise UserError(
                f"The replay takes {self._seconds} s, and {_LEAST_SECONDS} are needed",
                "Capture for longer, or give a lower --pace",
            )

    def check_account(self, account: Account) -> None:  # noqa: ARG002 - no account is accepted
        """Refuse a server that dialin did not start: a replay changes its data, which dialin could not restore."""
        raise UserError("A capture is replayed on sandboxes only: it changes the data", "Leave out --attach")

    @property
    def _driver(self) -> DialinLoad:
        return DialinLoad(self._spec, self._binary)

    def version(self) -> str:
        return self._driver.version()

    @property
    def _seconds(self) -> int:
        return int(self._facts.seconds / float(self._options.pace))

    def describe_data(self) -> str:
        return f"a copy of {self.copied_data}"

    def data_facts(self) -> dict[str, Any]:
        return {"workload": CAPTURE, "data": str(self.copied_data), "digest": copied_data.digest_of_data(self.copied_data)}

    def digest(self) -> str:
        """Return the size and modification time of the capture's statements: another capture of that name differs in them."""
        statements = (self._directory / "statements.zst").stat()
        return f"{statements.st_size}-{statements.st_mtime_ns}"

    def expected_bytes(self) -> int:
        return copied_data.data_bytes(self.copied_data)

    @property
    def traits(self) -> LoadTraits:
        """What a study must know about this load: each trial needs the data from before the capture."""
        return LoadTraits(
            runs=self._runs,
            restarts="a replay begins on the data from before the capture",
            grows=True,
            size=f"{self._facts.transactions:,} transactions",
            limits=LIMITS,
        )

    @property
    def _runs(self) -> Runs:
        whole = PARTS if self._options.is_full else self._seconds
        warm_up = min(whole - 1, round(self._options.warm_up * whole))
        measured = whole - warm_up
        # How fast the server is now is not known: assume the speed of the capture.
        seconds = self._facts.seconds / PARTS if self._options.is_full else 1.0
        return Runs(warm_up=warm_up, measured=measured, most=measured, seconds=max(0.05, seconds), of="recording")

    def prepare(self, target: Target) -> None:
        """Load the dump; raise UserError where it creates tables elsewhere, and WorkloadError where the client fails."""
        copied_data.check_dump(self.copied_data)
        words = client_of(target.account)
        with self.copied_data.open("rb") as dump:
            first = dump.readline(_FIRST_LINE)
            os.lseek(dump.fileno(), len(first) if _FORBIDS_COMMANDS in first else 0, os.SEEK_SET)
            printed = driver_process.prepare(words[0], words, target, private.environment(), limit=_LOAD_WITHIN, feed=dump)
        if printed is not None:
            last = printed.strip().splitlines()[-1:]
            figures = {"driver": words[0], "words": last[0][:300] if last else "it printed nothing", "advice": "See the dump"}
            raise WorkloadError(Cause(CauseCode.DATA_NOT_PREPARED, figures), "Check that the dump fits this kind of server")

    def start(self, target: Target, *, threads: int, seed: int, cpus: str | None) -> ReplayRun:  # noqa: ARG002 - of the capture
        account = dialin_load_account.options(target, "")
        words = [str(self._binary), "run", f"capture:{self._directory}", *account, "--json", f"--pace={self._options.pace}"]
        if isinstance(self._options.since, float):
            words.append(f"--from={self._options.since:.6f}")
        driver = DriverProcess.start(words, target, cpus=cpus, environment=private.environment(), ends_statements=True)
        work = captured_work(self._directory, self._facts, has_its_pace=self._options.pace == 1)
        load = PartsRun if self._options.is_full else ReplayRun
        return load(driver, self._spec.percentile, self._figures, WorkMeter(target.account, work), self._runs.warm_up)

    @property
    def _figures(self) -> ReplayFigures:
        coverage = share_covered(self._directory)
        not_captured = {} if coverage is None else {"replay_not_captured": max(0.0, 1 - coverage)}
        figures = {
            **not_captured,
            "replay_left_out": self._facts.share_left_out,
            "replay_prepared": float(self._facts.prepared),
            "replay_prepared_as_text": float(self._facts.prepared_as_text),
            **({"replay_begins_added": float(added)} if (added := self._facts.begins_added) else {}),
        }
        return ReplayFigures(self._facts.connections, figures)

"""`suite.json`: what a suite asks, and its joint result, which is made again from its studies whenever it is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dialin import json_documents
from dialin.errors import MachineError, UserError, is_machine_fault
from dialin.evidence.why_verdict import explain
from dialin.model.progress import SessionState
from dialin.model.record import StudyRecord
from dialin.model.suite import Suite, SuiteMember, SuitePlan
from dialin.model.trial import TrialState, seconds_of
from dialin.paths import read_record, replace_text
from dialin.sentences.suite_sentences import suite_headline
from dialin.store import STUDY_FILE, SUITE_FILE, read_only
from dialin.suites.joint import SuiteStudy, is_decided, joint_result
from dialin.verdict import comparison
from dialin.verdict.reach_verdict import Judgement, reach_verdict


def read_plan(directory: Path) -> SuitePlan:
    """Return what the suite in a directory asks.

    Raises:
        UserError: its file is damaged, or of another version of dialin.
    """
    return _read(directory)[0]


def read_suite(directory: Path) -> Suite:
    """Return a suite with the result that was written when it last ended, if that is of this version of dialin.

    Raises:
        UserError: as from `read_plan`.
    """
    plan, document = _read(directory)
    try:
        return Suite.model_validate(document)
    except ValueError:
        return Suite(plan=plan)


def _read(directory: Path) -> tuple[SuitePlan, Any]:
    """Return what a suite asks, and all of its file, which is read once: it may be replaced at any time."""
    path = directory / SUITE_FILE
    try:
        document = read_record(path, of_others=True)
        plan = SuitePlan.model_validate(document["plan"])  # the result is made again
        if any("/" in one.directory or one.directory in ("", ".", "..") for one in plan.members):
            raise ValueError("a study is outside")  # its reports would be written there
        return plan, document
    except (OSError, ValueError, LookupError, TypeError) as error:
        if isinstance(error, OSError) and is_machine_fault(error):
            raise MachineError.of(error) from error
        raise UserError(f"{path} cannot be read as a suite of this version of dialin", "Start a new suite") from error


class JointReader:
    """Makes the joint result of a suite that runs, again and again: only studies that were written to are read again."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[str, tuple[object, SuiteStudy]] = {}

    def join(self) -> Suite:
        """Return the suite with its result so far, and with what explains its studies.

        Raises:
            UserError: its file or one of its studies is damaged.
        """
        plan = read_plan(self._directory)
        return suite_of(plan, [self._study(plan, one) for one in plan.members if has_begun(self._directory, one)])

    def _study(self, plan: SuitePlan, member: SuiteMember) -> SuiteStudy:
        signature = read_only.signature(self._directory / member.directory)
        before, study = self._known.get(member.name, (None, None))
        if study is None or before != signature:
            study = read_study(self._directory, plan, member, explained=True)
            self._known[member.name] = (signature, study)
        return study


def write_suite(directory: Path, suite: Suite) -> None:
    """Write `suite.json`, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    replace_text(directory / SUITE_FILE, json_documents.render(suite))


def has_begun(directory: Path, member: SuiteMember) -> bool:
    return (directory / member.directory / STUDY_FILE).is_file()


def judge(record: StudyRecord) -> Judgement | None:
    """Return the judgement on a study so far; None until a trial of its race is completed."""
    is_measured = any(trial.state is TrialState.DONE for trial in comparison.racing(record.trials))
    return reach_verdict(record) if is_measured else None


def read_studies(directory: Path, plan: SuitePlan, *, explained: bool = False) -> Iterator[SuiteStudy]:
    """Yield the studies of a suite that have begun, with what explains each if that is asked for.

    Raises:
        UserError: one is damaged.
    """
    for member in plan.members:
        if has_begun(directory, member):
            yield read_study(directory, plan, member, explained=explained)


def read_study(directory: Path, plan: SuitePlan, member: SuiteMember, *, explained: bool) -> SuiteStudy:
    """Return a study of a suite that has begun, with what explains it if that is asked for.

    Raises:
        UserError: it is damaged.
    """
    record, progress = read_only.read(directory / member.directory, lambda store: (store.read(), store.progress()))
    judgement = judge(record)
    decided = judgement is not None and is_decided(plan, record.spec, judgement)
    session = progress.session if progress is not None else None
    return SuiteStudy(
        member,
        record.spec,
        judgement,
        decided,
        seconds_of(record.trials),
        explain(record) if explained else None,
        failure=progress.reason if progress is not None and session is SessionState.FAILED else "",
        is_over=session in (SessionState.FINISHED, SessionState.FAILED),
    )


def suite_of(plan: SuitePlan, studies: Sequence[SuiteStudy]) -> Suite:
    """Return a suite with its result so far, made of those of its studies that have begun."""
    result = joint_result(plan, studies) if studies else None
    return Suite(plan=plan, headline=suite_headline(plan, result) if result else "", result=result)

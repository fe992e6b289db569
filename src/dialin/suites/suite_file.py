"""`suite.json`: what a suite asks, and its joint result, which is made again from its studies whenever it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dialin import json_documents
from dialin.errors import UserError
from dialin.evidence.why_verdict import explain
from dialin.model.record import StudyRecord
from dialin.model.suite import Suite, SuiteMember, SuitePlan
from dialin.model.trial import TrialState, seconds_of
from dialin.paths import parse_record, replace_text
from dialin.store import STUDY_FILE, SUITE_FILE, read_only
from dialin.suites.joint import SuiteStudy, is_decided
from dialin.verdict import comparison
from dialin.verdict.reach_verdict import Judgement, reach_verdict


def read_plan(directory: Path) -> SuitePlan:
    """Return what the suite in a directory asks.

    Raises:
        UserError: its file is damaged, or of another version of dialin.
    """
    path = directory / SUITE_FILE
    try:
        plan = SuitePlan.model_validate(parse_record(path.read_text(encoding="utf-8"))["plan"])  # the result is made again
        if any("/" in one.directory or one.directory in ("", ".", "..") for one in plan.members):
            raise ValueError("a study is outside")  # its reports would be written there
        return plan
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UserError(f"{path} cannot be read as a suite of this version of dialin", "Start a new suite") from error


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
            record = read_only.read(directory / member.directory, lambda store: store.read())
            judgement = judge(record)
            decided = judgement is not None and is_decided(plan, record.spec, judgement)
            why = explain(record) if explained else None
            yield SuiteStudy(member, record.spec, judgement, decided, seconds_of(record.trials), why)

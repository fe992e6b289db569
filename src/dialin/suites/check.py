"""Checks of all that a suite needs, before any trial is started."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from dialin.datasets.prepare import NeededData
from dialin.errors import DialinError, InapplicableError, UserError, together
from dialin.measures.table import MEASURES
from dialin.model.suite import SuiteMember, SuitePlan
from dialin.places.check_study import check_before_servers, check_resume
from dialin.places.permission import Permission
from dialin.places.sandbox.check import check_disk
from dialin.places.sandbox.site import Sandboxes
from dialin.preflight.checked import CheckedStudy
from dialin.question import conflicts
from dialin.question.conflicts import ConflictError, Kind
from dialin.question.options import StudyOptions
from dialin.question.plan import BudgetTooSmallError
from dialin.question.study_file import question as check_options
from dialin.sentences.suite_sentences import brief_names
from dialin.suites.members import Member, SuiteRequest
from dialin.suites.suite_file import has_begun
from dialin.text import listed
from dialin.trials.tools import Tools

_SLUG = re.compile(r"[^a-z0-9]+")
_LONGEST = 100
"""Characters of the name of a study's directory that a workload names."""


@dataclass(frozen=True, slots=True)
class CheckedMember:
    """A workload whose study can begin, or be resumed."""

    member: SuiteMember
    ready: CheckedStudy
    is_resumed: bool = False


def plan_suite(
    request: SuiteRequest, spelled: Callable[[str], str], *, command: str, started_in: Path, created: float
) -> SuitePlan:
    """Return the plan of a suite.

    An option that is given for all workloads goes to those that have a use for it.

    Raises:
        UserError: options are invalid, not for a suite, or of use to none of its workloads; all mistakes are named.
    """
    asked = _all_applicable(request, spelled, started_in)
    questions = [one.question for one in asked]
    first = questions[0]
    members = [
        SuiteMember(
            name=one.name,
            directory=f"{number:02d}-{_SLUG.sub('-', one.name.lower()).strip('-')[:_LONGEST] or 'workload'}",
            weight=one.weight,
            options={key: value for key, value in one.options.items() if key not in asked[number - 1].refused},
        )
        for number, one in enumerate(request.members, start=1)
    ]
    return SuitePlan(
        title=request.title,
        command=command,
        started_in=str(started_in.absolute()),
        created=created,
        minutes=first.minutes,
        confidence=first.confidence,
        worthwhile=max(MEASURES[one.goal].worthwhile if one.worthwhile is None else one.worthwhile for one in questions),
        until=first.until,
        fail_if_worse=request.fail_if_worse,
        members=members,
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked of a workload, without the options `refused`, given for all workloads, that it has no use for."""

    question: StudyOptions
    refused: Mapping[str, InapplicableError]


def _all_applicable(request: SuiteRequest, spelled: Callable[[str], str], started_in: Path) -> list[_Asked]:
    """Return what is asked of all workloads; a mistake names its workloads, unless all have it.

    Raises:
        UserError: there are mistakes.
    """
    asked: list[_Asked] = []
    mistakes: dict[tuple[str, str], list[str]] = {}
    for member in request.members:
        try:
            asked.append(_applicable(member, request, spelled, started_in))
        except UserError as error:
            mistakes.setdefault((error.what, error.remedy), []).append(member.name)
    found = [
        UserError(what if len(names) == len(request.members) else f"{listed(names)}: {what}", remedy)
        for (what, remedy), names in mistakes.items()
    ]
    if not found:
        of_no_use = [option for option in request.common if all(option in one.refused for one in asked)]
        found = [asked[0].refused[option] for option in of_no_use]
    if found:
        raise together(found)
    return asked


def _applicable(member: Member, request: SuiteRequest, spelled: Callable[[str], str], started_in: Path) -> _Asked:
    refused: dict[str, InapplicableError] = {}
    while True:
        options = {key: value for key, value in member.options.items() if key not in refused}
        question = check_options(options, spelled=spelled, remedy="See --help")
        try:
            conflicts.refuse({*question.kinds, Kind.SUITE}, question.given)
            question.workload_spec(started_in)
        except ConflictError as error:
            raise error.told(spelled) from None
        except InapplicableError as error:
            common = [key for key in error.options if key in options and options[key] == request.common.get(key)]
            if not common:
                raise
            refused |= dict.fromkeys(common, error)
            continue
        return _Asked(question, refused)


def inapplicable_notes(request: SuiteRequest, plan: SuitePlan, spelled: Callable[[str], str]) -> Iterator[str]:
    """Yield which options that were given for all workloads are not used for some."""
    without: dict[tuple[str, ...], list[str]] = {}
    for option in request.common:
        if names := tuple(one.name for one in plan.members if option not in one.options):
            without.setdefault(names, []).append(spelled(option))
    for names, options in without.items():
        yield f"{listed(options)} {'is' if len(options) == 1 else 'are'} not for {listed(names)}"


def check_suite(plan: SuitePlan, tools: Tools, permission: Permission) -> list[CheckedMember]:
    """Check all that the studies of a new suite need; servers are started only where nothing else speaks against any of them.

    Raises:
        DialinError: a study cannot begin as it is.
    """
    uninspected, least = [], 0.0
    for member in plan.members:
        try:
            with _named(member.name):
                uninspected.append(_check_new(plan, member, tools, permission))
        except BudgetTooSmallError as error:
            least = max(least, error.minutes)
    if least:
        raise UserError(
            f"{plan.minutes:g} minutes are too few for {len(plan.members)} workloads",
            f"Give --minutes {math.ceil(least * len(plan.members))} or more, fewer workloads, or a shorter --measure",
        )
    check_disk(tools, [one.needed for one in uninspected])
    return [one.inspect(plan) for one in uninspected]


@dataclass(frozen=True, slots=True)
class _Uninspected:
    """A workload that was checked but for its candidates' servers; its data must fit the disk beside that of the others."""

    member: SuiteMember
    needed: NeededData
    finish: Callable[[], CheckedStudy]

    def inspect(self, plan: SuitePlan) -> CheckedMember:
        """Return its study, which may use all minutes that others leave."""
        with _named(self.member.name):
            ready = self.finish()
        spec = ready.spec.model_copy(update={"minutes": plan.minutes, "claims": plan.claims})
        return CheckedMember(self.member, replace(ready, spec=spec, promise=""))


def _check_new(plan: SuitePlan, member: SuiteMember, tools: Tools, permission: Permission) -> _Uninspected:
    """Check a study, whose trials are as long as its share of the minutes allows."""
    share = {"minutes": plan.minutes / len(plan.members), "switch": "restart"}
    question = check_options({**member.options, **share})
    return _Uninspected(member, *check_before_servers(question, Path(plan.started_in), tools, permission))


def check_resumed_suite(
    directory: Path, plan: SuitePlan, tools: Tools, permission: Permission, minutes: float | None
) -> list[CheckedMember]:
    """Check all that it takes to resume a suite; `minutes` is a new budget, which the plan has already.

    Raises:
        DialinError: a study cannot be resumed as it is.
    """
    begun: dict[str, CheckedMember] = {}
    for member in plan.members:
        if has_begun(directory, member):
            with _named(member.name):
                ready = check_resume(directory / member.directory, tools, minutes=minutes, permission=permission)
            begun[member.name] = CheckedMember(member, ready, is_resumed=True)
    uninspected = []
    for member in plan.members:
        if member.name not in begun:
            with _named(member.name):
                uninspected.append(_check_new(plan, member, tools, permission))
    sites = [one.ready.site for one in begun.values() if isinstance(one.ready.site, Sandboxes)]
    check_disk(tools, [*(site.needed_data for site in sites), *(one.needed for one in uninspected)])
    checked = begun | {one.member.name: one.inspect(plan) for one in uninspected}
    return [checked[member.name] for member in plan.members]


def shared_notes(checked: Sequence[CheckedMember]) -> Iterator[str]:
    """Yield the notes of all studies, each once: those that not all have begin with the workloads, and come first."""
    names: dict[str, list[str]] = {}
    for one in checked:
        for note in dict.fromkeys(one.ready.notes):
            names.setdefault(note, []).append(one.member.name)
    yield from (f"{brief_names(of)}: {note}" for note, of in names.items() if len(of) < len(checked))
    yield from (note for note, of in names.items() if len(of) == len(checked))


@contextmanager
def _named(workload: str) -> Iterator[None]:
    """Name the workload in an error of its study."""
    try:
        yield
    except DialinError as error:
        error.what = f"{workload}: {error.what}"
        raise

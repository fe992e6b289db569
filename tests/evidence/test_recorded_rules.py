"""Each rule finds what it looks for in a study of a real server, or it is said here why it cannot.

`studies/` holds what was run, each in a minute or three: `dialin run studies/NAME/study.toml --out DIR`, then
`python tests/evidence/recording.py DIR NAME`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from dialin.evidence import measured, waits
from dialin.evidence.reasons import events, machine_rules, server_rules
from dialin.evidence.reasons.catalogue import every
from dialin.evidence.reasons.judge import moved, pair
from dialin.evidence.reasons.raw import raw_reasons
from dialin.evidence.reasons.reached import limits
from dialin.evidence.reasons.room import unused
from dialin.model.why import Reason, ReasonKind
from evidence.recording import RECORDED, load

STUDIES = Path(__file__).parent / "studies"

FIRES: dict[str, tuple[str, str]] = {}
"""By rule: the recording in which it fires, and what it says there."""

NOT_STAGED: dict[str, str] = {
    "steal": "a hypervisor takes what it takes; nothing that a study sets moves it",
    "memory_pressure": "the machine itself would have to be short of memory, for everybody on it",
    "memory_short": "the machine itself would have to be short of memory, for everybody on it",
}
"""By rule: why no study was made in which it fires; its figures are read by `tests/evidence/reasons/` only."""


@cache
def fired(name: str) -> dict[str, list[Reason]]:
    """Return all reasons of a recording by their rule, those included that `explain` leaves out for stronger ones."""
    record = load(name)
    found = measured.of(record)
    compared = pair(record, found)
    assert compared is not None
    rules = [*server_rules.RULES, *machine_rules.RULES, *events.rules(found)]
    reasons = [reason for _, reason in moved(rules, record, found, compared)]
    reasons += [*raw_reasons(waits.summaries(record), compared), *unused(record, found), *limits(record, found)]
    by_rule: dict[str, list[Reason]] = {}
    for reason in reasons:
        by_rule.setdefault(reason.code, []).append(reason)
    return by_rule


def test_every_rule_is_held_against_a_real_study_or_it_is_said_why_not() -> None:
    assert sorted([*FIRES, *NOT_STAGED]) == sorted(code for code, *_ in every())


@pytest.mark.parametrize("code", sorted(FIRES))
def test_a_rule_fires_in_a_real_study(code: str) -> None:
    name, beginning = FIRES[code]
    found = fired(name).get(code, [])
    assert [reason.text for reason in found if reason.text.startswith(beginning)], [reason.text for reason in found]
    kind = next(kind for one, kind, *_ in every() if one == code)
    assert {reason.kind for reason in found} == {kind}


@pytest.mark.parametrize("code", sorted(FIRES))
def test_what_moved_in_a_real_study_moved_with_its_goal(code: str) -> None:
    name, beginning = FIRES[code]
    record = load(name)
    compared = pair(record, measured.of(record))
    for reason in fired(name)[code]:
        if reason.kind is ReasonKind.MOVED and compared and compared.differ:
            assert abs(reason.correlation or 0.0) >= 0.5, reason.text


@pytest.mark.parametrize("code", sorted(NOT_STAGED))
def test_a_rule_that_was_not_staged_fires_in_no_recording(code: str) -> None:
    assert [path.stem for path in RECORDED.glob("*.json") if code in fired(path.stem)] == []


def test_every_study_that_was_made_for_this_is_recorded() -> None:
    made = {path.name for path in STUDIES.iterdir()}
    assert made <= {path.stem for path in RECORDED.glob("*.json")}
    assert all((STUDIES / name / "study.toml").is_file() for name in made)

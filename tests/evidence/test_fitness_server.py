import pytest

from dialin.evidence.fitness_server import HIDDEN, server_findings, unseen
from dialin.model.fitness import ServerFacts, Severity

FACTS = {
    "server": "mysql@9.7.4, root at db1:3306",
    "round_trips": (0.0001,) * 20 + (0.5,),
    "in_use": (),
    "read_only": "",
    "may_set": True,
    "performance_schema": True,
    "is_here": True,
}


def facts(**changed):
    return ServerFacts(**{**FACTS, **changed})


def test_a_server_that_nobody_uses_is_fit():
    assert {one.severity for one in server_findings(facts())} == {Severity.GOOD}
    assert unseen(facts()) == []


@pytest.mark.parametrize(
    ("changed", "subject", "remedy"),
    [
        ({"in_use": ("3 other connections to it",)}, "other clients", "--traffic own"),
        ({"read_only": "super_read_only"}, "writes", "--traffic own"),
        ({"may_set": False}, "SET GLOBAL", "docs/privileges.md"),
        ({"round_trips": (0.002,) * 21}, "round trip", "--load-hosts"),
        ({"performance_schema": False}, "performance schema", "performance_schema=ON"),
    ],
)
def test_disturbances_of_a_server_come_first_with_their_remedies(changed, subject, remedy):
    first, *others = server_findings(facts(**changed))
    assert (first.subject, first.severity) == (subject, Severity.NOTICE)
    assert remedy in first.remedy
    assert first.effect
    assert {one.severity for one in others} == {Severity.GOOD}


def test_facts_that_are_not_seen_of_a_server_elsewhere_are_said_to_be_unknown():
    hidden = facts(is_here=False, in_use=None, may_set=None)
    assert unseen(hidden) == [HIDDEN, "whether others use the server (the account lacks PROCESS)"]
    assert {one.subject for one in server_findings(hidden)} == {"writes", "round trip", "performance schema"}

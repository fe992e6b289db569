"""What does not go together is refused by one table, with the option that is to blame."""

import pytest
from pydantic import ValidationError

from dialin.cli.study_flags import spelled
from dialin.errors import UserError
from dialin.question.conflicts import TABLE, Kind, refuse, refused_in
from dialin.question.options import StudyOptions
from dialin.question.study_file import question

VALUES = {
    "server": "mysql@9.7",
    "waits": "hash_table_locks",
    "wait-trials": 2,
    "server-memory": "1G",
    "server-cpus": "0",
    "switch": "set",
    "defaults-file": "my.cnf",
    "login-path": "db",
    "database": "shop",
    "wait-for-server": 5,
    "load-hosts": "a:7306",
    "load-token": "load.token",
    "traffic": "own",
    "observe": 60,
    "guard-latency": 3,
    "guard-errors": 6,
    "guard-running": 4,
    "guard-lag": 11,
    "guard-free": 0.1,
    "at-most": 0.4,
    "between": "01:00-02:00",
    "stop-file": "stop",
    "set": {"innodb_io_capacity": 200},
    "worst": 0.3,
    "baseline": "200",
    "until": "best",
    "confidence": 0.9,
    "suite": "quick",
    "fail-if-worse": 0.02,
}
"""A value of each option that is no flag, which is not its default."""

COMPARED = {"sweep": {"innodb_adaptive_hash_index": ["ON", "OFF"]}}
STUDIES = {
    Kind.SANDBOX: COMPARED,
    Kind.ATTACHED: {**COMPARED, "attach": True},
    Kind.LIVE: {**COMPARED, "attach": True, "traffic": "own"},
    Kind.COMPARISON: COMPARED,
    Kind.AA: {"aa": 2},
    Kind.TUNE: {"tune": []},
}
ROWS = [
    pytest.param(option, kind, row, id=f"{option}, {kind.name.lower()}")
    for row in TABLE
    for option in row.options
    for kind in row.kinds
    if kind is not Kind.SUITE
]


@pytest.mark.parametrize("kind", STUDIES)
def test_a_study_is_of_one_place_and_asks_one_question(kind):
    kinds = StudyOptions.model_validate(STUDIES[kind]).kinds
    assert kind in kinds
    assert len(kinds) == 2


@pytest.mark.parametrize(("option", "kind", "row"), ROWS)
def test_what_a_kind_of_study_does_not_take_is_refused_by_its_name(option, kind, row):
    with pytest.raises(ValidationError) as refused:
        StudyOptions.model_validate({**STUDIES[kind], option: VALUES.get(option, True)})
    assert f"{option} {row.why.format(attach='attach', traffic='traffic = own')}" in str(refused.value)


@pytest.mark.parametrize(
    ("asked", "on_the_command_line", "in_a_file"),
    [
        (
            {"observe": 60},
            "--observe is for a live server. Add --attach and --traffic own",
            "Add 'attach' and traffic = \"own\"",
        ),
        ({"observe": 60, "attach": True}, "--observe is for a live server. Add --traffic own", 'Add traffic = "own"'),
        ({"traffic": "own"}, "--traffic is for an attached server. Add --attach", "Add 'attach'"),
        (
            {"workload": "traffic"},
            "--workload traffic is a live server's own. Add --attach and --traffic own",
            "Add 'attach' and",
        ),
        ({"attach": True, "server": "mysql@9.7"}, "--server and --attach cannot be combined", "'server' and 'attach' cannot"),
    ],
)
def test_a_remedy_names_options_as_the_user_writes_them(asked, on_the_command_line, in_a_file):
    for how, says in (({"spelled": spelled}, on_the_command_line), ({}, in_a_file)):
        with pytest.raises(UserError) as refused:
            question({**COMPARED, **asked}, **how)
        assert says in str(refused.value)


def test_identical_candidates_are_of_one_build():
    with pytest.raises(UserError, match="are of one build"):
        question({"aa": 2, "server": ["mysql@9.7", "mysql@8.4"]})
    assert question({"aa": 2, "server": ["mysql@9.7"]}).servers == ["mysql@9.7"]


@pytest.mark.parametrize(("option", "value"), [("waits", "hash_table_locks"), ("confirm", True), ("switch", "set")])
def test_a_suite_refuses_what_one_of_its_studies_alone_would_take(option, value):
    question = StudyOptions.model_validate({**COMPARED, option: value})
    refuse(question.kinds, question.given)
    with pytest.raises(ValueError, match=f"{option}.* suite|one workload"):
        refuse({*question.kinds, Kind.SUITE}, question.given)


def test_every_option_of_the_table_is_one_of_a_study():
    assert {name for kind in Kind for name in refused_in(kind)} <= StudyOptions.model_fields.keys()

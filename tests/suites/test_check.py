from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from dialin.cli.study_flags import spelled
from dialin.datasets.cache import DatasetCache
from dialin.datasets.prepare import Preparer
from dialin.errors import UserError
from dialin.model.build import Build, Vendor
from dialin.model.suite import SuiteMember
from dialin.places.sandbox.site import Sandboxes
from dialin.preflight.checked import CheckedStudy
from dialin.question.plan import BudgetTooSmallError
from dialin.suites import check
from dialin.suites.check import CheckedMember, check_resumed_suite, check_suite, inapplicable_notes, plan_suite, shared_notes
from dialin.suites.members import requested_suite
from dialin.trials.tools import Tools
from fixtures.simulated_suites import suite_plan


def asked_and_planned(tmp_path, **keys):
    asked = {"sweep": {"innodb_adaptive_hash_index": ["ON", "OFF"]}, "workload": "oltp_read_only=2,oltp_write_only", **keys}
    request = requested_suite({key.replace("_", "-"): value for key, value in asked.items()}, tmp_path)
    return request, plan_suite(request, spelled, command="dialin sweep", started_in=tmp_path, created=1.0)


def planned(tmp_path, **keys):
    return asked_and_planned(tmp_path, **keys)[1]


def test_each_workload_has_a_directory_and_the_claims_are_those_of_all_and_of_their_mean(tmp_path):
    plan = planned(tmp_path, minutes=40, fail_if_worse="2%", threads=8)
    assert [(one.directory, one.weight) for one in plan.members] == [("01-oltp-read-only", 2), ("02-oltp-write-only", 1)]
    assert (plan.minutes, plan.claims, plan.fail_if_worse) == (40, 3, 0.02)
    assert all(one.options["threads"] == 8 for one in plan.members)


def test_the_worthwhile_difference_of_the_mean_is_the_coarsest_of_its_workloads(tmp_path):
    assert planned(tmp_path).worthwhile == 0.01
    assert planned(tmp_path, goal="latency").worthwhile == 0.05
    assert planned(tmp_path, worthwhile="3%").worthwhile == 0.03


@pytest.mark.parametrize(
    ("keys", "option"),
    [
        ({"attach": True}, "attach"),
        ({"waits": "hash_table_locks"}, "waits"),
        ({"confirm": True}, "confirm"),
        ({"switch": "set"}, "switch set"),
        ({"sweep": {}, "tune": []}, "tune"),
    ],
)
def test_options_for_a_single_study_are_refused_by_name(tmp_path, keys, option):
    with pytest.raises(UserError) as refused:
        planned(tmp_path, **keys)
    assert str(refused.value).startswith(f"--{option} is "), "said once, and not for each workload"


def test_mistakes_of_some_workloads_name_these_and_those_of_all_are_said_once(tmp_path):
    (tmp_path / "suite.toml").write_text(
        '[[workload]]\nworkload = "scan"\ntables = 4\n'
        '[[workload]]\nworkload = "oltp_read_only"\npace = "full"\n'
        '[[workload]]\nworkload = "oltp_write_only"\n'
    )
    with pytest.raises(UserError) as refused:
        planned(tmp_path, workload=None, suite="suite.toml")
    what = refused.value.what.split("; ")
    assert len(what) == 2
    assert what[0].startswith("scan: --tables is not for")
    assert what[1].startswith("oltp_read_only: --data and --pace are for")
    with pytest.raises(UserError) as refused:
        planned(tmp_path, workload=None, suite="suite.toml", threads=0, minutes=-1)
    assert {one.partition(": must")[0] for one in refused.value.what.split("; ")} == {"--threads", "--minutes"}


def test_an_option_for_all_workloads_goes_to_those_that_have_a_use_for_it(tmp_path):
    own = tmp_path / "mine.toml"
    own.write_text('name = "mine"\n[[transaction]]\nname = "one"\nsteps = [{ sql = "DO 1" }]\n')
    keys = {"workload": f"oltp_read_only,{own},scan", "tables": 4, "table_size": 1000, "measure": 5}
    request, plan = asked_and_planned(tmp_path, **keys)
    of_load = [
        {key: one.options[key] for key in ("tables", "table-size", "measure") if key in one.options} for one in plan.members
    ]
    assert of_load == [{"tables": 4, "table-size": 1000, "measure": 5}, {"measure": 5}, {"table-size": 1000}]
    assert list(inapplicable_notes(request, plan, spelled)) == [
        "--tables is not for mine and scan",
        "--table-size is not for mine",
        "--measure is not for scan",
    ]
    with pytest.raises(UserError, match="--data and --pace are for the replay of a capture"):
        planned(tmp_path, data="dump.sql")


def test_an_option_that_a_workload_has_for_itself_and_no_use_for_is_refused(tmp_path):
    (tmp_path / "suite.toml").write_text(
        '[[workload]]\nworkload = "scan"\ntables = 4\n[[workload]]\nworkload = "oltp_read_only"\n'
    )
    with pytest.raises(UserError, match="scan: --tables is not for the workload scan"):
        planned(tmp_path, workload=None, suite="suite.toml")


def test_too_few_minutes_at_a_resume_name_the_workload(monkeypatch, tmp_path):
    def too_few(*_, **__):
        raise BudgetTooSmallError("2 minutes are too few", "more", 4.2)

    monkeypatch.setattr(check, "has_begun", lambda *_: True)
    monkeypatch.setattr(check, "check_resume", too_few)
    with pytest.raises(UserError, match=r"^a: 2 minutes are too few"):
        check_resumed_suite(tmp_path, suite_plan({"a": 1, "b": 1}, minutes=2), None, None, 2)


def test_data_of_all_workloads_that_exceeds_the_cache_is_refused_before_any_server_starts(monkeypatch, home, clock, spec):
    cache = DatasetCache(home, clock)
    tools = Tools(home, clock, None, Preparer(home, cache, None, clock, print), print)
    build, inspected = Build(Vendor.ORACLE, (9, 7, 4), Path(__file__)), []

    def with_data_of(question, *_):
        size = int(question.workload_options["size"])
        load = SimpleNamespace(
            data_facts=lambda: {"size": size},
            expected_bytes=lambda: size,
            temporary_bytes=lambda: 0,
            separate_tables=(),
            how_to_shrink=f"less than {size}",
        )

        def inspect():
            inspected.append(size)
            return CheckedStudy(spec, None, {}, workload=None, site=None)

        return (load, [(build, {})]), inspect

    def plan_of(*gigabytes):
        options = {"sweep": {"innodb_adaptive_hash_index": ["ON", "OFF"]}}
        members = [
            SuiteMember(
                name=f"{one}", directory=f"{one}", weight=1, options={**options, "workload-options": {"size": one * 10**9}}
            )
            for one in gigabytes
        ]
        return suite_plan({"any": 1}).model_copy(update={"members": members})

    monkeypatch.setattr(check, "check_before_servers", with_data_of)
    monkeypatch.setattr("dialin.places.sandbox.check.check_space", lambda *_: None)
    check_suite(plan_of(30), tools, None)
    assert inspected == [30 * 10**9]
    with pytest.raises(UserError, match=rf"about 70\.8 GB exceeds the cache's limit.*less than {40 * 10**9}"):
        check_suite(plan_of(30, 40), tools, None)
    assert inspected == [30 * 10**9], "no server was started for a suite that does not fit"


def test_what_speaks_against_the_last_workload_is_said_before_a_server_of_the_first_is_started(monkeypatch, tmp_path):
    started = []

    def check_before_servers(question, *_):
        if question.workload == "oltp_write_only":
            raise UserError("its program is not installed")
        return None, lambda: started.append(question)

    monkeypatch.setattr(check, "check_before_servers", check_before_servers)
    with pytest.raises(UserError, match=r"^oltp_write_only: its program is not installed"):
        check_suite(planned(tmp_path), None, None)
    with pytest.raises(UserError, match=r"^oltp_write_only: its program is not installed"):
        check_resumed_suite(tmp_path, planned(tmp_path), None, None, None)
    assert not started


def test_the_disk_is_checked_once_for_the_data_of_all_workloads_a_suite_that_resumes_included(monkeypatch, tmp_path, spec):
    ready = CheckedStudy(spec.model_copy(update={"candidates": ()}), None, {}, workload=None, site=None)
    begun = replace(ready, site=Sandboxes(ready.spec, {}, workload="of 01", tools=None))
    needed = []
    monkeypatch.setattr(check, "check_before_servers", lambda question, *_: ((question.workload, []), lambda: ready))
    monkeypatch.setattr(check, "check_resume", lambda *_, **__: begun)
    monkeypatch.setattr(check, "check_disk", lambda _, data: needed.append([workload for workload, _ in data]))
    plan = planned(tmp_path)
    assert [one.member for one in check_suite(plan, None, None)] == plan.members
    monkeypatch.setattr(check, "has_begun", lambda _, member: member.directory.startswith("01"))
    resumed = check_resumed_suite(tmp_path, plan, None, None, None)
    assert [(one.member, one.is_resumed) for one in resumed] == [(plan.members[0], True), (plan.members[1], False)]
    assert needed == [["oltp_read_only", "oltp_write_only"], ["of 01", "oltp_write_only"]]


def test_too_few_minutes_are_refused_with_those_of_all_workloads_together(monkeypatch):
    def too_few(*_):
        raise BudgetTooSmallError("too few", "more", 4.2)

    monkeypatch.setattr(check, "_check_new", too_few)
    with pytest.raises(UserError, match="Give --minutes 13 or more"):
        check_suite(suite_plan({"a": 1, "b": 1, "c": 1}, minutes=2), None, None)


def test_a_note_is_said_once_with_the_workloads_that_it_is_for(spec):
    notes = {"a": ("of all", "of three"), "b": ("of three", "of all"), "c": ("of all",), "d": ("of three", "of d", "of all")}
    checked = [
        CheckedMember(
            SuiteMember(name=name, directory=name, weight=1, options={}),
            CheckedStudy(spec, None, {}, workload=None, site=None, notes=said),
        )
        for name, said in notes.items()
    ]
    assert list(shared_notes(checked)) == ["a, b and d: of three", "d: of d", "of all"]

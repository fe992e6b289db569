"""Two stored studies compared: what differs, what changed, and which pairs are refused."""

from dataclasses import replace

import pytest

from dialin.errors import UserError
from dialin.model.setting import same_value
from dialin.model.studies import Area
from dialin.model.study import Goal
from dialin.verdict.study_diff import compare_studies
from fixtures import example_studies
from fixtures.study_builder import VARIABLE, Plan, Shape, build


def made(levels, build_name="mysql@9.7.4", **plan):
    shapes = [Shape(str(value), {VARIABLE: value}, level, build=build_name) for value, level in levels.items()]
    return build(shapes, None, Plan(**plan))


OLD = made({1: 1000, 8: 1200, 64: 1100}, "mysql@8.0.43")
NEW = made({1: 1100, 8: 1210, 64: 1210}, seed=8)


def test_the_gain_of_each_candidate_and_its_level_change_with_intervals():
    diff = compare_studies(OLD, NEW)
    eight = next(one for one in diff.candidates if one.name == "8")
    assert eight.ratio_a.mean == pytest.approx(1.2, rel=0.03)
    assert eight.ratio_b.mean == pytest.approx(1.1, rel=0.03)
    assert eight.ratio_change.mean == pytest.approx(eight.ratio_b.mean / eight.ratio_a.mean)
    assert eight.level_change.mean == pytest.approx(eight.level_b.mean / eight.level_a.mean)
    assert eight.ratio_change.low < 1.1 / 1.2 < eight.ratio_change.high < 1
    base = diff.candidates[0]
    assert (base.name, base.ratio_change.mean) == ("1", 1.0)
    assert base.level_change.low > 1.05


def test_the_figures_are_those_of_the_verdict():
    diff = compare_studies(OLD, NEW)
    from dialin.verdict.reach_verdict import reach_verdict

    verdict = reach_verdict(OLD).verdict
    for one, judged in zip(diff.candidates, verdict.candidates, strict=True):
        assert one.ratio_a == judged.ratio
        assert one.level_a == judged.tps


def test_differences_are_named_by_area():
    other = replace(NEW, host={**NEW.host, "kernel": "6.12.1", "memory_bytes": 2**35}, dialin_version="0.2.0")
    spec = other.spec.model_copy(update={"minutes": 30.0, "fixed": {"innodb_buffer_pool_size": "4G"}})
    spec = spec.model_copy(update={"workload": spec.workload.model_copy(update={"table_size": 5})})
    differences = compare_studies(OLD, replace(other, spec=spec)).differences
    assert {(one.area, one.name): (one.a, one.b) for one in differences}.items() >= {
        (Area.BUILD, "build"): ("mysql@8.0.43", "mysql@9.7.4"),
        (Area.BUILD, "version"): ("8.0.43", "9.7.4"),
        (Area.HOST, "kernel"): ("6.1.0-38-amd64", "6.12.1"),
        (Area.HOST, "memory"): ("126 GiB", "32 GiB"),
        (Area.WORKLOAD, "table size"): ("1000000", "5"),
        (Area.OPTIONS, "minutes"): ("60", "30"),
        (Area.OPTIONS, "set innodb_buffer_pool_size"): ("8G", "4G"),
        (Area.OPTIONS, "dialin"): ("0.1.0", "0.2.0"),
    }.items()
    assert compare_studies(OLD, OLD).differences == []


def test_a_default_that_changed_between_versions_is_named():
    trials = [replace(one, in_force={**one.in_force, "innodb_change_buffering": "none"}) for one in NEW.trials]
    old = [replace(one, in_force={**one.in_force, "innodb_change_buffering": "all"}) for one in OLD.trials]
    differences = compare_studies(replace(OLD, trials=old), replace(NEW, trials=trials)).differences
    changed = [one for one in differences if one.area is Area.VARIABLES]
    assert [(one.name, one.a, one.b) for one in changed] == [("innodb_change_buffering", "all", "none")]


def test_a_study_compared_with_itself_changes_nothing():
    diff = compare_studies(OLD, OLD)
    assert {one.ratio_change.mean for one in diff.candidates} == {1.0}
    assert diff.noise_change.mean == 1.0
    assert not diff.noise_change.excludes_one


def test_candidates_of_one_study_only_are_listed_and_sizes_match_as_servers_read_them():
    assert same_value("1G", 2**30)
    variable = "innodb_redo_log_capacity"
    a = build([Shape(n, {variable: n}, level) for n, level in (("64M", 900), ("1G", 1000), ("2G", 1001))], None, Plan())
    b = build([Shape(str(n), {variable: n}, level) for n, level in ((2**26, 900), (2**30, 1000), (7, 800))], None, Plan())
    diff = compare_studies(a, b)
    assert [(one.name, one.name_in_b) for one in diff.candidates] == [("64M", "67108864"), ("1G", "1073741824")]
    assert (diff.only_a, diff.only_b) == (["2G"], ["7"])


def test_latency_is_compared_as_latency():
    record = example_studies.by_latency()
    diff = compare_studies(record, record)
    assert diff.goal is Goal.LATENCY
    best = next(one for one in diff.candidates if one.name == "2000")
    assert best.ratio_a.mean < 1
    assert 10 < best.level_a.mean < 30


def test_an_unsafe_or_failed_candidate_is_not_compared():
    record = example_studies.failed_candidate()
    diff = compare_studies(record, record)
    assert [one.name for one in diff.candidates] == ["pool 8G", "pool 16G"]
    assert diff.only_a == ["pool 90G", "pool 900G"]


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (example_studies.by_stability, "goal: throughput in A, stability in B"),
        (
            example_studies.weaker_durability,
            "variables: innodb_buffer_pool_instances in A, innodb_flush_log_at_trx_commit in B",
        ),
        (example_studies.builds, "variables: innodb_buffer_pool_instances in A, none in B"),
        (example_studies.a_a, "candidates: different in A, identical in B"),
        (lambda: made({2: 1000, 8: 1200}), "no candidate with the setting of A's baseline, 1"),
        (lambda: made({1: 1000, 2: 1200}), "No candidate except the baseline"),
        (lambda: made({1: 1000, 8: 1200}, blocks=1), "B has too few completed trials"),
    ],
)
def test_studies_of_different_questions_are_refused_with_the_reason(other, reason):
    with pytest.raises(UserError, match=reason):
        compare_studies(OLD, other())


def test_studies_of_builds_match_by_build():
    diff = compare_studies(example_studies.builds(), example_studies.builds())
    assert [one.name for one in diff.candidates] == ["mysql@8.0.43", "mysql@9.7.4"]

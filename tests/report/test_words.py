import pytest

from dialin.model.study import Candidate
from dialin.model.verdict import Estimate
from dialin.report import words
from dialin.testing import records


def test_the_values_of_a_sweep_are_called_by_the_value_in_tables_and_in_full_in_sentences():
    names = words.naming(records.winner().spec)
    assert names.subject == "innodb_buffer_pool_instances"
    assert names.labels["16"] == "16"
    assert names.full["16"] == "innodb_buffer_pool_instances = 16"


def test_candidates_with_names_of_their_own_keep_them():
    names = words.naming(records.failed_candidate().spec)
    assert names.subject == ""
    assert names.full["pool 8G"] == "pool 8G"


def test_a_sweep_over_builds_is_still_a_sweep_of_its_variable():
    spec = records.winner().spec
    both = tuple(
        Candidate(name=f"{value} on {server}", setting={"innodb_buffer_pool_instances": value}, server=server)
        for value in (1, 4)
        for server in ("mysql@8.0", "mysql@9.7")
    )
    names = words.naming(spec.model_copy(update={"candidates": both, "baseline": both[0].name}))
    assert names.full["4 on mysql@9.7"] == "innodb_buffer_pool_instances = 4 on mysql@9.7"


@pytest.mark.parametrize(
    ("estimate", "shown"),
    [
        (Estimate(mean=1.053, low=1.041, high=1.064), "+5.3 % (+4.1 % to +6.4 %)"),
        (Estimate(mean=1.053, low=None, high=None), "+5.3 %"),
        (None, "–"),
    ],
)
def test_a_figure_without_an_interval_claims_none(estimate, shown):
    assert words.change_with_interval(estimate) == shown


def test_the_gain_names_the_baseline_the_interval_and_the_confidence():
    record = records.winner()
    told = words.gain(record, record.verdict)
    assert told.startswith("+25.2 % throughput against the baseline, innodb_buffer_pool_instances = 1; between +21.4 %")
    assert told.endswith("at 95 % confidence.")


def test_keeping_the_baseline_gains_nothing_and_says_so():
    record = records.no_difference()
    assert words.gain(record, record.verdict) == "The baseline is recommended, so nothing changes."


def test_a_gain_without_an_interval_says_so():
    record = records.unresolved()
    verdict = record.verdict.model_copy(update={"recommended_candidate": "4"})
    assert words.gain(record, verdict).endswith("there is no interval yet.")


def test_a_study_without_a_verdict_says_how_to_go_on():
    record = records.unfinished()
    assert words.headline(record) == "No verdict yet: 6 trials of 3 candidates ended well so far."
    assert words.reason(record).endswith(f"dialin resume {record.directory}")


def test_a_candidate_that_gives_up_durability_never_stands_in_a_table_without_the_word():
    verdict = records.weaker_durability().verdict
    assert words.state_of(verdict.candidates[1], verdict) == "wins, weaker durability"


def test_the_winning_build_is_named_where_no_variable_changes():
    assert words.no_change(records.builds()).endswith("the build mysql@9.7.4.")

from dataclasses import replace

import pytest

from dialin.apply import option_file
from dialin.model.place import AttachedPlace
from dialin.report.files import recommendation
from dialin.variables import optionfile as servers_own
from fixtures import example_studies


def cnf_of(record):
    return recommendation(record, record.verdict)["recommended.cnf"] if record.verdict else "[mysqld]\n"


def read_back(text, tmp_path):
    path = tmp_path / "recommended.cnf"
    path.write_text(text, encoding="utf-8")
    return servers_own.read(path).setting


def options(text):
    return [line for line in text.splitlines() if line and not line.startswith(("#", "["))]


def test_only_what_differs_from_the_baseline_is_written(tmp_path):
    text = cnf_of(example_studies.winner())
    assert options(text) == ["innodb_buffer_pool_instances = 16"]
    assert read_back(text, tmp_path) == {"innodb_buffer_pool_instances": 16}


def test_the_line_is_reported_with_what_it_replaces_its_figure_and_the_reason():
    text = " ".join(cnf_of(example_studies.winner()).replace("\n#  ", "").split())
    assert "# innodb_buffer_pool_instances (was 1). Gives 1,120 → 1,403 tps (+25.2 %, 95 % CI +21.5 % to" in text
    assert "# Every other candidate was shown to be worse." in text
    assert "35 min of measured load" in text


@pytest.mark.parametrize("name", ["no_difference", "inconclusive", "weaker_durability", "builds"])
def test_where_nothing_is_recommended_nothing_is_set(name, tmp_path):
    text = cnf_of(example_studies.EVERY[name]())
    assert "[mysqld]" in text
    assert read_back(text, tmp_path) == {}


def test_a_build_that_wins_is_named():
    assert "the recommendation is the build mysql@9.7.4" in cnf_of(example_studies.builds())


def test_confounds_stand_in_the_file_too():
    assert "# Confound: innodb_buffer_pool_chunk_size differs" in cnf_of(example_studies.failed_candidate())


def test_accepted_loss_of_durability_is_written_above_the_line():
    record = example_studies.weaker_durability()
    accepted = record.verdict.model_copy(
        update={"recommended_candidate": "2", "recommended": {"innodb_flush_log_at_trx_commit": 2}}
    )
    text = cnf_of(replace(record, verdict=accepted))
    assert "# CAREFUL: weaker durability (innodb_flush_log_at_trx_commit): a crash of the machine can lose" in text


def test_hostile_text_stays_in_comments_and_values(record, tmp_path):
    text = cnf_of(record)
    read_back(text, tmp_path)
    assert all(len(line) <= max(option_file.WIDTH, 1100) for line in text.splitlines())
    assert "skip-grant-tables" not in "\n".join(options(text))
    assert not set(text) & {"\x1b", "\x07", "\u202e", "\r"}


def test_a_value_that_cannot_be_written_is_left_out_and_said():
    text = cnf_of(example_studies.hostile())
    assert "# init_connect is not written here" in text
    assert options(text) == ['ft_stopword_file = "a#b \'c\' \\"d\\" \\\\e"']


def test_a_variable_that_the_baseline_alone_sets_is_to_be_removed():
    record = example_studies.winner()
    base = record.spec.candidates[0].model_copy(update={"setting": {"innodb_buffer_pool_instances": 1, "sync_binlog": 0}})
    spec = record.spec.model_copy(update={"candidates": (base, *record.spec.candidates[1:])})
    text = cnf_of(replace(record, spec=spec))
    assert "# sync_binlog (was 0): remove this line" in text
    assert len(options(text)) == 1


def test_a_value_that_only_a_sandbox_reported_is_reported_apart_from_one_that_the_baseline_sets():
    record = example_studies.winner()
    assert [item.reported for item in option_file.changes(record)] == [False]
    base = record.spec.candidates[0].model_copy(update={"setting": {}})
    spec = record.spec.model_copy(update={"candidates": (base, *record.spec.candidates[1:])})
    assert [item.reported for item in option_file.changes(replace(record, spec=spec))] == [True]
    spec = spec.model_copy(update={"place": AttachedPlace()})
    assert [item.reported for item in option_file.changes(replace(record, spec=spec))] == [False]


def test_a_value_spelled_otherwise_is_no_change():
    record = example_studies.winner()
    base = record.spec.candidates[0].model_copy(update={"setting": {"innodb_buffer_pool_instances": "16"}})
    spec = record.spec.model_copy(update={"candidates": (base, *record.spec.candidates[1:])})
    assert option_file.changes(replace(record, spec=spec)) == []

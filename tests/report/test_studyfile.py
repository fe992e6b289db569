import tomllib
from pathlib import Path

import pytest

from dialin.model.place import AttachedPlace
from dialin.model.study import Candidate, Switch
from dialin.question.candidates import candidates_of, find_baseline
from dialin.question.study_file import question
from dialin.report.studyfile import study_file
from fixtures import example_studies
from fixtures.loads import with_traits

HERE = Path("/nowhere")


def read_back(spec):
    """Return the study that the file asks for, as `dialin run` reads it."""
    asked = question(tomllib.loads(study_file(spec)))
    settings = asked.settings()
    servers = asked.servers or [spec.candidates[0].server]
    candidates = candidates_of(settings, servers)
    load = with_traits(asked.workload_spec(HERE))
    return asked.spec(candidates, find_baseline(asked.baseline, candidates), load, asked.place(HERE))


def compared(spec):
    """Return a study without what a file says in another way."""
    return spec.model_copy(
        update={"fixed": {**spec.fixed, **spec.held}, "held": {}, "expected_noise": None, "switch": Switch.RESTART}
    ).model_dump()


@pytest.mark.parametrize("name", sorted(example_studies.EVERY))
def test_a_study_file_asks_the_same_question(name):
    spec = example_studies.EVERY[name]().spec
    if spec.is_aa:
        spec = spec.model_copy(
            update={
                "candidates": tuple(Candidate(name=f"A{n}", server="mysql@9.7.4") for n in (1, 2)),
                "baseline": "A1",
            }
        )
    assert compared(read_back(spec)) == compared(spec)


def test_a_scan_is_requested_again_though_its_seconds_were_estimated():
    load = with_traits(question({"aa": 2, "workload": "scan", "workload-options": {"runs": "3"}}).workload_spec(HERE))
    spec = example_studies.winner().spec.model_copy(update={"workload": load, "measure": 30.0, "warmup": 10.0})
    assert compared(read_back(spec)) == compared(spec.model_copy(update={"measure": None, "warmup": None}))


def test_a_sweep_is_written_as_one():
    text = study_file(example_studies.winner().spec)
    assert "[sweep]\ninnodb_buffer_pool_instances = [1, 2, 4, 8, 16, 32, 64]" in text
    assert '[set]\ninnodb_buffer_pool_size = "8G"' in text
    assert "[candidates" not in text


def test_held_variables_are_set_alike_for_all():
    spec = example_studies.winner().spec.model_copy(update={"held": {"innodb_page_cleaners": 4}})
    assert tomllib.loads(study_file(spec))["set"] == {"innodb_buffer_pool_size": "8G", "innodb_page_cleaners": 4}


def test_values_that_try_to_be_more_than_values_are_strings_with_nothing_in_them_that_acts():
    text = study_file(example_studies.hostile().spec)
    assert not set(text) & {"\x1b", "\x07", "\u202e"}
    tables = tomllib.loads(text)["candidates"]
    assert [dict(candidate.setting) for candidate in example_studies.hostile().spec.candidates] == list(tables.values())


def test_an_attached_server_is_named_by_where_its_account_is_and_never_by_the_account():
    spec = example_studies.winner().spec
    reported = tomllib.loads(study_file(spec.model_copy(update={"place": AttachedPlace(login_path="lab", database="bench")})))
    assert (reported["attach"], reported["login-path"], reported["database"]) == (True, "lab", "bench")
    assert "server" not in reported


def test_several_numbers_of_threads_are_all_written():
    spec = example_studies.winner().spec
    workload = spec.workload.model_copy(update={"threads": 64, "levels": (1, 16, 64)})
    assert read_back(spec.model_copy(update={"workload": workload})).workload == workload

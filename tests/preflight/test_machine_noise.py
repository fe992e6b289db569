"""What is known of a machine's noise: kept after a study, said before the next."""

import threading
from dataclasses import replace

import pytest

from dialin.model.study import Attachment, Goal
from dialin.model.verdict import Note
from dialin.preflight import machine_noise
from dialin.preflight.machine_noise import Known
from dialin.question.plan import plan
from dialin.stats.noise_parts import Noise
from fixtures import example_studies


@pytest.fixture
def known(spec):
    return Known(Noise(0.01, 0.05), spec.candidates[0].server, spec.workload.describe(), spec.switch, 100.0, 9)


def kept(path, *result):
    for one in result:
        machine_noise._keep(path, one)


def test_the_noise_of_a_study_is_what_the_next_one_with_that_load_reckons_with(tmp_path, spec, known):
    path = tmp_path / "home" / "noise.json"
    assert machine_noise.recall(path, spec) is None
    kept(path, known, replace(known, load="another", at=200.0))
    assert machine_noise.recall(path, spec) == known
    other_load = spec.model_copy(update={"workload": spec.workload.model_copy(update={"threads": 99})})
    assert machine_noise.recall(path, other_load) is None
    assert machine_noise.recall(path, spec.model_copy(update={"goal": Goal.LATENCY})) is None
    assert machine_noise.recall(path, spec.model_copy(update={"attachment": Attachment()})) is None, "another machine's noise"


def test_of_several_studies_the_newest_counts_and_that_on_the_same_build_goes_first(tmp_path, spec, known):
    path = tmp_path / "noise.json"
    newer, elsewhere = replace(known, at=200.0), replace(known, at=300.0, build="mariadb@10.11.19")
    kept(path, known, newer, elsewhere)
    assert machine_noise.recall(path, spec) == newer


def test_a_study_that_went_on_is_remembered_once(tmp_path, spec, known):
    path = tmp_path / "noise.json"
    kept(path, known, replace(known, dof=20))
    assert path.read_text().count("dof") == 1
    assert machine_noise.recall(path, spec).dof == 20


def test_a_memory_that_cannot_be_read_is_none(tmp_path, spec):
    path = tmp_path / "noise.json"
    path.write_text("{not json")
    assert machine_noise.recall(path, spec) is None


def test_a_study_that_other_programs_disturbed_is_not_remembered(tmp_path):
    path = tmp_path / "noise.json"
    record = example_studies.winner()
    note = Note(code="other_load", text="")
    disturbed = record.verdict.model_copy(update={"warnings": [note]})
    machine_noise.remember(path, replace(record, verdict=disturbed))
    assert not path.exists()
    machine_noise.remember(path, record)
    assert path.exists()


def test_before_a_study_it_is_said_what_its_budget_tells_apart(spec, known):
    allowed = plan(spec)
    unknown = machine_noise.promise(spec, allowed, None)
    assert "not known yet" in unknown
    assert "dialin doctor --noise" in unknown
    said = machine_noise.promise(spec, allowed, known)
    assert said.startswith("With the noise that trials had here before")
    assert f"{spec.minutes:g} minutes tell" in said
    quiet = machine_noise.promise(spec, allowed, replace(known, noise=Noise(0.0001, 0.0001)))
    assert quiet.endswith("tell 1.0 % apart"), "no more than what is worthwhile need be told apart"
    assert machine_noise.promise(spec.model_copy(update={"aa": True}), allowed, known) == ""


def test_a_longer_trial_is_expected_to_vary_less(spec, known):
    allowed = plan(spec)
    short = machine_noise.expecting(spec, replace(allowed, measure=5.0), known).expected_noise
    long = machine_noise.expecting(spec, replace(allowed, measure=500.0), known).expected_noise
    assert short > long > 0.01
    assert machine_noise.expecting(spec, allowed, None).expected_noise is None


def test_studies_that_end_at_the_same_time_are_all_remembered(tmp_path, known):
    path = tmp_path / "noise.json"
    number = 20
    threads = [threading.Thread(target=kept, args=(path, replace(known, at=float(at)))) for at in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {one.at for one in machine_noise._read(path)} == {float(at) for at in range(number)}

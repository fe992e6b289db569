"""What is known of a machine's noise: kept after a study, said before the next."""

import re
import threading
from dataclasses import replace

import pytest

from dialin.model.place import AttachedPlace
from dialin.model.study import AA, Goal
from dialin.model.verdict import Note
from dialin.preflight import machine_noise
from dialin.preflight.machine_noise import StudyNoise
from dialin.question.plan import plan
from dialin.stats.forecast import Noise
from fixtures import example_studies


@pytest.fixture
def known(spec):
    return StudyNoise(Noise(0.01, 0.05), spec.candidates[0].server, spec.workload.describe(), spec.switch, 100.0)


def kept(path, *result):
    for one in result:
        machine_noise._keep(path, one)


def test_the_noise_of_a_study_is_what_the_next_one_with_that_load_expects(tmp_path, spec, known):
    path = tmp_path / "home" / "noise.json"
    assert machine_noise.recall(path, spec) is None
    kept(path, known, replace(known, load="another", at=200.0))
    assert machine_noise.recall(path, spec) == known
    other_load = spec.model_copy(update={"workload": spec.workload.model_copy(update={"threads": 99})})
    assert machine_noise.recall(path, other_load) is None
    assert machine_noise.recall(path, spec.model_copy(update={"goal": Goal.LATENCY})) is None
    assert machine_noise.recall(path, spec.model_copy(update={"place": AttachedPlace()})) is None, "another machine's noise"


def test_a_budget_with_fewer_trials_than_a_decision_needs_detects_nothing():
    ten_minutes = [machine_noise.budgets(Noise(0.01, 0.05), 0.0, 600 / trials - 0.01, 0.95)[0] for trials in (7, 8)]
    assert ten_minutes[0] == ["10 minutes", *["too few trials"] * 3]
    assert "%" in ten_minutes[1][1]


def test_of_several_studies_the_newest_counts_and_that_on_the_same_build_goes_first(tmp_path, spec, known):
    path = tmp_path / "noise.json"
    newer, elsewhere = replace(known, at=200.0), replace(known, at=300.0, build="mariadb@10.11.19")
    kept(path, known, newer, elsewhere)
    assert machine_noise.recall(path, spec) == newer


def test_a_study_that_went_on_is_remembered_once(tmp_path, spec, known):
    path = tmp_path / "noise.json"
    again = replace(known, noise=Noise(0.02, 0.05))
    kept(path, known, again)
    assert path.read_text().count('"at"') == 1
    assert machine_noise.recall(path, spec) == again


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


def test_before_a_study_it_is_said_what_its_budget_can_detect(spec, known):
    allowed = plan(spec)
    unknown = machine_noise.forecast_sentence(spec, allowed, None)
    assert unknown.startswith("Noise on this machine is not measured yet (dialin doctor --noise). Assuming 3.5 % per trial, ")
    said = machine_noise.forecast_sentence(spec, allowed, known)
    assert said.startswith("Noise here was ")
    assert f"{spec.minutes:g} minutes can detect a difference of" in said
    quiet = machine_noise.forecast_sentence(spec, allowed, replace(known, noise=Noise(0.001, 0.001)))
    least = float(re.search(r"can detect a difference of ([\d.]+) %\.", quiet)[1])
    assert 0 < least < 100 * spec.worthwhile, "what can be detected does not depend on what is worthwhile"
    assert machine_noise.forecast_sentence(spec.model_copy(update={"question": AA()}), allowed, known) == ""


def test_before_a_study_it_is_said_how_long_a_safe_choice_and_its_proof_take(spec, known):
    expected = r"If one is better by ([\d.]+ %): a safe choice in about (\d+) minutes?, proof in (\d+) minutes?\."

    def times(**changes):
        question = spec.model_copy(update={"measure": 30, **changes})
        return re.findall(expected, machine_noise.forecast_sentence(question, plan(question), None))

    small, large = times(minutes=60)
    assert (small[0], large[0]) == ("3 %", "10 %")
    assert all(int(safe) < int(proof) for _, safe, proof in (small, large))
    assert int(large[1]) < int(small[1])
    assert [difference for difference, *_ in times(minutes=60, worthwhile=0.05)] == ["10 %"], "3 % is not worthwhile"
    assert times(minutes=60, worthwhile=0.2) == []


def test_a_longer_trial_is_expected_to_vary_less(spec, known):
    allowed = plan(spec)
    short = machine_noise.with_expected_noise(spec, replace(allowed, measure=5.0), known).expected_noise
    long = machine_noise.with_expected_noise(spec, replace(allowed, measure=500.0), known).expected_noise
    assert short > long > 0.01
    assert machine_noise.with_expected_noise(spec, allowed, None).expected_noise is None


def test_studies_that_end_at_the_same_time_are_all_remembered(tmp_path, known):
    path = tmp_path / "noise.json"
    number = 20
    threads = [threading.Thread(target=kept, args=(path, replace(known, at=float(at)))) for at in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {one.at for one in machine_noise._read(path)} == {float(at) for at in range(number)}

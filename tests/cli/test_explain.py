"""`dialin explain`: a study's directory in, its reasons out."""

import json
from dataclasses import replace

import pytest

from dialin.evidence import why_verdict as evidence
from dialin.model.cause import Cause, Fault
from dialin.model.trial import Failure, Purpose, Step, TrialState
from fixtures import example_reasons, example_studies, stored_study
from fixtures.example_evidence import unseen
from fixtures.profiles import profiled


@pytest.fixture
def dialin(dialin):
    return lambda *words: dialin("explain", *words)


@pytest.fixture
def stored(monkeypatch, tmp_path):
    """Return what writes an invented study to the directory `study`, and invents its reasons."""

    def store(record, make=example_reasons.full):
        (tmp_path / "study").mkdir()
        stored_study.keep(record, tmp_path / "study")
        monkeypatch.setattr(evidence, "explain", make)

    return store


def test_reasons_costs_and_all_else_are_printed_and_the_verdict_decides_the_exit_code(dialin, stored):
    stored(example_studies.winner())
    code, out, err = dialin("study")
    assert (code, err) == (0, "")
    assert out.startswith("innodb_buffer_pool_instances = 16: 1,120 → 1,403 tps")
    assert "Cost per query" in out


def test_json_is_the_published_form_alone(dialin, stored):
    stored(example_studies.winner())
    code, out, err = dialin("study", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["schema"] == "dialin/why/1"


@pytest.mark.parametrize("make", [example_studies.unfinished, example_studies.inconclusive])
def test_without_a_verdict_it_says_what_it_can_and_ends_with_1(dialin, stored, make):
    stored(make())
    code, out, _ = dialin("study")
    assert code == 1
    assert "Probes took at most" in out


def test_a_study_that_nothing_watched_is_no_error(dialin, stored):
    stored(example_studies.winner(), example_reasons.unknown)
    code, out, err = dialin("study")
    assert (code, err) == (0, "")
    assert "no probe ran" in " ".join(out.split())


def test_a_profile_that_was_requested_and_failed_is_explained_with_its_reason(dialin, stored):
    failure = Failure(Step.MEASURE, Fault.MACHINE, Cause.quoted("perf has ended or does not answer"))
    record = profiled(unseen(), "16", 5)
    trials = [
        replace(one, state=TrialState.INTERRUPTED, failure=failure) if one.purpose is Purpose.PROFILE else one
        for one in record.trials
    ]
    stored(replace(record, trials=trials, profiles={}, spec=record.spec.model_copy(update={"profile": True})))
    code, out, err = dialin("study", "--profile")
    assert (code, out) == (2, "")
    assert "has no CPU profile. 1 has no profile: perf has ended or does not answer." in err
    assert "16 has no profile" in err


def test_a_directory_that_is_no_study_is_one_line(dialin, tmp_path):
    code, out, err = dialin(str(tmp_path / "none"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "dialin: " in err


def test_help_teaches(dialin):
    code, out, _ = dialin("--help")
    assert code == 0
    assert "what a query costs" in " ".join(out.split())

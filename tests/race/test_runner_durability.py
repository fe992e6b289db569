"""Studies of candidates that weaken durability: they may win, and are recommended only where that is accepted."""

import pytest

from dialin.errors import UserError
from dialin.race.lifecycle import accept_weaker_durability
from dialin.store.lock import sole_runner
from dialin.store.store import Store
from fixtures.simulated_trials import SimulatedTrials


def faster_with_weaker_durability(spec):
    """A study of two ways to flush the redo log, of which the faster one can lose commits."""
    variable = "innodb_flush_log_at_trx_commit"
    candidates = tuple(
        one.model_copy(update={"name": str(value), "setting": {variable: value}})
        for one, value in zip(spec.candidates, (1, 2), strict=False)
    )
    question = spec.model_copy(update={"candidates": candidates, "baseline": "1"})
    return SimulatedTrials({"1": 1000, "2": 1900}, in_force={value: {variable: value} for value in ("1", "2")}), question


def test_a_faster_candidate_that_weakens_durability_is_not_recommended_silently(study, spec):
    verdict, _ = study(*faster_with_weaker_durability(spec))
    assert verdict.winners == ["2"]
    assert verdict.recommended == {"innodb_flush_log_at_trx_commit": 1}
    assert verdict.warnings[0].code == "weaker_durability"
    assert "but it weakens durability" in verdict.headline
    assert "dialin report DIR --accept-weaker-durability" in verdict.reason


def test_weaker_durability_that_is_accepted_afterwards_decides_again_on_the_same_trials(study, spec, tmp_path):
    _, before = study(*faster_with_weaker_durability(spec))
    accept_weaker_durability(tmp_path / "study")
    with Store.open(tmp_path / "study") as store:
        after = store.read()
    assert after.spec.accept_weaker_durability
    assert after.verdict.recommended == {"innodb_flush_log_at_trx_commit": 2}
    assert "which you accepted: a crash of the machine can lose" in after.verdict.reason
    assert (after.trials, after.looks) == (before.trials, before.looks)
    trials, _ = faster_with_weaker_durability(spec)
    verdict, _ = study(trials, after.spec)
    assert (verdict, trials.ran) == (after.verdict, []), "a study that is resumed keeps it"


def test_weaker_durability_is_not_accepted_while_the_study_runs(study, spec, tmp_path):
    study(*faster_with_weaker_durability(spec))
    with sole_runner(tmp_path / "study"), pytest.raises(UserError, match="is in use by a running study"):
        accept_weaker_durability(tmp_path / "study")


def test_without_a_baseline_weaker_durability_is_judged_among_the_others(study, spec):
    values = {"base": 1, "safe": 1, "fast": 2}
    candidates = tuple(
        candidate.model_copy(update={"name": name, "setting": {"innodb_flush_log_at_trx_commit": value, "read_buffer_size": n}})
        for n, (candidate, (name, value)) in enumerate(zip(spec.candidates, values.items(), strict=True))
    )
    question = spec.model_copy(update={"candidates": candidates, "baseline": "base"})
    forced = {name: {"innodb_flush_log_at_trx_commit": str(value)} for name, value in values.items()}
    levels = {"base": 1000, "safe": 1000, "fast": 1900}
    verdict, _ = study(SimulatedTrials(levels, in_force=forced, fails=frozenset({"base"})), question)
    assert verdict.winners == ["fast"]
    assert verdict.recommended_candidate != "fast"
    assert "weaker_durability" in {note.code for note in verdict.warnings}

"""Tunes on servers of known truth: what is found, what a crash costs, and what a resume repeats."""

import math
from dataclasses import replace

import pytest
from pydantic import ValidationError

from dialin.cause_sentences import with_advice
from dialin.errors import InterruptedStudyError, ServerError, UserError
from dialin.evidence.proof_view import proof_view
from dialin.model.study import Comparison, Goal
from dialin.model.trial import Purpose, Step, TrialState
from dialin.model.tune import TuneStage
from dialin.model.verdict import FigureSource, Outcome, ReasonCode, TuneOutcome
from dialin.sentences.log_sentences import log_text
from dialin.sentences.notes import note_text
from dialin.stats.trial_figures import figures
from dialin.store.store import Store
from dialin.verdict.reach_verdict import reach_verdict
from dialin.verdict.tune_verdict import tune_verdict
from fixtures.long_form import only_with_all
from fixtures.simulated_runs import Killed
from fixtures.simulated_servers import CAPACITY, METHOD, POOL, SimulatedServers, nothing, planted, tune_spec
from fixtures.tuned import run_tune, tuned


@pytest.fixture
def tune(tmp_path, clock):
    """Run a tune, again in the same directory where called again."""

    def run(worker, spec=None, **others):
        worker.clock = clock
        return run_tune(tmp_path / "tune", worker, spec, **others)

    return run


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A tune of nine minutes that nobody killed."""
    return run_tune(tmp_path_factory.mktemp("whole") / "tune", SimulatedServers(), tune_spec(9))[1]


def stored(tmp_path):
    with Store.open(tmp_path / "tune") as store:
        return proof_view(store.read())


def test_a_tune_ends_with_the_variables_that_matter_and_a_gain_from_fresh_trials():
    record = tuned()
    verdict = record.verdict
    found = verdict.tune
    assert found.outcome is TuneOutcome.GAIN
    assert {POOL, CAPACITY} <= found.recommended.keys()
    truth = math.exp(planted(verdict.recommended) - planted({}))
    assert truth > 1.45
    assert 1 < found.gain.low < found.gain.mean == pytest.approx(truth, rel=0.05)
    assert verdict.recommended == found.recommended
    assert verdict.recommended_candidate != verdict.baseline
    assert verdict.shown_better
    assert found.gain == verdict.chosen.ratio
    assert {trial.purpose for trial in record.trials} == {Purpose.RACE}
    assert len(record.spec.candidates) <= 5
    assert POOL in verdict.headline
    assert "tps" in verdict.headline


def test_each_change_carries_the_gain_that_is_lost_without_it():
    verdict = tuned().verdict
    carried = {one.name: one for one in verdict.tune.variables if one.carries is not None}
    assert carried.keys() == set(verdict.tune.recommended)
    assert list(carried)[:2] == sorted([POOL, CAPACITY], key=lambda name: -carried[name].carries.mean)
    for name in (POOL, CAPACITY):
        without = {other: value for other, value in verdict.tune.recommended.items() if other != name}
        lost = math.exp(planted(verdict.tune.recommended) - planted(without))
        assert carried[name].carries.mean == pytest.approx(lost, rel=0.1)
        assert carried[name].carries_by in FigureSource
    effects = {one.name: one.effect for one in verdict.tune.variables}
    assert effects["innodb_idle_1"] < effects[CAPACITY]


def test_where_nothing_is_to_gain_the_baseline_is_recommended():
    verdict = tuned(gain=False).verdict
    assert verdict.tune.outcome is not TuneOutcome.GAIN
    assert verdict.tune.recommended == {}
    assert verdict.recommended_candidate == "baseline"
    assert verdict.verdict in (Outcome.NO_WORTHWHILE_DIFFERENCE, Outcome.INCONCLUSIVE)
    if verdict.tune.outcome is TuneOutcome.NOTHING:
        assert verdict.headline == "Nothing to gain here: no setting tried is better than the baseline by 2 %."


def test_it_keeps_to_its_budget():
    trials = tuned().course.trials
    took = trials[-1].started + sum(trials[-1].steps.values()) - trials[0].started
    assert 15 * 60 < took <= 20 * 60


def test_a_tune_may_try_more_settings_than_a_study_has_candidates():
    spec = tune_spec()
    entering = [spec.candidates[0].model_copy(update={"name": f"setting {number}"}) for number in range(100)]
    assert len(spec.with_candidates(entering).candidates) == 101
    with pytest.raises(ValidationError, match="2 to 64 candidates"):
        spec.model_copy(update={"question": Comparison()}).with_candidates(entering)


def test_search_and_proof_measure_as_long_as_each_should():
    trials = tuned().course.trials
    seconds = {(trial.purpose, trial.steps[Step.MEASURE]) for trial in trials}
    assert seconds == {(Purpose.SEARCH, 10.0), (Purpose.RACE, 20.0)}


def test_a_crash_costs_one_trial_and_is_named(tune):
    def dies(setting):
        return float(setting.get(POOL, 0)) > 2**30

    verdict, record = tune(SimulatedServers(dies=dies), tune_spec(12))
    failed = [trial for trial in record.course.trials if trial.state is TrialState.FAILED]
    assert 0 < len(failed) <= 6
    assert [one.trial for one in verdict.tune.failures] == [trial.id for trial in failed]
    assert verdict.tune.fence is not None
    assert verdict.tune.outcome is TuneOutcome.GAIN
    assert float(verdict.recommended[POOL]) <= 2**30


@only_with_all  # as a value that they die of, above
def test_a_word_that_servers_die_of_costs_few_trials(tune):
    def dies(setting):
        return str(setting.get(METHOD)) == "2"

    _, record = tune(SimulatedServers(dies=dies), tune_spec(12))
    failed = [trial for trial in record.course.trials if trial.state is TrialState.FAILED]
    assert 0 < len(failed) <= 4


def test_a_setting_that_is_refused_is_a_failed_trial(tune):
    def refuse_method(candidate):
        if str(candidate.setting.get(METHOD)) == "2":
            raise UserError("innodb_flush_neighbors=2 does not fit", "Choose another value")

    worker = SimulatedServers()
    verdict, record = tune(worker, tune_spec(12), admit=refuse_method)
    assert all(str(setting.get(METHOD)) != "2" for setting in worker.ran)
    failed = [trial for trial in record.course.trials if trial.state is TrialState.FAILED]
    assert failed
    assert {with_advice(trial.failure.cause) for trial in failed} == {"innodb_flush_neighbors=2 does not fit"}
    assert verdict.tune.outcome is TuneOutcome.GAIN


def test_a_tune_whose_servers_all_fail_ends_and_can_be_resumed(tune):
    with pytest.raises(ServerError, match="The baseline cannot be measured: did not start") as raised:
        tune(SimulatedServers(dies=lambda setting: True))
    assert raised.value.resumable


@pytest.mark.parametrize("killed", [pytest.param(2, marks=only_with_all), 5, 18])
def test_a_tune_that_is_killed_asks_for_the_same_trial_again_and_repeats_none(tune, tmp_path, whole, killed):
    def kill(trial):
        if trial.id == killed:
            raise Killed

    with pytest.raises(Killed):
        tune(SimulatedServers(before=kill), tune_spec(9))
    before = stored(tmp_path)
    assert before.verdict is None
    assert before.course.findings is not None
    _, record = tune(SimulatedServers())
    asked = [whole.course.settings[ask.candidate] for ask in whole.course.asks[:killed]]
    assert [record.course.settings[ask.candidate] for ask in record.course.asks[:killed]] == asked
    done = [(t.purpose, t.block, t.position) for t in record.course.trials if t.state is TrialState.DONE]
    assert len(done) == len(set(done))
    assert record.verdict.tune.searched + record.verdict.tune.proven == len(record.course.asks)


def test_more_minutes_search_on_and_prove_anew(tune):
    _, first = tune(SimulatedServers(), tune_spec(9))
    searched = len(first.course.asks)
    more = first.spec.question.model_copy(update={"searched": searched})
    longer = tune_spec(16).model_copy(update={"question": more})
    with_more, record = tune(SimulatedServers(), longer)
    later = record.course.asks[searched:]
    assert sum(ask.stage is not TuneStage.PROOF for ask in later) >= 5, "what was given in addition is searched, too"
    assert later[-1].stage is TuneStage.PROOF
    blocks = {ask.block for ask in later if ask.stage is TuneStage.PROOF}
    assert {trial.block for trial in record.trials} <= blocks
    assert with_more.tune.proven <= sum(ask.stage is TuneStage.PROOF for ask in later)


def test_a_search_that_found_nothing_goes_on_when_it_has_more_minutes(tune):
    _, first = tune(SimulatedServers(nothing, noise=0.003), tune_spec(20))
    searched = len(first.course.asks)
    more = first.spec.question.model_copy(update={"searched": searched})
    _, record = tune(SimulatedServers(nothing, noise=0.003), tune_spec(30).model_copy(update={"question": more}))
    later = record.course.asks[searched:]
    assert sum(ask.stage is not TuneStage.PROOF for ask in later) >= 5


def test_it_stops_between_two_trials_when_asked_and_says_the_best_so_far(tune, tmp_path):
    asked = iter([False] * 20 + [True] * 9)
    with pytest.raises(InterruptedStudyError):
        tune(SimulatedServers(), stop_asked=lambda: next(asked))
    record = stored(tmp_path)
    assert len(record.course.asks) == 20
    assert record.course.findings.searched == 20
    assert record.course.findings.expected > 1.1


def test_the_best_so_far_is_said_while_it_runs():
    said = [log_text(line) for line in tuned().log]
    ended = next(place for place, line in enumerate(said) if line.startswith("The search ends after "))
    best = [place for place, line in enumerate(said) if line.startswith("Best so far: ") and "not proven" in line]
    assert best
    assert best[-1] < ended


def test_settings_that_a_baseline_has_stay_in_every_candidate(tune):
    spec = tune_spec(12, base={CAPACITY: 200})
    verdict, record = tune(SimulatedServers(), spec)
    assert all(CAPACITY in setting for setting in record.course.settings.values())
    assert verdict.recommended[CAPACITY] != 200
    assert verdict.tune.recommended[CAPACITY] == verdict.recommended[CAPACITY]


def test_the_reason_is_a_code_with_its_figures():
    verdict = tuned().verdict
    assert (verdict.reason_code, verdict.reason_data) == (ReasonCode.FEWEST_CHANGES, {"worthwhile": 0.02})
    assert "the fewest variables of those within 2 % of the best" in verdict.reason
    other = tuned(gain=False).verdict
    assert other.reason_code in (ReasonCode.GAIN_EXCLUDED, ReasonCode.GAIN_NOT_SHOWN)


def test_a_gain_is_not_said_to_be_undecided_where_the_best_of_its_sets_is():
    record = tuned()
    shown = {one.id: figures(record.samples[one.id]) for one in record.trials}
    few = replace(record, trials=[one for one in record.trials if one.block <= 2])
    assert "inconclusive" in {note.code for note in reach_verdict(few, shown).verdict.warnings}
    verdict = tune_verdict(few, shown, record.verdict.tune)
    assert verdict.tune.outcome is TuneOutcome.GAIN
    assert "inconclusive" not in {note.code for note in verdict.warnings}


def test_a_trial_of_the_proof_that_something_slowed_down_does_not_count_and_is_named(tune):
    slowed = []

    def at_a_bad_moment(trial):
        third = trial.purpose is Purpose.RACE and trial.candidate == "baseline" and len(proven) == 2
        proven.extend([trial.id] if trial.purpose is Purpose.RACE and trial.candidate == "baseline" else [])
        slowed.extend([trial.id] if third else [])
        loss.append(math.log(0.7) if third else 0.0)

    proven, loss = [], []
    worker = SimulatedServers(before=at_a_bad_moment, truth=lambda setting: planted(setting) + loss[-1])
    verdict, record = tune(worker, tune_spec(30))
    assert len(proven) > 5
    assert verdict.tune.left_out == slowed
    assert slowed[0] not in {trial.id for trial in record.trials}
    note = next(note for note in verdict.warnings if note.code == "odd_trials")
    assert note.data["ratios"] == [pytest.approx(0.7, rel=0.1)]
    assert f"baseline: 1 of {len(proven)} trials was" in note_text(record.spec, note)
    assert "does not count: something disturbed it" in note_text(record.spec, note)
    truth = math.exp(planted(verdict.recommended) - planted({}))
    assert verdict.tune.gain.low < truth < verdict.tune.gain.high


def test_an_inconclusive_tune_names_the_minutes_that_may_show_a_gain_or_that_there_is_none():
    record = tuned(gain=False)
    shown = {one.id: figures(record.samples[one.id]) for one in record.trials}
    findings = record.verdict.tune.model_copy(update={"outcome": TuneOutcome.INCONCLUSIVE})

    def after(blocks, of=findings):
        return tune_verdict(replace(record, trials=[one for one in record.trials if one.block <= blocks]), shown, of)

    one, two = after(1), after(2)
    assert one.reason.endswith("keep the baseline, or give the tune more minutes.")
    assert two.reason.endswith(
        f"keep the baseline. About {two.reason_data['minutes']} minutes in total may show which: "
        f"dialin resume DIR --minutes {two.reason_data['minutes']}."
    )
    assert record.spec.minutes < two.reason_data["minutes"] <= 10 * record.spec.minutes
    assert "inconclusive" not in {note.code for note in two.warnings}
    withdrawn = after(2, findings.model_copy(update={"outcome": TuneOutcome.GAIN, "recommended": findings.best}))
    assert (withdrawn.tune.outcome, withdrawn.reason) == (TuneOutcome.INCONCLUSIVE, two.reason)


def test_the_verdict_names_the_time_of_the_whole_tune():
    record = tuned()
    trials = record.course.trials
    assert record.verdict.minutes_of_wall_clock == pytest.approx(sum(sum(one.steps.values()) for one in trials) / 60)
    assert len(trials) > len(record.trials)


def test_the_best_setting_is_the_one_whose_gain_is_quoted():
    record = tuned()
    best = record.verdict.tune.best
    assert best == record.verdict.tune.recommended
    unproven = record.verdict.tune.model_copy(update={"recommended": {METHOD: "2"}})
    verdict = tune_verdict(record, {one.id: figures(record.samples[one.id]) for one in record.trials}, unproven)
    assert verdict.reason_code is ReasonCode.CHOICE_NOT_PROVEN
    assert verdict.recommended_candidate == "baseline"
    assert verdict.tune.outcome is TuneOutcome.INCONCLUSIVE
    assert not any(one.recommended or one.carries for one in verdict.tune.variables)


def test_latency_is_tuned_as_throughput_is_and_its_figures_are_of_latency(tune):
    verdict, record = tune(SimulatedServers(), tune_spec(12, goal=Goal.LATENCY, worthwhile=0.05))
    found = verdict.tune
    assert found.outcome is TuneOutcome.GAIN
    assert {POOL, CAPACITY} <= found.recommended.keys()
    assert found.gain.low < found.gain.mean < found.gain.high < 1
    assert found.gain == verdict.chosen.goal_ratio
    assert all(one.carries.mean < 1 for one in found.variables if one.name in (POOL, CAPACITY))
    assert "p95 latency" in verdict.headline
    assert min(figures.latency for figures in record.course.figures.values()) < 15


def test_a_trial_ends_early_where_it_is_too_slow_and_the_baseline_never_does(tune, tmp_path):
    def harms(setting):
        return planted(setting) - 2.0 * (str(setting.get(METHOD, "1")) == "2")

    worker = SimulatedServers(truth=harms)
    _, record = tune(worker, tune_spec(12, worst=0.5))
    assert any("ended early: below " in log_text(line) for line in record.log)
    for setting, floor in zip(worker.ran, worker.floors, strict=True):
        assert (floor > 0) == bool(setting)
    early = [one for one in record.course.trials if one.steps.get(Step.MEASURE) == 5]
    assert early
    assert all(one.state is TrialState.DONE for one in early)

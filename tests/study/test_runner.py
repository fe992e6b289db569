"""Studies whose truth is known: what the runner promises, without servers."""

import pytest

from dialin.errors import ServerError
from dialin.model.progress import Silent
from dialin.model.trial import TrialState
from dialin.model.verdict import CandidateState, Outcome
from dialin.store.store import Store
from dialin.study.plan import block_order, plan
from dialin.study.runner import Runner
from dialin.study.trial import Laboratory
from dialin.testing.trials import SimulatedTrials

FORCED = {name: {"innodb_buffer_pool_instances": name} for name in ("1", "4", "16")}


@pytest.fixture
def study(tmp_path, spec, clock):
    """Run a study, again in the same directory where called again."""

    def run(trials, spec=spec):
        path = tmp_path / "study"
        if path.exists():
            store = Store.open(path)
        else:
            path.mkdir()
            store = Store.create(path, spec, created=0, dialin_version="0", command="", host={}, servers={"mysql@9.7.4": {}})
        with store:
            session = store.begin_session()
            laboratory = Laboratory(
                spec=spec,
                plan=plan(spec),
                clock=clock,
                store=store,
                watcher=Silent(),
                workload=None,
                stage=None,
            )
            verdict = Runner(laboratory, session, trials).run()
            return verdict, store.read()

    return run


def simulated(one=1000, four=1000, sixteen=1000, **others):
    return SimulatedTrials({"1": one, "4": four, "16": sixteen}, in_force=FORCED, **others)


def test_a_large_difference_is_found_at_the_first_look(study):
    verdict, record = study(simulated(four=1300))
    assert verdict.verdict is Outcome.WINNER
    assert verdict.winners == ["4"]
    assert verdict.recommended == {"innodb_buffer_pool_instances": 4}
    assert len(record.trials) == 9
    winner = verdict.candidates[1]
    assert winner.state is CandidateState.WINS
    assert winner.ratio.low < 1.3 < winner.ratio.high


def test_blocks_run_in_the_planned_order(study, spec):
    trials = simulated(four=1300)
    study(trials)
    ran = [trial.candidate for trial in trials.ran]
    assert ran == [name for block in (1, 2, 3) for name in block_order(spec.seed, block, ["1", "4", "16"])]


def test_equal_candidates_on_a_quiet_machine_are_no_worthwhile_difference_and_keep_the_baseline(study):
    verdict, _ = study(simulated(noise=0.0002, jitter=0.0002))
    assert verdict.verdict is Outcome.NO_WORTHWHILE_DIFFERENCE
    assert verdict.recommended_candidate == "1"
    assert "no worthwhile difference" in verdict.headline.lower()


def test_a_noisy_machine_ends_unresolved_with_the_budget_and_says_what_it_would_take(study, spec):
    verdict, record = study(simulated(four=1005, noise=0.05))
    assert verdict.verdict is Outcome.UNRESOLVED
    assert verdict.recommended_candidate == "1"
    spent = sum(sum(trial.steps.values()) for trial in record.trials) / 60
    assert spec.minutes * 0.8 < spent < spec.minutes * 1.1
    (note,) = [note for note in verdict.warnings if note.code == "unresolved"]
    assert "blocks" in note.text


def test_candidates_that_are_one_in_force_are_said_to_be_one(study):
    trials = simulated(noise=0.03)
    trials.in_force = {name: {"innodb_buffer_pool_instances": "1"} for name in FORCED}
    verdict, record = study(trials)
    assert verdict.verdict is Outcome.NO_WORTHWHILE_DIFFERENCE
    assert len(record.trials) == 9, "there is no need to spend the whole budget on it"
    assert "same_in_force" in {note.code for note in verdict.warnings}


def test_a_candidate_that_does_not_start_fails_twice_and_the_study_goes_on(study):
    verdict, record = study(simulated(four=1300, fails=frozenset({"16"})))
    assert verdict.winners == ["4"]
    assert [trial.state for trial in record.trials if trial.candidate == "16"] == [TrialState.FAILED] * 2
    assert verdict.candidates[2].state is CandidateState.FAILED
    assert verdict.candidates[2].tps is None
    assert "failed_trials" in {note.code for note in verdict.warnings}


def test_a_baseline_that_does_not_start_leaves_the_others_comparable(study):
    verdict, _ = study(simulated(four=1300, fails=frozenset({"1"})))
    assert verdict.candidates[0].state is CandidateState.FAILED
    assert verdict.winners == ["4"]
    assert verdict.recommended_candidate == "4"


def test_when_nothing_starts_the_study_ends_with_the_servers_own_words(study):
    with pytest.raises(ServerError, match="did not start: simulated") as raised:
        study(simulated(fails=frozenset({"1", "4", "16"})))
    assert raised.value.exit_code == 3
    assert "[ERROR] simulated" in raised.value.log_tail


class Killed(BaseException):
    """As kill -9 would end it: nothing is tidied."""


@pytest.mark.parametrize("at", [1, 2, 4, 7, 9])
def test_a_study_killed_at_any_trial_resumes_and_repeats_no_finished_one(study, at):
    def kill(trial):
        if trial.id == at:
            raise Killed

    with pytest.raises(Killed):
        study(simulated(four=1300, before=kill))
    second = simulated(four=1300)
    verdict, record = study(second)
    assert verdict.winners == ["4"]
    done = [(trial.block, trial.candidate) for trial in record.trials if trial.state is TrialState.DONE]
    assert len(done) == len(set(done)) >= 9
    assert len(second.ran) == len(done) - (at - 1)
    assert [trial.state for trial in record.trials].count(TrialState.INTERRUPTED) == 1


def test_a_finished_study_that_is_resumed_runs_nothing_and_takes_no_further_look(study):
    first, record = study(simulated(four=1300))
    again = simulated(four=1300)
    second, after = study(again)
    assert again.ran == []
    assert second == first
    assert after.looks == record.looks


def test_more_minutes_continue_an_unresolved_study(study, spec):
    study(simulated(four=1004, noise=0.01))
    more = spec.model_copy(update={"minutes": 12})
    trials = simulated(four=1004, noise=0.01)
    _, record = study(trials, more)
    assert trials.ran
    assert [look.number for look in record.looks] == list(range(1, len(record.looks) + 1))
    assert sum(look.alpha for look in record.looks) <= 1 - spec.confidence


def test_a_faster_candidate_that_gives_up_durability_is_not_recommended_silently(study, spec):
    candidates = tuple(
        c.model_copy(update={"name": str(v), "setting": {"innodb_flush_log_at_trx_commit": v}})
        for c, v in zip(spec.candidates, (1, 2), strict=False)
    )
    question = spec.model_copy(update={"candidates": candidates, "baseline": "1"})
    forced = {v: {"innodb_flush_log_at_trx_commit": v} for v in ("1", "2")}
    trials = SimulatedTrials({"1": 1000, "2": 1900}, in_force=forced)
    verdict, _ = study(trials, question)
    assert verdict.winners == ["2"]
    assert verdict.recommended == {"innodb_flush_log_at_trx_commit": 1}
    assert verdict.warnings[0].code == "weaker_durability"
    assert "but it gives up durability" in verdict.headline
    assert "--accept-weaker-durability" in verdict.reason


def test_a_confound_that_could_explain_the_result_leaves_no_winner(study):
    trials = simulated(four=1300)
    trials.in_force = {
        name: {"innodb_buffer_pool_instances": name, "innodb_buffer_pool_size": "2415919104" if name == "4" else "2147483648"}
        for name in FORCED
    }
    verdict, record = study(trials)
    assert verdict.verdict is Outcome.UNRESOLVED
    assert verdict.winners == []
    assert verdict.confounds[0].data["variable"] == "innodb_buffer_pool_size"
    assert verdict.recommended_candidate == "1"
    assert len(record.trials) == 9, "more blocks cannot mend it"


def test_the_costs_of_a_study_are_told(study):
    verdict, _ = study(simulated(four=1300))
    assert verdict.minutes_of_load == pytest.approx(9 * 10 / 60)
    assert verdict.minutes_of_wall_clock == pytest.approx(9 * 18.1 / 60)


def test_what_the_server_derives_from_the_variable_is_named_with_the_winner(study):
    trials = simulated(four=1300)
    trials.in_force = {name: {"innodb_buffer_pool_instances": name, "innodb_page_cleaners": name} for name in FORCED}
    verdict, _ = study(trials)
    assert verdict.winners == ["4"]
    assert "with innodb_page_cleaners, which the server derives from it" in verdict.headline
    assert verdict.confounds[0].data["hold"] == {"innodb_page_cleaners": 1}


def test_a_study_that_failed_throughout_fails_again_at_once_when_it_is_resumed(study):
    broken = frozenset({"1", "4", "16"})
    with pytest.raises(ServerError):
        study(simulated(fails=broken))
    again = simulated(fails=broken)
    with pytest.raises(ServerError, match="No candidate could be measured"):
        study(again)
    assert again.ran == []


def test_when_one_candidate_is_left_there_is_nothing_more_to_measure(study):
    verdict, record = study(simulated(fails=frozenset({"4", "16"})))
    assert verdict.verdict is Outcome.UNRESOLVED
    assert "only 1 could be measured" in verdict.headline
    assert len(record.trials) <= 6


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


def test_a_look_that_was_killed_before_its_verdict_was_kept_is_taken_anew(study, monkeypatch):
    def die(*_args):
        raise Killed

    with monkeypatch.context() as killing:
        killing.setattr("dialin.study.runner.judge", die)
        with pytest.raises(Killed):
            study(simulated(four=1300))
    verdict, record = study(simulated(four=1300))
    assert verdict.winners == ["4"]
    assert record.looks[0].decided is None
    assert record.looks[-1].decided


def from_block(number, **changes):
    """Have simulated trials change what they come to from a block on."""

    def before(trial):
        if trial.block >= number:
            for name, value in changes.items():
                setattr(trials, name, value)

    trials = simulated(before=before)
    return trials


def test_a_study_in_which_everything_breaks_ends_at_once_and_can_go_on(study):
    """An attached server that went away fails each trial in a millisecond of a budget of hours."""
    with pytest.raises(ServerError, match="Every trial of block 2 failed"):
        study(from_block(2, fails=frozenset({"1", "4", "16"})))
    verdict, record = study(simulated(four=1300))
    assert verdict.winners == ["4"]
    assert [trial.block for trial in record.trials if trial.state is TrialState.FAILED] == [2, 2, 2]


def test_a_confound_could_hide_a_difference_as_well(study, spec):
    trials = simulated(noise=0.0001, jitter=0.0001)
    trials.in_force = {name: {"innodb_buffer_pool_instances": name, "innodb_buffer_pool_size": name} for name in FORCED}
    verdict, _ = study(trials, spec.model_copy(update={"worthwhile": 0.5}))
    assert verdict.verdict is Outcome.UNRESOLVED
    assert "could explain the result" in verdict.headline


def test_candidates_are_one_only_if_they_were_from_the_first_trial_to_the_last(study):
    same = {name: {"innodb_buffer_pool_instances": "1"} for name in FORCED}
    verdict, _ = study(from_block(3, in_force=same))
    codes = {note.code for note in verdict.warnings}
    assert "same_in_force" not in codes
    assert "changed_meanwhile" in codes


def test_what_only_the_first_trials_had_is_a_confound_as_well(study):
    other = {name: {**FORCED[name], "sync_binlog": name} for name in FORCED}
    trials = from_block(2, in_force=FORCED)
    trials.in_force = other
    verdict, _ = study(trials)
    assert [note.data["variable"] for note in verdict.confounds] == ["sync_binlog"]

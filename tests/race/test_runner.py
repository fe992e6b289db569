"""Studies whose truth is known: what the runner promises, without servers."""

from dataclasses import replace

import pytest

from dialin.errors import ServerError
from dialin.model.trial import TrialState
from dialin.model.verdict import CandidateState, Outcome
from dialin.question.plan import block_order
from dialin.race.runner import MAY_OVERRUN
from fixtures.silent_watcher import Silent
from fixtures.simulated_runs import FORCED, Killed, kill_at, raced, shorter, simulated
from fixtures.simulated_trials import SimulatedTrials


class Listening(Silent):
    """A watcher that keeps what it hears."""

    def __init__(self):
        self.left, self.standings, self.said_ = [], [], []

    def trial_began(self, trial, seconds_left):
        self.left.append(seconds_left)

    def trial_ended(self, trial, standings):
        self.standings.append((trial.block, {name for name, standing in standings.items() if standing.left}))

    def message(self, text):
        self.said_.append(text)


def test_a_large_difference_is_found_at_the_first_look(study):
    verdict, record = study(simulated(four=1300))
    assert verdict.verdict is Outcome.WINNER
    assert verdict.winners == ["4"]
    assert verdict.recommended == {"innodb_buffer_pool_instances": 4}
    assert [look.blocks for look in record.looks] == [3]
    winner = verdict.candidates[1]
    assert winner.state is CandidateState.WINS
    assert winner.ratio.low < 1.3 < winner.ratio.high


def test_a_candidate_far_behind_leaves_after_the_second_block_and_the_baseline_stays(study):
    listening = Listening()
    verdict, record = study(simulated(four=1300), watcher=listening)
    assert [sorted(raced(record, block)) for block in (1, 2, 3)] == [["1", "16", "4"], ["1", "16", "4"], ["1", "4"]]
    assert [one.left_after for one in verdict.candidates] == [None, None, 2]
    assert verdict.candidates[2].state is CandidateState.LOSES
    assert verdict.candidates[2].probability < 0.025
    assert [left for _, left in listening.standings] == [set()] * 5 + [{"16"}] * 3
    assert any("After block 2 out of the race" in text and text.endswith(": 16") for text in listening.said_)
    assert any("out of the race" in line.text for line in record.log)


def test_blocks_run_in_the_planned_order(study, spec):
    trials = simulated(four=1300)
    study(trials)
    orders = [block_order(spec.seed, block, ["1", "4", "16"]) for block in (1, 2, 3)]
    orders[2].remove("16")
    assert [trial.candidate for trial in trials.ran] == [name for order in orders for name in order]


def test_a_study_ends_when_a_choice_is_safe_though_it_was_not_shown_to_be_the_best(study):
    verdict, record = study(simulated(four=1030))
    assert verdict.verdict is Outcome.SAFE_CHOICE
    assert (verdict.recommended_candidate, verdict.winners) == ("4", [])
    assert verdict.candidates[1].probability >= 0.95
    assert CandidateState.OPEN in {one.state for one in verdict.candidates}
    assert "is a safe choice" in verdict.headline
    assert len(record.looks) == 1
    assert record.looks[0].decided


def test_two_names_of_one_setting_stay_in_the_race_together(study, spec):
    trials = simulated(four=1300, sixteen=1200)
    trials.in_force = {**FORCED, "16": FORCED["4"]}
    verdict, record = study(trials, shorter(spec))
    assert {"4", "16"} <= set(raced(record, 3))
    assert verdict.candidates[1].probability == verdict.candidates[2].probability
    assert verdict.candidates[2].left_after is None


def test_where_the_baseline_is_the_best_it_is_kept(study):
    verdict, record = study(simulated(one=1300))
    assert verdict.recommended_candidate == "1"
    assert verdict.verdict in (Outcome.WINNER, Outcome.SAFE_CHOICE)
    assert verdict.candidates[0].left_after is None
    assert len(record.trials) <= 9


def test_equal_candidates_on_a_quiet_machine_are_no_worthwhile_difference_and_keep_the_baseline(study):
    verdict, _ = study(simulated(noise=0.0002, jitter=0.0002))
    assert verdict.verdict is Outcome.NO_WORTHWHILE_DIFFERENCE
    assert verdict.recommended_candidate == "1"
    assert "no worthwhile difference" in verdict.headline.lower()


def test_a_noisy_machine_ends_unresolved_with_the_budget_and_says_what_it_would_take(study, spec):
    spec = shorter(spec)
    verdict, record = study(simulated(four=1005, noise=0.05), spec)
    assert verdict.verdict is Outcome.UNRESOLVED
    assert verdict.recommended_candidate == "1"
    spent = sum(sum(trial.steps.values()) for trial in record.trials) / 60
    assert spec.minutes * 0.8 < spent <= spec.minutes * MAY_OVERRUN
    assert [look.blocks for look in record.looks] == [3, 4]
    assert sum(look.alpha for look in record.looks) == pytest.approx(0.8 * (1 - spec.confidence))
    (note,) = [note for note in verdict.warnings if note.code == "unresolved"]
    assert "blocks" in note.text


def test_candidates_that_are_one_in_force_are_said_to_be_one(study):
    trials = simulated(noise=0.03)
    trials.in_force = {name: {"innodb_buffer_pool_instances": "1"} for name in FORCED}
    verdict, record = study(trials)
    assert verdict.verdict is Outcome.NO_WORTHWHILE_DIFFERENCE
    assert len(record.trials) == 9, "there is no need to spend the whole budget on it"
    assert "same_in_force" in {note.code for note in verdict.warnings}


def test_a_candidate_whose_server_does_not_start_is_unsafe_and_the_study_goes_on(study):
    verdict, record = study(simulated(four=1300, fails=frozenset({"16"})))
    assert verdict.winners == ["4"]
    assert [trial.state for trial in record.trials if trial.candidate == "16"] == [TrialState.FAILED]
    assert verdict.candidates[2].state is CandidateState.UNSAFE
    assert verdict.candidates[2].tps is None
    assert {"failed_trials", "unsafe"} <= {note.code for note in verdict.warnings}
    assert "16 is unsafe: its server failed in 1 of 1 trial." in verdict.headline


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


@pytest.mark.parametrize("at", [1, 2, 4, 7, 8])
def test_a_study_killed_at_any_trial_resumes_and_repeats_no_finished_one(study, at):
    with pytest.raises(Killed):
        study(kill_at(at, four=1300))
    second = simulated(four=1300)
    verdict, record = study(second)
    assert verdict.recommended_candidate == "4"
    done = [(trial.block, trial.candidate) for trial in record.trials if trial.state is TrialState.DONE]
    assert len(done) == len(set(done)) >= 8
    assert len(second.ran) == len(done) - (at - 1)
    assert [trial.state for trial in record.trials].count(TrialState.INTERRUPTED) == 1


@pytest.mark.parametrize("at", [7, 8])
def test_a_study_resumed_after_a_candidate_left_finds_the_same_race(study, at):
    whole, _ = study(simulated(four=1300), directory="whole")
    with pytest.raises(Killed):
        study(kill_at(at, four=1300))
    verdict, record = study(simulated(four=1300))
    assert [one.left_after for one in verdict.candidates] == [one.left_after for one in whole.candidates] == [None, None, 2]
    assert raced(record).count("16") == 2


def test_a_finished_study_that_is_resumed_runs_nothing_and_takes_no_further_look(study):
    first, record = study(simulated(four=1300))
    again = simulated(four=1300)
    second, after = study(again)
    assert again.ran == []
    assert second == first
    assert after.looks == record.looks


def test_more_minutes_continue_an_unresolved_study(study, spec):
    _, before = study(simulated(four=1005, noise=0.05), shorter(spec))
    trials = simulated(four=1005, noise=0.05)
    _, record = study(trials, spec)
    assert {trial.block for trial in trials.ran} == {5, 6}
    assert list(record.looks[: len(before.looks)]) == list(before.looks)
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
    assert len(record.looks) == 1, "more blocks cannot mend it"


def test_the_costs_of_a_study_are_told(study):
    verdict, _ = study(simulated(four=1300))
    assert verdict.minutes_of_load == pytest.approx(8 * 10 / 60)
    assert verdict.minutes_of_wall_clock == pytest.approx(8 * 18.1 / 60)


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
    assert "no safe candidate is left" in verdict.headline
    assert verdict.recommended_candidate == "1"
    assert len(record.trials) == 3


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
        killing.setattr("dialin.race.runner.reach_verdict", die)
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
    assert verdict.recommended_candidate == "4"
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


# What the host takes away.


def spoiling(trials, *spoiled):
    """Trials of which these (block, candidate) are lost to the host the first time."""
    left = set(spoiled)

    def end(trial):
        if (trial.block, trial.candidate) not in left:
            return trial
        left.remove((trial.block, trial.candidate))
        return replace(trial, state=TrialState.INTERRUPTED)

    trials.end = end
    return trials


def test_a_trial_that_the_host_spoiled_is_run_again_in_its_block_and_counts_for_nothing(study):
    listening = Listening()
    verdict, record = study(spoiling(simulated(four=1300), (1, "4"), (2, "1")), watcher=listening)
    assert verdict.winners == ["4"]
    assert [(t.block, t.candidate) for t in record.trials if t.state is TrialState.INTERRUPTED] == [(1, "4"), (2, "1")]
    for block in (1, 2, 3):
        done = [t.candidate for t in record.trials if t.block == block and t.state is TrialState.DONE]
        assert sorted(done) == sorted(set(raced(record, block)))
    assert [one.trials for one in verdict.candidates] == [3, 3, 2]
    assert [one.failed for one in verdict.candidates] == [0, 0, 0]
    assert sum("is run again" in text for text in listening.said_) == 2


def test_a_host_that_spoils_every_trial_ends_with_the_budget(study, spec):
    always = simulated(end=lambda trial: replace(trial, state=TrialState.INTERRUPTED))
    with pytest.raises(ServerError, match="No candidate could be measured"):
        study(always, shorter(spec))


def test_seconds_that_the_host_lost_are_left_out_and_counted(study):
    verdict, _ = study(simulated(four=1300, lost=2))
    assert verdict.winners == ["4"]
    assert [one.lost_seconds for one in verdict.candidates] == [6, 6, 4]
    assert verdict.lost_seconds == 16
    assert verdict.candidates[0].tps.mean == pytest.approx(1000, rel=0.03)
    assert "host_lost_seconds" in {note.code for note in verdict.warnings}


# How long it takes.


def test_the_time_left_is_the_budget_until_a_look_tells_how_many_blocks_a_choice_takes(study, spec):
    question, listening = spec.model_copy(update={"minutes": 60, "seed": 3}), Listening()
    _, record = study(simulated(four=1015, noise=0.015), question, watcher=listening)
    assert listening.left[0] == 3600
    assert listening.left[:9] == [pytest.approx(3600 - 18.1 * trial) for trial in range(9)]
    assert len(record.trials) > 9
    assert all(0 < left < 3600 / 2 for left in listening.left[9:])
    assert all(left >= 18.1 for left in listening.left)


def test_the_time_left_is_never_more_than_what_the_budget_holds(study, spec):
    question, listening = shorter(spec), Listening()
    study(simulated(four=1005, noise=0.05), question, watcher=listening)
    assert all(left <= 240 - 18.1 * trial + 1e-6 for trial, left in enumerate(listening.left))

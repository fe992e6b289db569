"""Studies whose truth is known: what the runner promises, without servers."""

import itertools
from contextlib import suppress
from dataclasses import replace

import pytest

from dialin.errors import InterruptedStudyError, ServerError
from dialin.model.study import Switch, Until
from dialin.model.trial import Purpose, TrialState
from dialin.model.verdict import CandidateState, Outcome
from dialin.question.plan import block_order
from dialin.race.budget import MAY_OVERRUN
from dialin.store.store import Store
from dialin.testing.fake_clock import FakeClock
from fixtures.silent_watcher import Silent
from fixtures.simulated_runs import FORCED, Killed, kill_at, proving, raced, run_study, shorter, simulated


class Listening(Silent):
    """A watcher that keeps what it hears."""

    def __init__(self):
        self.left, self.standings, self.said_ = [], [], []

    def trial_began(self, trial, seconds_left):
        self.left.append(seconds_left)

    def trial_ended(self, trial, standings):
        self.standings.append((trial.block, {name for name, standing in standings.items() if standing.out}))

    def message(self, text):
        self.said_.append(text)


def close(spec, **changes):
    """A study of an hour, of candidates that are close together."""
    return spec.model_copy(update={"minutes": 60, "seed": 3, **changes})


@pytest.fixture(scope="module")
def close_study(spec, tmp_path_factory):
    """A whole study of candidates that are close together: its trials, its watcher and its record."""
    trials, listening = simulated(four=1012, noise=0.025), Listening()
    _, record = run_study(tmp_path_factory.mktemp("close") / "study", close(spec), trials, FakeClock(), listening)
    return trials, listening, record


def test_a_large_difference_is_shown_with_three_trials_of_each_candidate(study, spec):
    verdict, record = study(simulated(four=1300), proving(spec))
    assert verdict.verdict is Outcome.WINNER
    assert verdict.winners == ["4"]
    assert verdict.recommended == {"innodb_buffer_pool_instances": 4}
    assert [look.trials for look in record.looks] == [3, 5, 7, 9, 11]
    assert [look.decided for look in record.looks] == [False] * 4 + [True]
    assert min(one.trials for one in verdict.candidates) == 3
    assert (verdict.shown_best, verdict.shown_better) == (True, True)
    winner = verdict.candidates[1]
    assert winner.state is CandidateState.BETTER
    assert winner.ratio.low < 1.3 < winner.ratio.high


def test_the_first_block_has_all_candidates_and_the_others_two_contenders(close_study):
    _, _, record = close_study
    assert sorted(record.blocks[0].order) == ["1", "16", "4"]
    assert len(record.blocks) > 3
    assert {len(block.order) for block in record.blocks[1:]} == {2}
    assert raced(record) == [name for block in record.blocks for name in block.order]


def test_one_far_behind_gets_no_more_trials_than_a_claim_needs_and_is_in_the_verdict(study, spec):
    listening = Listening()
    spec = close(spec, until=Until.BEST)
    verdict, record = study(simulated(four=1005, sixteen=700, noise=0.015), spec, watcher=listening)
    assert raced(record).count("16") == 3
    assert len(record.trials) > 12
    assert verdict.shown_best
    assert verdict.candidates[2].state in (CandidateState.WORSE, CandidateState.LIKELY_WORSE)
    assert verdict.candidates[2].probability < 0.025
    assert not any(out for _, out in listening.standings), "it is not out: it may come back when it has to"


def test_one_whose_server_fails_more_often_than_the_baselines_is_out_and_gets_no_more_trials(study, spec):
    listening = Listening()
    trials = simulated(four=1015, sixteen=1015, noise=0.015, fails=frozenset({"16"}))
    _, record = study(trials, close(spec), watcher=listening)
    assert raced(record).count("16") == 1
    assert listening.standings[-1][1] == {"16"}
    assert {block.order for block in record.blocks[1:]} <= {("1", "4"), ("4", "1")}


def test_the_order_of_each_block_is_drawn_by_the_seed(close_study):
    trials, _, record = close_study
    for block in record.blocks:
        members = [name for name in ("1", "4", "16") if name in block.order]
        assert list(block.order) == block_order(3, block.number, members)
    assert [trial.candidate for trial in trials.ran] == [name for block in record.blocks for name in block.order]


def test_looks_are_taken_after_each_block_and_later_at_every_twentieth_more_trials(study, spec):
    _, record = study(simulated(four=1001, noise=0.03), close(spec, until=Until.BEST, minutes=20))
    trials = [look.trials for look in record.looks]
    assert trials[:4] == [3, 5, 7, 9]
    assert trials[-1] > 40
    assert all(before * 1.05 <= after for before, after in itertools.pairwise(trials[:-1]))
    assert all(after - before <= max(2, 0.05 * before + 2) for before, after in itertools.pairwise(trials))
    assert [look.decided for look in record.looks[:-1]] == [False] * (len(trials) - 1)


@pytest.mark.parametrize("until", Until)
def test_a_study_ends_when_it_has_what_it_runs_until(study, spec, until):
    verdict, record = study(simulated(four=1030), close(spec, until=until))
    assert verdict.recommended_candidate == "4"
    assert record.looks[-1].decided
    assert verdict.minutes_of_wall_clock < 60
    reached = {
        Until.SAFE: verdict.verdict is not Outcome.INCONCLUSIVE,
        Until.BETTER: verdict.shown_better,
        Until.BEST: verdict.shown_best,
    }
    assert reached[until]


def test_more_proof_takes_no_fewer_trials(study, spec):
    def trials(until):
        _, record = study(simulated(four=1015), close(spec, until=until), directory=until)
        return len(record.trials)

    assert trials(Until.SAFE) < trials(Until.BETTER)
    assert trials(Until.SAFE) < trials(Until.BEST)


def test_a_study_ends_when_a_choice_is_safe_though_it_was_not_shown_to_be_the_best(study):
    verdict, record = study(simulated(four=1030))
    assert verdict.verdict is Outcome.SAFE_CHOICE
    assert (verdict.recommended_candidate, verdict.winners) == ("4", [])
    assert verdict.candidates[1].probability >= 0.935
    assert CandidateState.TOO_CLOSE in {one.state for one in verdict.candidates}
    assert "is a safe choice" in verdict.headline
    assert [look.decided for look in record.looks] == [False] * (len(record.looks) - 1) + [True]


def test_two_names_of_one_setting_come_out_alike(study, spec):
    trials = simulated(four=1300, sixteen=1300)
    trials.in_force = {**FORCED, "16": FORCED["4"]}
    verdict, _ = study(trials, shorter(spec))
    assert verdict.candidates[1].probability == verdict.candidates[2].probability
    assert verdict.candidates[1].state is verdict.candidates[2].state is CandidateState.BETTER
    assert (verdict.verdict, verdict.winners) == (Outcome.TIE, ["4", "16"])


def test_where_the_baseline_is_the_best_it_is_kept(study, spec):
    verdict, record = study(simulated(one=1300), proving(spec))
    assert verdict.recommended_candidate == "1"
    assert verdict.verdict in (Outcome.WINNER, Outcome.SAFE_CHOICE)
    assert (verdict.shown_best, verdict.shown_better) == (True, False)
    assert len(record.trials) <= 9


def test_equal_candidates_on_a_quiet_machine_are_no_worthwhile_difference_and_keep_the_baseline(study):
    verdict, _ = study(simulated(noise=0.0002, jitter=0.0002))
    assert verdict.verdict is Outcome.NO_WORTHWHILE_DIFFERENCE
    assert verdict.recommended_candidate == "1"
    assert "no worthwhile difference" in verdict.headline.lower()


def inconclusive(spec, **changes):
    """A study whose budget of four minutes is too small."""
    return shorter(spec, seed=2, **changes)


def test_a_noisy_machine_ends_inconclusive_with_the_budget_and_says_what_it_would_take(study, spec):
    spec = inconclusive(spec)
    verdict, record = study(simulated(four=1002, noise=0.03), spec)
    assert verdict.verdict is Outcome.INCONCLUSIVE
    assert verdict.recommended_candidate == "1"
    assert not verdict.shown_best
    assert not verdict.shown_better
    spent = sum(sum(trial.steps.values()) for trial in record.trials) / 60
    assert spec.minutes * 0.8 < spent <= spec.minutes * MAY_OVERRUN
    assert not any(look.decided for look in record.looks)
    assert record.looks[-1].trials == len(record.trials), "the last look is taken when the budget is over"
    (note,) = [note for note in verdict.warnings if note.code == "inconclusive"]
    assert f"With this noise, {len(record.trials)} trials can detect differences of" in note.text
    assert note.data["trials"] == len(record.trials) < note.data["trials_needed"]


def test_candidates_that_are_one_in_force_are_said_to_be_one(study):
    trials = simulated(noise=0.03)
    trials.in_force = {name: {"innodb_buffer_pool_instances": "1"} for name in FORCED}
    verdict, record = study(trials)
    assert verdict.verdict is Outcome.NO_WORTHWHILE_DIFFERENCE
    assert len(record.trials) == 3, "there is no need to spend the budget on it"
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
    assert verdict.candidates[0].state is CandidateState.NOT_MEASURED
    assert verdict.winners == ["4"]
    assert verdict.recommended_candidate == "4"


def test_when_nothing_starts_the_study_ends_with_the_servers_own_words(study):
    with pytest.raises(ServerError, match="did not start: simulated") as raised:
        study(simulated(fails=frozenset({"1", "4", "16"})))
    assert raised.value.exit_code == 3
    assert "[ERROR] simulated" in raised.value.log_tail


@pytest.mark.parametrize("at", [1, 2, 3, 4, 5])
def test_a_study_killed_at_any_trial_resumes_and_repeats_no_finished_one(study, at):
    with pytest.raises(Killed):
        study(kill_at(at, four=1300))
    second = simulated(four=1300)
    verdict, record = study(second)
    assert verdict.recommended_candidate == "4"
    done = [(trial.block, trial.candidate) for trial in record.trials if trial.state is TrialState.DONE]
    assert len(done) == len(set(done)) >= 5
    assert len(second.ran) == len(done) - (at - 1)
    assert [trial.state for trial in record.trials].count(TrialState.INTERRUPTED) == 1


@pytest.mark.parametrize("at", [2, 4, 7, 8, 10])
def test_a_study_that_is_resumed_has_the_blocks_that_it_would_have_had(study, spec, close_study, tmp_path, at):
    _, _, whole = close_study
    with pytest.raises(Killed):
        study(kill_at(at, four=1012, noise=0.025), close(spec))
    with suppress(InterruptedStudyError):  # after the block in which it was killed, unless that decides it
        study(simulated(four=1012, noise=0.025), close(spec), stop_asked=lambda: True)
    with Store.open(tmp_path / "study") as store:
        record = store.read()
    begun = record.trials[at - 1].block
    assert len(record.blocks) == begun
    assert [block.order for block in record.blocks] == [block.order for block in whole.blocks[:begun]]


@pytest.mark.parametrize("at", range(1, 13))
def test_two_candidates_by_set_killed_in_a_block_that_has_one_of_them_twice_go_on_with_what_it_lacks(study, spec, at):
    pair = close(spec, candidates=spec.candidates[:2], switch=Switch.SET, minutes=8, until=Until.BEST)
    with pytest.raises(Killed):
        study(kill_at(at, four=1010, noise=0.05), pair)
    _, record = study(simulated(four=1010, noise=0.05), pair)
    done = [one.candidate for one in record.trials if one.state is TrialState.DONE and one.purpose is Purpose.RACE]
    assert {tuple(sorted(block.order)) for block in record.blocks} >= {("1", "1"), ("4", "4")}
    assert len(done) >= 11
    assert done == [name for block in record.blocks for name in block.order][: len(done)]


def test_a_finished_study_that_is_resumed_runs_nothing_and_takes_no_further_look(study):
    first, record = study(simulated(four=1300))
    again = simulated(four=1300)
    second, after = study(again)
    assert again.ran == []
    assert second == first
    assert after.looks == record.looks


def test_more_minutes_continue_an_inconclusive_study(study, spec):
    _, before = study(simulated(four=1002, noise=0.03), inconclusive(spec))
    trials = simulated(four=1002, noise=0.03)
    _, record = study(trials, inconclusive(spec).model_copy(update={"minutes": 6}))
    assert min(trial.block for trial in trials.ran) == 1 + max(trial.block for trial in before.trials)
    assert list(record.looks[: len(before.looks)]) == list(before.looks)
    assert [look.number for look in record.looks] == list(range(1, len(record.looks) + 1))
    assert len(record.looks) > len(before.looks)


def test_a_confound_that_could_explain_the_result_leaves_no_winner(study):
    trials = simulated(four=1300)
    trials.in_force = {
        name: {"innodb_buffer_pool_instances": name, "innodb_buffer_pool_size": "2415919104" if name == "4" else "2147483648"}
        for name in FORCED
    }
    verdict, record = study(trials)
    assert verdict.verdict is Outcome.INCONCLUSIVE
    assert verdict.winners == []
    assert verdict.confounds[0].data["variable"] == "innodb_buffer_pool_size"
    assert verdict.recommended_candidate == "1"
    assert record.looks[-1].decided, "more blocks cannot change it"
    assert len(record.trials) == 7


def test_the_costs_of_a_study_are_reported(study):
    verdict, _ = study(simulated(four=1300))
    assert verdict.minutes_of_load == pytest.approx(7 * 10 / 60)
    assert verdict.minutes_of_wall_clock == pytest.approx(7 * 18.1 / 60)


def test_variables_derived_from_the_one_under_test_are_named_with_the_winner(study, spec):
    trials = simulated(four=1300)
    trials.in_force = {name: {"innodb_buffer_pool_instances": name, "innodb_page_cleaners": name} for name in FORCED}
    verdict, _ = study(trials, proving(spec))
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
    assert verdict.verdict is Outcome.INCONCLUSIVE
    assert "no safe candidate is left" in verdict.headline
    assert verdict.recommended_candidate == "1"
    assert len(record.trials) == 3


def test_a_look_that_was_killed_before_its_verdict_was_kept_is_taken_anew(study, monkeypatch):
    def die(*_args):
        raise Killed

    with monkeypatch.context() as killing:
        killing.setattr("dialin.race.runner.reach_verdict", die)
        with pytest.raises(Killed):
            study(simulated(four=1300))
    verdict, record = study(simulated(four=1300))
    assert verdict.recommended_candidate == "4"
    assert [look.decided for look in record.looks] == [False] * (len(record.looks) - 1) + [True]
    assert [look.trials for look in record.looks[:1]] == [3], "it is taken again"


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
    with pytest.raises(
        ServerError, match="trials failed, of candidates that could be measured before: did not start"
    ) as raised:
        study(from_block(2, fails=frozenset({"1", "4", "16"})))
    assert raised.value.resumable
    assert "[ERROR] simulated" in raised.value.log_tail
    verdict, record = study(simulated(four=1300))
    assert verdict.recommended_candidate == "4"
    failed = [trial for trial in record.trials if trial.state is TrialState.FAILED]
    assert 3 <= len(failed) <= 4
    assert len({trial.candidate for trial in failed}) > 1


def test_one_candidate_that_fails_again_and_again_ends_no_study(study, spec):
    verdict, record = study(from_block(2, fails=frozenset({"16"}), levels={"1": 1000, "4": 1300, "16": 1300}))
    assert verdict.recommended_candidate == "4"
    assert len(record.trials) > 3


def test_a_confound_could_hide_a_difference_as_well(study, spec):
    trials = simulated(noise=0.0001, jitter=0.0001)
    trials.in_force = {name: {"innodb_buffer_pool_instances": name, "innodb_buffer_pool_size": name} for name in FORCED}
    verdict, _ = study(trials, spec.model_copy(update={"worthwhile": 0.5}))
    assert verdict.verdict is Outcome.INCONCLUSIVE
    assert "could explain the result" in verdict.headline


def test_candidates_are_one_only_if_they_were_from_the_first_trial_to_the_last(study):
    same = {name: {"innodb_buffer_pool_instances": "1"} for name in FORCED}
    verdict, _ = study(from_block(2, in_force=same))
    codes = {note.code for note in verdict.warnings}
    assert "same_in_force" not in codes
    assert "changed_meanwhile" in codes


def test_a_difference_of_the_first_trials_alone_is_a_confound_as_well(study):
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


def test_a_trial_that_the_host_spoiled_is_run_again_in_its_block_and_counts_for_nothing(study, spec):
    listening = Listening()
    verdict, record = study(spoiling(simulated(four=1300), (1, "4"), (2, "1")), proving(spec), watcher=listening)
    assert verdict.winners == ["4"]
    assert [(t.block, t.candidate) for t in record.trials if t.state is TrialState.INTERRUPTED] == [(1, "4"), (2, "1")]
    for block in (1, 2):
        done = [t.candidate for t in record.trials if t.block == block and t.state is TrialState.DONE]
        assert sorted(done) == sorted(set(raced(record, block)))
    assert sum(one.trials for one in verdict.candidates) == 11
    assert [one.failed for one in verdict.candidates] == [0, 0, 0]
    assert sum("is run again" in text for text in listening.said_) == 2


def test_a_host_that_spoils_every_trial_ends_with_the_budget(study, spec):
    always = simulated(end=lambda trial: replace(trial, state=TrialState.INTERRUPTED))
    with pytest.raises(ServerError, match="No candidate could be measured"):
        study(always, shorter(spec))


def test_seconds_that_the_host_lost_are_left_out_and_counted(study, spec):
    verdict, _ = study(simulated(four=1300, lost=2), proving(spec))
    assert verdict.winners == ["4"]
    assert [one.lost_seconds for one in verdict.candidates] == [2 * one.trials for one in verdict.candidates]
    assert verdict.lost_seconds == 22
    assert verdict.candidates[0].tps.mean == pytest.approx(1000, rel=0.03)
    assert "host_lost_seconds" in {note.code for note in verdict.warnings}


# How long it takes.


def test_the_time_left_is_the_budget_until_there_are_the_trials_of_a_decision_and_then_what_a_choice_takes(close_study):
    _, listening, record = close_study
    assert listening.left[0] == 3600
    assert listening.left[:7] == [pytest.approx(3600 - 18.1 * trial) for trial in range(7)]
    assert len(record.trials) > 9
    assert all(2 * 18.1 <= left + 18.1 <= 3600 - 18.1 * trial for trial, left in enumerate(listening.left) if trial > 6)
    assert listening.left[-1] < 3600 / 2


def test_what_a_proof_takes_is_not_foreseen_and_the_time_left_is_the_budget(study, spec):
    listening = Listening()
    study(simulated(four=1030, noise=0.02), close(spec, until=Until.BEST), watcher=listening)
    assert len(listening.left) > 5
    assert listening.left == [pytest.approx(3600 - 18.1 * trial) for trial in range(len(listening.left))]


def test_the_time_left_is_never_more_than_what_the_budget_holds(study, spec):
    listening = Listening()
    study(simulated(four=1002, noise=0.03), inconclusive(spec), watcher=listening)
    assert all(left <= 240 - 18.1 * trial + 1e-6 for trial, left in enumerate(listening.left))


def test_a_start_that_went_wrong_is_named_with_its_candidate_and_trial(study, spec):
    def before(trial):
        trials.levels = dict.fromkeys(FORCED, 1000) | ({trial.candidate: 850} if trial.id == 21 else {})

    trials = simulated(before=before, noise=0.006, jitter=0.01)
    verdict, record = study(trials, close(spec, minutes=12, until=Until.BEST, worthwhile=0.0005))
    (note,) = [note for note in verdict.warnings if note.code == "odd_trials"]
    assert (note.data["candidate"], note.data["trials"]) == (record.trials[20].candidate, [21])
    assert note.data["ratios"] == [pytest.approx(0.85, abs=0.03)]

"""How studies on a real server come to their end: what is known before, what is confirmed, what noise there is."""

import json
from statistics import median

import pytest

from dialin.model.trial import Purpose, TrialState
from dialin.store.store import Store
from driving import needs_dialin_load
from live import FAST, LITTLE, SHORT, only_with_all

FLUSH = ["sweep", "innodb_flush_log_at_trx_commit=1,2", "--server", FAST, "--set", "sync_binlog=0"]
PLENTY = ["--minutes", "6"]
"""More than it takes: these studies end because they have decided, however slow the machine is."""
WRITES = ["--workload", "oltp_update_non_index", "--threads", "1"]


def found_of(verdict, name):
    return next(found for found in verdict["candidates"] if found["name"] == name)


SLEEPING = """
name = "sleeping"
description = "a transaction takes as many hundredths of a second as long_query_time has seconds, and no CPU"

[[transaction]]
name = "sleep"
steps = [{ sql = "DO SLEEP(@@GLOBAL.long_query_time / 100)" }]
"""


@only_with_all  # tests/race/test_runner_confirming.py shows it on simulated servers
@needs_dialin_load
def test_a_choice_is_confirmed_in_fresh_trials_that_did_not_choose_it_also_afterwards(dialin):
    out, workload = dialin.directory / "study", dialin.directory / "sleeping.toml"
    workload.write_text(SLEEPING)
    words = ["sweep", "long_query_time=2,1", "--server", FAST, "--workload", workload, "--measure", "2", "--warmup", "1"]
    verdict = dialin.verdict(*words, "--threads", "4", "--worthwhile", "10%", "--yes", *PLENTY, "--out", out)
    assert verdict["recommended_candidate"] == "1"
    assert verdict["confirmed"] is None
    again = json.loads(dialin("resume", out, "--confirm", "--json")[0])
    with Store.open(out) as store:
        trials = store.trials()
        looks = store.looks()
    fresh = [trial for trial in trials if trial.purpose is Purpose.CONFIRM]
    assert len(fresh) == 12
    assert {trial.candidate for trial in fresh} == {"2", "1"}
    assert min(trial.block for trial in fresh) > max(trial.block for trial in trials if trial.purpose is Purpose.RACE)
    assert again["confirmed"]["candidate"] == "1"
    assert again["confirmed"]["blocks"] == 6
    assert again["confirmed"]["ratio"]["low"] > 1
    assert again["candidates"] == verdict["candidates"], "confirmation trials decide nothing"
    assert len(looks) == len([look for look in looks if look.decided is not None])


@only_with_all
def test_one_setting_under_several_names_is_a_study_of_noise_that_recommends_nothing(dialin):
    load = ["--tables", "2", "--table-size", "10000", "--threads", "1"]
    out = dialin.directory / "noise"
    words = ["doctor", "--noise", "--server", FAST, "--names", "2", "--minutes", "1.1", "--measure", "2"]
    said, log = dialin(*words, *load, "--out", out, code=dialin.any_code)  # one in twenty may be fooled
    assert "Noise floor: a trial of 2 s varies by" in " ".join(said.split())
    assert "The smallest difference that a budget can detect here" in said
    assert "not measured yet" not in log, "an A/A study promises nothing"
    verdict = json.loads((out / "verdict.json").read_text())
    assert "identical candidates" in verdict["headline"].lower()
    assert (verdict["winners"], verdict["recommended"]) == ([], {})
    assert verdict["warnings"] == [note for note in verdict["warnings"] if note["code"] != "same_in_force"]
    with Store.open(out) as store:
        done = [trial for trial in store.trials() if trial.state is TrialState.DONE]
    assert len({trial.candidate for trial in done}) == 2
    assert sum(sum(trial.steps.values()) for trial in done) > 0.7 * 1.1 * 60, "it spends its budget"


COSTS = ["iops", *(pytest.param(goal, marks=only_with_all) for goal in ("cpu", "io"))]
GOALS = ["throughput", "stability", "latency"]


@only_with_all  # tests/race/test_runner_durability.py shows it; costs, below, are decided by the same gain
@pytest.mark.parametrize("goal", GOALS)
def test_weaker_durability_is_best_on_write_load_by_any_goal_and_is_not_recommended_silently(dialin, goal):
    words = [*FLUSH, *SHORT, *WRITES, "--goal", goal, "--percentile", "99", *PLENTY, "--worthwhile", "20%"]
    verdict = dialin.verdict(*words, code=dialin.any_code)
    assert (verdict["goal"], verdict["percentile"], verdict["worthwhile"]) == (goal, 99, 0.2)
    quicker = found_of(verdict, "2")
    assert quicker["ratio"]["mean"] > 1.2, "transactions a second stand beside it"
    assert verdict["recommended"] == {"innodb_flush_log_at_trx_commit": 1}
    if goal != "stability":
        # The choice is safe long before it is shown, on a machine as busy as that of these tests.
        assert verdict["verdict"] in ("winner", "safe_choice")
        assert quicker["probability"] > 0.9
        assert "weaker_durability" in {note["code"] for note in verdict["warnings"]}
        assert "durability" in verdict["reason"]
    if goal == "latency":
        assert quicker["goal_ratio"]["mean"] < 0.9, "lower is better"
        assert quicker["latency_ms"]["mean"] < found_of(verdict, "1")["latency_ms"]["mean"]


@pytest.mark.parametrize("goal", COSTS)
def test_what_a_transaction_costs_decides_in_a_sandbox(dialin, goal):
    out = dialin.directory / "study"
    words = [*FLUSH, *LITTLE, *WRITES, "--rate", "200", "--measure", "5", "--warmup", "1", "--goal", goal]
    words += [*PLENTY, "--worthwhile", "10%"]
    verdict = dialin.verdict(*words, "--accept-weaker-durability", "--out", out, code=dialin.any_code)
    synced, unsynced = found_of(verdict, "1"), found_of(verdict, "2")
    with Store.open(out) as store:
        done = [trial for trial in store.trials() if trial.state is TrialState.DONE]
    assert median(trial.costs.per_transaction[goal].error for trial in done) > 0
    costs = [trial.costs.per_transaction[goal].value for trial in done if trial.candidate == "1"]
    assert min(costs) * 0.98 <= synced["cost"]["mean"] <= max(costs) * 1.02
    assert unsynced["cost"]["mean"] / synced["cost"]["mean"] == pytest.approx(unsynced["goal_ratio"]["mean"])
    if goal == "iops":
        assert (verdict["verdict"], verdict["recommended_candidate"]) in (("winner", "2"), ("safe_choice", "2"))
        assert unsynced["goal_ratio"]["high"] < 0.8, "a commit without its fsync, and lower is better"
        assert 1.5 < synced["cost"]["mean"] < 20, "a write and an fsync of the log, and what page cleaners write"
    if goal == "cpu":
        assert all(0.02 < cost < 20 for cost in costs), "CPU of an update, ms"


@only_with_all
def test_a_candidate_far_behind_gets_the_fewest_trials(dialin):
    values = "innodb_flush_log_at_trx_commit=0,1,2"
    words = ["sweep", values, "--server", FAST, "--set", "sync_binlog=0", "--baseline", "2", *SHORT, *WRITES]
    verdict = dialin.verdict(*words, *PLENTY, "--worthwhile", "0.5%", "--until", "best", code=dialin.any_code)
    slow = found_of(verdict, "1")
    assert slow["state"] in ("worse", "likely_worse")
    assert slow["probability"] < 0.025
    assert slow["trials"] == min(found["trials"] for found in verdict["candidates"])
    assert slow["trials"] == 3 or slow["trials"] < verdict["trials"] / 3, "no more than a claim needs"


@only_with_all
def test_eight_names_of_one_setting_in_ten_minutes_claim_nothing(dialin):
    out = dialin.directory / "noise"
    dialin("doctor", "--noise", "--server", FAST, "--names", "8", "--minutes", "10", "--out", out, timeout=1500)
    verdict = json.loads((out / "verdict.json").read_text())
    assert verdict["verdict"] in ("inconclusive", "no_worthwhile_difference")
    assert not {"better", "worse"} & {found["state"] for found in verdict["candidates"]}
    assert verdict["winners"] == []
    assert not verdict["shown_better"]
    assert len({found["trials"] for found in verdict["candidates"]}) == 1, "each block has all of them"


@only_with_all
def test_a_planted_difference_is_found_within_three_minutes(dialin):
    verdict = dialin.verdict(*FLUSH, *LITTLE, *WRITES, "--minutes", "3")
    assert verdict["verdict"] == "winner"
    assert verdict["winners"] == ["2"]
    assert verdict["minutes_of_wall_clock"] < 3

"""Which settings of a tune are the best trades of throughput, latency and memory."""

from dialin.report.charts.tune_trade_off import MeasuredSetting, best_trades, measured_settings
from fixtures.simulated_servers import POOL
from fixtures.tuned import tuned

MIB = 2**20


def setting(name, throughput, latency, memory=None, changes=1):
    return MeasuredSetting(name, {f"v{place}": 1 for place in range(changes)}, 1, throughput, latency, memory)


def test_a_setting_worse_in_all_is_no_trade_and_one_of_less_memory_is():
    fast, small = setting("fast", 2000, 10, 900 * MIB), setting("small", 1500, 14, 100 * MIB)
    worse = setting("worse", 1400, 15, 500 * MIB)
    assert best_trades([fast, small, worse]) == [fast, small]


def test_differences_within_the_noise_do_not_count_and_the_smallest_setting_stands_for_those_alike():
    many, few = setting("many", 2001, 10, changes=9), setting("few", 2000, 10, changes=2)
    assert best_trades([many, few]) == [few]


def test_settings_of_a_tune_have_the_means_of_their_trials_and_the_memory_that_limits_them():
    record = tuned()
    settings = {one.name: one for one in measured_settings(record.course, record.spec, record.verdict)}
    baseline, chosen = settings["baseline"], settings[record.verdict.recommended_candidate]
    assert baseline.trials == record.verdict.candidate("baseline").trials, "those of the search do not count beside the proof's"
    assert baseline.throughput == record.verdict.candidate("baseline").tps.mean
    assert chosen.throughput > 1.3 * baseline.throughput
    assert chosen.latency < baseline.latency
    assert chosen.memory - baseline.memory == record.verdict.recommended[POOL] - 2**26

"""What each combination of values loses, in which crash, compared with a baseline."""

import itertools

import pytest

from dialin.model.durability import Loss, LossUnit
from dialin.variables.durability import DURABILITY_RULES, explanations, loss_text, losses_text, weaker_durability

FLUSH, SYNC, LOG = "innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin"
SAFE = {
    FLUSH: "1",
    "innodb_flush_log_at_timeout": "1",
    SYNC: "1",
    LOG: "ON",
    "innodb_doublewrite": "ON",
    "innodb_flush_method": "O_DIRECT",
    "innodb_checksum_algorithm": "crc32",
    "innodb_log_checksums": "ON",
}


def with_logs(flush, sync, log="ON"):
    return {**SAFE, FLUSH: str(flush), SYNC: str(sync), LOG: log}


def lost(candidate, baseline=SAFE):
    return [one.loss for one in weaker_durability(candidate, baseline)]


@pytest.mark.parametrize(
    ("name", "value", "loss"),
    [
        (FLUSH, "2", Loss.COMMITS_IN_MACHINE_CRASH),
        (FLUSH, "0", Loss.COMMITS_IN_SERVER_CRASH),
        (SYNC, "0", Loss.COMMITS_IN_MACHINE_CRASH),
        (SYNC, "100", Loss.COMMITS_IN_MACHINE_CRASH),
        (LOG, "OFF", Loss.BINARY_LOG),
        ("innodb_doublewrite", "OFF", Loss.HALF_WRITTEN_PAGES),
        ("innodb_doublewrite", "FALSE", Loss.HALF_WRITTEN_PAGES),
        ("innodb_doublewrite", "DETECT_ONLY", Loss.HALF_WRITTEN_PAGES),
        ("innodb_doublewrite", "fast", Loss.UNSYNCED_WRITES),
        ("innodb_flush_method", "nosync", Loss.COMMITS_IN_MACHINE_CRASH),
        ("innodb_flush_method", "littlesync", Loss.UNSYNCED_WRITES),
        ("innodb_flush_method", "O_DIRECT_NO_FSYNC", Loss.UNSYNCED_WRITES),
        ("innodb_flush_method", "5", Loss.UNSYNCED_WRITES),
        ("innodb_checksum_algorithm", "strict_none", Loss.PAGE_CHECKSUMS),
        ("innodb_log_checksums", "OFF", Loss.REDO_LOG_CHECKSUMS),
    ],
)
def test_a_value_that_keeps_less_is_weaker_and_named_as_the_cause(name, value, loss):
    first = weaker_durability({**SAFE, name: value}, SAFE)[0]
    assert (first.loss, first.variables) == (loss, [name])
    assert weaker_durability(SAFE, {**SAFE, name: value}) == []
    assert explanations(name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (FLUSH, "3"),
        ("innodb_doublewrite", "DETECT_AND_RECOVER"),
        ("innodb_doublewrite", "TRUE"),
        ("innodb_flush_method", ""),
        ("innodb_flush_method", "fsync"),
        ("innodb_flush_method", "O_DSYNC"),
        ("innodb_checksum_algorithm", "full_crc32"),
    ],
)
def test_a_value_as_safe_is_not_weaker(name, value):
    assert weaker_durability({**SAFE, name: value}, SAFE) == []


def test_only_a_log_that_is_written_once_a_second_loses_commits_when_the_server_alone_crashes():
    for flush, sync in itertools.product("0123", ("0", "1", "1000")):
        assert (Loss.COMMITS_IN_SERVER_CRASH in lost(with_logs(flush, sync))) is (flush == "0")


def test_with_an_unsynced_binary_log_one_synced_commit_can_be_rolled_back_but_not_without_a_binary_log():
    assert lost(with_logs(1, 0)) == [Loss.COMMITS_IN_MACHINE_CRASH, Loss.BINARY_LOG_EVENTS]
    assert lost(with_logs(1, 0, log="OFF"), with_logs(1, 1, log="OFF")) == []
    assert lost(with_logs(3, 0)) == [Loss.BINARY_LOG_EVENTS], "3 syncs the commit, too"


def test_where_both_leave_the_binary_log_unsynced_the_sentence_says_what_the_baseline_loses_too():
    (loss,) = weaker_durability(with_logs(2, 0), with_logs(1, 0))
    assert loss.variables == [FLUSH]
    assert loss_text(loss) == (
        "a crash of the machine can lose about the last second of commits; the baseline can lose the latest commits"
    )


def test_where_the_baseline_loses_as_much_nothing_is_weaker():
    assert lost(with_logs(2, 1), with_logs(2, 0)) == []
    assert lost(with_logs(1, 0), with_logs(2, 0)) == []
    assert lost(with_logs(1, 0), with_logs(2, 1)) == [Loss.BINARY_LOG_EVENTS]
    assert lost(with_logs(0, 0), with_logs(0, 1)) == [Loss.BINARY_LOG_EVENTS]


def test_the_timeout_decides_how_many_seconds_of_commits_are_lost():
    late = {**with_logs(2, 1), "innodb_flush_log_at_timeout": "30"}
    (loss,) = weaker_durability(late, with_logs(2, 1))
    assert loss.variables == ["innodb_flush_log_at_timeout"]
    assert "about the last 30 seconds of commits; the baseline can lose about the last second" in loss_text(loss)
    assert lost({**SAFE, "innodb_flush_log_at_timeout": "30"}) == [], "each commit is flushed"


def test_the_fewer_syncs_of_the_binary_log_the_more_it_loses():
    often, seldom, never = (with_logs(1, sync) for sync in (10, 1000, 0))
    assert lost(seldom, often) == lost(never, seldom) == [Loss.BINARY_LOG_EVENTS]
    assert lost(often, seldom) == lost(seldom, never) == []
    assert "the last 1,000 group commits from the binary log" in losses_text(weaker_durability(seldom, SAFE))


def test_turning_an_unsynced_binary_log_on_is_weaker_though_it_adds_one():
    off = with_logs(1, 1, log="OFF")
    first = weaker_durability(with_logs(1, 0), off)[0]
    assert (first.loss, first.variables) == (Loss.COMMITS_IN_MACHINE_CRASH, [SYNC, LOG])


def test_nosync_makes_a_synced_log_unsynced():
    losses = weaker_durability({**SAFE, "innodb_flush_method": "nosync"}, SAFE)
    assert losses[0].amount.unit is LossUnit.UNKNOWN
    assert "an unknown number of commits" in loss_text(losses[0])


def test_variables_that_a_build_lacks_are_passed_over():
    assert weaker_durability({SYNC: "1"}, {}) == []
    assert weaker_durability({FLUSH: "2"}, {FLUSH: "1"})[0].variables == [FLUSH]


def test_no_setting_is_weaker_than_itself_and_no_two_are_weaker_than_each_other_in_the_same_way():
    values = [with_logs(*one) for one in itertools.product("0123", ("0", "1", "50"), ("ON", "OFF"))]
    for a, b in itertools.product(values, values):
        assert not set(lost(a, b)) & set(lost(b, a))
        assert a != b or lost(a, b) == []


def test_every_rule_names_its_source():
    assert all(rule.source and rule.loses and not rule.loses.endswith(".") for rule in DURABILITY_RULES)
    assert {rule.loss for rule in DURABILITY_RULES} == set(Loss)

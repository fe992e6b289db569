"""What statements took most time, and percentiles of their times from the server's histogram."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.evidence import statement_times as evidence
from dialin.evidence.statement_times import MOST, percentile
from dialin.model.evidence import Watched
from dialin.model.record import StudyRecord
from fixtures.evidence_of import of_record
from fixtures.example_evidence import nothing_moved, waits_moved
from fixtures.study_builder import HOSTILE

statements = of_record(evidence.statements)
statement_times = of_record(evidence.statement_times)

READ = "SELECT `c` FROM `sbtest1` WHERE `id` = ? / ?"


def digest(text: str, seconds: float = 2.0, count: float = 1000.0) -> dict[str, float]:
    """Return the counters of a statement of which each execution examined 3 rows and waited 4 µs for locks."""
    return {
        f"{text}/count": count,
        f"{text}/seconds": seconds,
        f"{text}/rows_examined": 3 * count,
        f"{text}/rows_sent": 2 * count,
        f"{text}/lock_seconds": 4e-6 * count,
        f"{text}/tmp_disk_tables": count / 10,
    }


def watched(of: Callable[[str], Mapping[str, float]]) -> StudyRecord:
    """Return a record whose performance schema told these counters, by candidate, in 10 s of each trial."""
    record = waits_moved()
    seen = {trial.id: {"statements": Watched("statements", 10, of(trial.candidate), readings=2)} for trial in record.trials}
    return replace(record, watched=seen)


def test_figures_are_by_the_execution_and_executions_by_the_second() -> None:
    (row,) = statements(watched(lambda name: digest(READ, 2.0 * int(name))))
    assert row.digest == READ
    first, eighth = row.candidates["1"], row.candidates["8"]
    assert first.per_second == pytest.approx(100)
    assert (first.mean_us, eighth.mean_us) == (pytest.approx(2000), pytest.approx(16_000))
    assert (first.rows_examined, first.rows_sent, first.disk_tables) == (3, 2, 0.1)
    assert first.lock_us == pytest.approx(4)


def test_those_with_most_time_of_all_candidates_together_are_reported_most_first() -> None:
    def of(name: str) -> dict[str, float]:
        counters = {key: value for place in range(8) for key, value in digest(f"S{place}", 1.0 + place).items()}
        return counters | (digest("ONLY ONE", 17.0) if name == "8" else {})

    reported = statements(watched(of))
    assert [row.digest for row in reported] == ["ONLY ONE", "S7", "S6", "S5", "S4"]
    assert len(reported) == MOST
    assert reported[0].candidates.keys() == {"8"}, "the other never ran it"


def test_statements_of_less_than_a_hundredth_of_the_time_are_left_out() -> None:
    reported = statements(watched(lambda _: digest(READ, 9.9) | digest("SHOW STATUS", 0.09)))
    assert [row.digest for row in reported] == [READ]


def test_a_statement_that_never_ran_meanwhile_is_not_reported() -> None:
    assert statements(watched(lambda _: digest(READ, 0.0, 0.0))) == []
    assert statements(nothing_moved()) == []


def test_a_digest_that_is_named_as_the_histogram_is_a_digest() -> None:
    record = watched(lambda _: digest("histogram") | digest(HOSTILE, 1.0) | {"histogram/10.4": 5.0})
    assert [row.digest for row in statements(record)] == ["histogram", HOSTILE]
    assert [one.p99_us for one in statement_times(record)] == [10.4, 10.4]


def test_percentiles_are_the_upper_ends_of_buckets_over_all_trials() -> None:
    counters = {"histogram/100": 60.0, "histogram/10": 30.0, "histogram/1e+06": 9.0, "histogram/inf": 1.0}
    first, eighth = statement_times(watched(lambda name: counters if name == "1" else {"histogram/inf": 3.0}))
    assert (first.p50_us, first.p95_us, first.p99_us) == (100.0, 1e6, 1e6)
    assert (eighth.candidate, eighth.p50_us, eighth.p99_us) == ("8", None, None)
    assert first.statements == 100 * sum(trial.candidate == "1" for trial in waits_moved().trials if trial.purpose == "race")


def test_a_build_without_histograms_has_no_percentiles() -> None:
    assert statement_times(watched(lambda _: digest(READ))) == []
    assert statement_times(watched(lambda _: {"histogram/10": 0.0})) == []


@given(
    st.dictionaries(st.floats(1, 1e9), st.integers(1, 1000).map(float), min_size=1, max_size=20),
    st.floats(0.01, 1.0),
)
def test_at_least_its_share_lies_at_or_below_a_percentile_and_less_below_the_bucket_before(
    buckets: dict[float, float], share: float
) -> None:
    found = percentile(buckets, share)
    assert found in buckets
    wanted = share * sum(buckets.values())
    assert sum(count for upper, count in buckets.items() if upper <= found) >= wanted
    assert sum(count for upper, count in buckets.items() if upper < found) < wanted

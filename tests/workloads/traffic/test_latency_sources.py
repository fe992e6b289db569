"""Where the latency of a live server's statements is read, and what is refused."""

import pytest

from dialin.errors import UserError
from dialin.model.live import LatencySource
from dialin.servers.connection import RefusedError
from dialin.workloads.traffic import latency_sources

SUMMARY, HISTOGRAM, RESPONSES = "summary_global_by_event_name", "histogram_global", "information_schema.query_response_time"


class Server:
    """Answers by the words of a statement; what it does not have it refuses."""

    def __init__(self, **answers):
        self.answers = {"VERSION": [("9.7.4",)], "version_comment": [("(Debian)",)], **answers}

    def __call__(self, statement, arguments=()):
        for words, rows in self.answers.items():
            if words in statement:
                return rows
        raise RefusedError(f"it has no {statement}", "", 1193)


def test_the_best_source_that_answers_is_chosen():
    on = {"@@performance_schema": [(1,)], SUMMARY: [(1,)]}
    assert latency_sources.choose(Server(**on, **{HISTOGRAM: [(1,)]})) is LatencySource.HISTOGRAM
    assert latency_sources.choose(Server(**on)) is LatencySource.SUMMARY
    plugin = {"@@query_response_time_stats": [(1,)], RESPONSES: [(1,)]}
    assert latency_sources.choose(Server(**{"@@performance_schema": []}, **plugin)) is LatencySource.RESPONSE_TIME
    assert latency_sources.choose(Server(**on, **plugin)) is LatencySource.SUMMARY


@pytest.mark.parametrize(
    ("answers", "remedy"),
    [
        ({"@@performance_schema": [(1,)]}, "Grant the account SELECT on performance_schema"),
        ({"@@performance_schema": []}, "Start the server with performance_schema=ON"),
        ({"VERSION": [("10.11.6-MariaDB",)]}, "INSTALL SONAME 'query_response_time'"),
        ({"VERSION": [("10.11.6-MariaDB",)], "@@query_response_time_stats": []}, "query_response_time_stats = ON"),
        ({"VERSION": [("5.7.44-48",)], "version_comment": [("Percona Server (GPL)",)]}, "INSTALL PLUGIN QUERY_RESPONSE_TIME "),
        ({"VERSION": [("8.0.40-31",)], "version_comment": [("Percona Server (GPL)",)]}, "Start the server with"),
    ],
)
def test_a_server_that_does_not_time_its_statements_is_refused_with_a_remedy(answers, remedy):
    with pytest.raises(UserError, match="does not show how long its statements take") as refused:
        latency_sources.choose(Server(**answers))
    assert remedy in refused.value.remedy


def test_times_of_the_performance_schema_are_milliseconds_and_those_within_procedures_are_left_out():
    rows = [("statement/sql/select", 3, 6_000_000_000, 1), ("statement/sp/stmt", 9, 9_000_000_000, 0)]
    buckets = [(2_000_000_000, 2), (18_446_744_073_709_551_615, 1)]
    read = latency_sources.read(Server(**{SUMMARY: rows, HISTOGRAM: buckets}), LatencySource.HISTOGRAM)
    assert (dict(read.counts), dict(read.times), read.errors) == ({"sql/select": 3}, {"sql/select": 6}, 1)
    assert read.buckets[2.0] == 2
    assert sum(read.buckets.values()) == 3


def test_the_plugin_counts_all_statements_as_one_kind():
    rows = [("      0.000001", 0, "      0.000000"), ("      0.001000", 40, "      0.020000"), ("TOO LONG", 0, "TOO LONG")]
    read = latency_sources.read(
        Server(**{RESPONSES: [(count, total) for _, count, total in rows]}), LatencySource.RESPONSE_TIME
    )
    assert (dict(read.counts), dict(read.times)) == ({"all": 40}, {"all": 20})

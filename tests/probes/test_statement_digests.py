from dialin.probes.statement_digests import StatementProbe
from dialin.sentences.probe_notes import probe_note_text
from probes.asked import Asked

ON = {"@@performance_schema": [(1,)]}


def probe(*digests, histogram=1146, executions=()):
    answers = {"by_digest": digests, "histogram_global": histogram, "statement/com/Execute": executions}
    return StatementProbe(Asked({**ON, **answers}))


def test_a_statement_is_reported_by_its_text_without_needless_space():
    text = "SELECT `c` FROM `sbtest1` \n WHERE `id` = ? "
    counters = probe(("sbtest", text, 100, 5 * 10**12, 100, 99, 10**12, 1)).read().counters
    name = "SELECT `c` FROM `sbtest1` WHERE `id` = ?"
    assert counters == {
        f"{name}/count": 100,
        f"{name}/seconds": 5,
        f"{name}/rows_examined": 100,
        f"{name}/rows_sent": 99,
        f"{name}/lock_seconds": 1,
        f"{name}/tmp_disk_tables": 1,
    }


def test_statements_that_begin_alike_or_run_in_several_schemas_are_added_up():
    long = "SELECT " + "`c` , " * 60
    counters = probe(("a", long, 1, 0, 0, 0, 0, 0), ("b", long + "`d`", 2, 0, 0, 0, 0, 0)).read().counters
    assert counters[f"{long[:200]}/count"] == 3


def test_statements_of_the_probes_themselves_are_left_out():
    ours = [
        "SHOW GLOBAL STATUS",
        "SHOW ENGINE `INNODB` STATUS",
        "SELECT NAME , COUNT , TYPE FROM `information_schema` . `innodb_metrics` WHERE `STATUS` = ?",
        "SELECT `EVENT_NAME` FROM `performance_schema` . `file_summary_by_event_name`",
    ]
    columns = " , ".join(f"`SUM_{place}`" for place in range(30))
    ours.append(f"SELECT {columns} FROM `performance_schema` . `file_summary_by_event_name`")  # the name ends before it is told
    rows = [(None, text, 9, 0, 0, 0, 0, 0) for text in ours]
    counters = probe(*rows, ("sbtest", "SHOW TABLES", 1, 0, 0, 0, 0, 0), (None, "COMMIT", 2, 0, 0, 0, 0, 0)).read().counters
    assert {name.partition("/")[0] for name in counters} == {"SHOW TABLES", "COMMIT"}


def test_statements_beyond_what_the_server_keeps_have_a_name():
    assert (
        "(statements beyond the digests that the server can keep)/count"
        in probe((None, None, 4, 0, 0, 0, 0, 0)).read().counters
    )


def test_the_buckets_of_the_histogram_are_named_by_microseconds():
    counters = probe(histogram=[(10_000_000, 119), (10_471_285, 18), (18446744073709551615, 1)]).read().counters
    assert counters == {"histogram/10": 119, "histogram/10.4713": 18, "histogram/inf": 1}


def test_a_server_without_histograms_is_asked_once():
    asked = Asked({**ON, "by_digest": []})
    reader = StatementProbe(asked)
    assert reader.read() == reader.read()
    assert sum("histogram" in statement for statement in asked.statements) == 1


EXECUTED = (None, None, 12935, 2 * 10**12, 461309, 9, 0, 0)


def test_executions_of_prepared_statements_that_have_no_digest_are_reported_together():
    reading = probe(("sbtest", "BEGIN", 726, 0, 0, 0, 0, 0), executions=[EXECUTED]).read()
    assert reading.counters["(prepared statements together)/count"] == 12935
    assert reading.counters["(prepared statements together)/seconds"] == 2
    assert any("prepared statements" in probe_note_text(note) for note in reading.notes)


def test_executions_that_have_digests_are_not_reported_twice():
    reading = probe(("sbtest", "EXECUTE COMMIT", 574, 0, 0, 0, 0, 0), executions=[EXECUTED]).read()
    assert reading.counters["EXECUTE COMMIT/count"] == 574
    assert not [name for name in (*reading.counters, *map(probe_note_text, reading.notes)) if "prepared" in name]

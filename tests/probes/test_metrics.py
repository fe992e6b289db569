import pytest

from dialin.probes.metrics import MetricsProbe
from dialin.sentences.probe_notes import probe_note_text
from probes.asked import Asked, RefusalError

ROWS = (
    ("buffer_pool_reads", 913, "status_counter"),
    ("lock_rec_grant_attempts", 3, "counter"),
    ("buffer_pool_pages_free", 6874, "value"),
    ("os_pending_reads", 1, "counter"),
    ("ibuf_size", 1, "status_counter"),
    ("lock_deadlocks", 2, "value"),
)


def test_the_type_reports_counters_from_gauges_but_where_the_server_is_wrong():
    reading = MetricsProbe(Asked({"STATUS = 'enabled'": ROWS})).read()
    assert reading.counters == {"buffer_pool_reads": 913, "lock_rec_grant_attempts": 3, "lock_deadlocks": 2}
    assert reading.gauges == {"buffer_pool_pages_free": 6874, "os_pending_reads": 1, "ibuf_size": 1}


def test_mariadb_is_asked_by_its_own_column_and_then_only_so():
    asked = Asked({"STATUS = 'enabled'": 1054, "ENABLED = 1": ROWS})
    probe = MetricsProbe(asked)
    assert probe.read() == probe.read()
    assert ["STATUS" in statement for statement in asked.statements] == [True, False, False]


@pytest.mark.parametrize(("number", "sentence"), [(1109, "This server has no"), (1227, "The account lacks PROCESS")])
def test_a_server_without_them_is_asked_once_and_the_note_says_why(number, sentence):
    asked = Asked({"innodb_metrics": number})
    probe = MetricsProbe(asked)
    for _ in range(2):
        reading = probe.read()
        assert not reading.counters
        assert sentence in probe_note_text(reading.notes[0])
    assert len(asked.statements) == 1


def test_a_passing_trouble_is_raised_and_the_server_asked_again():
    asked = Asked({"innodb_metrics": 2013})
    probe = MetricsProbe(asked)
    with pytest.raises(RefusalError):
        probe.read()
    asked.answers["innodb_metrics"] = ROWS
    assert probe.read().counters


def test_an_empty_table_is_said_to_be_one():
    reading = MetricsProbe(Asked({"innodb_metrics": []})).read()
    assert not reading.counters
    assert "lacks PROCESS" in probe_note_text(reading.notes[0])

import pytest

from dialin.model.record import LogCode, LogLine
from dialin.sentences.log_sentences import log_text
from dialin.store.store import Store


@pytest.fixture
def new_store(tmp_path, spec):
    with Store.create(tmp_path, spec, created=0, dialin_version="0", command="", host={}, servers={}) as made:
        yield made


CHANGE = {"variable": "max_connections", "before": "100", "after": "200", "under_test": True, "step": "stop"}
FIGURES = {
    "before": 5,
    "block": 2,
    "candidate": "8",
    "cause": {"code": "hung", "figures": {"seconds": 60}},
    "changes": [CHANGE],
    "events": 90,
    "expected": 1.2,
    "floor": 812.5,
    "host": "db-3",
    "hours": {"1": 0.04, "4": 0.02},
    "latency_ms": 2.3,
    "lost": 10,
    "noise": 0.02,
    "pattern": "hash_table_locks",
    "per_second": 412.0,
    "seconds": 600,
    "setting": {"max_connections": 100},
    "step": "measure",
    "text": '{"code": is what a server wrote',
    "times": 10,
    "trend": 0.2,
    "trend_error": 0.05,
    "trial": 3,
    "trials": 24,
    "unit": "transactions/s",
    "washout": 120,
}


@pytest.mark.parametrize("code", LogCode)
def test_every_line_has_a_sentence_that_survives_the_store(code, new_store):
    line = LogLine(5.0, code, FIGURES)
    new_store.add_line(line)
    (stored,) = new_store.read().log
    assert log_text(stored) == log_text(line) != ""


def test_a_line_that_an_earlier_dialin_stored_is_shown_as_stored(new_store):
    new_store.say(5.0, "Trial 3 (8) failed at boot: no memory")
    (stored,) = new_store.read().log
    assert log_text(stored) == "Trial 3 (8) failed at boot: no memory"

"""One replay on the terminal: figures, the possible cause of those beyond their limit, and the statements that differ most."""

import io

import pytest
from rich.console import Console

from dialin.model.replay import DigestDifference
from dialin.report.replay_page import print_replay
from dialin.report.replay_sentences import CAUSES, RATIOS, SHARES, replay_parts
from dialin.workloads.replay.replay_limits import LIMITS

DIFFERENCES = [
    DigestDifference("insert into orders values (...)", 1_200, 468, 1452, 0, 0, 0.1, 0.05),
    DigestDifference("select [bold]" + "name, " * 40 + "from t", 9, 0, None, 0, 7, None, None),
]


def printed(facts, differences=(), width=120):
    stream = io.StringIO()
    print_replay(replay_parts(facts, LIMITS), facts, differences, Console(file=stream, width=width))
    return stream.getvalue()


@pytest.mark.parametrize("name", CAUSES)
def test_a_figure_beyond_its_limit_has_its_possible_cause(name):
    assert f"Possible cause: {CAUSES[name]}" in printed({name: 30.0}).replace("\n" + " " * 10, " ")
    assert "Possible cause" not in printed({name: 1.0 if name in RATIOS else 0.0})


def test_every_cause_belongs_to_a_figure():
    assert set(CAUSES) <= {*SHARES, *RATIOS}


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_statements_that_differ_are_named_at_each_width(width):
    text = printed({"replay_new_errors": 0.3}, DIFFERENCES, width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "468 (1452)" in text
    assert "insert into orders values (...)"[:10] in text
    assert "select [bold]" in text, "a digest is no markup"


def test_without_differences_there_is_no_table():
    assert "differ most" not in printed({"replay_new_errors": 0.0})

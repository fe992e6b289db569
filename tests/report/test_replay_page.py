"""One replay on the terminal: figures, the possible cause of those beyond their limit, and the statements that differ most."""

import io

import pytest
from rich.console import Console

from dialin.model.load_driver import ReplayedDigest
from dialin.report.capture_page import print_replay
from dialin.sentences.replay_sentences import CAUSES, RATIOS, SHARES, replay_parts
from dialin.workloads.replay.replay_options import LIMITS

DIGESTS = [
    ReplayedDigest("insert into orders values (...)", 1_200, 468, 1452, 0, 0, 3, 24.2, 1.4, 0.1, 0.05),
    ReplayedDigest("select [bold]" + "name, " * 40 + "from t", 9, other_rows=7, replayed_ms=0.5),
]


def printed(facts, digests=(), width=120):
    stream = io.StringIO()
    print_replay(replay_parts(facts, LIMITS), facts, digests, Console(file=stream, width=width))
    return stream.getvalue()


@pytest.mark.parametrize("name", CAUSES)
def test_a_figure_beyond_its_limit_has_its_possible_cause(name):
    assert f"Possible cause: {CAUSES[name]}" in printed({name: 30.0}).replace("\n" + " " * 10, " ")
    assert "Possible cause" not in printed({name: 1.0 if name in RATIOS else 0.0})


def test_every_cause_belongs_to_a_figure():
    assert set(CAUSES) <= {*SHARES, *RATIOS}


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_statements_that_differ_are_named_at_each_width(width):
    text = printed({"replay_new_errors": 0.3}, DIGESTS, width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "468 (1452)" in text
    assert "insert into orders values (...)"[:10] in text
    assert "select [bold]" in text, "a digest is no markup"


def test_the_times_of_a_statement_stand_beside_each_other():
    (line,) = [line for line in printed({}, DIGESTS, 200).splitlines() if "insert into orders" in line]
    assert line.split("insert into")[0].split()[-7:] == ["24.2", "1.40", "10.0", "%", "→", "5.0", "%"]


def test_without_digests_there_is_no_table():
    assert "differ most" not in printed({"replay_new_errors": 0.0})


def test_fidelity_is_what_the_load_did_and_not_when():
    late = " ".join(printed({"replay_other_rows": 0.0, "replay_other_changes": 0.0, "replay_late": 0.363}).split())
    assert "Fidelity of the replay: 100.0 %." in late
    assert "Its timing or the work of the server differ: transactions that began more than 5 ms late (36.3 %)" in late
    assert "This is not the captured load" not in late
    wrong = " ".join(printed({"replay_other_rows": 0.0, "replay_other_changes": 1.0, "replay_late": 0.1}).split())
    assert "Fidelity of the replay: 0.0 %; the worst part: changes of another number of rows (100.0 %)" in wrong
    assert "This is not the captured load" in wrong

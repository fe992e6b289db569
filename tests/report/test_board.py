from dataclasses import replace

import pytest

from dialin.model.trial import Purpose, Step, Trial, TrialState
from dialin.report.board import Board

TRIAL = Trial(4, 2, 1, 1, "4", TrialState.RUNNING, 5.0)


@pytest.mark.parametrize(
    ("trial", "block", "which"),
    [
        (None, "between trials", ""),
        (TRIAL, "block 2 of about 6", "Trial 1 of the block"),
        (replace(TRIAL, block=9), "block 9 of about 9", "Trial 1 of the block"),
        (replace(TRIAL, purpose=Purpose.CONFIRM), "block 2 of about 6", "Confirmation trial 1 of the block"),
        (replace(TRIAL, purpose=Purpose.WAITS), "collecting raw waits", "Trial 1 for waits"),
    ],
)
def test_where_a_study_is_in_its_course_is_said_alike_everywhere(spec, trial, block, which):
    board = Board(spec=spec, blocks=6, trial=trial)
    assert board.block_progress() == block
    assert board.trial_progress(10.0)[0] == which


def test_a_trial_says_what_it_does_for_how_long(spec):
    board = Board(spec=spec, blocks=6, trial=TRIAL)
    assert board.trial_progress(10.0) == ("Trial 1 of the block", "innodb_buffer_pool_instances = 4", "starting")
    board.begin_step(Step.BOOT, 7.0)
    assert board.trial_progress(10.0)[2] == "starting the server for 3 s"


def test_each_of_several_hosts_says_what_it_does_and_which_one_is_behind(spec):
    board = Board(spec=spec)
    board.name_hosts(["east"], 0.0)
    assert board.host_lines(1.0) == []
    board.name_hosts(["east", "west", "north"], 0.0)
    for host, trials in (("east", 8), ("west", 7), ("north", 4)):
        for _ in range(trials):
            board.end_trial(replace(TRIAL, host=host), {}, 20.0)
    board.begin_trial(replace(TRIAL, host="north"), 60.0, 20.0)
    east, west, north = board.host_lines(23.0)
    assert east == "east: idle for 3 s, 8 trials so far"
    assert west == "west: idle for 3 s, 7 trials so far"
    assert north.startswith("north: block 2, ")
    assert north.endswith(" for 3 s, 4 trials so far, behind (median of all hosts 7)")

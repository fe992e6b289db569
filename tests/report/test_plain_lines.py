import io
from dataclasses import replace

import pytest

from dialin.model.trial import Purpose
from dialin.report.charts import trial_series
from dialin.report.plain_lines import PlainLines
from dialin.text import number
from fixtures import example_studies
from fixtures.event_replay import drive


def reported(record):
    stream = io.StringIO()
    drive(record, PlainLines(stream))
    return stream.getvalue().splitlines()


def test_a_trial_is_one_line_and_the_verdict_is_none():
    record = example_studies.no_difference()
    lines = reported(record)
    assert len(lines) == 2 + len(record.trials)
    assert lines[0] == "Study of 3 values of innodb_buffer_pool_instances, baseline 1: about 6 blocks, about 27 min."


def test_a_trial_is_reported_with_its_figure_and_how_its_candidate_stands():
    lines = reported(example_studies.no_difference())
    ended = [line for line in lines if "ended with" in line and "= 16" in line]
    assert ended[-1].startswith("Block 6, trial")
    assert "+0.8 % to the baseline after 6 trials" in ended[-1]
    first, last = lines[2], lines[-1]
    assert first.endswith("about 25 min left.")
    assert not last.endswith("left."), "nothing is left"


def test_a_failed_trial_is_said_to_have_failed():
    assert sum("pool 900G failed" in line for line in reported(example_studies.failed_candidate())) == 4


def test_hostile_names_cannot_break_a_line_or_act():
    text = "\n".join(reported(example_studies.hostile()))
    assert "\x1b" not in text
    assert "\\x1b[31m" in text


def test_a_log_in_ascii_loses_characters_and_not_the_study():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    drive(example_studies.winner(), PlainLines(stream))
    assert b"ended with" in raw.getvalue()


@pytest.mark.parametrize("error", [BrokenPipeError, ValueError])
def test_a_reader_that_went_away_does_not_end_the_study(error):
    class Gone(io.StringIO):
        def write(self, text):
            raise error

    drive(example_studies.no_difference(), PlainLines(Gone()))


def test_a_trial_reports_what_the_host_lost_of_it_and_its_figure_leaves_that_out():
    record = example_studies.safe_choice()
    trial = next(one for one in trial_series.all_series(record) if one.lost_seconds == 3)
    line = next(line for line in reported(record) if "3 s of host stalls" in line)
    assert f"ended with {number(trial.mean)} transactions/s, 3 s of host stalls" in line


def test_trials_are_numbered_in_their_block_and_fresh_ones_are_called_so():
    lines = reported(example_studies.safe_choice())
    assert [line.partition(":")[0] for line in lines if line.startswith("Block 7, trial")] == [
        f"Block 7, trial {number}" for number in (1, 2, 3)
    ]
    assert "Block 8, confirmation trial 1: innodb_buffer_pool_instances = 16 ended with" in "\n".join(lines)


def test_a_candidate_that_is_out_with_its_trial_is_said_to_get_no_further_ones():
    lines = reported(example_studies.failed_candidate())
    assert sum("pool 90G failed; it gets no further trials" in line for line in lines) == 1
    assert not any("no further trials" in line for line in reported(example_studies.safe_choice()))


def test_a_trial_that_collects_waits_is_called_so_and_is_not_compared():
    record = example_studies.no_difference()
    last = replace(record.trials[-1], purpose=Purpose.WAITS, candidate="16")
    lines = reported(replace(record, trials=[*record.trials[:-1], last]))
    ended = next(line for line in lines if "for waits" in line and "ended" in line)
    assert ended.startswith(f"Trial {last.position} for waits: innodb_buffer_pool_instances = 16 ended with")
    assert "to the baseline" not in ended

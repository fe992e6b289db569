import io
from contextlib import suppress
from dataclasses import replace

import pytest
from rich.console import Console

from dialin.model.progress import Standing
from dialin.model.study import Goal
from dialin.model.trial import Purpose, Step
from dialin.report import screen
from dialin.report.board import Board, sparkline
from fixtures import example_studies
from fixtures.event_replay import drive


class Moved:
    """A clock that the driven study moves."""

    def __init__(self):
        self.at = 0.0

    def now(self):
        return self.at

    def monotonic(self):
        return self.at

    def sleep(self, seconds):
        raise AssertionError("a screen never waits")

    def to(self, at):
        self.at = max(self.at, at)


class EnoughError(Exception):
    """The study was driven as far as a test wants."""


def shown_after(record, events, width=100, height=30, plain=False):
    """Return the screen's lines after so many events of a study."""
    clock = Moved()
    live = screen.LiveScreen(Console(file=io.StringIO()), clock)
    left = events

    def tick(at):
        nonlocal left
        clock.to(at)
        left -= 1
        if left < 0:
            raise EnoughError

    with suppress(EnoughError):
        drive(record, live, tick)
    return [line.plain for line in screen.draw(live._board, clock.now(), width, height, plain=plain)]


def test_the_screen_reports_block_phase_time_left_and_the_last_minute():
    text = "\n".join(shown_after(example_studies.winner(), 800))
    assert "block 2 of about 5, about 38 min left, 14 min 21 s so far" in text
    assert "Trial 3 of the block: innodb_buffer_pool_instances = 16, warming up for 12 s" in text
    assert "transactions/s, p95" in text
    assert "▇" in text
    assert "Data is prepared" in text


def test_candidates_stand_with_their_figures_so_far():
    lines = shown_after(example_studies.winner(), 800)
    row = next(line for line in lines if line.startswith("16 "))
    assert row.split() == ["16", "1", "1,412", "+24.8", "%"]
    assert any(line.startswith("1 ") and line.endswith("baseline") for line in lines)


@pytest.mark.parametrize("width", [10, 24, 40, 60, 80, 200])
@pytest.mark.parametrize("height", [1, 6, 12, 40])
@pytest.mark.parametrize("name", ["winner", "hostile"])
def test_the_screen_fits_whatever_size_the_terminal_takes(name, width, height):
    for events in (0, 1, 60, 150, 100_000):
        lines = shown_after(example_studies.EVERY[name](), events, width, height)
        assert len(lines) <= height
        assert all(len(line) <= width for line in lines)


def test_a_low_terminal_keeps_the_baseline_and_the_candidate_that_runs():
    lines = shown_after(example_studies.winner(), 800, height=15)
    labels = [line.split()[0] for line in lines if line.split()]
    assert {"1", "16"} < set(labels)
    assert "and 5 more" in lines


def test_a_terminal_of_a_few_rows_shows_what_runs_now():
    lines = shown_after(example_studies.winner(), 800, width=60, height=5)
    assert lines[0].startswith("dialin  innodb_buffer_pool_instances")
    assert lines[1].startswith("block 2 of about 5, about 38 min left")
    assert lines[2].startswith("Trial 3 of the block: innodb_buffer_pool_instances = 16")
    assert "transactions/s, p95" in lines[3]


def test_time_goes_on_between_events():
    record = example_studies.winner()
    board = Board()
    board.begin(record.spec, 5, 600, now=1000)
    assert board.seconds_left(1060) == 540
    assert board.seconds_left(5000) == 0
    assert board.share_done(1300) == 0.5


def test_hostile_text_cannot_act_on_the_screen():
    text = "\n".join(shown_after(example_studies.hostile(), 200, width=160))
    assert "\x1b" not in text
    assert "\\x1b[31m" in text


def test_an_ascii_terminal_gets_ascii_bars():
    text = "\n".join(shown_after(example_studies.winner(), 800, plain=True))
    assert text.isascii()


def test_the_verdict_is_the_last_thing_shown():
    assert "1,120 → 1,403 tps" in "\n".join(shown_after(example_studies.winner(), 1_000_000))


def test_the_terminal_is_left_as_it_was_found():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80, height=24)

    def interrupted():
        with screen.LiveScreen(console, Moved()) as watcher:
            drive(example_studies.no_difference(), watcher)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    text = stream.getvalue()
    assert text.count("\x1b[?1049h") == text.count("\x1b[?1049l") == 1
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert text.endswith(("\x1b[?25h", "\x1b[?1049l"))


def test_a_sparkline_starts_at_zero_so_that_noise_looks_like_noise():
    assert sparkline([0, 50, 100]) == "▁▅█"
    assert sparkline([990, 1000]) == "██"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""


def test_candidates_that_are_out_are_marked_and_dimmed():
    record = example_studies.failed_candidate()
    clock = Moved()
    live = screen.LiveScreen(Console(file=io.StringIO()), clock)
    drive(record, live, clock.to)
    live._board.verdict = None
    lines = screen.draw(live._board, clock.now(), 80, 30)
    rows = {line.plain[:9].strip(): line for line in lines if line.plain.startswith("pool ")}
    assert len(rows) == 4
    out = {name for name, line in rows.items() if line.plain.endswith("out")}
    assert out == {"pool 90G", "pool 900G"}
    assert {name for name, line in rows.items() if line.style == "dim"} == out


def test_a_low_terminal_keeps_those_in_the_race_before_those_that_are_out():
    record = example_studies.safe_choice()
    board = Board()
    board.begin(record.spec, 7, 600, now=0)
    board.end_trial(
        record.trials[-1],
        {
            name: Standing(3, 0, tps, 1.0, out=tps > 1000)
            for name, tps in zip(["1", "2", "4", "8", "16", "32", "64"], (1, 2000, 2000, 900, 800, 700, 2000), strict=True)
        },
        now=0,
    )
    assert screen._candidates_shown(board, record.spec, 4) == {"1", "8", "16"}


def test_a_fresh_trial_is_called_so_and_the_last_minute_reports_what_the_host_lost():
    record = example_studies.safe_choice()
    fresh = next(trial for trial in record.trials if trial.purpose is Purpose.CONFIRM)
    board = Board()
    board.begin(record.spec, 7, 600, now=0)
    board.begin_trial(fresh, 60, now=0)
    board.seconds.extend(next(samples for samples in record.samples.values() if sum(s.lost for s in samples) == 3)[-60:])
    text = "\n".join(line.plain for line in screen.draw(board, 10.0, 100, 30))
    assert "Confirmation trial 1 of the block: innodb_buffer_pool_instances = 16" in text
    assert "3 s of host stalls" in text


def test_a_trial_that_collects_waits_is_called_so():
    record = example_studies.no_difference()
    board = Board()
    board.begin(record.spec, 6, 600, now=0)
    trial = replace(record.trials[0], purpose=Purpose.WAITS)
    board.begin_trial(trial, 60, now=10)
    board.begin_step(Step.MEASURE, now=20)
    text = "\n".join(line.plain for line in screen.draw(board, 50, 100, 30))
    assert "collecting raw waits, about" in text
    assert f"Trial {trial.position} for waits: " in text
    assert ", collecting raw waits for 30 s" in text


def test_where_several_numbers_of_threads_are_measured_the_step_reports_which():
    record = example_studies.no_difference()
    workload = record.spec.workload.model_copy(update={"levels": (1, 16)})
    board = Board()
    board.begin(record.spec.model_copy(update={"workload": workload}), 6, 600, now=0)
    board.begin_trial(record.trials[0], 60, now=10)
    board.begin_step(Step.MEASURE, now=20)
    newest = next(sample for sample in record.samples[1] if sample.step is Step.MEASURE)
    board.seconds.append(replace(newest, threads=1))
    assert ", measuring with 1 thread for 30 s" in "\n".join(line.plain for line in screen.draw(board, 50, 100, 30))
    board.begin_step(Step.WARM_UP, now=50)
    assert ", warming up for 5 s" in "\n".join(line.plain for line in screen.draw(board, 55, 100, 30))


def test_with_latency_as_the_goal_the_screen_ranks_by_latency_and_shows_it():
    record = example_studies.safe_choice()
    spec = record.spec.model_copy(update={"goal": Goal.LATENCY})
    board = Board()
    board.begin(spec, 7, 600, now=0)
    latencies = {"1": 30.0, "2": None, "4": 9.0, "8": 12.0, "16": 25.0, "32": 28.0, "64": 29.0}
    standings = {
        # the fastest answers slowest
        name: Standing(3, 0, tps, None if latency is None else latency / 30, figure=latency)
        for tps, (name, latency) in enumerate(latencies.items(), start=1000)
    }
    board.end_trial(record.trials[-1], standings, now=0)
    assert screen._candidates_shown(board, spec, 4) == {"1", "4", "8"}
    lines = [line.plain for line in screen.draw(board, 0.0, 100, 30)]
    head = next(line for line in lines if "to baseline" in line)
    assert f"p{spec.workload.percentile} ms" in head
    assert "tps" in head
    row = next(line for line in lines if line.startswith("4 "))
    assert row.split()[-3:] == ["9.00", "−70.0", "%"]
    narrow = next(line.plain for line in screen.draw(board, 0.0, 36, 30) if "to baseline" in line.plain)
    assert "tps" not in narrow
    assert "ms" in narrow

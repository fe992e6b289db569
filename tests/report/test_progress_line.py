import io
from contextlib import suppress
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from dialin.model.progress import Standing
from dialin.model.study import Goal
from dialin.model.trial import Purpose, Step
from dialin.report.board import Board, sparkline
from dialin.report.progress_line import ProgressLine, draw
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
        raise AssertionError("the line never waits")

    def to(self, at):
        self.at = max(self.at, at)


class EnoughError(Exception):
    """The study was driven as far as a test wants."""


def shown_after(record, events, width=300, later=0.0, plain=False):
    """Return the line after so many events of a study, and some seconds later."""
    clock = Moved()
    line = ProgressLine(Console(file=io.StringIO()), clock)
    left = events

    def tick(at):
        nonlocal left
        clock.to(at)
        left -= 1
        if left < 0:
            raise EnoughError

    with suppress(EnoughError):
        drive(record, line, tick)
    return draw(line._board, clock.now() + later, width, plain=plain).plain


def after(board, now):
    return draw(board, now, 300).plain


def test_the_line_reports_time_left_the_leader_what_runs_and_the_last_seconds():
    line = shown_after(example_studies.winner(), 800)
    assert line.startswith("block 2 of about 5, about 38 min left · 16 leads, +24.8 % · 16: warming up for 12 s · ")
    assert "transactions/s, p95" in line
    assert "▇" in line


def test_a_message_stays_above_the_line_however_long_it_is():
    stream = io.StringIO()
    with ProgressLine(Console(file=stream, force_terminal=True, width=20), Moved()) as line:
        line.message("The server ended by itself; the trial is run again")
    assert "The server ended by itself; the trial is run again" in " ".join(stream.getvalue().split())


def test_a_candidate_that_is_out_never_leads():
    record = example_studies.safe_choice()
    board = Board()
    board.begin(record.spec, 7, 600, now=0)
    board.end_trial(
        record.trials[-1],
        {"1": Standing(3, 0, 1000, 1.0), "2": Standing(3, 2, 1400, 1.4, out=True), "4": Standing(3, 0, 1100, 1.1)},
        now=0,
    )
    assert "4 leads, +10.0 %" in after(board, 10.0)


@pytest.mark.parametrize("width", [1, 10, 24, 40, 80, 200])
@pytest.mark.parametrize("name", ["winner", "hostile"])
def test_the_line_fits_whatever_width_the_terminal_takes(name, width):
    for events in (0, 1, 60, 150, 100_000):
        assert cell_len(shown_after(example_studies.EVERY[name](), events, width)) <= width


def test_time_goes_on_between_events():
    record = example_studies.winner()
    board = Board()
    board.begin(record.spec, 5, 600, now=1000)
    assert board.seconds_left(1060) == 540
    assert board.seconds_left(5000) == 0
    assert board.share_done(1300) == 0.5


def test_hostile_text_cannot_act_on_the_terminal():
    line = shown_after(example_studies.hostile(), 200)
    assert "\x1b" not in line
    assert "\\x1b[31m" in line


def test_an_ascii_terminal_gets_ascii_bars():
    assert shown_after(example_studies.winner(), 800, plain=True).isascii()


def test_the_line_is_taken_away_and_the_cursor_is_shown_whatever_ends_the_study():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80, height=24)

    def interrupted():
        with ProgressLine(console, Moved()) as watcher:
            drive(example_studies.no_difference(), watcher)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    text = stream.getvalue()
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert text.rstrip("\n").endswith(("\x1b[2K", "\x1b[?25h"))


def test_a_sparkline_starts_at_zero_so_that_noise_looks_like_noise():
    assert sparkline([0, 50, 100]) == "▁▅█"
    assert sparkline([990, 1000]) == "██"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""


def test_the_baseline_is_named_where_it_leads():
    record = example_studies.safe_choice()
    board = Board()
    board.begin(record.spec, 7, 600, now=0)
    board.end_trial(
        record.trials[-1], {name: Standing(3, 0, tps, tps / 2000) for name, tps in (("1", 2000), ("2", 1900))}, now=0
    )
    assert "1, the baseline, leads" in after(board, 10.0)


def test_several_hosts_are_counted():
    record = example_studies.safe_choice()
    board = Board()
    board.begin(record.spec, 7, 600, now=0)
    board.name_hosts(["east", "west", "north"], 0.0)
    assert " · 3 hosts" in after(board, 10.0)
    for _ in range(8):
        for host in ("east", "west"):
            board.end_trial(replace(record.trials[0], host=host), {}, 20.0)
    assert " · 3 hosts, 1 behind" in after(board, 20.0)


def test_the_last_seconds_report_what_the_host_lost():
    record = example_studies.safe_choice()
    board = Board()
    board.begin(record.spec, 7, 600, now=0)
    board.begin_trial(record.trials[0], 60, now=0)
    board.seconds.extend(next(samples for samples in record.samples.values() if sum(s.lost for s in samples) == 3)[-60:])
    assert "3 s of host stalls" in after(board, 10.0)


def test_a_trial_that_collects_waits_is_called_so():
    record = example_studies.no_difference()
    board = Board()
    board.begin(record.spec, 6, 600, now=0)
    board.begin_trial(replace(record.trials[0], purpose=Purpose.WAITS), 60, now=10)
    board.begin_step(Step.MEASURE, now=20)
    assert after(board, 50).startswith("collecting raw waits, about")
    assert ": collecting raw waits for 30 s" in after(board, 50)


def test_where_several_numbers_of_threads_are_measured_the_step_reports_which():
    record = example_studies.no_difference()
    workload = record.spec.workload.model_copy(update={"levels": (1, 16)})
    board = Board()
    board.begin(record.spec.model_copy(update={"workload": workload}), 6, 600, now=0)
    board.begin_trial(record.trials[0], 60, now=10)
    board.begin_step(Step.MEASURE, now=20)
    newest = next(sample for sample in record.samples[1] if sample.step is Step.MEASURE)
    board.seconds.append(replace(newest, threads=1))
    assert ": measuring with 1 thread for 30 s" in after(board, 50)
    board.begin_step(Step.WARM_UP, now=50)
    assert ": warming up for 5 s" in after(board, 55)


def test_with_latency_as_the_goal_the_leader_has_the_lowest():
    record = example_studies.safe_choice()
    board = Board()
    board.begin(record.spec.model_copy(update={"goal": Goal.LATENCY}), 7, 600, now=0)
    standings = {
        name: Standing(3, 0, tps, latency / 30, figure=latency)  # the fastest answers slowest
        for tps, (name, latency) in enumerate({"1": 30.0, "4": 9.0, "8": 12.0, "64": 29.0}.items(), start=1000)
    }
    board.end_trial(record.trials[-1], standings, now=0)
    assert "4 leads, −70.0 % latency" in after(board, 10.0)

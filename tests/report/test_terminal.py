import io
from dataclasses import replace

import pytest
from rich.console import Console

from dialin.apply.option_file import Change
from dialin.model.setting import Value
from dialin.model.verdict import Outcome, ReasonCode
from dialin.report.document import verdict_section
from dialin.report.render.terminal import print_verdict
from fixtures import example_studies
from fixtures.study_builder import Plan, Shape, Words, build
from fixtures.verdict_builder import judged


def printed(record, width=100, encoding="utf-8", **options):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    print_verdict(record, Console(file=stream, width=width, highlight=False, **options))
    stream.flush()
    return raw.getvalue().decode(encoding)


def flat(text):
    return " ".join(text.split())


def test_the_verdict_comes_first_then_why_then_what_to_set():
    lines = printed(example_studies.winner()).splitlines()
    assert lines[0] == "innodb_buffer_pool_instances = 16: 1,120 → 1,403 tps (+25.2 %, 95 % CI +21.5 % to +29.1 %)."
    assert lines[1].startswith("Winner, by throughput · mysql@9.7.4 · ")
    first = lines.index("Every other candidate was shown to be worse.")
    assert lines[first + 2 : first + 5] == ["What to set", "    [mysqld]", "    innodb_buffer_pool_instances = 16"]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_no_line_of_the_plot_or_the_table_is_wider_than_the_terminal(record, width):
    long = [line for line in printed(record, width).splitlines() if len(line) > width]
    assert all(" = " in line for line in long), "only a line to copy may be wider"


def test_a_wide_terminal_shows_every_figure_with_its_interval():
    text = printed(example_studies.winner(), 240)
    assert "1,403 (1,377 to 1,429)" in text
    assert "3.8 % (3.2 % to 4.5 %)" in text
    assert "5 (121 independent s)" in text
    assert "+25.2 % (+21.5 % to +29.1 %)" in text
    assert "Left out" not in text


def test_a_narrow_terminal_drops_columns_says_which_and_keeps_who_wins():
    text = printed(example_studies.winner(), 44)
    assert "Left out at this width:" in text
    assert any("16" in line and "+25.2 %" in line and line.endswith("better (proven)") for line in text.splitlines())


def test_warnings_and_confounds_are_reported_in_full():
    text = " ".join(printed(example_studies.failed_candidate()).split())
    assert "Confound: innodb_buffer_pool_chunk_size differs between candidates too" in text
    assert "Warning: pool 900G failed in all 4 trials." in text


def test_how_long_it_took_is_reported():
    assert "52 min 44 s, 35 trials" in flat(printed(example_studies.winner()))


def test_nothing_to_set_is_said_so():
    text = flat(printed(example_studies.no_difference()))
    assert "What to set Nothing changes: keep the options of the baseline" in text
    assert "[mysqld]" not in text


def test_the_files_that_set_it_and_take_it_back_are_named():
    text = " ".join(printed(example_studies.winner()).split())
    assert "recommended.cnf has the lines for the option file, recommended.sql the statements for a running server" in text
    assert "undo.sql" not in printed(example_studies.no_difference())


def test_a_line_that_goes_is_reported_too():
    record = example_studies.winner()
    base = record.spec.candidates[0].model_copy(update={"setting": {"innodb_buffer_pool_instances": 1, "sync_binlog": 0}})
    changed = record.spec.model_copy(update={"candidates": (base, *record.spec.candidates[1:])})
    assert "Remove the line that sets sync_binlog" in printed(replace(record, spec=changed))


def test_hostile_text_is_shown_and_nothing_of_it_is_obeyed():
    text = printed(example_studies.hostile(), 160, force_terminal=True, no_color=True)
    assert "<script>alert('x')</script>" in text
    assert "[bold]" in text
    assert "\\x1b[31m\\x07\\u202e" in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert "\x1b[31m" not in text


def test_no_color_has_no_colour_and_a_pipe_has_no_escape_at_all(monkeypatch):
    assert "\x1b" not in printed(example_studies.winner())
    coloured = printed(example_studies.winner(), force_terminal=True, color_system="truecolor")
    monkeypatch.setenv("NO_COLOR", "1")
    plain = printed(example_studies.winner(), force_terminal=True, color_system="truecolor")
    assert "\x1b[1;32m" in coloured
    assert "32m" not in plain


@pytest.mark.parametrize("width", [30, 80])
def test_a_terminal_that_knows_ascii_only_gets_a_whole_verdict(record, width):
    assert "?" not in printed(record, width, encoding="ascii")


def test_a_study_without_a_verdict_prints_how_to_go_on():
    text = printed(example_studies.unfinished())
    assert text.startswith("No verdict yet")
    assert "dialin resume /srv/bench/dialin-pool-instances" in text


def test_a_value_that_no_option_file_holds_is_said_so():
    setting: dict[str, Value] = {"init_file": "a\nb"}
    record = example_studies.winner()
    verdict = record.verdict.model_copy(update={"recommended": setting})
    assert "init_file cannot be written as a line" in printed(replace(record, verdict=verdict))


def test_why_a_value_has_no_line_is_shown_and_not_obeyed(monkeypatch):
    monkeypatch.setattr(verdict_section, "changes", lambda _: [Change("init_file", 1, None, None, "no \x1b[2J")])
    assert r"init_file cannot be written as a line: no \x1b[2J" in printed(example_studies.winner())


def test_eighty_columns_hold_the_intervals_of_what_varies_and_the_chance_of_each():
    text = printed(example_studies.safe_choice(), 80)
    head = next(line for line in text.splitlines() if line.startswith("value"))
    row = next(line for line in text.splitlines() if line.startswith("16 ") and "97 %" in line)
    assert head.split() == ["value", "tps", "CV", "p95", "ms", "P(within", "1", "%)", "state"]
    assert row.endswith("97 %  safe choice")
    assert "3.4 % (3.0–3.9)" in row
    assert "19.5 (19.2–19.7)" in row


def test_the_ratio_that_a_narrow_table_has_no_room_for_is_in_the_plot_with_its_interval():
    lines = printed(example_studies.safe_choice(), 80).splitlines()
    assert any(line.startswith("16") and line.endswith("+15.1 % (+12.5 % to +17.6 %)") for line in lines)
    assert not any("Left out" in line and "baseline" in line for line in lines)


def test_how_sure_it_is_and_what_confirmation_trials_say_are_reported():
    text = " ".join(printed(example_studies.safe_choice(), 80).split())
    assert "Confirmation trials (6 blocks) confirm +19.2 % (+16.0 % to +22.5 %) throughput against the baseline." in text
    assert "how sure: 97 %. Probability that innodb_buffer_pool_instances = 16 is within 1 % of the best" in text
    assert "(1.5 % was expected before the study)" in text


def test_a_goal_where_lower_is_better_says_so_and_its_ratio_is_plotted():
    text = printed(example_studies.by_stability(), 100)
    assert "Winner, by stability" in text
    assert "Variation (CV) against the baseline (lower is better)" in text
    plot = text[text.index("Variation (CV) against the baseline") :]
    assert "8     " in plot
    assert "−90.0 % (−92.8 % to −86.2 %)" in plot
    assert "Trade-off: Fastest: 64; steadiest: 8; between: 32." in flat(text)


def test_candidates_that_are_likely_worse_are_dimmed():
    text = printed(example_studies.by_latency(), 80, force_terminal=True, color_system="standard").partition("All figures")[2]
    dim = {line.removeprefix("\x1b[2m").split()[0] for line in text.splitlines() if line.startswith("\x1b[2m")}
    assert "20000" in dim
    assert not {"200", "2000"} & dim


def test_no_trade_off_is_reported_where_all_of_it_may_be_chance():
    assert "Trade-off" not in printed(example_studies.a_a(), 80)


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_a_paragraph_is_never_so_wide_that_it_is_hard_to_read(width):
    lines = printed(example_studies.safe_choice(), width).splitlines()
    prose = lines[[line.startswith("Warning:") for line in lines].index(True) :]
    assert max(map(len, prose)) <= min(width, 100)


def test_labels_stand_in_a_column_of_their_own_where_there_is_room():
    wide = printed(example_studies.winner(), 80).splitlines()
    begins = [line.index(line.split(":", 1)[1].lstrip()) for line in wide if line.startswith(("Why:", "Warning:"))]
    assert begins == [15, 15]
    assert any(line.startswith("Why: ") for line in printed(example_studies.winner(), 40).splitlines())


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_pipe_of_a_plain_locale_gets_no_escape_and_no_line_drawing(record, encoding):
    text = printed(record, 80, encoding=encoding)
    assert text.isascii()
    assert "\x1b" not in text


AHI, CAPACITY = "innodb_adaptive_hash_index", "innodb_io_capacity"


def of_two_variables():
    pairs = [(ahi, capacity) for ahi in ("OFF", "ON") for capacity in (200, 2000)]
    shapes = [
        Shape(f"{AHI}={ahi} {CAPACITY}={capacity}", {AHI: ahi, CAPACITY: capacity}, 1000 + 50 * place)
        for place, (ahi, capacity) in enumerate(pairs)
    ]
    words, plan = Words(Outcome.INCONCLUSIVE, ReasonCode.NOTHING_SHOWN, shapes[0].name, (shapes[0].name,)), Plan()
    return judged(build(shapes, words, plan), shapes, words, plan)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_candidates_of_two_variables_are_called_by_their_values_below_the_names_of_the_variables(width):
    text = printed(of_two_variables(), width)
    assert f"Candidates by value: {AHI} / {CAPACITY}" in flat(text)
    for candidate in ("OFF / 200", "OFF / 2000", "ON / 200", "ON / 2000"):
        plot_and_table = [line for line in text.splitlines() if line.startswith(f"{candidate} ")]
        assert len(plot_and_table) == 2

import io

import pytest
from rich.console import Console

from dialin.report.render.terminal import print_verdict, print_why
from fixtures import example_reasons, example_studies


def printed(write, width=100, encoding="utf-8", **options):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    write(Console(file=stream, width=width, highlight=False, **options))
    stream.flush()
    return raw.getvalue().decode(encoding)


def explained(record, make=example_reasons.full, width=100, **options):
    return printed(lambda console: print_why(record, make(record), console), width, **options)


def test_the_parts_come_in_order_and_reasons_are_numbered_through():
    text = explained(example_studies.winner())
    places = [
        text.index(part)
        for part in (
            "innodb_buffer_pool_instances = 16: 1,120 → 1,403 tps",
            "Waits for hash_table_locks fell",
            " 1. hash_table_locks: 0.12 s of wait per second with 1",
            "Correlation with throughput over the trials: r = −0.97.",
            " 2. ",
            " 4. The change buffer held at most 4 MiB",
            " 5. ",
            "Cost per query",
            "Cost per transaction",
            "Raw waits",
            "Probes took at most 0.3 %",
            "What could not be read\ninnodb: The server leaves its SEMAPHORES section empty.",
        )
    ]
    assert places == sorted(places)


@pytest.mark.parametrize("width", [30, 80, 140, 250])
def test_no_line_is_wider_than_the_terminal(record, width):
    for make in (example_reasons.full, example_reasons.hostile):
        assert all(len(line) <= width for line in explained(record, make, width).splitlines())


def test_eighty_columns_drop_what_says_least_and_say_so():
    text = explained(example_studies.winner(), width=80)
    assert "Left out at this width: read KiB, written KiB, log bytes, row lock waits." in text
    assert "160 (−25.2 %*)" in text


def test_a_wide_terminal_shows_intervals_and_everything():
    text = explained(example_studies.winner(), width=400)
    assert "160 (−25.2 %*, −28.2 to −22.2)" in text
    assert "320 (310 to 330)" in text
    assert "Left out" not in text


def test_waits_are_reported_in_time_and_in_cycles_with_what_was_lost():
    text = explained(example_studies.winner(), width=160)
    assert "31,207 (2.5 %)" in text
    assert "1.40 µs (4,060)" in explained(example_studies.winner(), width=400)
    assert "exclusive_lock" in text


def test_a_dot_chart_stands_below_its_reason():
    lines = explained(example_studies.winner(), width=80).splitlines()
    at = next(number for number, line in enumerate(lines) if line.strip() == "Context switches per transaction")
    assert "◆" in lines[at + 1]
    assert all("●" in line for line in lines[at + 2 : at + 8])
    assert lines[at + 8].split() == ["23.0", "33.1"]


@pytest.mark.parametrize("width", [40, 80, 160])
def test_a_terminal_that_knows_ascii_only_gets_all_of_it(width):
    of_statements = explained(example_studies.winner(), width=width).count("?")
    assert explained(example_studies.winner(), width=width, encoding="ascii").count("?") == of_statements


def test_hostile_text_is_shown_and_nothing_of_it_is_obeyed():
    text = explained(example_studies.hostile(), example_reasons.hostile, 200, force_terminal=True, no_color=True)
    assert "<script>alert('x')</script>" in text
    assert "[bold]" in text
    assert not set(text) & {"\x07", "\u202e"}
    assert "\x1b[31m" not in text


def test_a_pipe_has_no_escape_at_all():
    assert "\x1b" not in explained(example_studies.winner())


def test_a_study_that_nothing_watched_says_so_and_no_more():
    text = " ".join(explained(example_studies.winner(), example_reasons.unknown).split())
    assert text.endswith("no trial completed yet.")
    assert "Cost" not in text


def test_a_study_without_a_verdict_says_what_it_can():
    text = explained(example_studies.unfinished())
    assert text.startswith("No verdict yet: 6 trials completed (3 candidates).")
    assert "Cost per query" in text


def test_the_verdict_has_the_three_strongest_reasons_and_says_where_the_others_are():
    record = example_studies.winner()
    text = printed(lambda console: print_verdict(record, console, example_reasons.full(record)))
    assert text.index("Left out at this width") < text.index("Waits for hash_table_locks") < text.index("How sure, and caveats")
    assert " 3. Threads waiting" in text
    assert " 4. " not in text
    assert "    Costs, charts and all reasons:\n    dialin explain /srv/bench/dialin-pool-instances\n" in text


def test_a_verdict_of_which_nothing_is_known_why_is_shown_all_the_same():
    text = printed(lambda console: print_verdict(example_studies.winner(), console))
    assert text.startswith("innodb_buffer_pool_instances = 16: 1,120 → 1,403 tps")
    assert "Why: No reasons are available" in " ".join(text.split())
    assert "dialin explain" not in text


def test_statements_and_semaphores_stand_between_scaling_and_raw_waits():
    text = " ".join(explained(example_studies.winner(), width=120).split())
    order = ("Cost per query", "Statements The statements that took most", "SELECT `c` FROM `sbtest1` WHERE `id` = ?")
    order += ("1 2,106,220 91.2 µs 436 µs 1.05 ms", "InnoDB semaphores Threads waiting", "buf0buf.cc:4102 (S-lock) 2.10 1.05")
    places = [text.index(part) for part in (*order, "mutexes: rounds 120,400 60,200", "Raw waits")]
    assert places == sorted(places)


def test_where_there_is_little_room_the_baselines_and_the_recommended_ones_semaphores_stay():
    lines = explained(example_studies.winner(), width=50).splitlines()
    head = next(line for line in lines if line.startswith("lock"))
    assert {"1", "16"} <= set(head.split())
    assert "64" not in head


def test_semaphores_that_a_server_does_not_report_are_a_sentence():
    text = " ".join(explained(example_studies.winner(), example_reasons.nothing_moved).split())
    assert "InnoDB semaphores The server's status does not report semaphores: MariaDB 10.11" in text
    assert "Statements" not in text


def test_the_verdict_itself_has_neither_statements_nor_semaphores():
    record = example_studies.winner()
    text = printed(lambda console: print_verdict(record, console, example_reasons.full(record)))
    assert "sbtest1" not in text
    assert "InnoDB semaphores" not in text

import io

import pytest
from rich.console import Console

from dialin.evidence.why_verdict import explain
from dialin.report.document import study_document
from dialin.report.render.terminal import print_summary
from fixtures import example_studies

VERDICTS = (
    example_studies.winner,
    example_studies.safe_choice,
    example_studies.no_difference,
    example_studies.failed_candidate,
    example_studies.unfinished,
)


def printed(record, width=100, encoding="utf-8", **options):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    print_summary(record, Console(file=stream, width=width, highlight=False, **options), explain(record))
    stream.flush()
    return raw.getvalue().decode(encoding)


def flat(text):
    return " ".join(text.split())


@pytest.mark.parametrize("study", VERDICTS)
def test_a_verdict_takes_one_screen(study):
    lines = printed(study()).splitlines()
    assert len(lines) <= 40
    assert all(len(line) <= 100 for line in lines)


def test_it_answers_what_to_set_what_that_changes_why_and_where_more_is():
    text = printed(example_studies.winner())
    lines = text.splitlines()
    assert lines[0].startswith("mysql@")
    assert "innodb_buffer_pool_instances = 16: 1,120 → 1,403 tps (+25.2 %, 95 % CI +21.9 % to +28.7 %)." in lines
    assert "    innodb_buffer_pool_instances = 16" in lines
    assert next(line for line in lines if line.startswith("Throughput tps")).split()[2:5] == ["1,120", "1,403", "+25.2"]
    order = [text.index(word) for word in ("[mysqld]", "change (95 % CI)", "Throughput against the baseline", "Why:", "More:")]
    assert order == sorted(order)
    assert "dialin report /srv/bench/dialin-pool-instances --full" in flat(text)


def test_the_cost_of_a_restart_and_of_a_crash_is_written_as_it_is(monkeypatch):
    monkeypatch.setattr(
        study_document, "consequences", lambda _: [("restart", "needed, for InnoDB's log"), ("durability", "T")]
    )
    assert "Restart needed, for InnoDB's log; durability T." in printed(example_studies.winner())


def test_where_the_baseline_stays_it_stands_beside_the_candidate_that_comes_next():
    text = printed(example_studies.no_difference())
    assert "Nothing changes: keep the options of the baseline" in text
    head = next(line for line in text.splitlines() if "(baseline)" in line)
    assert len(head.split("  ")) >= 3
    assert "change (95 % CI)" in head


def test_the_first_caveats_are_printed_and_the_others_counted():
    text = flat(printed(example_studies.failed_candidate()))
    assert "Warning: pool 90G failed in all 4 trials." in text
    assert "innodb_buffer_pool_chunk_size differs" not in text, "what explains nothing comes last"
    assert "1 more caveat." in text
    assert "Scope" not in text
    assert text.count("Confound: ") + text.count("Warning: ") <= 2


def test_a_study_without_a_verdict_prints_how_to_go_on():
    text = printed(example_studies.unfinished())
    assert text.startswith("No verdict yet")
    assert "dialin resume /srv/bench/dialin-pool-instances" in text


def test_hostile_text_is_shown_and_nothing_of_it_is_obeyed():
    text = printed(example_studies.hostile(), 160, force_terminal=True, no_color=True)
    assert "[bold]" in text
    assert not {"\x07", "\u202e"} & set(text)
    assert "\x1b[31m" not in text


@pytest.mark.parametrize("width", [30, 80])
def test_a_terminal_that_knows_ascii_only_gets_a_whole_summary(width):
    assert "?" not in printed(example_studies.winner(), width, encoding="ascii")

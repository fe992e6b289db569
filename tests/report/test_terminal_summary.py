import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from dialin.evidence.why_verdict import explain
from dialin.model.trial import Step
from dialin.model.verdict import AgainstBest, Outcome, ReasonCode
from dialin.report.document import summary_document
from dialin.report.render.terminal_summary import print_summary
from dialin.variables.durability import weaker_durability
from fixtures import example_studies
from fixtures.study_builder import Plan, Shape, Words, build
from fixtures.verdict_builder import judged


def printed(record, width=100, encoding="utf-8", **options):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    print_summary(record, Console(file=stream, width=width, highlight=False, **options), explain(record))
    stream.flush()
    return raw.getvalue().decode(encoding)


def flat(text):
    return " ".join(text.split())


LONG = {"safe_choice": 19, "by_stability": 19, "hostile": 22}
LINES = [(name, LONG.get(name, 16)) for name in sorted(set(example_studies.EVERY) - {"unfinished"})]


@pytest.mark.parametrize(("name", "most"), LINES)
def test_a_finished_study_prints_sixteen_lines_and_few_more_where_its_sentences_are_long(name, most):
    lines = printed(replace(example_studies.EVERY[name](), directory="dialin-try-1")).splitlines()
    assert len(lines) <= most


def test_it_answers_what_to_set_what_that_changes_why_and_where_more_is():
    text = printed(example_studies.winner())
    lines = text.splitlines()
    assert lines[0] == "mysql@9.7.4 · sysbench:oltp_read_write, 16 threads · 32 CPUs · 52 min 44 s, 35 trials"
    assert lines[2] == "SET innodb_buffer_pool_instances = 16"
    assert lines[3].startswith("Winner: 1,120 → 1,403 tps (+25.2 %, 95 % CI +21.5 % to +29.1 %). Restart ")
    assert text.count("innodb_buffer_pool_instances") <= 3, "what the line to set says is not repeated"
    assert next(line for line in lines if line.startswith("tps ")).split()[1:4] == ["1,120", "1,403", "+25.2"]
    order = [text.index(word) for word in ("SET ", "change (95 % CI)", "baseline\n", "Why ", "More ")]
    assert order == sorted(order)
    directory = "/srv/bench/dialin-pool-instances"
    assert f"dialin report {directory} --full (" in flat(text)
    assert f"more candidates) · {directory}/report.html" in flat(text)


def test_of_many_candidates_the_plot_has_the_baseline_the_choice_and_those_that_come_next():
    lines = printed(example_studies.safe_choice()).splitlines()
    plotted = {line.split()[0] for line in lines if "●" in line or "◆" in line}
    assert {"1", "16", "32"} <= plotted
    assert "2" not in plotted
    left_out = 7 - len(plotted)
    assert f"({left_out} more candidates)" in flat(printed(example_studies.safe_choice()))


def test_two_candidates_have_no_figure_twice():
    text = printed(example_studies.builds())
    assert len([line for line in text.splitlines() if "●" in line or "◆" in line]) == 2
    assert text.count("95 % CI") == 2, "in the claim and above the table"


FLUSH = "innodb_flush_log_at_trx_commit"


def test_a_candidate_that_weakens_durability_is_refused_with_its_gain_and_what_it_can_lose():
    text = flat(printed(example_studies.weaker_durability()))
    assert f"KEEP {FLUSH} = 1 {FLUSH} = 2: 645 → 1,733 tps (+168.6 %, 95 % CI +161.8 % to +175.5 %); but it weakens" in text
    assert f"With {FLUSH} = 2, a crash of the machine can lose about the last second of commits. It is recommended only" in text
    assert text.count("durability") == text.count("weakens durability") + text.count("--accept-weaker-durability")
    assert text.count("can lose") == 1


def test_each_candidate_that_weakens_durability_is_named_with_its_gain_and_so_is_one_that_is_unsafe():
    losses = {value: tuple(weaker_durability({FLUSH: value}, {FLUSH: "1"})) for value in ("2", "0")}
    shapes = [
        Shape("1", {FLUSH: 1}, 640, state=AgainstBest.LOSES),
        *(Shape(value, {FLUSH: int(value)}, 1710, state=AgainstBest.TIES, weaker=losses[value]) for value in losses),
        Shape("3", {FLUSH: 3}, 640, fails=Step.MEASURE, state=AgainstBest.UNSAFE),
    ]
    data = {"candidate": "2", "losses": [one.model_dump(mode="json") for one in losses["2"]]}
    words = Words(Outcome.TIE, ReasonCode.WEAKER_DURABILITY, "1", ("2", "0"), reason_data=data)
    text = flat(printed(judged(build(shapes, words, Plan()), shapes, words, Plan())))
    assert f"{FLUSH} = 3 is unsafe: its server failed in" in text
    for value, crash in (("2", "machine"), ("0", "server")):
        assert re.search(
            rf"{FLUSH} = {value}: [\d,]+ → [\d,]+ tps \([^)]* CI [^)]*\), but a crash of the {crash} can lose", text
        ), text
    assert "Each is recommended only if you accept that: dialin report " in text


def test_the_cost_of_a_restart_and_of_a_crash_is_written_as_it_is(monkeypatch):
    monkeypatch.setattr(
        summary_document, "consequences", lambda _: [("restart", "needed, for InnoDB's log"), ("durability", "T")]
    )
    assert "Restart needed, for InnoDB's log; durability T." in flat(printed(example_studies.winner()))


def test_where_the_baseline_stays_it_stands_beside_the_candidate_that_comes_next():
    text = printed(example_studies.no_difference())
    assert "\nKEEP innodb_buffer_pool_instances = 1\nNo worthwhile difference: " in text
    head = next(line for line in text.splitlines() if "(baseline)" in line)
    assert len(head.split("  ")) >= 3
    assert "change (95 % CI)" in head


def test_the_first_caveats_are_printed_and_the_others_counted():
    text = flat(printed(example_studies.failed_candidate()))
    assert "Warning pool 90G failed in all 4 trials." in text
    assert "innodb_buffer_pool_chunk_size differs" not in text, "what explains nothing comes last"
    assert "The whole report has 2 more caveats." in text
    assert "Scope" not in text


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


def test_a_choice_on_another_build_or_with_other_memory_is_named_with_it():
    record = example_studies.winner()
    chosen = record.verdict.recommended_candidate

    def elsewhere(**changed):
        candidates = [one.model_copy(update=changed) if one.name == chosen else one for one in record.spec.candidates]
        return flat(printed(replace(record, spec=record.spec.model_copy(update={"candidates": candidates}))))

    assert "SET innodb_buffer_pool_instances = 16 On mariadb@10.11. Winner: " in elsewhere(server="mariadb@10.11")
    assert "On mysql@8.0 with a memory limit of 2.0 GiB. Winner: " in elsewhere(server="mysql@8.0", memory=2 << 30)
    assert " On mysql" not in flat(printed(record))

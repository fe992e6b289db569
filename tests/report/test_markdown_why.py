import re

from markdown_it import MarkdownIt

from dialin.report.render import markdown
from fixtures import example_reasons, example_studies


def rendered(record, make=example_reasons.full):
    return markdown.render(record, make(record))


def as_html(text):
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(text)


def test_the_strongest_reasons_are_in_the_open_and_the_others_folded():
    text = rendered(example_studies.winner())
    head, _, rest = text.partition("<details><summary>More: 1 unused capacity, 1 limit hit</summary>")
    assert "**Why**\n\nWaits for hash_table_locks fell" in head
    assert "\n3. Threads waiting" in head
    assert "\n4. The change buffer held at most 4 MiB" in rest
    assert head.index("| **16** |") < head.index("**Why**")


def test_every_table_has_as_many_cells_in_each_row_as_in_its_head(record):
    page = as_html(rendered(record))
    tables = re.findall(r"<table>(.*?)</table>", page, flags=re.S)
    assert len(tables) >= 5
    for table in tables:
        rows = re.findall(r"<tr>(.*?)</tr>", table, flags=re.S)
        assert len({row.count("<td") + row.count("<th") for row in rows}) == 1


def test_costs_scaling_and_waits_are_there_with_their_intervals():
    text = rendered(example_studies.winner())
    assert "160 (−25.2 %\\*, −28.2 to −22.2)" in text
    assert "2,631 to 2,793" in text
    assert "31,207 (2.5 %)" in text
    assert "Probes took at most 0.3 %" in text


def test_hostile_text_is_text():
    page = as_html(rendered(example_studies.hostile(), example_reasons.hostile))
    assert "<script" not in page
    assert "<a " not in page
    assert page.count("&lt;script&gt;") > 8


def test_a_study_that_nothing_watched_says_so():
    assert "**Why**\n\nNo reasons are available: no probe ran" in markdown.render(example_studies.winner())
    assert "Cost per query" not in rendered(example_studies.winner(), example_reasons.unknown)


def test_statements_and_semaphores_are_folded_with_how_to_read_them():
    text = rendered(example_studies.winner())
    _, _, rest = text.partition("<details><summary>Statements</summary>")
    own, _, after = rest.partition("</details>")
    assert "SELECT" in own
    assert own.count("| candidate | executions/s | mean |") == 3
    assert "| 2,106,220 | 91.2 µs | 436 µs | 1.05 ms |" in own
    assert after.index("<details><summary>InnoDB semaphores</summary>") < after.index("| buf0buf.cc:4102 (S-lock) | 2.10 |")
    assert "MariaDB 10.11 and later leave that section empty." in rendered(
        example_studies.winner(), example_reasons.nothing_moved
    )

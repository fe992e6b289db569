import html
import re

from markdown_it import MarkdownIt

from dialin.apply.option_file import Change
from dialin.report.document import verdict_section
from dialin.report.document.figure_columns import columns
from dialin.report.render import markdown, markdown_text
from fixtures import example_studies


def as_html(text):
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(text)


def test_the_verdict_what_to_set_and_the_table_come_in_that_order():
    text = markdown.render(example_studies.winner())
    assert text.startswith("**innodb_buffer_pool_instances = 16: 1,120 → 1,403 tps")
    assert (
        text.index("= 16: 1,120") < text.index("- **Set:** `innodb_buffer_pool_instances = 16`") < text.index("| value | tps")
    )
    assert "| **16** | 1,403 (1,377 to 1,429) | +25.2 % (+21.5 % to +29.1 %) |" in text


def test_every_row_of_the_table_has_as_many_cells_as_its_head(judged):
    page = as_html(markdown.render(judged))
    tables = [
        [row.count("<td") + row.count("<th") for row in re.findall(r"<tr>(.*?)</tr>", table, flags=re.S)]
        for table in re.findall(r"<table>(.*?)</table>", page, flags=re.S)
    ]
    assert all(len(set(table)) == 1 for table in tables)
    summary, figures, short, whole = tables[:4]
    assert len(figures) >= len(summary)
    assert set(whole) == {len(columns(judged.verdict)) + 2}
    assert len(short) == len(whole) == len(judged.verdict.candidates) + 1


def test_the_top_is_short_and_all_else_is_folded_away():
    text = markdown.render(example_studies.winner())
    top, _, rest = text.partition("<details><summary>The whole report</summary>")
    assert "| tps | 1,120 | 1,403 | +25.2 % (+21.5 to +29.1) |" in top
    assert "- **Why:** " in top
    first, _, all_figures = rest.partition("<details><summary>All figures</summary>")
    heading = next(line for line in first.splitlines() if line.startswith("| value |"))
    assert all(title in heading for title in ("tps", "CV", "p95"))
    assert "worst second" not in first
    assert "worst second" in all_figures
    assert "**How sure, and caveats**" in first


def test_the_summary_for_a_ticket_has_the_verdict_the_figures_the_line_to_set_and_the_command():
    text = markdown.summary(example_studies.winner())
    assert text.startswith("**innodb_buffer_pool_instances = 16: 1,120 → 1,403 tps")
    assert "<details>" not in text
    order = [
        "| tps |",
        "- **Set:** `innodb_",
        "- **Why:** ",
        "- **Environment:** mysql@",
        "- **Command:** `dialin sweep ",
    ]
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)


def test_the_summary_for_a_ticket_has_fifteen_lines_at_most(judged):
    assert len(markdown.summary(judged).splitlines()) <= 15


def test_the_statements_for_a_running_server_are_folded_below_the_lines():
    text = markdown.render(example_studies.winner())
    before, _, after = text.partition("<details><summary>SQL for a running server</summary>")
    assert "```ini\n[mysqld]\n" in before
    assert "```sql\n-- innodb_buffer_pool_instances (was 1). If the server says" in after
    assert "\nSET PERSIST innodb_buffer_pool_instances = 16;\n```" in after
    assert "undo.sql reverts them" in after
    assert "```sql" not in markdown.render(example_studies.no_difference())


def test_hostile_text_is_text():
    text = markdown.render(example_studies.hostile())
    page = as_html(text)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "[bold]" in page
    assert not set(text) & {"\x1b", "\x07", "\u202e"}


def test_a_log_cannot_end_its_code_block():
    block = markdown_text.fenced("a\n```\n<script>")
    assert block == "````\na\n```\n<script>\n````"


def test_nobody_is_mentioned_and_nothing_is_emphasised():
    text = "@all see #12, _this_ and `that` *now* but keep innodb_io_capacity"
    assert as_html(markdown_text.prose(text)).strip().replace("\u2060", "") == f"<p>{text}</p>"
    assert as_html(markdown_text.prose("__init__ a__b __c d__ e_f")).strip() == "<p>__init__ a__b __c d__ e_f</p>"
    assert "@all" not in markdown_text.prose(text)
    assert "innodb_io_capacity" in markdown_text.prose(text)


def test_the_line_that_folds_refers_to_nothing_and_mentions_nobody():
    reported = "see #12, o/r#3, @all: it's <b> & \u2060#4"
    line = markdown_text.folded(reported, "").splitlines()[0]
    shown = html.unescape(line.removeprefix("<details><summary>").removesuffix("</summary>"))
    assert shown == "see #\u206012, o/r#\u20603, @\u2060all: it's <b> & \\u2060#\u20604"
    assert "<b>" not in line


def test_why_a_value_has_no_line_is_text(monkeypatch):
    refused = Change("init_file", 1, None, None, "<b> *of* @all #1")
    monkeypatch.setattr(verdict_section, "changes", lambda _: [refused])
    page = as_html(markdown.render(example_studies.winner()))
    assert "<p>init_file cannot be written as a line: &lt;b&gt; *of* @\u2060all #\u20601.</p>" in page


def test_warnings_confounds_and_failures_are_in_it():
    text = markdown.render(example_studies.failed_candidate())
    assert "- Confound: innodb_buffer_pool_chunk_size differs" in text
    assert "- Warning: pool 90G failed in all 4 trials." in text
    assert "Trial 1, block 1, pool 900G: mysql@&#8288;9.7.4 did not start: it cannot allocate memory" in text
    assert "Cannot allocate memory for the buffer pool" in text


def test_a_study_without_a_verdict_has_a_report_too():
    assert markdown.render(example_studies.unfinished()).startswith("**No verdict yet: 6 trials")


def test_the_choice_and_the_fresh_trials_are_in_it():
    text = markdown.render(example_studies.safe_choice())
    assert "Confirmation trials (6 blocks) confirm +19.2 % (+16.0 % to +22.5 %) throughput against the baseline." in text
    assert "Trade-off: Fastest: 16; steadiest: 8; between: 32." in text


def test_the_goal_s_ratio_stands_first_with_its_direction():
    text = markdown.render(example_studies.by_latency())
    assert "| value | p99 to baseline (lower is better) | p99 ms | tps |" in text
    assert "p99 to baseline" not in markdown.render(example_studies.winner())

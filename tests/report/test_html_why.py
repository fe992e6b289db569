import json
import re
from itertools import pairwise

import pytest

from dialin.report.document.parts import Reasons, SectionKey, find
from dialin.report.document.study_document import study_document
from dialin.report.render.markup import asset
from fixtures import example_reasons, example_studies
from fixtures.report_page import explained_page, page_of


@pytest.fixture(params=[("winner", "full"), ("hostile", "full"), ("hostile", "hostile"), ("unfinished", "nothing_moved")])
def page(request):
    return explained_page(*request.param)


def test_it_is_well_formed_with_a_caption_to_each_table_and_words_to_each_chart(page):
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert page.misnested == []
    assert len(ids) == len(set(ids))
    assert len(page.all("table")) == len(page.all("caption"))
    drawings = {attrs["id"] for attrs in page.all("div") if attrs.get("class") == "drawing"}
    assert drawings == set(page.data["charts"])
    for _, attrs in page.elements:
        for key in ("aria-labelledby", "aria-describedby"):
            assert attrs.get(key) is None or attrs[key] in ids


def test_headings_come_in_order(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert all(deeper - level <= 1 for level, deeper in pairwise(levels))


def test_why_stands_between_the_candidates_and_the_charts_over_time():
    words = explained_page("winner").words
    order = ["Throughput by threads", "All figures", "Why Waits for hash_table_locks fell", "Cost per query", "Raw waits"]
    places = [words.index(text) for text in (*order, "Probes took at most", "Over time Each trial")]
    assert places == sorted(places)


def test_three_reasons_stand_open_and_the_others_are_folded():
    record = example_studies.winner()
    parts = study_document(record, example_reasons.full(record)).section(SectionKey.WHY).parts
    (strongest,) = (part for part in parts if isinstance(part, Reasons))
    (others,) = find(parts, "reasons").parts
    assert [len(strongest.cards), len(others.cards)] == [3, 2]
    assert others.start == 4
    assert "More: 1 unused capacity, 1 limit hit" in explained_page("winner").words


def test_each_dot_is_reported_in_figures_too():
    page = explained_page("winner")
    dots = [attrs for attrs in page.all("i") if str(attrs.get("class", "")).startswith("dot")]
    assert len(dots) == 3 * 7 * 5
    assert sum("diamond" in attrs["class"] for attrs in dots) == 3 * 5
    of_the_main_figures = 1  # the column without a visible title
    assert len([attrs for attrs in page.all("span") if attrs.get("class") == "unseen"]) == of_the_main_figures + 3 * 7


def test_a_cost_has_its_change_and_interval_in_its_cell():
    assert "160 −25.2 %* −28.2 to −22.2" in explained_page("winner").words


def test_the_scaling_chart_counts_threads_in_doublings_with_intervals_and_the_curve():
    chart = explained_page("winner").data["charts"]["scaling"]
    assert chart["layout"]["xaxis"]["type"] == "log"
    assert chart["layout"]["xaxis"]["tickvals"] == [1, 4, 16, 64]
    curves = [trace for trace in chart["data"] if trace["mode"] == "lines"]
    points = [trace for trace in chart["data"] if trace["mode"] == "markers" and "error_y" in trace]
    assert len(curves) == len(points) == 7
    assert points[0]["error_y"]["array"][0] == pytest.approx(9.6)
    assert chart["layout"]["yaxis"]["range"][1] > max(value for trace in curves for value in trace["y"])
    assert [curves[0]["y"][0], curves[0]["y"][-1]] == pytest.approx([points[0]["y"][0], points[0]["y"][-1]])


def test_lines_of_candidates_differ_without_colour():
    for name in ("scaling", "waits-1"):
        lines = [trace for trace in explained_page("winner").data["charts"][name]["data"] if "lines" in trace["mode"]]
        assert len({trace["line"]["dash"] for trace in lines[:4]}) == 4
    assert sum(
        attrs.get("stroke-dasharray") is not None or "dasharray" in attrs["style"]
        for attrs in explained_page("winner").all("line")
    )


def test_the_chart_of_waits_has_both_scales_logarithmic_and_leaves_empty_doublings_out():
    chart = explained_page("winner").data["charts"]["waits-1"]
    assert chart["layout"]["xaxis"]["type"] == chart["layout"]["yaxis"]["type"] == "log"
    assert chart["layout"]["xaxis"]["ticktext"][:5] == ["1 ns", "10 ns", "100 ns", "1 µs", "10 µs"]
    assert all(value is None or value > 0 for trace in chart["data"] for value in trace["y"])


def test_colours_of_charts_and_dots_are_in_the_style_sheet_for_light_and_dark(page):
    styled = " ".join(attrs.get("style", "") for _, attrs in page.elements)
    asked = set(re.findall(r"var\((--[\w-]+)\)", json.dumps(page.data["charts"]) + styled))
    light, dark = asset("report.css").split("@media (prefers-color-scheme: dark)")
    assert all(f"{name}:" in light and f"{name}:" in dark for name in asked)


def test_hostile_text_is_text_wherever_it_stands():
    page = explained_page("hostile", "hostile")
    assert len(page.scripts) == 3
    assert "SELECT <script>alert('x')</script>" in page.words
    assert not set("".join(page.text)) & {"\x1b", "\x07", "\u202e"}
    assert not any("<scr" in str(trace) for chart in page.data["charts"].values() for trace in chart["data"])


def test_a_study_that_nothing_watched_says_so_in_a_plain_sentence():
    page = page_of("winner")
    assert "Why No reasons are available: no probe ran while load was measured." in page.words
    assert "Cost per query" not in page.words
    assert {"scaling", "waits-1"}.isdisjoint(page.data["charts"])


def test_statements_and_semaphores_are_folded_away_with_how_to_read_them():
    page = explained_page("winner")
    words = page.words
    order = ["Throughput by threads", "Statements The statements that took most", "SELECT `c` FROM `sbtest1` WHERE `id` = ?"]
    order += [
        "Percentiles of statement latency",
        "InnoDB semaphores Threads waiting for InnoDB semaphores",
        "mutexes: OS waits",
        "Raw waits",
    ]
    places = [words.index(text) for text in order]
    assert places == sorted(places)
    assert "executions/s mean rows examined" in words
    assert "1 12,400 71.0 µs 1.00 0.5 1.20 µs 0" in words
    assert "buf0buf.cc:4102 (S-lock) 2.10 1.05" in words


def test_semaphores_that_a_server_does_not_report_are_a_sentence_and_no_table():
    words = explained_page("unfinished", "nothing_moved").words
    assert "InnoDB semaphores The server's status does not report semaphores: MariaDB 10.11" in words
    assert "Threads waiting for InnoDB semaphores" not in words
    assert "Statements" not in words

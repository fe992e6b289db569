import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from itertools import pairwise

import pytest

from dialin.evidence.server_metrics import server_metrics
from dialin.model.study import Candidate
from dialin.model.trial import Purpose
from dialin.model.verdict import Estimate, ReasonCode
from dialin.report.charts.chart import cut_off
from dialin.report.charts.style import HUES, styles
from dialin.report.charts.trial_series import all_series
from dialin.report.document.trial_tables import every_trial
from dialin.report.render import html
from dialin.report.render.markup import asset, embedded
from dialin.sentences.names import naming
from fixtures import example_studies
from fixtures.report_page import Page, page_of

SOURCES = ("https://dev.mysql.com/", "https://mariadb.com/", "https://man7.org/", "https://docs.kernel.org/")


@pytest.fixture(params=sorted(example_studies.EVERY))
def page(request):
    """The report of every invented study in turn."""
    return page_of(request.param)


def test_it_is_well_formed_and_every_id_is_one_of_a_kind(page):
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert page.misnested == []
    assert len(ids) == len(set(ids))


def test_it_refers_to_nothing_outside_itself(page):
    for tag, attrs in page.elements:
        assert not {"src", "srcset", "poster", "action", "data"} & set(attrs), tag
        assert attrs.get("href", "#").startswith(("#", *SOURCES))
    style = asset("report.css")
    assert "url(" not in style
    assert "@import" not in style


def test_its_policy_lets_no_request_out_and_no_foreign_script_in(page):
    policy = next(attrs["content"] for attrs in page.all("meta") if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    run = [text for attrs, text in page.scripts if "type" not in attrs]
    packed = next(text for attrs, text in page.scripts if attrs.get("id") == "dialin-library")
    library = gzip.decompress(base64.b64decode(packed)).decode()
    hashes = {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in (*run, library)}
    allowed = set(re.search(r"script-src ([^;]*);", policy)[1].split())
    assert hashes == allowed
    assert len(run) == 1
    assert not any(name.startswith("on") for _, attrs in page.elements for name in attrs)


def test_headings_come_in_order(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(deeper - level <= 1 for level, deeper in pairwise(levels))


def test_every_table_has_a_caption_and_every_chart_its_words(page):
    ids = {attrs["id"] for _, attrs in page.elements if "id" in attrs}
    assert len(page.all("table")) == len(page.all("caption"))
    charts = [attrs for attrs in page.all("div") if attrs.get("class") == "drawing"]
    assert {attrs["id"] for attrs in charts} == set(page.data["charts"])
    for attrs in page.elements:
        for key in ("aria-labelledby", "aria-describedby", "data-copies"):
            assert attrs[1].get(key) is None or attrs[1][key] in {*ids, *page.data}
    assert all(attrs["role"] == "img" and attrs["aria-describedby"] for attrs in charts)


def test_every_trial_that_a_chart_names_is_embedded_once(page):
    trials = page.data["trials"]
    named = [
        str(trial)
        for figure in page.data["charts"].values()
        for trace in figure["data"]
        for trial in trace.get("meta", {}).get("trials", [])
    ]
    assert set(named) == set(trials)


def test_every_colour_that_a_chart_asks_for_is_in_the_style_sheet_for_light_and_dark(page):
    asked = set(re.findall(r"var\((--[\w-]+)\)", json.dumps(page.data["charts"])))
    light, dark = asset("report.css").split("@media (prefers-color-scheme: dark)")
    assert all(f"{name}:" in light for name in asked)
    assert all(f"{name}:" in dark for name in asked)


def test_the_verdict_stands_first_then_what_to_set_then_the_figures():
    words = page_of("winner").words
    places = [
        words.index(text)
        for text in (
            "innodb_buffer_pool_instances = 16: 1,120 → 1,403 tps",
            "What to set [mysqld] innodb_buffer_pool_instances = 16",
            "Throughput tps 1,120 1,403 +25.2 % (+21.5 to +29.1)",
            "Throughput against the baseline Bars are confidence intervals.",
            "How sure, and caveats Shown: ",
            "1,094 to 1,147",
            "Method Order of trials",
        )
    ]
    assert places == sorted(places)


def test_the_circumstances_of_a_study_are_reported():
    words = page_of("winner").words
    assert "67.5 % of the trials' 51 min 49 s was measured load." in words
    assert "AMD EPYC 7302P 16-Core Processor" in words
    assert "memory 126 GiB" in words
    assert "8G 8589934592 yes" in words
    assert "dialin sweep innodb_buffer_pool_instances=1,4,16" in words
    assert "12:00:00 Data is prepared" in words


def test_a_figure_that_is_not_there_sorts_as_not_there():
    cells = [attrs["data-order"] for attrs in page_of("failed_candidate").all("td") if "data-order" in attrs]
    assert "" in cells
    assert all(cell == "" or float(cell) >= 0 for cell in cells)


def test_failures_are_reported_with_their_log():
    words = page_of("failed_candidate").words
    assert "Trial 1, block 1, pool 900G: mysql@9.7.4 did not start: it cannot allocate memory" in words
    assert "[ERROR] Plugin initialization aborted" in words
    assert "4 failed: mysql@9.7.4 did not start" in words


def test_hostile_text_is_text_wherever_it_stands():
    page = page_of("hostile")
    assert len(page.scripts) == 3
    assert "<script>alert('x')</script>|`$(reboot)`[bold]\\x1b[31m\\x07\\u202e{{7*7}}" in page.words
    assert "49" not in {text.strip() for text in page.text}
    assert not set("".join(page.text)) & {"\x1b", "\x07", "\u202e"}


def test_plotly_is_given_no_markup_of_others():
    data = page_of("hostile").data["charts"]
    labels = data["forest"]["layout"]["yaxis"]["ticktext"]
    assert "dead &lt;scr" in labels[0]
    assert not any("<scr" in str(value) for value in data.values())


def test_the_embedded_data_cannot_end_its_element():
    text = embedded({"a": "</script><!--&"})
    assert text == '{"a":"\\u003c/script\\u003e\\u003c!--\\u0026"}'


def test_a_study_without_a_verdict_shows_what_there_is():
    words = page_of("unfinished").words
    assert "No verdict yet: 6 trials completed (3 candidates)." in words
    assert "forest" not in page_of("unfinished").data["charts"]


def test_a_study_of_which_nothing_ran_has_a_page_too():
    empty = replace(example_studies.unfinished(), trials=(), samples={}, log=(), host={}, servers={}, looks=())
    words = Page(html.render(empty)).words
    assert "No second was measured yet." in words
    assert "Nothing was logged." in words


def test_the_most_candidates_still_look_different():
    spec = example_studies.winner().spec
    many = tuple(
        Candidate(name=str(value), setting={"innodb_buffer_pool_instances": value}, server="mysql@9.7.4")
        for value in range(1, 50)
    )
    record = replace(example_studies.winner(), spec=spec.model_copy(update={"candidates": many, "baseline": "1"}))
    looks = {(style.colour, style.symbol) for style in styles(record.spec).values()}
    assert len(looks) == 49
    assert all(f"--c{hue}:" in asset("report.css") for hue in range(1, HUES + 1))


def test_the_same_record_gives_the_same_page():
    assert html.render(example_studies.no_difference()) == html.render(example_studies.no_difference())


def traces(name, chart):
    return page_of(name).data["charts"][chart]["data"]


def test_the_deciding_figure_is_said_first_and_which_way_is_better():
    words = page_of("by_stability").words
    assert "Winner, by stability" in words
    assert "Variation (CV) against the baseline" in words
    assert "CV to baseline (lower is better)" in words
    assert "change of variation (CV) against the baseline (lower is better)" in str(
        page_of("by_stability").data["charts"]["forest"]
    )
    assert words.index("CV to baseline") < words.index("tps to baseline")


def test_the_worthwhile_band_of_a_ratio_is_the_same_both_ways():
    shapes = page_of("by_stability").data["charts"]["forest"]["layout"]["shapes"]
    assert (shapes[0]["x0"], shapes[0]["x1"]) == (pytest.approx(-20), pytest.approx(25))


def test_which_candidate_is_fastest_and_which_steadiest_is_said():
    words = page_of("by_stability").words
    assert "Fastest: 64; steadiest: 8; between: 32. Every other candidate is worse in both than one of these." in words


def test_an_interval_that_dwarfs_all_figures_does_not_hide_them():
    record = example_studies.by_stability()
    one = record.verdict.candidates[1]
    wide = {
        "cv": one.cv.model_copy(update={"high": 900.0}),
        "goal_ratio": one.goal_ratio.model_copy(update={"low": 0.0001, "high": 5000.0}),
    }
    candidates = [each.model_copy(update=wide) if each is one else each for each in record.verdict.candidates]
    page = Page(html.render(replace(record, verdict=record.verdict.model_copy(update={"candidates": candidates}))))
    assert page.data["charts"]["forest"]["layout"]["xaxis"]["range"][1] < 400


def test_seconds_that_the_host_lost_are_marked_and_reported():
    page = page_of("safe_choice")
    assert "3 s of host stalls; 6 confirmation trials." in page.words
    assert "A triangle marks a second of a host stall" in page.words
    assert "5 s of host stalls are excluded." in page.words
    marked = {
        trial
        for trace in traces("safe_choice", "combined")
        if trace["meta"].get("part") == "lost"
        for trial in trace["meta"]["trials"]
    }
    embedded = {int(trial): data["l"] for trial, data in page.data["trials"].items() if "l" in data}
    assert set(embedded) == marked
    assert sum(map(len, embedded.values())) == 5
    record = example_studies.safe_choice()
    lost = {trial: [s.second for s in samples if s.lost] for trial, samples in record.samples.items()}
    assert {trial: [second for second, *_ in points] for trial, points in embedded.items()} == {
        t: s for t, s in lost.items() if s
    }


def test_fresh_trials_are_reported_apart_from_those_of_the_race():
    page = page_of("safe_choice")
    record = example_studies.safe_choice()
    fresh = {trial.id for trial in record.trials if trial.purpose is Purpose.CONFIRM}
    dotted = {
        trial
        for name, chart in page.data["charts"].items()
        if name.startswith("over-time")
        for trace in chart["data"]
        if trace.get("line", {}).get("dash") == "dot"
        for trial in trace["meta"]["trials"]
    }
    assert dotted == fresh == {int(trial) for trial, data in page.data["trials"].items() if data.get("k") == "confirmation"}
    assert "confirmation trials" in str(page.data["charts"]["combined"]["layout"]["annotations"])
    assert "Confirmation trials (6 blocks) confirm +19.2 % (+16.0 % to +22.5 %)" in page.words
    assert "Throughput tps 1,215 1,398 +15.1 % (+12.5 to +17.6)" in page.words
    assert "block 8, confirmation" in page.words


def test_a_trial_that_did_not_become_steady_is_marked():
    page = page_of("by_stability")
    rings = [t for t in traces("by_stability", "combined") if t.get("marker", {}).get("symbol") == "circle-open"]
    assert [ring["meta"]["trials"] for ring in rings] == [[8, 15]]
    assert "did not become steady" in rings[0]["hovertemplate"]
    assert "done, not steady" in page.words
    assert "2 did not become steady" in page.words


def test_how_probable_the_choice_is_and_who_is_likely_worse_are_reported():
    words = page_of("safe_choice").words
    assert "how sure 97 %. Probability that innodb_buffer_pool_instances = 16 is within 1 % of the best" in words
    assert [attrs.get("class") for attrs in page_of("by_latency").all("tr")].count("dimmed") == 1


def test_every_trial_is_reported_with_what_it_is_for_and_what_the_host_took_of_it():
    record = example_studies.safe_choice()
    (table,) = every_trial(record, all_series(record), naming(record.spec), server_metrics(record)).parts
    assert {row.cells[3].text for row in table.rows} == {"race", "confirm"}
    assert sorted(row.cells[8].text for row in table.rows if row.cells[8].text) == ["2", "3"]


def test_the_percentile_of_latency_is_the_verdict_s_own():
    words = page_of("by_latency").words
    assert "p99 ms" in words
    assert "p95" not in words


def test_trials_that_collect_waits_are_reported_apart_and_not_drawn_beside_clean_ones():
    record = example_studies.no_difference()
    slow = replace(record.trials[-1], id=99, purpose=Purpose.WAITS)
    page = Page(html.render(replace(record, trials=[*record.trials, slow], samples={**record.samples, 99: record.samples[1]})))
    assert "99" not in page.data["trials"]
    assert "block 6, for waits" in page.words
    assert "waits done" in page.words


def test_an_option_is_never_broken_after_its_dashes():
    record = example_studies.no_difference()
    reason = "It is not recommended; --accept-weaker-durability recommends it <all> the same"
    page = Page(
        html.render(
            replace(record, verdict=record.verdict.model_copy(update={"reason": reason, "reason_code": ReasonCode.CONFOUNDED}))
        )
    )
    assert ("span", {"class": "option"}) in page.elements
    assert "not recommended; --accept-weaker-durability recommends it <all> the same" in page.words


def test_no_rule_of_the_style_sheet_swallows_the_next_one():
    for selector in re.findall(r"(?:^|(?<=[{};]))([^{};]+)\{", asset("report.css")):
        assert re.search(r"[^,\s]\s*\n", selector.strip()) is None, selector


def test_an_interval_that_is_cut_off_has_an_arrow_at_the_end_of_the_axis():
    wide = Estimate(mean=5.0, low=-90.0, high=12.0)
    (arrows,) = cut_off([(wide, 1, "red"), (Estimate(mean=2.0, low=1.0, high=3.0), 2, "blue")], (-10.0, 20.0))
    assert (arrows["x"], arrows["y"]) == ([-10.0], [1])
    assert arrows["marker"]["symbol"] == ["triangle-left"]
    (upright,) = cut_off([(wide, 1, "red")], (-100.0, 10.0), upright=True)
    assert (upright["x"], upright["y"]) == ([1], [10.0])
    assert cut_off([(wide, 1, "red")], (-100.0, 20.0)) == []


def test_every_column_of_every_table_has_a_name_for_screen_readers(judged):
    heads = re.findall(r"<th scope=\"col\"[^>]*>(.*?)</th>", html.render(judged), flags=re.DOTALL)
    assert len(heads) > 10
    assert all(re.sub(r"<[^>]*>", "", head).strip() for head in heads)

"""Parts of the page: what can be switched, the two sides of the charts over time, and what the live page takes."""

import tarfile
from dataclasses import replace

import pytest
from plotly.offline import get_plotlyjs_version

from dialin.evidence.server_metrics import READINGS, server_metrics
from dialin.evidence.why_verdict import explain
from dialin.model.trial import Step, TrialState
from dialin.model.verdict import Note
from dialin.report.charts.windows import FEWEST_SECONDS, MOST_BOXES
from dialin.report.document.parts import SectionKey, find
from dialin.report.document.study_document import study_document
from dialin.report.document.verdict_section import ruled_out
from dialin.report.render import html
from dialin.sentences.setting_notes import Confound, InertConfound
from dialin.store.store import Store
from fixtures import example_studies
from fixtures.changed_studies import long_study
from fixtures.example_studies import STORED_EXAMPLE
from fixtures.report_page import Page, page_of


def charts(page, begins):
    return [chart for name, chart in page.data["charts"].items() if name.startswith(begins)]


def buttons(page, chart):
    return [attrs for attrs in page.all("button") if attrs.get("data-chart") == chart]


def by_threads():
    """The study of three alike candidates, as if each trial had measured 1 and 64 threads, one after the other."""
    record = example_studies.no_difference()
    workload = record.spec.workload.model_copy(update={"threads": 64, "levels": (1, 64)})
    samples = {
        trial: [
            replace(one, threads=1 if one.second <= 40 else 64, tps=one.tps / (10 if one.second <= 40 else 1)) for one in own
        ]
        for trial, own in record.samples.items()
    }
    return replace(record, spec=record.spec.model_copy(update={"workload": workload}), samples=samples)


def test_every_trial_of_a_candidate_can_be_switched_off_by_a_button_that_says_which_it_is():
    page = page_of("safe_choice")
    own = [trial for trial in example_studies.safe_choice().trials if trial.candidate == "16"]
    place = [candidate.name for candidate in example_studies.safe_choice().spec.candidates].index("16") + 1
    found = buttons(page, f"over-time-{place}")
    assert [attrs["data-trials"] for attrs in found] == [str(trial.id) for trial in own]
    assert found[0]["aria-label"] == f"trial {own[0].id}, block {own[0].block}"
    assert sum("confirmation" in attrs["aria-label"] for attrs in found) == 6
    keys = [attrs["data-key"] for attrs in page.all("button") if "data-key" in attrs]
    assert len(keys) == len(set(keys))


def test_the_combined_chart_is_switched_by_candidate():
    record, page = example_studies.winner(), page_of("winner")
    found = buttons(page, "combined")
    own = [[trial.id for trial in record.trials if trial.candidate == one.name] for one in record.spec.candidates]
    assert [list(map(int, attrs["data-trials"].split())) for attrs in found] == own


def test_raw_seconds_are_thin_and_rolling_means_thick():
    for chart in charts(page_of("winner"), "over-time"):
        lines = {(t["meta"]["of"], t["meta"]["part"]): t for t in chart["data"] if t["mode"] == "lines"}
        assert set(lines) == {(of, part) for of in ("tps", "latency") for part in ("w", "m", "a")}
        for of in ("tps", "latency"):
            assert lines[of, "a"]["line"]["width"] >= 2 * lines[of, "m"]["line"]["width"]
            assert lines[of, "m"]["opacity"] < lines[of, "a"].get("opacity", 1)
    assert "Thick: the rolling mean of 5 s." in page_of("winner").words


def test_trials_too_short_for_a_rolling_mean_are_drawn_plain():
    page = page_of("hostile")
    assert not [t for chart in charts(page, "over-time") for t in chart["data"] if t["meta"].get("part") == "a"]
    assert "rolling mean" not in page.words


def test_all_candidates_are_drawn_on_one_scale_on_both_sides():
    found = charts(page_of("winner"), "over-time")
    assert len({str(chart["layout"]["yaxis"]["range"]) for chart in found}) == 1
    assert len({str(chart["layout"]["xaxis"]["range"]) for chart in found}) == 1
    assert len({str(chart["layout"]["meta"]["latency"]["yaxis"]) for chart in found}) == 1


def test_the_charts_over_time_show_throughput_or_latency():
    measures = [attrs["data-measure"] for attrs in page_of("winner").all("button") if "data-measure" in attrs]
    assert measures == ["tps", "latency"]


def test_all_that_a_chart_or_a_table_offers_is_in_one_menu():
    page = page_of("winner")
    menus = [attrs["data-key"].removesuffix(" menu") for attrs in page.all("details") if attrs.get("class") == "menu"]
    assert set(page.data["charts"]) < set(menus)
    assert len(menus) == len(set(menus))
    for kind in ("data-image", "data-csv", "data-markdown"):
        assert {attrs[kind] for attrs in page.all("button") if kind in attrs} <= set(menus)


def test_trials_too_short_for_percentiles_have_no_boxes():
    record = example_studies.winner()
    assert "windows" in html.body(record).data["charts"]
    short = {trial: own[: FEWEST_SECONDS // 2] for trial, own in record.samples.items()}
    assert "windows" not in html.body(replace(record, samples=short)).data["charts"]


def test_latency_is_drawn_by_candidate_out_to_its_worst_seconds():
    page = page_of("by_latency")
    chart = page.data["charts"]["latency"]
    assert [trace["meta"]["key"] for trace in chart["data"]] == [one["data-switch"] for one in buttons(page, "latency")]
    assert len(chart["data"]) == 3
    assert chart["layout"]["xaxis"]["ticktext"][:3] == ["0 %", "50 %", "90 %"]
    for trace in chart["data"]:
        assert trace["y"] == sorted(trace["y"])
    assert "Latency by candidate, p99 of each second" in page.words


def test_seconds_with_different_numbers_of_threads_are_never_in_one_box():
    record = by_threads()
    page = Page(html.render(record))
    chart = page.data["charts"]["windows"]
    boxes = [trace for trace in chart["data"] if trace["type"] == "box"]
    assert len(boxes) == 3
    for trace in boxes:
        few, many = trace["median"]
        assert many > 5 * few
    assert chart["layout"]["yaxis"]["ticktext"] == [f"{name} · {threads}" for name in ("1", "4", "16") for threads in (1, 64)]
    assert "Only seconds with 64 threads." in page.words


def test_a_study_of_very_many_trials_has_a_box_for_each_candidate():
    record = long_study(trials=35, length=40)
    many = [replace(trial, id=100 * again + trial.id, block=again) for again in (1, 2, 3) for trial in record.trials]
    samples = {trial.id: record.samples[trial.id % 100] for trial in many}
    assert len(many) > MOST_BOXES
    page = Page(html.render(replace(record, trials=many, samples=samples)))
    boxes = [trace for trace in page.data["charts"]["windows"]["data"] if trace["type"] == "box"]
    assert [len(trace["median"]) for trace in boxes] == [1] * 7
    assert "The measured seconds of each candidate" in page.words


def test_a_body_is_what_stands_inside_the_report_s_main():
    record = example_studies.tie()
    body = html.body(record)
    assert str(body.main) in html.render(record)
    assert body.title == record.verdict.headline
    assert set(body.data) == {"trials", "metrics", "charts", "flames", "summary-markdown"}


@pytest.mark.parametrize("seconds", [0, 1, 12, 30])
def test_a_study_whose_first_trial_runs_has_a_body(seconds):
    record = example_studies.unfinished()
    trial = replace(record.trials[0], state=TrialState.RUNNING, steps={Step.BOOT: 2.0}, costs=None, warm_up_end=None)
    body = html.body(replace(record, trials=[trial], samples={trial.id: record.samples[trial.id][:seconds]}, looks=()))
    page = Page(str(body.main))
    assert page.misnested == []
    assert "No verdict yet" in page.words
    assert {attrs["id"] for attrs in page.all("div") if attrs.get("class") == "drawing"} == set(body.data["charts"])


def test_a_study_of_which_nothing_began_has_a_body():
    empty = replace(example_studies.unfinished(), trials=(), samples={}, log=(), host={}, servers={}, looks=())
    assert "over-time-1" in html.body(empty).data["charts"]


def test_a_page_made_by_somebody_else_gets_the_same_assets():
    parts = html.assets()
    assert "window.dialin = { show, copy }" in parts.script
    assert "--paper" in parts.css
    assert "plotly.js" in parts.library[:400]


def test_the_charts_library_has_the_version_of_the_one_that_makes_the_figures():
    assert f"(cartesian - minified) v{get_plotlyjs_version()}" in html.assets().library[:200], "run scripts/plotly.sh"


def test_a_report_of_a_dozen_trials_is_below_one_megabyte(tmp_path):
    with tarfile.open(STORED_EXAMPLE) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
        packed.extractall(tmp_path)
    with Store.open(tmp_path / "example-study") as store:
        record = store.read(readings=READINGS)
    assert len(record.trials) >= 11
    assert server_metrics(record).trials, "with the charts of server metrics"
    assert len(html.render(record, explain(record)).encode()) < 1_000_000


def test_every_part_that_can_be_folded_keeps_its_name_when_the_page_is_made_anew():
    names = [attrs.get("data-key") for attrs in page_of("failed_candidate").all("details")]
    assert all(names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("code", ["client_limit", "client_shares_machine", "busy_load_thread"])
def test_a_load_driver_that_was_the_limit_is_not_ruled_out(code):
    verdict = example_studies.tie().verdict
    assert "a load driver at its limit" in ruled_out(verdict, saw_machine=True)
    limited = [*verdict.warnings, Note(code=code, text="It was the limit", data={})]
    assert "a load driver at its limit" not in ruled_out(verdict.model_copy(update={"warnings": limited}), saw_machine=True)


def test_limits_that_were_ruled_out_are_said_and_those_found_are_not_among_them():
    clean = page_of("tie").words
    assert "Ruled out: other variables that differ, a load driver at its limit" in clean
    assert "host stalls." in clean
    reported = page_of("safe_choice").words.partition("Ruled out: ")[2].partition(".")[0]
    assert "host stalls" not in reported
    reported = page_of("failed_candidate").words.partition("Ruled out: ")[2].partition(".")[0]
    assert "failed trials" not in reported
    assert "other variables" not in reported


def test_variables_that_cannot_explain_a_difference_are_one_line_below_what_may():
    values = {"1": "10", "16": "20"}
    record = example_studies.winner()
    sizes = [f"performance_schema_{name}" for name in ("max_mutex_instances", "max_table_handles", "digests_size")]
    confounds = [
        *(InertConfound(variable=name, values=values, reason="").stored() for name in sizes),
        Confound(variable="innodb_page_cleaners", values=values).stored(),
    ]
    verdict = record.verdict.model_copy(update={"confounds": confounds})
    document = study_document(replace(record, verdict=verdict))
    _, caveats = find(document.section(SectionKey.VERDICT).parts, "caveats").parts
    first, *others = caveats.caveats
    assert (first.kind, "innodb_page_cleaners differs" in first.text) == ("confound", True)
    (one_line,) = [one for one in others if one.kind == "without effect"]
    assert all(name in one_line.text for name in sizes)
    assert one_line.text.count("uses memory but no time") == 1

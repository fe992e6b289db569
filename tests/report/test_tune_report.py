"""What the report of a tune shows, in each rendering."""

import io
import json
import re
import tomllib
from dataclasses import replace

import pytest
from rich.console import Console

from dialin import json_documents
from dialin.measures.table import MEASURES
from dialin.model.dimension import Dimension
from dialin.model.study import Goal
from dialin.model.tune import LeftOut, LeftOutReason
from dialin.model.verdict import Estimate, FigureSource, ReasonCode, ResponsePoint, TunedPair, TuneFailure
from dialin.preflight.tune_forecast import choice_text, smallest_gain
from dialin.question.options import StudyOptions
from dialin.question.plan import Plan
from dialin.report.charts.chart import label_margin
from dialin.report.charts.search_course import search_course, waterfall
from dialin.report.charts.tune_responses import responses
from dialin.report.document.parts import Fold, Pairs, SectionKey, Table, find
from dialin.report.document.study_document import study_document
from dialin.report.document.tune_section import left_out_pairs, space_table
from dialin.report.files import recommendation
from dialin.report.render import html, markdown
from dialin.report.render.terminal import print_verdict
from dialin.report.studyfile import study_file
from dialin.report.tune_effects import shown_effects
from dialin.sentences.names import naming
from dialin.sentences.tune_words import setting_text
from fixtures.simulated_servers import CAPACITY, POOL
from fixtures.tuned import tuned


@pytest.fixture(scope="module")
def record():
    return tuned()


def search(record):
    return study_document(record).section(SectionKey.SEARCH)


def in_terminal(record):
    out = io.StringIO()
    print_verdict(record, Console(file=out, width=100))
    return out.getvalue()


def test_the_headline_has_the_changes_and_the_gain_in_figures(record):
    headline = study_document(record).headline
    assert POOL in headline
    assert " → " in headline
    assert "95 % CI" in headline
    assert headline in html.render(record).replace("&nbsp;", " ") or POOL in html.render(record)


def test_the_search_section_has_course_waterfall_variables_and_trials(record):
    parts = search(record).parts
    for key in (
        "tune-waterfall",
        "search-course",
        "tune-responses",
        "tune-variables",
        "tune-trials",
        "tune-trade-off",
    ):
        assert find(parts, key) is not None, key
    table, rest = find(parts, "tune-variables-table"), find(parts, "tune-rest-table")
    assert isinstance(table, Table)
    assert isinstance(rest, Table)
    assert len(table.rows) + len(rest.rows) == len(record.spec.question.variables)
    assert {table.rows[0].cells[0].text, table.rows[1].cells[0].text} == {POOL, CAPACITY}


def effect_cells(table: Table) -> list[str]:
    place = [column.key for column in table.columns].index("effect")
    return [row.cells[place].text for row in table.rows]


def test_no_effect_stands_without_an_interval(record):
    for key in ("tune-variables-table", "tune-rest-table"):
        assert all(" to " in cell for cell in effect_cells(find(search(record).parts, key)))


def test_variables_without_effect_are_folded_away_and_none_is_claimed_to_have_any(record):
    fold = find(search(record).parts, "tune-rest")
    assert isinstance(fold, Fold)
    names = {row.cells[0].text for row in find(fold.parts, "tune-rest-table").rows}
    assert {f"innodb_idle_{place}" for place in range(3)} <= names
    shown = shown_effects(record.course.findings, record.spec, MEASURES[Goal.THROUGHPUT])
    assert {one.variable.name for one in shown} >= {POOL, CAPACITY}
    assert not {one.variable.name for one in shown} & {f"innodb_idle_{place}" for place in range(3)}


def response(*ratios: tuple[int, float], half: float = 0.01) -> list[ResponsePoint]:
    estimates = [(value, Estimate(mean=mean, low=mean - half, high=mean + half)) for value, mean in ratios]
    return [ResponsePoint(value=value, ratio=estimate) for value, estimate in estimates]


@pytest.mark.parametrize(
    ("points", "values"),
    [
        ([(64, 1.0), (100, 1.2), (200, 1.3), (400, 1.3), (800, 1.3)], "any value from 200 on"),
        ([(64, 1.3), (100, 1.3), (200, 1.3), (400, 1.1), (800, 1.0)], "any value up to 200"),
        ([(64, 1.0), (100, 1.3), (200, 1.3), (400, 1.3), (800, 1.0)], "any value from 100 to 400"),
        ([(64, 1.0), (100, 1.1), (200, 1.3), (400, 1.1), (800, 1.0)], ""),
    ],
)
def test_values_that_are_as_good_as_the_best_are_a_plateau(record, points, values):
    axis = Dimension("innodb_lru_scan_depth", low=64, high=800, step=1, default=64)
    plan = record.spec.question.model_copy(update={"variables": (axis,)})
    spec = record.spec.model_copy(update={"question": plan})
    one = record.course.findings.variables[0].model_copy(
        update={"name": axis.name, "before": 64, "recommended": None, "response": response(*points)}
    )
    (shown,) = shown_effects(record.course.findings.model_copy(update={"variables": [one]}), spec, MEASURES[Goal.THROUGHPUT])
    assert shown.values == values
    assert "+30.0 %" in shown.text


def test_an_effect_counts_as_shown_only_at_the_level_of_all_variables(record):
    axes = tuple(Dimension(f"v_{place}", low=0, high=10, step=1, default=0) for place in range(30))
    spec = record.spec.model_copy(update={"question": record.spec.question.model_copy(update={"variables": axes})})
    known = record.course.findings.variables[0].model_copy(update={"before": 0, "recommended": None})

    def shown(count: int) -> int:
        ones = [
            known.model_copy(update={"name": axis.name, "response": response((0, 1.0), (5, 1.012))}) for axis in axes[:count]
        ]
        return len(
            shown_effects(record.course.findings.model_copy(update={"variables": ones}), spec, MEASURES[Goal.THROUGHPUT])
        )

    assert shown(1) == 1
    assert shown(30) == 0, "of thirty variables without effect one or two have an interval of 95 % that excludes none"


def test_settings_are_named_by_their_changes(record):
    names = naming(record.spec)
    assert "setting" not in " ".join([*names.labels.values(), *names.full.values()])
    assert len({*names.labels.values()}) == len(record.spec.candidates)
    assert POOL in names.full[record.verdict.recommended_candidate]
    for text in (in_terminal(record), markdown.render(record), html.render(record)):
        assert not re.search(r"setting \d", text)


def test_commands_have_the_directory_of_the_study():
    record = replace(tuned(gain=False), directory="/tmp/a b/tune")
    verdict = record.verdict.model_copy(update={"reason_code": ReasonCode.GAIN_NOT_SHOWN, "reason_data": {"minutes": 90}})
    text = in_terminal(replace(record, verdict=verdict))
    assert "dialin resume '/tmp/a b/tune' --minutes 90" in " ".join(text.split())


def test_every_trial_is_drawn_once_and_the_best_is_called_no_proof(record):
    points = record.course.points()
    assert [point.place for point in points] == list(range(1, len(record.course.asks) + 1))
    chart = search_course(record.course, record.spec)
    drawn = sum(len(trace["x"]) for trace in chart.figure["data"] if trace["mode"] == "markers")
    assert drawn == len(points)
    assert "no proof" in chart.text


def test_the_waterfall_ends_with_the_gain_of_fresh_trials(record):
    findings = record.course.findings
    chart = waterfall(findings, MEASURES[Goal.THROUGHPUT])
    bars = chart.figure["data"][1]
    assert bars["x"][-1] == pytest.approx(100 * (findings.gain.mean - 1))
    reached = [base + length for base, length in zip(bars["base"], bars["x"], strict=True)]
    assert bars["base"][1:-1] == pytest.approx(reached[:-2]), "each bar begins where the one before ended"
    assert reached[-2] == pytest.approx(reached[-1]), "what single changes do not carry is a bar of its own"
    by_proof = [one.name for one in findings.variables if one.carries_by is FigureSource.PROOF]
    assert str(chart.figure["layout"]["yaxis2"]["ticktext"]).count(", measured") == len(by_proof)


def test_the_waterfall_of_a_single_change_has_nothing_that_changes_carry_together(record):
    findings = record.course.findings
    first = next(one for one in findings.variables if one.carries and one.recommended is not None)
    chart = waterfall(findings.model_copy(update={"variables": [first]}), MEASURES[Goal.THROUGHPUT])
    assert len(chart.figure["data"][1]["x"]) == 3, "the baseline, the change, and all in confirmation trials"
    assert "together" not in chart.text


def test_each_variable_has_a_panel_with_the_uncertainty_of_what_it_does(record):
    findings = record.course.findings
    chart = responses(findings, record.spec, MEASURES[Goal.THROUGHPUT])
    panels = {key for key in chart.figure["layout"] if key.startswith("yaxis")}
    assert len(panels) == len(record.spec.question.variables) == len(chart.figure["layout"]["annotations"])
    bands = [trace for trace in chart.figure["data"] if trace.get("fill") == "toself"]
    assert len(bands) == sum(not one.values for one in record.spec.question.variables)
    for band in bands:
        half = len(band["y"]) // 2
        assert all(low <= high for low, high in zip(band["y"][:half], reversed(band["y"][half:]), strict=True))


def test_failed_settings_are_marked_where_they_stood(record):
    failure = TuneFailure(trial=7, setting={POOL: 2**31}, reason="the server died")
    findings = record.course.findings.model_copy(update={"failures": [failure]})
    chart = responses(findings, record.spec, MEASURES[Goal.THROUGHPUT])
    crosses = [trace for trace in chart.figure["data"] if trace.get("marker", {}).get("symbol") == "x"]
    (pool,) = [one for one in record.spec.question.variables if one.name == POOL]
    assert [cross["x"] for cross in crosses] == [[pool.position(2**31)]]


def test_pairs_that_depend_on_each_other_are_named(record):
    pair = TunedPair(variables=(POOL, CAPACITY), ratio=Estimate(mean=1.12, low=1.05, high=1.2))
    found = record.course.findings.model_copy(update={"interactions": [pair]})
    text = markdown.render(replace(record, course=replace(record.course, findings=found)))
    assert "need each other: together they gain 12 % more than what each gains without the other" in text


def test_variables_that_no_trial_separated_are_said_beside_their_gain(record):
    findings = record.course.findings
    together = [one.model_copy(update={"companions": [POOL]}) if one.name == CAPACITY else one for one in findings.variables]
    changed = findings.model_copy(update={"variables": together})
    text = markdown.render(replace(record, course=replace(record.course, findings=changed)))
    assert f"not separated from {POOL}" in text


def test_every_figure_beside_the_gain_from_a_change_has_room_whatever_it_is_not_separated_from(record):
    findings = record.course.findings
    together = [one.model_copy(update={"companions": [POOL, "innodb_adaptive_hash_index_parts"]}) for one in findings.variables]
    chart = waterfall(findings.model_copy(update={"variables": together}), MEASURES[Goal.THROUGHPUT])
    layout = chart.figure["layout"]
    figures = layout["yaxis2"]["ticktext"]
    assert sum("not separated" in figure for figure in figures) == len(findings.recommended)
    assert layout["margin"]["r"] == label_margin(figures, most=max(map(len, figures)))
    assert "Not separated: no trial has one change without another" in chart.text
    assert "separated" not in waterfall(findings, MEASURES[Goal.THROUGHPUT]).text


def test_the_other_sections_are_those_of_the_proof(record):
    document = study_document(record)
    names = [candidate.name for candidate in record.verdict.candidates]
    assert list(document.candidates) == names
    assert len(names) <= 5
    assert names[0] == "baseline"


def test_the_files_set_what_is_recommended(record):
    files = recommendation(record, record.verdict)
    for name in record.verdict.tune.recommended:
        assert f"\n{name} = " in files["recommended.cnf"] or f"\n{name}=" in files["recommended.cnf"]


def test_the_terminal_shows_the_recommended_values_and_the_variables_that_matter(record):
    text = in_terminal(record)
    assert "recommended" in text
    assert {POOL, CAPACITY} <= set(text.split())


def test_markdown_and_json_have_it_too(record):
    text = markdown.render(record)
    assert "Every trial of the tune" in text
    assert "Gain from each change" in text
    document = json.loads(json_documents.render_verdict(record.verdict))
    assert document["tune"]["outcome"] == "gain"
    assert set(document["tune"]["recommended"]) >= {POOL, CAPACITY}


def test_the_study_file_asks_the_same_again(record):
    options = StudyOptions.model_validate(tomllib.loads(study_file(record.spec)))
    assert [text.partition("=")[0] for text in options.tune] == [one.name for one in record.spec.question.variables]
    assert options.minutes == record.spec.minutes


def test_a_tune_without_a_gain_says_so():
    record = tuned(gain=False)
    assert record.verdict.recommended_candidate == "baseline"
    headline = study_document(record).headline
    assert headline.startswith(("Nothing to gain here", "Inconclusive"))
    assert find(search(record).parts, "tune-waterfall") is None
    assert "Blue" not in html.render(record)
    assert "Nothing changes" in in_terminal(record)


def test_sizes_have_letters_and_a_space_is_listed_with_its_default(record):
    assert setting_text({POOL: 2**30, CAPACITY: 2000}) == f"{POOL} = 1G, {CAPACITY} = 2000"
    cells = [cell.text for cell in space_table(record.spec).rows[0].cells]
    assert cells == [POOL, "16M..4G, log scale", "64M", "1G", "restart"]


def test_variables_left_out_are_listed_with_the_reason_and_the_budget_that_would_take_them(record):
    out = (
        LeftOut(name="innodb_doublewrite", reason=LeftOutReason.DURABILITY),
        LeftOut(name="sort_buffer_size", reason=LeftOutReason.LOAD),
        LeftOut(name="innodb_page_cleaners", reason=LeftOutReason.LIMITED, by="innodb_buffer_pool_instances", value="1"),
        *(LeftOut(name=f"other_{place}", reason=LeftOutReason.BUDGET) for place in range(8)),
    )
    tune = record.spec.question.model_copy(update={"left_out": out})
    spec = record.spec.model_copy(update={"question": tune, "minutes": 6})
    pairs = dict(left_out_pairs(spec))
    assert pairs["no effect under this load"] == "sort_buffer_size"
    assert "innodb_page_cleaners (innodb_buffer_pool_instances = 1)" in pairs.values()
    assert "--accept-weaker-durability" in next(why for why, names in pairs.items() if names == "innodb_doublewrite")
    assert pairs["too few trials"].startswith("other_0, other_1")
    text = choice_text(spec, Plan(10, 2, 18, 20.0))
    assert "About 18 trials can tell 6 variables apart, of 14 that may matter here" in text
    assert "--minutes 15 would tune 14" in text, "14 variables x 3 trials x 20 s, in steps of 5 minutes"
    shown = find(search(replace(record, spec=spec)).parts, "tune-space")
    assert any(isinstance(part, Pairs) for part in shown.parts)
    assert choice_text(record.spec, Plan(10, 2, 18, 20.0)) == "", "the user named the variables"


def test_a_larger_budget_shows_a_smaller_gain(record):
    gains = [smallest_gain(record.spec.model_copy(update={"minutes": minutes})) for minutes in (12, 60, 240)]
    assert sorted(gains, key=lambda text: -float(text.removesuffix(" %"))) == gains
    assert len({*gains}) == 3

import pytest

from dialin.model.verdict import Estimate
from dialin.report.document.figure_columns import columns
from dialin.report.document.parts import NO_INTERVAL
from fixtures import example_studies


def figure(verdict, title, name):
    column = next(column for column in columns(verdict) if column.title == title)
    return column.of(next(one for one in verdict.candidates if one.name == name))


def changed(**update):
    verdict = example_studies.winner().verdict
    candidates = [one.model_copy(update=update) if one.name == "16" else one for one in verdict.candidates]
    return verdict.model_copy(update={"candidates": candidates})


def test_the_deciding_figure_stands_first_where_it_is_not_throughput():
    assert [column.title for column in columns(example_studies.winner().verdict)][:2] == ["tps", "to baseline"]
    assert [column.title for column in columns(example_studies.by_stability().verdict)][:4] == [
        "CV to baseline", "CV", "tps", "tps to baseline",
    ]  # fmt: skip
    assert [column.title for column in columns(example_studies.by_latency().verdict)][:2] == ["p99 to baseline", "p99 ms"]


@pytest.mark.parametrize("name", ["winner", "by_stability", "by_latency"])
def test_one_column_decides_and_every_rank_is_its_own(name):
    every = columns(example_studies.EVERY[name]().verdict)
    assert [column.rank for column in every if column.is_charted] == [0]
    assert len({column.rank for column in every}) == len(every)


@pytest.mark.parametrize(
    ("cv", "full", "compact"),
    [
        (Estimate(mean=0.038, low=0.0312, high=0.0463), "3.8 % (3.1 % to 4.6 %)", "3.8 % (3.1–4.6)"),
        (Estimate(mean=0.206, low=0.18, high=0.241), "20.6 % (18.0 % to 24.1 %)", "20.6 % (18–24)"),
        (Estimate(mean=0.2, low=0.196, high=0.204), "20.0 % (19.6 % to 20.4 %)", "20.0 % (19.6–20.4)"),
        (Estimate(mean=0.038, low=None, high=None), "3.8 %", "3.8 %"),
        (None, "–", "–"),
    ],
)
def test_a_figure_has_a_full_and_a_compact_form(cv, full, compact):
    shown = figure(changed(cv=cv), "CV", "16")
    assert (shown.full, shown.compact) == (full, compact)


def test_an_interval_that_is_missing_is_said_so_beside_the_figure():
    assert figure(changed(cv=Estimate(mean=0.1, low=None, high=None)), "CV", "16").detail == [NO_INTERVAL]


@pytest.mark.parametrize(("chance", "shown"), [(0.0, "<1 %"), (0.97, "97 %"), (0.9999, ">99 %"), (1.0, ">99 %"), (None, "–")])
def test_a_chance_is_never_said_to_be_none_or_certain(chance, shown):
    assert figure(changed(probability=chance), "P(within 1 %)", "16").text == shown


def test_trials_report_what_became_of_some_the_gravest_first():
    verdict = changed(failed=1, unsteady=2, lost_seconds=1203, effective_seconds=88.2)
    assert figure(verdict, "trials", "16").full == "5 (1 failed, 2 unsteady, 1,203 s of host stalls, 88.2 independent s)"
    assert figure(verdict, "trials", "16").compact == "5 (1 failed, 2 unsteady, 1,203 s of host stalls)"


def test_missing_figures_sort_as_missing():
    assert figure(changed(latency_ms=None), "p95 ms", "16").order is None
    assert figure(changed(), "to baseline", "1").order == 1


def test_a_scan_is_worth_runs_and_not_seconds():
    verdict = changed(effective_seconds=9.0)
    scanned = verdict.model_copy(
        update={
            "workload": {
                **verdict.workload,
                "traits": {"unit": "run", "runs": {"warm_up": 0, "measured": 3, "most": 6, "seconds": 1.0}},
            }
        }
    )
    assert figure(scanned, "trials", "16").full.endswith("9.00 independent runs)")

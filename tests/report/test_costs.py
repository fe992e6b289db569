from dialin.model.verdict import ComparedFigure, Estimate
from dialin.model.why import CostRow
from dialin.report.document import costs
from fixtures import example_reasons, example_studies


def cost(level, *ratio):
    mean, low, high = (*ratio, None, None, None)[:3]
    return ComparedFigure(
        level=Estimate(mean=level, low=None, high=None), ratio=Estimate(mean=mean, low=low, high=high) if ratio else None
    )


ROW = CostRow(
    name="server CPU",
    unit="µs",
    per_query={"a": cost(200), "b": cost(250, 1.25, 1.2, 1.3), "c": cost(201, 1.005, 0.98, 1.03), "d": cost(220, 1.1)},
    per_transaction={"a": cost(4000), "b": cost(5500, 1.375, 1.32, 1.43)},
)


def test_a_cost_has_its_change_with_the_interval_and_a_star_where_that_holds_no_nought():
    assert costs.cost_cell(ROW.per_query["b"]).full == "250 (+25.0 %*, +20.0 to +30.0)"
    assert costs.cost_cell(ROW.per_query["b"]).compact == "250 (+25.0 %*)"
    assert costs.cost_cell(ROW.per_query["c"]).full == "201 (+0.5 %, −2.0 to +3.0)"


def test_the_baseline_has_no_change_and_what_is_not_known_is_not_invented():
    assert costs.cost_cell(ROW.per_query["a"]).full == "200"
    assert costs.cost_cell(ROW.per_query["d"]).full == "220 (+10.0 %, no interval)"
    assert costs.cost_cell(None).full == "–"
    why = example_reasons.full(example_studies.winner()).model_copy(update={"costs": [ROW]})
    per_query, per_transaction = costs.tables(why, ["b", "c"], {"b": "b", "c": "c"})
    assert [[cell.full for cell in row.cells] for row in per_transaction.rows] == [
        ["b", "5,500 (+37.5 %*, +32.0 to +43.0)"],
        ["c", "–"],
    ], "a query and a transaction need not change alike"
    assert per_query.rows[0].cells[1].full == "250 (+25.0 %*, +20.0 to +30.0)"


def test_columns_report_their_unit_and_candidates_stand_in_the_study_s_order():
    why = example_reasons.full(example_studies.winner())
    assert costs.titles(why)[:3] == ["server CPU µs", "client CPU µs", "context switches"]
    assert costs.candidates(why, ["64", "1", "unseen"]) == ["64", "1"]

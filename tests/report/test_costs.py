from dialin.model.verdict import Estimate
from dialin.model.why import CostRow
from dialin.report.document import costs
from fixtures import example_reasons, example_studies

ROW = CostRow(
    name="server CPU",
    unit="µs",
    per_query={"a": 200.0, "b": 250.0, "c": 201.0},
    per_transaction={"a": 4000.0, "b": 5000.0},
    ratio={
        "b": Estimate(mean=1.25, low=1.2, high=1.3),
        "c": Estimate(mean=1.005, low=0.98, high=1.03),
        "d": Estimate(mean=1.1, low=None, high=None),
    },
)


def test_a_cost_has_its_change_with_the_interval_and_a_star_where_that_holds_no_nought():
    assert costs.per_query(ROW, "b", "a").full == "250 (+25.0 %*, +20.0 to +30.0)"
    assert costs.per_query(ROW, "b", "a").compact == "250 (+25.0 %*)"
    assert costs.per_query(ROW, "c", "a").full == "201 (+0.5 %, −2.0 to +3.0)"


def test_the_baseline_has_no_change_and_what_is_not_known_is_not_invented():
    assert costs.per_query(ROW, "a", "a").full == "200"
    assert costs.per_query(ROW, "d", "a").full == "– (+10.0 %)"
    assert costs.per_query(ROW, "e", "a").full == "–"
    why = example_reasons.full(example_studies.winner()).model_copy(update={"costs": [ROW]})
    _, per_transaction = costs.tables(why, ["c"], {"c": "c"}, "a")
    assert [cell.text for cell in per_transaction.rows[0].cells] == ["c", "–"]


def test_columns_report_their_unit_and_candidates_stand_in_the_study_s_order():
    why = example_reasons.full(example_studies.winner())
    assert costs.titles(why)[:3] == ["server CPU µs", "client CPU µs", "context switches"]
    assert costs.candidates(why, ["64", "1", "unseen"]) == ["64", "1"]

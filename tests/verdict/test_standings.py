from dialin.model.study import Goal
from dialin.stats.trial_figures import figures
from dialin.verdict.reach_verdict import standings
from fixtures import example_studies


def test_standings_are_of_the_goal():
    record = example_studies.safe_choice()
    by_trial = {number: summed for number, samples in record.samples.items() if (summed := figures(samples)) is not None}
    of_speed = standings(record.spec, record.trials, by_trial)
    spec = record.spec.model_copy(update={"goal": Goal.LATENCY})
    of_latency = standings(spec, record.trials, by_trial)
    base = of_latency[spec.baseline]
    assert base.ratio == 1.0
    for name, standing in of_latency.items():
        assert standing.tps == of_speed[name].tps
        assert of_speed[name].figure is None
        if standing.figure is not None and base.figure is not None:
            assert abs(standing.ratio - standing.figure / base.figure) < 1e-9
    assert any(abs(one.ratio - of_speed[name].ratio) > 0.01 for name, one in of_latency.items() if one.ratio is not None)

"""The findings of a tune, so far or at its end, as the records that are stored and shown."""

from __future__ import annotations

import math

import numpy as np

from dialin.measures.of_trials import goal_ratio
from dialin.model.dimension import CATEGORY
from dialin.model.study import Goal
from dialin.model.tune import TuneStage
from dialin.model.verdict import Estimate, ResponsePoint, TunedVariable, TuneFindings, TuneOutcome
from dialin.search.attribution import MODEL_DEVIATES
from dialin.search.space import Point, Space
from dialin.search.study_tuner import StudyTuner
from dialin.search.surrogate import Surrogate
from dialin.search.trial_records import Result
from dialin.stats.blocks import estimate_of_logs

_GRID = 17
"""Values along a range at which the model is evaluated, besides the baseline's and that of the best setting."""


def findings_so_far(study: StudyTuner) -> TuneFindings:
    """Return what is known before the proof has ended: the best setting by the model, and nothing proven."""
    return _findings(study, Result(TuneOutcome.RUNNING, {}, None, {}))


def final_findings(study: StudyTuner) -> TuneFindings:
    return _findings(study, study.tuner.result())


def _findings(study: StudyTuner, result: Result) -> TuneFindings:
    space, tuner, goal = study.space, study.tuner, study.goal
    best = space.point(result.guess or tuner.best())
    model = tuner.surrogate() if any(outcome.ok for outcome in tuner.history) else None
    expected = None
    if model is not None and (best != space.default_point).any():
        logs = float(model.differences(best[None, :], space.default_point)[0][0])
        expected = goal_ratio(Estimate(mean=math.exp(logs), low=None, high=None), goal)
    proof = [outcome for outcome in tuner.history if outcome.ask.purpose is TuneStage.PROOF]
    variables = _variables(space, model, best, result, goal)
    return TuneFindings(
        outcome=result.outcome,
        best=space.setting(best),
        expected=expected.mean if expected else None,
        recommended={one.name: result.setting[one.name] for one in variables if one.name in result.setting},
        gain=goal_ratio(result.gain, goal),
        worthwhile=tuner.options.worthwhile,
        variables=variables,
        interactions=list(result.interactions),
        failures=list(study.failures),
        memory_limit=tuner.constraints.limit,
        fence=tuner.constraints.fence,
        searched=len(tuner.history) - len(proof),
        proven=sum(outcome.ok for outcome in proof),
        left_out=study.left_out,
    )


def _variables(space: Space, model: Surrogate | None, shown: Point, result: Result, goal: Goal) -> list[TunedVariable]:
    """Return all variables: those in `result.carried`, then other recommended ones, then the rest; both of these by effect."""
    responses = {} if model is None else {one.name: _response(space, model, shown, i) for i, one in enumerate(space.dimensions)}
    effects = {name: _effect(points) for name, points in responses.items()}
    carried = {one.variable: one for one in result.carried}
    names = [dimension.name for dimension in space.dimensions if dimension.name not in carried]
    others = sorted(names, key=lambda name: (name not in result.setting, -effects.get(name, 0.0)))
    return [
        TunedVariable(
            name=name,
            before=space.defaults[name],
            recommended=result.setting.get(name),
            effect=effects.get(name),
            carries=goal_ratio(carried[name].ratio, goal) if name in carried else None,
            carries_by=carried[name].source if name in carried else None,
            companions=list(carried[name].companions) if name in carried else [],
            response=[point.model_copy(update={"ratio": goal_ratio(point.ratio, goal)}) for point in responses.get(name, ())],
        )
        for name in [*carried, *others]
    ]


def _response(space: Space, model: Surrogate, at: Point, index: int) -> list[ResponsePoint]:
    """Return the effect of each value of a variable against the baseline's value, with all other variables as at a point."""
    dimension, default = space.dimensions[index], space.default_point[index]
    ranged = set() if dimension.values else {dimension.position(dimension.value(share)) for share in np.linspace(0, 1, _GRID)}
    categories = {CATEGORY + code for code in range(len(dimension.categories))}
    coordinates = np.array(sorted({*ranged, *categories, default, at[index]}))
    points = np.repeat(at[None, :], len(coordinates), axis=0)
    points[:, index] = coordinates
    reference = at.copy()
    reference[index] = default
    means, sds = model.differences(points, reference)
    return [
        ResponsePoint(
            value=dimension.value(float(coordinate)),
            ratio=estimate_of_logs(float(mean), MODEL_DEVIATES * float(sd) if coordinate != default else 0.0),
        )
        for coordinate, mean, sd in zip(coordinates, means, sds, strict=True)
    ]


def _effect(response: list[ResponsePoint]) -> float:
    ratios = [point.ratio.mean for point in response]
    return max(ratios) / min(ratios) - 1

"""What a tune has found so far, or at its end: in the nouns that are stored and shown."""

from __future__ import annotations

import math

import numpy as np

from dialin.model.dimension import CATEGORY
from dialin.model.study import Goal
from dialin.model.tune import TuneStage
from dialin.model.verdict import Estimate, TunedVariable, TuneFindings, TuneOutcome
from dialin.search.space import Point, Space
from dialin.search.study_tuner import StudyTuner
from dialin.search.surrogate import Surrogate
from dialin.search.trial_records import Result
from dialin.stats.trial_figures import goal_ratio

_GRID = 25


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
    )


def _variables(space: Space, model: Surrogate | None, shown: Point, result: Result, goal: Goal) -> list[TunedVariable]:
    """Return all variables: those recommended first, that which carries most before the others, then by effect."""
    effects = {} if model is None else _effects(space, model, shown)
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
        )
        for name in [*carried, *others]
    ]


def _effects(space: Space, model: Surrogate, at: Point) -> dict[str, float]:
    """Return by how much the measure changes along each range at most, all else as at a point."""
    effects = {}
    for index, dimension in enumerate(space.dimensions):
        ranged = [] if dimension.values else list(np.linspace(0, 1, _GRID))
        coordinates = np.array([*ranged, *(CATEGORY + code for code in range(len(dimension.categories)))])
        points = np.repeat(at[None, :], len(coordinates), axis=0)
        points[:, index] = coordinates
        means = model.means(points)
        effects[dimension.name] = math.expm1(float(means.max() - means.min()))
    return effects

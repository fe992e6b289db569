"""What a tune has found so far, or at its end: in the nouns that are stored and shown."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from dialin.model.setting import Value
from dialin.model.tune import TuneStage
from dialin.model.verdict import Estimate, TunedVariable, TuneFindings, TuneOutcome
from dialin.search.attribution import MODEL_DEVIATES
from dialin.search.nested_sets import elimination
from dialin.search.proof import WORTHWHILE
from dialin.search.space import CATEGORY, Point, Space
from dialin.search.study_tuner import StudyTuner
from dialin.search.surrogate import Surrogate
from dialin.stats.blocks import estimate_of_logs

_GRID = 25


def findings_so_far(study: StudyTuner) -> TuneFindings:
    """Return what is known before the proof has ended: the best setting by the model, and nothing proven."""
    model, best = _model_and_best(study)
    return _findings(study, TuneOutcome.RUNNING, model, best, best, {}, None)


def final_findings(study: StudyTuner) -> TuneFindings:
    """Return what a tune ends with."""
    result = study.tuner.result()
    model, best = _model_and_best(study)
    shown = study.space.point(result.guess) if result.guess else best
    outcome = result.outcome
    return _findings(study, outcome, model, shown, best, dict(result.setting), result.gain)


def _model_and_best(study: StudyTuner) -> tuple[Surrogate | None, Point]:
    tuner = study.tuner
    if not any(told.ok for told in tuner.history):
        return None, study.space.default_point
    best = study.space.point(tuner.best())
    return tuner.surrogate(), best


def _findings(
    study: StudyTuner,
    outcome: TuneOutcome,
    model: Surrogate | None,
    shown: Point,
    best: Point,
    recommended: dict[str, Value],
    gain: Estimate | None,
) -> TuneFindings:
    space, tuner = study.space, study.tuner
    default = space.default_point
    expected = None
    if model is not None and (best != default).any():
        expected = math.exp(float(model.differences(best[None, :], default)[0][0]))
    proof = [told for told in tuner.history if told.ask.purpose is TuneStage.PROOF]
    constraints = tuner.constraints
    carried = _carried(space, model, recommended) if model is not None and recommended else {}
    variables = _variables(space, model, shown, recommended, carried)
    return TuneFindings(
        outcome=outcome,
        best=space.setting(best),
        expected=expected,
        recommended={one.name: recommended[one.name] for one in variables if one.name in recommended},
        gain=gain,
        worthwhile=WORTHWHILE,
        variables=variables,
        failures=list(study.failures),
        memory_limit=constraints.limit,
        fence=constraints.fence,
        searched=len(tuner.history) - len(proof),
        proven=sum(told.ok for told in proof),
    )


def _variables(
    space: Space, model: Surrogate | None, shown: Point, recommended: dict[str, Value], carried: dict[str, Estimate]
) -> list[TunedVariable]:
    """Return all variables: those recommended in the order that carries most first, then the others by effect."""
    effects = {} if model is None else _effects(space, model, shown)
    names = [dimension.name for dimension in space.dimensions]
    others = sorted((name for name in names if name not in carried), key=lambda name: -effects.get(name, 0.0))
    return [
        TunedVariable(
            name=name,
            before=space.defaults[name],
            recommended=recommended.get(name),
            effect=effects.get(name),
            carries=carried.get(name),
        )
        for name in [*carried, *others]
    ]


def _effects(space: Space, model: Surrogate, at: Point) -> dict[str, float]:
    """Return by how much throughput changes along each range at most, all else as at a point."""
    effects = {}
    for index, dimension in enumerate(space.dimensions):
        ranged = [] if dimension.values else list(np.linspace(0, 1, _GRID))
        coordinates = np.array([*ranged, *(CATEGORY + code for code in range(len(dimension.categories)))])
        points = np.repeat(at[None, :], len(coordinates), axis=0)
        points[:, index] = coordinates
        means = model.means(points)
        effects[dimension.name] = math.expm1(float(means.max() - means.min()))
    return effects


def _carried(space: Space, model: Surrogate, recommended: dict[str, Value]) -> dict[str, Estimate]:
    """Return what each change carries, from the baseline on: the change that is missed least is made last."""
    chain = [one.point for one in reversed(elimination(space, space.point(recommended), model.means))]
    carried = {}
    for before, after in pairwise(chain):
        (changed,) = np.flatnonzero(before != after)
        mean, sd = (float(one[0]) for one in model.differences(after[None, :], before))
        carried[space.dimensions[int(changed)].name] = estimate_of_logs(mean, MODEL_DEVIATES * sd)
    return carried

"""Compares two studies of one question: how they differ, and how levels, ratios and noise changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dialin.errors import UserError
from dialin.evidence import effective_values
from dialin.evidence.effective_settings import first_and_last, values_to_compare
from dialin.evidence.measured import figures_of
from dialin.measures.of_trials import goal_ratio
from dialin.model.load_driver import FIRST_DRIVER, RESUMED_DRIVERS, describe_driver
from dialin.model.option_types import kebab
from dialin.model.record import StudyRecord
from dialin.model.setting import same_setting
from dialin.model.studies import Area, CandidateChange, ComparedStudy, Difference, StudyDiff
from dialin.model.study import Candidate, Goal, StudySpec
from dialin.model.trial import first_driver_choices
from dialin.model.verdict import Estimate
from dialin.sentences.setting_notes import InertConfound
from dialin.stats.contrasts import change_of_level, change_of_noise, change_of_ratio
from dialin.stats.trial_fit import TrialFit
from dialin.text import how_to_resume, listed, size
from dialin.verdict import comparison

_CONFIDENCE = 0.95
_REMEDY = "Compare two studies of the same variables, goal and baseline"


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A study with the fit of its completed trials by the goal's figure, and its choice, whose intervals are wider."""

    record: StudyRecord
    fit: TrialFit
    trials: int
    choice: str | None

    @property
    def spec(self) -> StudySpec:
        return self.record.spec

    def has(self, name: str) -> bool:
        """Return whether a candidate is in the fit: it was measured, and it is not unsafe."""
        return name in self.fit.names

    def level(self, name: str, alpha: float) -> Estimate:
        return self.shown(self.fit.level(name, alpha, is_choice=name == self.choice))

    def ratio(self, name: str, baseline: str, alpha: float) -> Estimate:
        return self.shown(self.fit.ratio(name, baseline, alpha, is_choice=name == self.choice))

    def shown(self, estimate: Estimate) -> Estimate:
        """Return a ratio of figures as one of the goal's measure: of latency, for example, the higher the worse."""
        return goal_ratio(estimate, self.spec.goal) or estimate


def compare_studies(a: StudyRecord, b: StudyRecord, together: int = 1) -> StudyDiff:
    """Return how the second study differs from the first; the intervals of so many comparisons hold `together`.

    Raises:
        UserError: they are studies of different questions, or one has too few trials.
    """
    _check_same_question(a.spec, b.spec)
    name_in_b = _matches(a.spec, b.spec)
    base = a.spec.baseline
    if base not in name_in_b:
        raise UserError(f"B has no candidate with the setting of A's baseline, {base}", _REMEDY)
    first, second = _fitted(a, "A"), _fitted(b, "B")
    for study, name, letter in ((first, base, "A"), (second, name_in_b[base], "B")):
        if not study.has(name):
            raise UserError(f"The baseline, {name}, could not be measured in {letter}", "Compare other studies")
    common = [(name, other) for name, other in name_in_b.items() if first.has(name) and second.has(other)]
    if len(common) < 2:
        raise UserError("No candidate except the baseline was measured in both studies", _REMEDY)
    alpha = (1 - _CONFIDENCE) / together
    return StudyDiff(
        goal=a.spec.goal,
        percentile=a.spec.workload.percentile,
        baseline=base,
        confidence=1 - alpha,
        a=_summary(first),
        b=_summary(second),
        differences=[*_differences(a, b, name_in_b)],
        candidates=[_change(first, second, pair, (base, name_in_b[base]), alpha) for pair in common],
        only_a=_others(a.spec, [pair[0] for pair in common]),
        only_b=_others(b.spec, [pair[1] for pair in common]),
        noise_change=change_of_noise(first.fit, second.fit, alpha),
    )


def _check_same_question(a: StudySpec, b: StudySpec) -> None:
    """Raise UserError where two studies do not ask the same question."""
    facts = {
        "goal": (str(a.goal), str(b.goal)),
        "variables": tuple(listed(sorted(spec.variables_under_test)) for spec in (a, b)),
        "compared": tuple("builds" if spec.compares_builds else "settings of one build" for spec in (a, b)),
        "candidates": tuple("identical" if spec.is_aa else "different" for spec in (a, b)),
        "unit of the load": (a.workload.traits.unit, b.workload.traits.unit),
    }
    if a.goal is Goal.LATENCY:
        facts["percentile"] = (str(a.workload.percentile), str(b.workload.percentile))
    for name, (of_a, of_b) in facts.items():
        if of_a != of_b:
            raise UserError(f"A and B are studies of different questions: {name}: {of_a} in A, {of_b} in B", _REMEDY)


def _matches(a: StudySpec, b: StudySpec) -> dict[str, str]:
    """Return, for each candidate of A that B also has, its name in B, by its name in A."""

    def is_same(one: Candidate, other: Candidate) -> bool:
        same_server = one.server == other.server or not a.compares_builds
        return same_server and (one.name == other.name or not a.is_aa) and same_setting(one.setting, other.setting)

    pairs = ((one.name, next((other.name for other in b.candidates if is_same(one, other)), None)) for one in a.candidates)
    return {name: other for name, other in pairs if other is not None}


def _fitted(record: StudyRecord, letter: str) -> _Fitted:
    figures = figures_of(record, comparison.racing(record.trials))
    decision = comparison.decide_by(record.spec, record.spec.goal, record.trials, figures)
    if decision.fit is None:
        raise UserError(f"{letter} has too few completed trials to compare", f"Resume it: {how_to_resume(record.directory)}")
    return _Fitted(record, decision.fit, decision.trials, decision.choice)


def _change(first: _Fitted, second: _Fitted, pair: tuple[str, str], base: tuple[str, str], alpha: float) -> CandidateChange:
    return CandidateChange(
        name=pair[0],
        name_in_b=pair[1],
        setting=dict(first.spec.candidate(pair[0]).setting),
        level_a=first.level(pair[0], alpha),
        level_b=second.level(pair[1], alpha),
        level_change=first.shown(change_of_level(first.fit, second.fit, pair, alpha)),
        ratio_a=first.ratio(pair[0], base[0], alpha),
        ratio_b=second.ratio(pair[1], base[1], alpha),
        ratio_change=first.shown(change_of_ratio(first.fit, second.fit, pair, base, alpha)),
    )


def _summary(study: _Fitted) -> ComparedStudy:
    verdict = study.record.verdict
    return ComparedStudy(
        directory=study.record.directory,
        began=datetime.fromtimestamp(round(study.record.created), UTC),
        verdict=verdict.verdict if verdict else None,
        recommended_candidate=verdict.recommended_candidate if verdict else None,
        trials=study.trials,
        noise=study.fit.residual_sd,
    )


def _others(spec: StudySpec, common: list[str]) -> list[str]:
    return [name for name in spec.names if name not in common]


def _differences(a: StudyRecord, b: StudyRecord, name_in_b: Mapping[str, str]) -> Iterator[Difference]:
    pairs = (
        (Area.BUILD, _build_facts(a), _build_facts(b)),
        (Area.VARIABLES, *_effective_values(a, b, name_in_b)),
        (Area.HOST, _host_facts(a), _host_facts(b)),
        (Area.WORKLOAD, _workload_facts(a), _workload_facts(b)),
        (Area.OPTIONS, _option_facts(a), _option_facts(b)),
    )
    for area, of_a, of_b in pairs:
        for name in dict.fromkeys([*of_a, *of_b]):
            if of_a.get(name) != of_b.get(name):
                yield Difference(area=area, name=name, a=of_a.get(name), b=of_b.get(name))


def _build_facts(record: StudyRecord) -> dict[str, str]:
    """Return the names of the builds, and the facts of the build where there is only one."""
    facts = {"build": listed(list(record.servers))}
    if len(record.servers) == 1:
        facts |= _texts(next(iter(record.servers.values())))
    return facts


def _effective_values(a: StudyRecord, b: StudyRecord, name_in_b: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return, for each study, the baseline's effective values that differ, could matter and were not set in either study."""
    base = a.spec.baseline
    readings = (first_and_last(a.trials)[1].get(base), first_and_last(b.trials)[1].get(name_in_b[base]))
    settings = {letter: reading for letter, reading in zip("AB", readings, strict=True) if reading is not None}
    if len(settings) < 2 or not all(reading.in_force for reading in settings.values()):
        return {}, {}
    tested = {*a.spec.set_variables, *b.spec.set_variables}
    notes = effective_values.confounds(values_to_compare(settings), tested, "A")
    differing = [note for note in notes if not isinstance(note, InertConfound)]
    of_a, of_b = ({note.variable: note.values[letter] for note in differing} for letter in "AB")
    return {n: v for n, v in of_a.items() if v is not None}, {n: v for n, v in of_b.items() if v is not None}


def _host_facts(record: StudyRecord) -> dict[str, str]:
    return _texts({name: value for name, value in record.host.items() if name not in (FIRST_DRIVER, RESUMED_DRIVERS)})


def _workload_facts(record: StudyRecord) -> dict[str, str]:
    workload = record.spec.workload.model_dump(mode="json", exclude={"traits", "asked"})
    driver = describe_driver(record.host, first_driver_choices(record.trials))
    return {**_texts(workload), **({"load driver": driver} if driver else {})}


def _option_facts(record: StudyRecord) -> dict[str, str]:
    spec = record.spec
    method = {kebab(name): value for name, value in spec.method().items() if name != "goal"}
    facts = {**method, "worthwhile": spec.worthwhile, "switch": str(spec.switch), "baseline": spec.baseline}
    fixed = {f"set {name}": str(value) for name, value in {**spec.fixed, **spec.held}.items()}
    attached = {"attached server": not spec.is_sandboxed}
    return {**_texts({**facts, **attached}), **fixed, "dialin": record.dialin_version}


def _texts(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return facts as text, with nested names joined and bytes with a unit; facts without a value are left out."""
    texts: dict[str, str] = {}
    for key, value in facts.items():
        name = str(key).replace("_", " ")
        if isinstance(value, Mapping):
            texts |= {f"{name}: {inner}": text for inner, text in _texts(value).items()}
        elif value is None or value in ("", [], ()):
            continue
        elif str(key).endswith("_bytes") and isinstance(value, (int, float)):
            texts[name.removesuffix(" bytes")] = size(value)
        elif isinstance(value, bool):
            texts[name] = "yes" if value else "no"
        elif isinstance(value, (list, tuple)):
            texts[name] = ", ".join(map(str, value))
        else:
            texts[name] = f"{value:g}" if isinstance(value, float) else str(value)
    return texts

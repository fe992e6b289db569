"""Compares the effective settings of candidates: deviations from the requested values, identical candidates, confounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dialin.evidence import effective_values
from dialin.model.setting import same_value
from dialin.model.study import StudySpec
from dialin.model.trial import EffectiveSettings, Trial
from dialin.sentences.setting_notes import ChangedMeanwhile, Confound, Deviation, InertConfound, OverridesFixed, SameInForce
from dialin.variables.catalogue import Catalogue


def first_and_last(trials: Sequence[Trial]) -> tuple[dict[str, EffectiveSettings], dict[str, EffectiveSettings]]:
    """Return the effective settings of each candidate in its first trial, and those in its last trial."""
    settings = [(trial.candidate, EffectiveSettings(trial.in_force, trial.real)) for trial in trials]
    return dict(reversed(settings)), dict(settings)


def confounds(spec: StudySpec, settings: Mapping[str, EffectiveSettings]) -> list[Confound]:
    """Return a note for each variable that differs between candidates but is not under test.

    Only candidates of one build are compared with each other: between builds, differing defaults are part of the comparison,
    and the note `different_builds` says so.
    """
    return [
        note
        for group in _by_build(spec, settings)
        for note in effective_values.confounds(values_to_compare(group), spec.variables_under_test, spec.baseline)
    ]


def same(spec: StudySpec, settings: Mapping[str, EffectiveSettings]) -> list[frozenset[str]]:
    """Return the groups of candidates with identical effective settings."""
    names = spec.variables_under_test
    groups = _by_build(spec, settings)
    return [identical for group in groups for identical in effective_values.identical_groups(values_to_compare(group), names)]


def same_notes(
    spec: StudySpec, settings: Mapping[str, EffectiveSettings], groups: Sequence[frozenset[str]]
) -> Iterator[SameInForce]:
    """Yield a note for each group of candidates with identical effective settings, with the counts of objects behind them."""
    for group in groups:
        names = [name for name in spec.names if name in group]
        real = {
            variable: settings[names[0]].real[variable]
            for variable in spec.variables_under_test
            if variable in settings[names[0]].real and len({settings[name].in_force.get(variable) for name in names}) > 1
        }
        yield SameInForce(candidates=tuple(names), real=real)


def changed_notes(
    spec: StudySpec, first: Mapping[str, EffectiveSettings], last: Mapping[str, EffectiveSettings]
) -> list[ChangedMeanwhile]:
    """Return a note for each effective value that differs between a candidate's first and last trial and could matter."""
    return [
        ChangedMeanwhile(candidate=candidate.name, variable=note.variable, first=note.values["first"], last=note.values["last"])
        for candidate in spec.candidates
        if candidate.name in last
        for note in changed(first[candidate.name], last[candidate.name])
    ]


def changed(first: EffectiveSettings, last: EffectiveSettings) -> list[Confound]:
    """Return a note for each variable that differs between two readings of one candidate and could matter."""
    values = values_to_compare({"first": first, "last": last})
    return [note for note in effective_values.confounds(values, (), "first") if not isinstance(note, InertConfound)]


def deviations(
    spec: StudySpec, settings: Mapping[str, EffectiveSettings], catalogues: Mapping[str, Catalogue]
) -> list[Deviation]:
    """Return a note for each effective value that differs from the requested one, with all candidates that it applies to."""
    names_of: dict[Deviation, list[str]] = {}
    for candidate in spec.candidates:
        if candidate.name in settings:
            effective, catalogue = settings[candidate.name], catalogues.get(candidate.server)
            for note in effective_values.deviations(
                spec.setting_of(candidate.name), effective.in_force, catalogue, effective.real
            ):
                names_of.setdefault(note, []).append(candidate.name)
    return [note.model_copy(update={"candidates": tuple(names)}) for note, names in names_of.items()]


def overrides(spec: StudySpec) -> list[OverridesFixed]:
    """Return a note for each value of a candidate that overrides one which the study sets for all."""
    return [
        OverridesFixed(candidate=candidate.name, variable=name, fixed=spec.fixed[name], value=value)
        for candidate in spec.candidates
        for name, value in candidate.setting.items()
        if name in spec.fixed and not same_value(value, spec.fixed[name])
    ]


def _by_build(spec: StudySpec, settings: Mapping[str, EffectiveSettings]) -> list[dict[str, EffectiveSettings]]:
    servers = dict.fromkeys(candidate.server for candidate in spec.candidates)
    groups = (
        {c.name: settings[c.name] for c in spec.candidates if c.server == server and c.name in settings} for server in servers
    )
    return [group for group in groups if group]


def values_to_compare(group: Mapping[str, EffectiveSettings]) -> dict[str, dict[str, str]]:
    """Return the values that decide whether settings are identical: counts of real objects where known, else the variables."""
    return effective_values.actual_values(
        {name: effective.in_force for name, effective in group.items()},
        {name: effective.real for name, effective in group.items()},
    )

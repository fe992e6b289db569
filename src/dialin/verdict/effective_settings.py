"""Compares the effective settings of candidates: deviations from the requested values, identical candidates, confounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dialin.model.study import StudySpec
from dialin.model.trial import Trial
from dialin.model.verdict import Note
from dialin.variables import effective_values
from dialin.variables.catalogue import Catalogue, Kind, Variable


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """The values that a candidate's server reported, and the counts of the objects that it created for them, by variable."""

    in_force: Mapping[str, str] = field(default_factory=dict)
    real: Mapping[str, str] = field(default_factory=dict)


def first_and_last(trials: Sequence[Trial]) -> tuple[dict[str, EffectiveSettings], dict[str, EffectiveSettings]]:
    """Return the effective settings of each candidate in its first trial, and those in its last trial."""
    settings = [(trial.candidate, EffectiveSettings(trial.in_force, trial.real)) for trial in trials]
    return dict(reversed(settings)), dict(settings)


def confounds(spec: StudySpec, settings: Mapping[str, EffectiveSettings]) -> list[Note]:
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


def same_notes(spec: StudySpec, settings: Mapping[str, EffectiveSettings], groups: Sequence[frozenset[str]]) -> list[Note]:
    """Return a note for each group of candidates with identical effective settings, with the counts of objects behind them."""
    notes = []
    for group in groups:
        names = [name for name in spec.names if name in group]
        real = {
            variable: settings[names[0]].real[variable]
            for variable in spec.variables_under_test
            if variable in settings[names[0]].real and len({settings[name].in_force.get(variable) for name in names}) > 1
        }
        notes.append(Note(code="same_in_force", data={"candidates": names, "real": real}))
    return notes


def changed_notes(spec: StudySpec, first: Mapping[str, EffectiveSettings], last: Mapping[str, EffectiveSettings]) -> list[Note]:
    """Return a note for each effective value that differs between a candidate's first and last trial and could matter."""
    return [
        Note(code="changed_meanwhile", data={**note.data, "candidate": candidate.name})
        for candidate in spec.candidates
        if candidate.name in last
        for note in changed(first[candidate.name], last[candidate.name])
    ]


def changed(first: EffectiveSettings, last: EffectiveSettings) -> list[Note]:
    """Return a note for each variable that differs between two readings of one candidate and could matter."""
    values = values_to_compare({"first": first, "last": last})
    return [note for note in effective_values.confounds(values, (), "first") if not note.data["inert"]]


def deviations(spec: StudySpec, settings: Mapping[str, EffectiveSettings], catalogues: Mapping[str, Catalogue]) -> list[Note]:
    """Return a note for each effective value that differs from the requested one, with all candidates that it applies to."""
    names_of: dict[str, list[str]] = {}
    notes: dict[str, Note] = {}
    for candidate in spec.candidates:
        if candidate.name in settings:
            effective, catalogue = settings[candidate.name], catalogues.get(candidate.server)
            for note in effective_values.deviations(
                spec.setting_of(candidate.name), effective.in_force, catalogue, effective.real
            ):
                key = note.model_dump_json()
                notes.setdefault(key, note)
                names_of.setdefault(key, []).append(candidate.name)
    return [Note(code=note.code, data={**note.data, "candidates": names_of[key]}) for key, note in notes.items()]


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


def catalogues_of(texts: Mapping[str, str]) -> dict[str, Catalogue]:
    """Read the stored catalogues of builds; one that cannot be read is left out."""
    catalogues = {}
    for build, text in texts.items():
        try:
            catalogues[build] = Catalogue.from_json(text)
        except ValueError:  # stored by another version of dialin; without it, notes give fewer details of limits
            continue
    return catalogues


def excerpt(catalogue: Catalogue, names: Iterable[str]) -> str:
    """Return a catalogue as text for the store: the named variables in full, and the defaults of all others."""
    in_full = set(names)
    variables = {
        name: known if name in in_full else Variable(name, Kind.UNKNOWN, default=known.default)
        for name, known in catalogue.variables.items()
        if name in in_full or known.default is not None
    }
    return Catalogue(catalogue.build_id, variables).to_json()

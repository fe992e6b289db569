"""The effective settings of candidates, compared: deviations from what was requested, identical candidates, and confounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dialin.model.study import StudySpec
from dialin.model.trial import Trial
from dialin.model.verdict import Note
from dialin.variables import in_force
from dialin.variables.catalogue import Catalogue, Kind, Variable


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """The values that a candidate's server reported, and counts of the real objects behind them, by variable."""

    in_force: Mapping[str, str] = field(default_factory=dict)
    real: Mapping[str, str] = field(default_factory=dict)


def first_and_last(trials: Sequence[Trial]) -> tuple[dict[str, EffectiveSettings], dict[str, EffectiveSettings]]:
    """Return the effective settings of each candidate's first and of its last trial."""
    settings = [(trial.candidate, EffectiveSettings(trial.in_force, trial.real)) for trial in trials]
    return dict(reversed(settings)), dict(settings)


def confounds(spec: StudySpec, settings: Mapping[str, EffectiveSettings]) -> list[Note]:
    """Return what differs between candidates but is not under test.

    Within each build only: between builds every default that differs is part of the comparison, which a note of its own says.
    """
    return [
        note
        for group in _by_build(spec, settings)
        for note in in_force.confounds(values_to_compare(group), spec.variables_under_test, spec.baseline)
    ]


def same(spec: StudySpec, settings: Mapping[str, EffectiveSettings]) -> list[frozenset[str]]:
    """Return the groups of candidates with identical effective settings."""
    names = spec.variables_under_test
    return [one for group in _by_build(spec, settings) for one in in_force.same_in_force(values_to_compare(group), names)]


def same_notes(spec: StudySpec, settings: Mapping[str, EffectiveSettings], groups: Sequence[frozenset[str]]) -> list[Note]:
    """Return a note for each group of candidates with identical effective settings, with the real objects that they share."""
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
    """Return a note for each candidate whose first and last trials differ in an effective value that could matter."""
    return [
        Note(code="changed_meanwhile", data={**note.data, "candidate": candidate.name})
        for candidate in spec.candidates
        if candidate.name in last
        for note in changed(first[candidate.name], last[candidate.name])
    ]


def changed(first: EffectiveSettings, last: EffectiveSettings) -> list[Note]:
    """Return a note for each variable that differs between two readings of one candidate and could matter."""
    values = values_to_compare({"first": first, "last": last})
    return [note for note in in_force.confounds(values, (), "first") if not note.data["inert"]]


def deviations(spec: StudySpec, settings: Mapping[str, EffectiveSettings], catalogues: Mapping[str, Catalogue]) -> list[Note]:
    """Return where effective values differ from the requested ones, once for all candidates that it holds for."""
    names_of: dict[str, list[str]] = {}
    notes: dict[str, Note] = {}
    for candidate in spec.candidates:
        if candidate.name in settings:
            effective, catalogue = settings[candidate.name], catalogues.get(candidate.server)
            for note in in_force.deviations(spec.setting_of(candidate.name), effective.in_force, catalogue, effective.real):
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
    """Return what decides whether settings are the same: the real objects behind variables where they were counted."""
    return in_force.effective_values(
        {name: effective.in_force for name, effective in group.items()},
        {name: effective.real for name, effective in group.items()},
    )


def catalogues_of(texts: Mapping[str, str]) -> dict[str, Catalogue]:
    """Read the stored catalogues of builds; one that cannot be read is left out."""
    catalogues = {}
    for build, text in texts.items():
        try:
            catalogues[build] = Catalogue.from_json(text)
        except ValueError:  # of another dialin: without it notes say less of limits, and nothing wrong
            continue
    return catalogues


def excerpt(catalogue: Catalogue, names: Iterable[str]) -> str:
    """Return a catalogue as text for the store: these variables in full, and the defaults of all others."""
    in_full = set(names)
    variables = {
        name: known if name in in_full else Variable(name, Kind.UNKNOWN, default=known.default)
        for name, known in catalogue.variables.items()
        if name in in_full or known.default is not None
    }
    return Catalogue(catalogue.build_id, variables).to_json()

"""The variables behind a study: all that differed between candidates, and all that were not at their default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.evidence.effective_values import confounds
from dialin.model.record import StudyRecord
from dialin.sentences.names import naming
from dialin.sentences.tune_words import value_text
from dialin.text import visible
from dialin.variables.catalogue import catalogues_of

_DEFAULT, _IN_FORCE = "default", "in force"


@dataclass(frozen=True, slots=True)
class Differing:
    """A variable that differed between candidates; `values` has each value with the candidates that had it."""

    name: str
    under_test: bool
    values: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class NotDefault:
    """The variables of one build that were not at their default: each with its default and its effective value."""

    build: str
    candidate: str
    rows: Sequence[tuple[str, str, str]]


def differing(record: StudyRecord) -> list[Differing]:
    """Return every variable that differed between candidates of one build, those under test first.

    Variables that only identify an instance, such as a port or a directory, are left out.
    """
    labels, under_test = naming(record.spec).labels, record.spec.variables_under_test
    variables = []
    for build in dict.fromkeys(candidate.server for candidate in record.spec.candidates):
        effective = {name: values for name, values in _in_force(record).items() if record.spec.candidate(name).server == build}
        for note in confounds(effective, (), next(iter(effective), "")):
            owners: dict[str, list[str]] = {}
            variable = note.variable
            for name, value in note.values.items():
                text = "not available" if value is None else value_text(variable, value) or "empty"
                owners.setdefault(text, []).append(labels[name])
            values = [(value, ", ".join(names)) for value, names in owners.items()]
            variables.append(Differing(visible(variable), variable in under_test, values))
    return sorted(variables, key=lambda one: not one.under_test)


def not_default(record: StudyRecord) -> list[NotDefault]:
    """Return for each build every variable that was not at its default with one of its candidates, if possible the baseline.

    On an attached server a default is the value before the study.
    """
    effective = _in_force(record)
    order = sorted(effective, key=lambda name: name != record.spec.baseline)
    builds = []
    for build, catalogue in catalogues_of(record.catalogues).items():
        defaults = catalogue.defaults()
        candidate = next((name for name in order if record.spec.candidate(name).server == build), None)
        if candidate is None:
            continue
        both = effective[candidate].keys() & defaults.keys()
        sides = {
            _DEFAULT: {name: defaults[name] for name in both},
            _IN_FORCE: {name: effective[candidate][name] for name in both},
        }
        notes = sorted(confounds(sides, (), _DEFAULT), key=lambda note: note.variable)
        rows = [
            (
                visible(note.variable),
                value_text(note.variable, note.values[_DEFAULT] or "") or "empty",
                value_text(note.variable, note.values[_IN_FORCE] or "") or "empty",
            )
            for note in notes
        ]
        builds.append(NotDefault(visible(build), naming(record.spec).full[candidate], rows))
    return builds


def _in_force(record: StudyRecord) -> dict[str, Mapping[str, str]]:
    by_candidate = {trial.candidate: trial.in_force for trial in record.trials if trial.in_force}
    return {one.name: by_candidate[one.name] for one in record.spec.candidates if one.name in by_candidate}

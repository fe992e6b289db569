"""How candidates are called, in tables and in sentences: the one place that decides it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.model.setting import combination_name
from dialin.model.study import Candidate, StudySpec
from dialin.text import listed, visible

_BETWEEN = " / "


@dataclass(frozen=True, slots=True)
class Naming:
    """How a study's candidates are called.

    Attributes:
        variables: the variables whose values the candidates are; empty where they are called otherwise.
        labels: by name, what tables and charts show, made visible.
        full: by name, what a sentence or a heading says: `innodb_buffer_pool_instances = 4`.
    """

    variables: tuple[str, ...]
    labels: Mapping[str, str]
    full: Mapping[str, str]

    @property
    def subject(self) -> str:
        """What the labels are values of: `innodb_adaptive_hash_index / innodb_io_capacity` above `ON / 200`."""
        return _BETWEEN.join(self.variables)


def naming(spec: StudySpec) -> Naming:
    """Return how candidates are called: by the values alone where variables are swept, since that is how they are named."""
    names = spec.names
    labels = {name: visible(name) for name in names}
    variables = spec.variables_under_test
    if not variables or not all(_is_by_value(candidate, variables) for candidate in spec.candidates if candidate.setting):
        return Naming((), labels, labels)
    if len(variables) == 1:
        full = {
            one.name: f"{variables[0]} = {labels[one.name]}" if one.setting else labels[one.name] for one in spec.candidates
        }
        return Naming(tuple(variables), labels, full)
    by_value = {one.name: _values(one, variables, labels[one.name]) for one in spec.candidates}
    return Naming(tuple(variables), by_value, labels)


def _is_by_value(candidate: Candidate, variables: Sequence[str]) -> bool:
    """Return whether a sweep named a candidate by its setting."""
    is_whole = set(candidate.setting) == set(variables)
    return is_whole and candidate.name.partition(" on ")[0] == combination_name(candidate.setting)


def _values(candidate: Candidate, variables: Sequence[str], label: str) -> str:
    if not candidate.setting:
        return label
    _, on, build = label.partition(" on ")
    return visible(_BETWEEN.join(str(candidate.setting[variable]) for variable in variables)) + on + build


def named(spec: StudySpec, name: str) -> str:
    """Return what a sentence calls a candidate: `innodb_buffer_pool_instances = 4`, or its own name."""
    return naming(spec).full[name]


def several(spec: StudySpec, names: Sequence[str]) -> str:
    """Return what a sentence calls several candidates; values of one variable share its name."""
    called = naming(spec)
    if len(names) > 1 and called.subject and all(called.full[name] != called.labels[name] for name in names):
        return f"{called.subject} = {listed([called.labels[name] for name in names])}"
    return listed([called.full[name] for name in names])


def the_baseline(spec: StudySpec) -> str:
    """Return what a sentence calls the baseline: by its value where a server that dialin did not start has it now."""
    return f"{named(spec, spec.baseline)}, what the server has now" if spec.baseline == spec.initial else "the baseline"

"""The display names of candidates, in tables and in sentences; no other module decides them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.model.setting import changed, combination_name
from dialin.model.study import Candidate, StudySpec
from dialin.sentences.tune_words import brief_setting
from dialin.text import listed, visible

_BETWEEN = " / "
DIRECTORY = "DIR"
"""What stands for the directory of a study in texts that are stored with it, and may be moved with it."""


@dataclass(frozen=True, slots=True)
class Naming:
    """The display names of a study's candidates.

    Attributes:
        variables: the variables whose values are the labels; empty where candidates are not named by their values.
        labels: by candidate, its name in tables and charts, control characters escaped.
        full: by candidate, its name in a sentence or a heading: `innodb_buffer_pool_instances = 4`.
    """

    variables: tuple[str, ...]
    labels: Mapping[str, str]
    full: Mapping[str, str]

    @property
    def subject(self) -> str:
        """What the labels are values of: `innodb_adaptive_hash_index / innodb_io_capacity` above `ON / 200`."""
        return _BETWEEN.join(self.variables)


def naming(spec: StudySpec) -> Naming:
    """Return the display names of a study's candidates; where variables are swept, their labels are the values alone."""
    if spec.tuned:
        return _by_changes(spec)
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


def _by_changes(spec: StudySpec) -> Naming:
    """Return the settings of a tune, whose names are their changes; in a sentence all changes are named where they are few."""
    base, labels = spec.candidate(spec.baseline).setting, {name: visible(name) for name in spec.names}
    changes = {one.name: changed(one.setting, base) for one in spec.candidates}
    full = {name: brief_setting(setting) if setting else labels[name] for name, setting in changes.items()}
    times = Counter(full.values())
    return Naming((), labels, {name: text if times[text] == 1 else labels[name] for name, text in full.items()})


def _is_by_value(candidate: Candidate, variables: Sequence[str]) -> bool:
    is_whole = set(candidate.setting) == set(variables)
    return is_whole and candidate.name.partition(" on ")[0] == combination_name(candidate.setting)


def _values(candidate: Candidate, variables: Sequence[str], label: str) -> str:
    if not candidate.setting:
        return label
    _, on, build = label.partition(" on ")
    return visible(_BETWEEN.join(str(candidate.setting[variable]) for variable in variables)) + on + build


def name_in_sentence(spec: StudySpec, name: str) -> str:
    """Return the name of a candidate in a sentence: `innodb_buffer_pool_instances = 4`, or its name in the study."""
    return naming(spec).full[name]


def names_in_sentence(spec: StudySpec, names: Sequence[str]) -> str:
    """Return the names of several candidates in a sentence; values of one variable follow its name: `a = 4 and 8`."""
    display = naming(spec)
    if len(names) > 1 and display.subject and all(display.full[name] != display.labels[name] for name in names):
        return f"{display.subject} = {listed([display.labels[name] for name in names])}"
    return listed([display.full[name] for name in names])


def baseline_in_sentence(spec: StudySpec) -> str:
    """Return the baseline's name in a sentence; its value if it is what a server that dialin did not start has now."""
    return (
        f"{name_in_sentence(spec, spec.baseline)}, what the server has now" if spec.baseline == spec.initial else "the baseline"
    )

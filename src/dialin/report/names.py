"""How candidates are called, in tables and in sentences: the one place that decides it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.model.study import StudySpec
from dialin.text import listed, visible


@dataclass(frozen=True, slots=True)
class Naming:
    """How a study's candidates are called.

    Attributes:
        subject: the one variable whose values the candidates are; empty where they differ in more.
        labels: by name, what tables and charts show, made visible.
        full: by name, what a sentence or a heading says: `innodb_buffer_pool_instances = 4`.
    """

    subject: str
    labels: Mapping[str, str]
    full: Mapping[str, str]


def naming(spec: StudySpec) -> Naming:
    """Return how candidates are called: by the value alone where one variable is swept, since that is how they are named."""
    names = [candidate.name for candidate in spec.candidates]
    labels = {name: visible(name) for name in names}
    asked = spec.variables_under_test
    by_value = all(
        not candidate.setting or candidate.name.partition(" on ")[0] == str(candidate.setting[asked[0]])
        for candidate in spec.candidates
        if len(asked) == 1
    )
    if len(asked) != 1 or not by_value:
        return Naming("", labels, labels)
    full = {one.name: f"{asked[0]} = {labels[one.name]}" if one.setting else labels[one.name] for one in spec.candidates}
    return Naming(asked[0], labels, full)


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

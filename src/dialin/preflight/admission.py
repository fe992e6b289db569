"""Candidates that enter a study while it runs: checked and inspected as those that it began with."""

from __future__ import annotations

from collections.abc import Callable

from dialin.errors import UserError
from dialin.model.study import MAX_CANDIDATES, Candidate, StudySpec
from dialin.model.trial import EffectiveSettings
from dialin.text import listed
from dialin.trials.changes import known_name
from dialin.variables import check
from dialin.variables.catalogue import Catalogue

Admit = Callable[[StudySpec, Candidate], tuple[Candidate, EffectiveSettings | None]]
"""Checks a candidate that is to enter a study; raises a `DialinError` where it cannot.

Returns it with its variables as its build names them, and its effective settings where a server could be inspected for them.
"""


def checked_candidate(spec: StudySpec, candidate: Candidate, catalogue_of: Callable[[str], Catalogue]) -> Candidate:
    """Return a candidate whose variables are named as its build names them.

    Raises:
        UserError: its name or its setting is taken already, its build is not one of the study's, it sets a variable outside
            the study's space, or its build does not take a value.
    """
    if any(candidate.name == other.name for other in spec.candidates):
        raise UserError(f"{candidate.name} is a candidate already", "Give it another name")
    if len(spec.candidates) >= MAX_CANDIDATES:
        raise UserError(f"A study has at most {MAX_CANDIDATES} candidates", "Start a new study")
    builds = {other.server for other in spec.candidates}
    if candidate.server not in builds:
        raise UserError(
            f"{candidate.name} runs on {candidate.server}, but the study uses {listed(sorted(builds))}", "Use that build"
        )
    catalogue = catalogue_of(candidate.server)
    named = candidate.model_copy(
        update={"setting": {known_name(name, catalogue): value for name, value in candidate.setting.items()}}
    )
    space = {known_name(name, catalogue) for name in spec.variables_under_test}
    if outside := sorted(named.setting.keys() - space):
        raise UserError(f"{candidate.name} sets {listed(outside)}, which the study does not vary", "Declare it in its space")
    if duplicates := check.duplicates([*spec.candidates, named]):
        raise UserError(f"{candidate.name} is the same setting as {duplicates[0][0]}", "Propose another one")
    check.check_setting(named.setting, catalogue, {})
    return named


def refuse(_spec: StudySpec, candidate: Candidate) -> tuple[Candidate, EffectiveSettings | None]:
    """Refuse every candidate.

    Raises:
        UserError: always.
    """
    raise UserError(f"No candidate may enter this study: {candidate.name}", "Start a new study")

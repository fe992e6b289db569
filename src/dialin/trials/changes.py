"""The values that SET GLOBAL must assign to switch a running server from one candidate to another. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dialin.model.setting import Setting, Value, same_value
from dialin.model.study import StudySpec
from dialin.model.trial import EffectiveSettings
from dialin.model.tune import TunePlan
from dialin.servers.assign import Wanted
from dialin.variables import check, rules, set_global
from dialin.variables.catalogue import Catalogue

_CUT = 1024
"""Characters after which servers cut off the value of a variable in SHOW; a value of that length is never assigned."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The values that switch a running server from one candidate to another.

    Attributes:
        boot: what the server is started with: the values that all candidates share.
        settings: per candidate, its values of the other variables.
        expected: per candidate, every variable of a server that was started with the candidate's values.
        settable: the variables that a start can set and SET GLOBAL may assign, without those that identify an instance.
        varied: the variables that the candidates do not all set alike, or that candidates may set later.
        at_start: those of `varied` that a server is started with: a candidate with another value of one needs another server.
    """

    boot: Setting
    settings: Mapping[str, Setting]
    expected: Mapping[str, Mapping[str, str]]
    settable: frozenset[str]
    varied: frozenset[str]
    at_start: frozenset[str] = frozenset()

    def boot_of(self, candidate: str) -> dict[str, Value]:
        """Return what the server of a candidate is started with."""
        chosen = self.settings[candidate]
        return {**self.boot, **{name: chosen[name] for name in sorted(self.at_start & chosen.keys())}}

    def with_entered(self, spec: StudySpec, effective: Mapping[str, EffectiveSettings]) -> Changes:
        """Return these changes with those of the candidates that have entered, which set variables of `varied` only."""
        entered = [name for name in spec.names if name not in self.settings]
        settings = {
            name: {each: value for each, value in spec.setting_of(name).items() if each not in self.boot} for name in entered
        }
        expected = {name: effective[name].in_force for name in entered if name in effective}
        return replace(self, settings={**self.settings, **settings}, expected={**self.expected, **expected})

    def back(self, at_boot: Mapping[str, str], exact: Wanted, now: Mapping[str, str]) -> dict[str, Value | None]:
        """Return the values that restore a server to how it was started: all variables whose value has changed since.

        `at_boot` and `now` hold every variable as the server shows it, `exact` those under test in a form that SET accepts.
        """
        changed = [name for name in sorted(self.settable) if name in at_boot and now.get(name) != at_boot[name]]
        return {name: exact.get(name, at_boot[name]) for name in changed if name in exact or len(at_boot[name]) < _CUT}

    def towards(self, candidate: str, at_boot: Mapping[str, str]) -> dict[str, Value]:
        """Return the values that switch a server, which is as it was started, to a candidate.

        Variables that the server derives from the candidate's values at a start are assigned those derived values.
        """
        setting = {name: value for name, value in self.settings[candidate].items() if name not in self.at_start}
        expected = self.expected.get(candidate, {})
        also_changed = {
            name: expected[name]
            for name in sorted(self.settable - setting.keys() - self.at_start)
            if name in at_boot and expected.get(name, at_boot[name]) != at_boot[name] and len(expected[name]) < _CUT
        }
        return {**also_changed, **setting}


def changes_between(spec: StudySpec, effective: Mapping[str, EffectiveSettings], catalogue: Catalogue) -> Changes:
    """Return the values that switch a server between the candidates of a study, which all run on one build."""
    differing_names = set(differing(spec))
    settings = {candidate.name: spec.setting_of(candidate.name) for candidate in spec.candidates}
    first = next(iter(settings.values()))
    chosen = {
        candidate: {known_name(name, catalogue): value for name, value in setting.items() if name in differing_names}
        for candidate, setting in settings.items()
    }
    return Changes(
        boot={name: value for name, value in first.items() if name not in differing_names},
        settings=chosen,
        expected={candidate: reported.in_force for candidate, reported in effective.items()},
        settable=frozenset(
            name
            for name, known in catalogue.variables.items()
            if known.at_start and not rules.identifies_instance(name) and set_global.why_not(name, known) is None
        ),
        varied=frozenset(known_name(name, catalogue) for name in differing_names),
        at_start=spec.question.at_start if isinstance(spec.question, TunePlan) else frozenset(),
    )


def known_name(name: str, catalogue: Catalogue) -> str:
    """Return the build's variable for an option's name; the name itself where the build has none."""
    known = check.known_as(name, catalogue)
    return known.name if known else name


def differing(spec: StudySpec) -> list[str]:
    """Return the variables that the candidates do not all set alike, or that a search changes."""
    settings = [spec.setting_of(candidate.name) for candidate in spec.candidates]
    return [name for name in spec.set_variables if name in spec.tuned or not _alike(name, settings)]


def _alike(name: str, settings: list[dict[str, Value]]) -> bool:
    first = settings[0].get(name)
    return first is not None and all(name in setting and same_value(setting[name], first) for setting in settings)

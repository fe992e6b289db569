"""Notes on variables: effective values, confounds, and what changed while trials ran."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from dialin.model.setting import Value, as_number, same_value
from dialin.model.study import StudySpec
from dialin.sentences.names import name_in_sentence, names_in_sentence
from dialin.sentences.note import Confounding, TypedNote
from dialin.sentences.tune_words import value_text
from dialin.text import counted, listed, shorten
from dialin.variables import rules
from dialin.variables.size_units import with_letter

_LONGEST = 80


class Deviation(TypedNote):
    """An effective value that differs from the requested one, with the candidates that it applies to; None if there is none."""

    effective: ClassVar[str] = ""
    variable: str
    asked: Value
    in_force: str | None
    candidates: tuple[str, ...] = ()

    def sentence(self, spec: StudySpec) -> str:
        effective = self.effective.format(_in_form_of(self.in_force or "", self.asked))
        return self._of_candidates(spec, f"{self.variable}={self.asked} was requested; {effective}")

    def _of_candidates(self, spec: StudySpec, text: str) -> str:
        """Return a sentence after the names of its candidates; the sentence alone where it is about all candidates."""
        return f"{listed(self.candidates)}: {text}" if 0 < len(self.candidates) < len(spec.candidates) else text


class Automatic(Deviation):
    """0 or -1 was requested, and the server chose a number."""

    code, effective = "automatic", "the server chose {}"


class Rounded(Deviation):
    """A size in whole blocks is in force."""

    code, effective = "rounded", "the server rounded it to {}"


class Clamped(Deviation):
    """Another number is in force."""

    code, effective = "clamped", "the server uses {}"


class Refused(Deviation):
    """The default is in force."""

    code, effective = "refused", "the server kept its default, {}"


class Changed(Deviation):
    """Another word is in force."""

    code, effective = "changed", "the effective value is {}"


class WithoutEffect(Deviation):
    """The server reports no such variable."""

    code = "without_effect"

    def sentence(self, spec: StudySpec) -> str:
        text = f"{self.variable}={self.asked} was accepted without effect: the server reports no such variable"
        return self._of_candidates(spec, text)


class NotReal(Deviation):
    """The server reports a value that it does not follow: `real` is what was counted, or how its files are open."""

    code = "not_real"
    real: str

    def sentence(self, spec: StudySpec) -> str:
        if self.real.startswith("data "):  # how the files are open
            mode = self.real.partition(",")[0].removeprefix("data ")
            fact = f"its data files are open {mode} ({self.real})"
        else:
            fact = f"the server has {self.real}"
        return self._of_candidates(spec, f"{self.variable}={self.in_force} is reported, but {fact}")


class Confound(Confounding):
    """A variable that differs between candidates but is not under test.

    Attributes:
        values: by candidate; None where it does not exist.
        follows: the variables under test that the server derives it from.
        hold: the values that pin it for all candidates.
    """

    code = "confound"
    variable: str
    values: dict[str, str | None]
    follows: tuple[str, ...] = ()
    hold: dict[str, Value] = Field(default_factory=dict)

    def sentence(self, spec: StudySpec) -> str:
        text = f"{self.variable} differs but is not under test: {_by_value(self.values)}"
        if self.follows:
            text += f"; the server derives it from {listed(self.follows)}"
        if self.hold:
            values = [f"{variable}={_sized(str(value))}" for variable, value in self.hold.items()]
            is_tune = bool(spec.tuned)  # which does not take --hold
            text += f"; pin it: --set {' --set '.join(values)}" if is_tune else f"; --hold pins it ({', '.join(values)})"
        return text


class InertConfound(Confound):
    """One that cannot explain a difference, and why."""

    code = "inert_confound"
    could_explain: bool = False
    reason: str

    @property
    def why(self) -> str:
        """Why it cannot, as this version of dialin says it."""
        return rules.inert(self.variable) or self.reason

    def sentence(self, spec: StudySpec) -> str:
        return f"{super().sentence(spec)}; {self.why}"


class SameInForce(TypedNote):
    """Candidates with identical effective settings; `real` counts the objects behind a variable that differs."""

    code = "same_in_force"
    candidates: tuple[str, ...]
    real: dict[str, str]

    def sentence(self, spec: StudySpec) -> str:
        facts = "; ".join(f"each has {count} real {variable}" for variable, count in self.real.items())
        return (
            f"{names_in_sentence(spec, self.candidates)} have identical effective settings{f' ({facts})' if facts else ''}: "
            "any difference between them is noise"
        )


class ChangedMeanwhile(TypedNote):
    """A variable of a candidate that was another one in its last trial than in its first."""

    code = "changed_meanwhile"
    candidate: str
    variable: str
    first: str | None
    last: str | None

    def sentence(self, spec: StudySpec) -> str:
        is_known = self.first is not None and self.last is not None
        became = f" from {_sized(self.first or '')} to {_sized(self.last or '')}" if is_known else ""
        name = name_in_sentence(spec, self.candidate)
        return f"{name}: {self.variable} changed{became} between its first and its last trial"


class ChangedDuringTrial(TypedNote):
    """A variable that somebody else changed while trials ran: pairs of values; under test: the trials were discarded."""

    code = "changed_during_trial"
    variable: str
    under_test: bool
    trials: tuple[int, ...]
    candidates: tuple[str, ...]
    values: tuple[tuple[str, str], ...]

    def sentence(self, spec: StudySpec) -> str:
        name, count = self.variable, len(self.trials)
        became = dict.fromkeys(f"{shown(before, name)} became {shown(after, name)}" for before, after in self.values)
        trials = f"{counted(count, 'trial')} of {names_in_sentence(spec, self.candidates)} ({listed(list(became))})"
        if self.under_test:
            they_were = "it was" if count == 1 else "they were"
            return f"Something other than dialin changed {name} during {trials}: {they_were} discarded and run again"
        return f"{name} changed during {trials}, and is not under test"


class OverridesFixed(TypedNote):
    """A candidate sets a variable that --set fixes to another value."""

    code = "overrides_fixed"
    candidate: str
    variable: str
    fixed: Value
    value: Value

    def sentence(self, spec: StudySpec) -> str:
        name = self.variable
        return f"{self.candidate} sets {name}={self.value}, which overrides {name}={self.fixed} of --set"


def shown(value: str, name: str = "") -> str:
    """Return a value of a variable, escaped and cut to a readable length; with its `name`, bytes get a size letter."""
    return shorten(value_text(name, value), _LONGEST) or "empty"


def _by_value(by_candidate: Mapping[str, str | None]) -> str:
    """Return the candidates of each value, e.g. `2G for 1, 4; 2304M for 3`."""
    candidates: dict[str | None, list[str]] = {}
    for candidate, value in by_candidate.items():
        candidates.setdefault(value, []).append(candidate)
    return "; ".join(
        f"{'absent' if value is None else _sized(value)} for {', '.join(names)}" for value, names in candidates.items()
    )


def _in_form_of(reported: str, requested: Value) -> str:
    """Return a value in the form of the requested one: with a size letter, or plain."""
    return _sized(reported) if isinstance(requested, str) and as_number(requested) is not None else reported or "nothing"


def _sized(value: str) -> str:
    number = as_number(value)
    if isinstance(number, int) and number >= 2**20 and number % 1024 == 0:
        return with_letter(number)
    return (value if len(value) <= _LONGEST else f"{value[:_LONGEST]}...") or "nothing"


_MOST_DIFFERENCES = 20
"""The most variables that are listed of those in which the candidates differ."""


def difference_lines(spec: StudySpec, values: Mapping[str, Mapping[str, Value]]) -> list[str]:
    """Return the variables under test in which candidates differ, a line for each.

    `values` has those of each candidate's server, as far as they are known: in force, else requested, else the default.
    """
    lines = []
    for name in spec.variables_under_test:
        groups: list[tuple[Value | None, list[str]]] = []
        for candidate in spec.candidates:
            value = values[candidate.name].get(name)
            group = next((names for known, names in groups if _are_same(known, value)), None)
            if group is None:
                groups.append((value, [candidate.name]))
            else:
                group.append(candidate.name)
        if len(groups) > 1:
            lines.append(f"  {name}: {'; '.join(f'{_shown(name, value)} ({listed(names)})' for value, names in groups)}")
    if not lines:
        return ["They set the same values"]
    more = [f"  and {len(lines) - _MOST_DIFFERENCES} more variables"] if len(lines) > _MOST_DIFFERENCES else []
    return ["They differ in", *lines[:_MOST_DIFFERENCES], *more]


def _are_same(one: Value | None, other: Value | None) -> bool:
    return one is other if one is None or other is None else same_value(one, other)


def _shown(name: str, value: Value | None) -> str:
    return "default" if value is None else shorten(value_text(name, value), _LONGEST)

"""The sentences of notes on variables: effective values, confounds, and what changed while trials ran."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dialin.model.durability import from_data
from dialin.model.setting import Value, as_number, same_value
from dialin.model.study import StudySpec
from dialin.report.names import name_in_sentence, names_in_sentence
from dialin.report.tune_words import value_text
from dialin.text import counted, listed, shorten
from dialin.variables import rules
from dialin.variables.durability import losses_text
from dialin.variables.size_units import with_letter

_LONGEST = 80

Figures = Mapping[str, Any]
"""The data of a note."""

_EFFECTIVE = {
    "automatic": "the server chose {}",
    "rounded": "the server rounded it to {}",
    "clamped": "the server uses {}",
    "refused": "the server kept its default, {}",
    "changed": "the effective value is {}",
}
"""What a server did with a requested value, by the code of the deviation."""


def _deviation(code: str) -> Callable[[StudySpec, Figures], str]:
    def sentence(spec: StudySpec, data: Figures) -> str:
        reported = _in_form_of(data["in_force"], data["asked"])
        text = f"{data['variable']}={data['asked']} was requested; {_EFFECTIVE[code].format(reported)}"
        return _of_candidates(spec, data, text)

    return sentence


def _without_effect(spec: StudySpec, data: Figures) -> str:
    text = f"{data['variable']}={data['asked']} was accepted without effect: the server reports no such variable"
    return _of_candidates(spec, data, text)


def _not_real(spec: StudySpec, data: Figures) -> str:
    name, real = data["variable"], str(data["real"])
    if real.startswith("data "):  # how the files are open
        mode = real.partition(",")[0].removeprefix("data ")
        fact = f"its data files are open {mode} ({real})"
    else:
        fact = f"the server has {real}"
    return _of_candidates(spec, data, f"{name}={data['in_force']} is reported, but {fact}")


def _of_candidates(spec: StudySpec, data: Figures, text: str) -> str:
    """Return a sentence after the names of its candidates; the sentence alone where it is about all candidates."""
    names = data.get("candidates", ())
    return f"{listed(list(names))}: {text}" if 0 < len(names) < len(spec.candidates) else text


def inert_reason(data: Figures) -> str:
    """Return why a variable that differs cannot explain a difference."""
    return rules.inert(data["variable"]) or str(data["reason"])


def confound(spec: StudySpec, data: Figures) -> str:
    """Return the sentence on a variable that differs between candidates but is not under test."""
    name, hold = data["variable"], data["hold"]
    text = f"{name} differs but is not under test: {_by_value(data['values'])}"
    if data["follows"]:
        text += f"; the server derives it from {listed(list(data['follows']))}"
    if data["inert"]:
        text += f"; {inert_reason(data)}"
    elif hold:
        values = [f"{variable}={_sized(str(value))}" for variable, value in hold.items()]
        is_tune = spec.tune is not None  # which does not take --hold
        text += f"; pin it: --set {' --set '.join(values)}" if is_tune else f"; --hold pins it ({', '.join(values)})"
    return text


def _identical(spec: StudySpec, data: Figures) -> str:
    facts = "; ".join(f"each has {count} real {variable}" for variable, count in data["real"].items())
    return (
        f"{names_in_sentence(spec, data['candidates'])} have identical effective settings{f' ({facts})' if facts else ''}: "
        "any difference between them is noise"
    )


def _changed_between(spec: StudySpec, data: Figures) -> str:
    values = [_sized(value) for value in data["values"].values() if value is not None]
    became = f" from {values[0]} to {values[1]}" if len(values) == 2 else ""
    return (
        f"{name_in_sentence(spec, data['candidate'])}: {data['variable']} changed{became} between its first and its last trial"
    )


def _changed_during(spec: StudySpec, data: Figures) -> str:
    name, count = data["variable"], len(data["trials"])
    became = [f"{shown(before, name)} became {shown(after, name)}" for before, after in data["values"]]
    values = listed(list(dict.fromkeys(became)))
    trials = f"{counted(count, 'trial')} of {names_in_sentence(spec, data['candidates'])} ({values})"
    if data["under_test"]:
        they_were = "it was" if count == 1 else "they were"
        return f"Something other than dialin changed {name} during {trials}: {they_were} discarded and run again"
    return f"{name} changed during {trials}, and is not under test"


def shown(value: str, name: str = "") -> str:
    """Return a value of a variable, escaped and cut to a readable length; with its `name`, bytes get a size letter."""
    return shorten(value_text(name, value), _LONGEST) or "empty"


def _weaker_durability(spec: StudySpec, data: Figures) -> str:
    name = name_in_sentence(spec, data["candidate"])
    return f"{name} weakens durability: {losses_text(from_data(data['losses']))}"


def _different_builds(_spec: StudySpec, _data: Figures) -> str:
    return "Candidates run on different builds: every default that differs between them is part of the comparison"


def _overrides_fixed(_spec: StudySpec, data: Figures) -> str:
    name = data["variable"]
    return f"{data['candidate']} sets {name}={data['value']}, which overrides {name}={data['fixed']} of --set"


SENTENCES: Mapping[str, Callable[[StudySpec, Figures], str]] = {
    **{code: _deviation(code) for code in _EFFECTIVE},
    "without_effect": _without_effect,
    "not_real": _not_real,
    "confound": confound,
    "inert_confound": confound,
    "same_in_force": _identical,
    "changed_meanwhile": _changed_between,
    "changed_during_trial": _changed_during,
    "weaker_durability": _weaker_durability,
    "different_builds": _different_builds,
    "overrides_fixed": _overrides_fixed,
}
"""By the code of the note."""


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

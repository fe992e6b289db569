"""The words that enumerations and sets take, asked for by number in a server's help mode."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dialin.variables import rules
from dialin.variables.catalogue import Kind, Variable
from dialin.variables.help_mode import Asking, Reply

_MOST_WORDS = 64
_SWITCHES = re.compile(r"[a-z_]+=(?:on|off)(?:,[a-z_]+=(?:on|off))*")
_WORDS = re.compile(r"(?:[A-Za-z][\w-]*(?:,[A-Za-z][\w-]*)*)?")
_NAMING = ("character_set_", "collation_", "lc_", "init_")
"""Prefixes of variables that take the name of something else, or statements: given a number there, servers exit."""

_NOT_USED = "NOT_USED"
"""The word that servers print for digits of sql_mode that no longer mean anything; older servers print ","."""

_NO_DEFAULT = "(No default value)"


def with_choices(variables: Mapping[str, Variable], ask: Asking, plain: Reply) -> dict[str, Variable]:
    """Return the enumerations and sets with their words, and the variables that turn out to take any text as strings."""
    known: dict[str, Variable] = {}
    unknown = []
    for name, variable in variables.items():
        default = variable.default or ""
        if variable.choices and name not in rules.CHOICES:
            continue
        if _is_set(variable) and _SWITCHES.fullmatch(default):
            words = tuple(part.partition("=")[0] for part in default.split(","))
            known[name] = replace(variable, kind=Kind.SET, choices=words)
        elif name in ask.options and may_be_choices(variable, plain.options[ask.options[name]]):
            unknown.append(name)
    first = ask(dict.fromkeys(unknown, 0))
    for name, answer in first.items():
        variable = variables[name]
        if variable.kind is Kind.UNKNOWN and answer.printed == "0" and variable.default not in ("ON", "OFF"):
            known[name] = replace(variable, kind=Kind.STRING)
    worded = {name: answer.printed for name, answer in first.items() if _is_word(answer.printed)}
    # 3 is the fourth word of an enumeration, and the first two words of a set.
    answers_to_three = ask(dict.fromkeys(worded, 3))
    sets = {name: worded[name] for name, answer in answers_to_three.items() if "," in answer.printed}
    sets |= {name: "" for name, answer in first.items() if answer.printed == "" and _is_set(variables[name])}
    enumerated = _enumerated({name: word for name, word in worded.items() if name not in sets}, ask)
    for kind, words_by_name in ((Kind.ENUMERATION, enumerated), (Kind.SET, _members(sets, ask))):
        for name, words in words_by_name.items():
            if _hold_default(words, variables[name].default or ""):
                known[name] = replace(variables[name], kind=kind, choices=words)
    return known


def _hold_default(words: Sequence[str], default: str) -> bool:
    # A default of other words shows that these are not all words: the variable takes text, which may begin with a number.
    lower_words = {word.strip().lower() for word in words}
    return all(part.strip().lower() in lower_words for part in default.split(",") if part)


def may_be_choices(variable: Variable, takes: str) -> bool:
    """Return whether a variable may be an enumeration or a set: its default is words, and its value names nothing else."""
    kinds = (Kind.UNKNOWN, Kind.STRING, Kind.ENUMERATION, Kind.SET)
    if variable.kind not in kinds or "name" not in takes or rules.identifies_instance(variable.name):
        return False
    default = variable.default or ""
    return bool(_WORDS.fullmatch(default) or _SWITCHES.fullmatch(default)) and not variable.name.startswith(_NAMING)


def _is_word(printed: str) -> bool:
    return bool(printed) and printed != _NO_DEFAULT and not printed.lstrip("-").isdecimal()


def _is_set(variable: Variable) -> bool:
    return variable.kind in (Kind.UNKNOWN, Kind.SET)


def _enumerated(first: Mapping[str, str], ask: Asking) -> dict[str, tuple[str, ...]]:
    words = _ask_words({name: [word] for name, word in first.items()}, ask, range(1, _MOST_WORDS))
    return {name: tuple(printed) for name, printed in words.items() if len(printed) > 1}


def _members(first: Mapping[str, str], ask: Asking) -> dict[str, tuple[str, ...]]:
    """Return the words of sets, each asked for by its own binary digit; the word that stands for 0, if any, is first."""
    digits = (2**digit for digit in range(_MOST_WORDS - 1))
    words = _ask_words({name: [word] if word else [] for name, word in first.items()}, ask, digits)
    return {name: members for name, printed in words.items() if (members := _single_words(printed))}


def _ask_words(words: dict[str, list[str]], ask: Asking, values: Iterable[int]) -> dict[str, list[str]]:
    names = list(words)
    for value in values:
        answers = ask(dict.fromkeys(names, value))
        names = [name for name, answer in answers.items() if _is_word(answer.printed) and answer.printed not in words[name]]
        for name in names:
            words[name].append(answers[name].printed)
        if not names:
            break
    return words


def _single_words(printed: list[str]) -> tuple[str, ...]:
    """Return the word of each digit. Some, such as TRADITIONAL of sql_mode, are printed with the words that they include."""
    alone = {text for text in printed if "," not in text}
    words = (next((part for part in text.split(",") if part and (part == text or part not in alone)), "") for text in printed)
    return tuple(word for word in words if word and not word.startswith(_NOT_USED))

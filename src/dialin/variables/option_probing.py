"""What `mysqld --verbose --help` shows about options in addition to the server's tables: kinds, ranges, blocks, words.

A server adjusts a number out of range with a warning, so asking for too little and too much shows the range, and asking for a
number whose binary digits are all ones shows what it is rounded down to. An enumeration takes the numbers of its words and
prints the words (`choices`). `help_mode` reads what a server prints; this module decides what to ask and what answers mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from dialin.model.setting import as_number
from dialin.variables import rules
from dialin.variables.aliases import OPTION_OF
from dialin.variables.catalogue import NUMBERS, Catalogue, Kind, Variable, settled
from dialin.variables.help_mode import Ask, Asking, Reply

_HUGE = 2**63 - 1
"""The largest number that every variable's parser reads: signed ones refuse 2^64-1, and some builds then print nothing."""

_UNSIGNED = 2**64 - 1
_LEAST = -(2**63)
_MODEST = 2**24
"""Blocks are looked for with numbers below 16M where the range allows, so that no probe makes a server take much memory."""

_POWERS = (*(2**power for power in range(1, 24)), 10, 100, 1000)

_Step = Callable[[Mapping[str, Variable], Asking], dict[str, Variable]]
"""Asks one question about variables, and returns those about which it learned something."""


def completed(catalogue: Catalogue, ask: Ask) -> Catalogue:
    """Return a catalogue completed with what its build's help mode shows; what the server's tables reported takes precedence.

    Where a run about a variable times out, the other answers of the same step (words, range or block) are not used for it, and
    the catalogue is marked as not complete.
    """
    plain = ask({})
    if not plain.complete:
        return replace(catalogue, complete=plain.answered)
    options = {name: option for name in catalogue.variables if (option := _option(name, plain.options))}
    variables = {
        name: replace(variable, at_start=variable.at_start and (name in options or name.removeprefix("skip_") in plain.options))
        for name, variable in catalogue.variables.items()
    }
    # A table that reports whether a variable is dynamic, as MariaDB's does for all, reports everything else about it too.
    requested = {
        name: _kind_of(variable, plain.options.get(options.get(name, "")))
        for name, variable in variables.items()
        if variable.dynamic is None
    }
    complete = True
    steps: tuple[_Step, ...] = (lambda requested, asking: with_choices(requested, asking, plain), _with_ranges, _with_blocks)
    for step in steps:
        asking = Asking(ask, options)
        requested |= {name: variable for name, variable in step(requested, asking).items() if name not in asking.unanswered}
        complete = complete and not asking.unanswered
    known = {name: settled(variable) for name, variable in (variables | requested).items()}
    return replace(catalogue, variables=known, complete=complete)


def _option(name: str, options: Mapping[str, str]) -> str | None:
    return next((option for option in (name, OPTION_OF.get(name, "")) if option in options), None)


def _kind_of(variable: Variable, takes: str | None) -> Variable:
    """Return a variable with the kind of its option, where it was not known; `takes` is None where it has no option."""
    default = variable.default or ""
    if variable.kind is not Kind.UNKNOWN:
        return variable
    if takes and "#" in takes and as_number(default) is not None:
        return replace(variable, kind=Kind.NUMERIC if "." in default else Kind.INTEGER)
    is_boolean = default in ("ON", "OFF")
    if is_boolean and (takes == "" or (takes is None and variable.name not in rules.SEVERAL_VALUES)):
        return replace(variable, kind=Kind.BOOLEAN)
    # Before 8.0 log_bin reads OFF and takes the name of a file.
    if takes and "name" in takes and not is_boolean and not may_be_choices(variable, takes):
        return replace(variable, kind=Kind.STRING)
    return variable


def _with_ranges(variables: Mapping[str, Variable], ask: Asking) -> dict[str, Variable]:
    unknown = {
        name: variable
        for name, variable in variables.items()
        if variable.kind in NUMBERS and variable.minimum is None and variable.maximum is None
    }
    low, high = _minima(unknown, ask), _maxima(unknown, ask)
    return {
        name: replace(variable, minimum=low[name], maximum=high[name])
        for name, variable in unknown.items()
        if name in low and name in high and low[name] <= high[name]
    }


def _minima(names: Iterable[str], ask: Asking) -> dict[str, int | float]:
    # A zero that the server accepts but prints as another number lets the server choose (back_log), and is in range.
    minima = {name: answer.range_end or 0 for name, answer in ask(dict.fromkeys(names, 0)).items()}
    below = ask(dict.fromkeys((name for name, least in minima.items() if least == 0), -1))
    # Otherwise -1 is read as the largest number, and the variable takes nothing below zero.
    signed = [name for name, answer in below.items() if answer.limit is None and answer.printed.startswith("-")]
    least = ask(dict.fromkeys(signed, _LEAST))
    negative = {name: answer.number for name, answer in least.items() if answer.number is not None}
    return minima | {name: negative.get(name, -1) for name in signed}


def _maxima(names: Iterable[str], ask: Asking) -> dict[str, int | float]:
    huge = ask(dict.fromkeys(names, _HUGE))
    maxima = {name: end for name, answer in huge.items() if (end := answer.range_end) is not None}
    open_ended = [name for name in huge if name not in maxima]
    # 5.5 cannot read a number that large, and takes -1 for it.
    beyond = ask(dict.fromkeys(open_ended, _UNSIGNED)), ask(dict.fromkeys(open_ended, -1))
    for name in open_ended:
        numbers = [answers[name].number for answers in beyond if name in answers]
        maxima[name] = max((number for number in numbers if number is not None and number > _HUGE), default=_HUGE)
    return maxima


def _with_blocks(variables: Mapping[str, Variable], ask: Asking) -> dict[str, Variable]:
    """Return the whole-number variables whose values are rounded down, with the block to which they are rounded."""
    requested = {
        name: probes
        for name, variable in variables.items()
        if variable.kind is Kind.INTEGER and variable.block is None and (probes := _block_probes(variable))
    }
    answers = [ask({name: probes[turn] for name, probes in requested.items() if turn < len(probes)}) for turn in (0, 1)]
    rounded = {}
    for name, probes in requested.items():
        pairs = [(value, given[name].number) for value, given in zip(probes, answers, strict=False) if name in given]
        if len(pairs) == len(probes) and (block := _block(pairs)):
            rounded[name] = replace(variables[name], block=block)
    return rounded


def _block_probes(variable: Variable) -> list[int]:
    """Return numbers within a variable's range that rounding would change: all binary digits ones, and all but the second."""
    low, high = variable.minimum, variable.maximum
    if low is None or high is None:
        return []
    least = max(0, int(low))
    most = min(int(high), max(_MODEST, 4 * least))
    shapes = ((1, 1), (3, 4))
    candidates = (
        max(
            (part * 2**power // whole - 1 for power in range(2, 63) if least <= part * 2**power // whole - 1 <= most), default=0
        )
        for part, whole in shapes
    )
    return [value for value in candidates if value]


def _block(pairs: Sequence[tuple[int, int | float | None]]) -> int | None:
    if all(value == got for value, got in pairs):
        return None
    least = min(value for value, _ in pairs)
    return next(
        (block for block in _POWERS if block <= least and all(value - value % block == got for value, got in pairs)), None
    )


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

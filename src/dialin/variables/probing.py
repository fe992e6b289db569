"""What `mysqld --verbose --help` tells of options beyond the server's own tables: kinds, ranges, blocks, words.

In this mode a server reads its options as it would at a start, prints the values that came of them, and ends. A number that is
out of range is brought into it with a warning, so asking for too little and too much tells the range, and asking for a number
whose binary digits are all ones tells what it is rounded down to. An enumeration takes the numbers of its words and prints the
words. Running the binary is `servers.option_probe`'s part; here is only what to ask and what the answers mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from dialin.model.setting import as_number
from dialin.variables import rules
from dialin.variables.catalogue import Catalogue, Kind, Variable, settled
from dialin.variables.names import OPTION_OF, one_name

_HUGE = 2**63 - 1
"""The largest number that every variable's parser reads; signed ones refuse 2^64-1 and some builds then print nothing."""

_UNSIGNED = 2**64 - 1
_LEAST = -(2**63)
_MODEST = 2**24
"""Blocks are looked for below 16M where the range allows, so that no probe has a server allot much."""

_POWERS = (*(2**power for power in range(1, 24)), 10, 100, 1000)
_MOST_WORDS = 64
_OPTION = re.compile(
    r"^  (?:-\S, |    )?--(?P<name>[A-Za-z][\w-]*(?:\.[\w-]+)?)(?P<takes>\[?=(?:#|name)\]?)?(?= |$)", re.MULTILINE
)
_VALUE = re.compile(r"(?P<name>[A-Za-z][\w-]*(?:\.[\w-]+)?) +(?P<value>.*)")
_ADJUSTED = re.compile(
    r"option '(?P<name>[\w.-]+)': (?:(?:un)?signed )?value \S+ adjusted to (?P<value>[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
)
_EXPONENT = re.compile(r"[-+]?\d+e[-+]?\d+")
_REFUSED = re.compile(r"Error while setting value '[^']*' to '(?P<name>[\w.-]+)'")
_SWITCHES = re.compile(r"[a-z_]+=(?:on|off)(?:,[a-z_]+=(?:on|off))*")
_WORDS = re.compile(r"(?:[A-Za-z][\w-]*(?:,[A-Za-z][\w-]*)*)?")
_NAMING = ("character_set_", "collation_", "lc_", "init_")
"""What takes the name of something else, or statements: servers end at a number there."""

_NOT_USED = "NOT_USED"
"""What servers call the digits of sql_mode that stand for nothing any more; older ones call them ","."""

_NO_DEFAULT = "(No default value)"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server said in its help mode.

    Attributes:
        complete: it ran to its end and printed values.
        options: every option that it has, with what it takes: `=#` a number, `=name` text, in brackets where that may be left
            out, nothing for a switch.
        values: by option, the value in force after all options were read.
        adjusted: by option, the number that one out of range was brought to, where it said so.
        refused: options that it would not start with.
    """

    complete: bool
    options: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    adjusted: Mapping[str, int | float] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()


Ask = Callable[[Mapping[str, int]], Reply]
"""Runs a server's help mode with these options; where it crashes, hangs or refuses, the reply is not complete."""


def read_reply(printed: str, complained: str, *, ended_well: bool) -> Reply:
    """Read what a server printed in its help mode.

    Args:
        printed: its standard output.
        complained: its standard error.
        ended_well: whether it ended by itself without an error.
    """
    head, _, tail = printed.partition("\nVariables (--variable-name=value)")
    values = dict(_values(tail.splitlines()))
    return Reply(
        complete=ended_well and bool(values),
        options={_name(match["name"]): match["takes"] or "" for match in _OPTION.finditer(head)},
        values=values,
        adjusted={
            _name(match["name"]): number
            for match in _ADJUSTED.finditer(complained)
            if (number := _number(match["value"])) is not None
        },
        refused=frozenset(_name(match["name"]) for match in _REFUSED.finditer(complained)),
    )


def _values(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Read the table at the end: a rule of dashes, a line for each option, an empty line."""
    rows = iter(lines)
    for line in rows:
        if line.startswith("-----"):
            break
    for line in rows:
        if not line.strip():
            return
        if match := _VALUE.fullmatch(line):
            yield _name(match["name"]), match["value"].strip()


def _number(text: str) -> int | float | None:
    """Read a number as servers print it: `4096`, `99.999`, and `1e+06` for a decimal."""
    if _EXPONENT.fullmatch(text):
        return float(text)
    return as_number(text)


def _name(option: str) -> str:
    return option.replace("-", "_").lower()


def completed(catalogue: Catalogue, ask: Ask) -> Catalogue:
    """Return a catalogue with what its build's help mode tells beyond it; what the server's tables told stands.

    Args:
        catalogue: as the running server told it.
        ask: runs the help mode of the same build.
    """
    plain = ask({})
    if not plain.complete:
        return catalogue
    options = {name: option for name in catalogue.variables if (option := _option(name, plain.options))}
    found = {
        name: replace(told, at_start=told.at_start and (name in options or name.removeprefix("skip_") in plain.options))
        for name, told in catalogue.variables.items()
    }
    # MariaDB's table tells of all its variables whether they are dynamic, and then everything else too.
    found |= _probed({name: told for name, told in found.items() if told.dynamic is None}, _Asking(ask, options), plain)
    return Catalogue(catalogue.build_id, {name: settled(variable) for name, variable in found.items()})


def _probed(told: Mapping[str, Variable], ask: _Asking, plain: Reply) -> dict[str, Variable]:
    """Return variables with all that can be asked of them."""
    found = {name: _kind_of(variable, plain.options.get(ask.options.get(name, ""))) for name, variable in told.items()}
    found |= _with_words(found, ask, plain)
    found |= _with_ranges(found, ask)
    return found | _with_blocks(found, ask)


def _option(name: str, options: Mapping[str, str]) -> str | None:
    return next((option for option in (name, OPTION_OF.get(name, "")) if option in options), None)


def _kind_of(variable: Variable, takes: str | None) -> Variable:
    """Return a variable with the kind that its option has (None where it has no option), where nothing was told of it."""
    default = variable.default or ""
    if variable.kind is not Kind.UNKNOWN:
        return variable
    if takes and "#" in takes and as_number(default) is not None:
        return replace(variable, kind=Kind.NUMERIC if "." in default else Kind.INTEGER)
    is_truth = default in ("ON", "OFF")
    if is_truth and (takes == "" or (takes is None and variable.name not in rules.SEVERAL_VALUES)):
        return replace(variable, kind=Kind.BOOLEAN)
    # Before 8.0 log_bin reads OFF and takes the name of a file.
    if takes and "name" in takes and not is_truth and not _may_be_words(variable, takes):
        return replace(variable, kind=Kind.STRING)
    return variable


@dataclass(frozen=True, slots=True)
class _Answer:
    """What came of one variable's value: what is printed, and the limit that the server said it was brought to."""

    printed: str
    limit: int | float | None

    @property
    def number(self) -> int | float | None:
        return self.limit if self.limit is not None else _number(self.printed)

    @property
    def range_end(self) -> int | float | None:
        """The end of the range that the server brought the value to, or None where it took the value.

        A decimal is printed with more digits than the warning has; a number can be cut further after the warning, by the limit
        of open files say, which belongs to the machine and not to the variable.
        """
        if isinstance(self.limit, float):
            return _number(self.printed)
        return self.limit


@dataclass(frozen=True, slots=True)
class _Asking:
    """Asks for many variables at once, and apart for those that move one another or that a server does not survive."""

    ask: Ask
    options: Mapping[str, str]

    def __call__(self, asked: Mapping[str, int]) -> dict[str, _Answer]:
        found: dict[str, _Answer] = {}
        for group in _apart(name for name in asked if name in self.options):
            found |= self._group({name: asked[name] for name in group})
        return found

    def _group(self, asked: dict[str, int]) -> dict[str, _Answer]:
        if not asked:
            return {}
        reply = self.ask({self.options[name]: value for name, value in asked.items()})
        rest = {name: value for name, value in asked.items() if self.options[name] not in reply.refused}
        if len(rest) < len(asked):
            # Even where the run ends well: one option that InnoDB refuses leaves all of its others at their defaults.
            return self._group(rest)
        if reply.complete:
            return {
                name: _Answer(reply.values[option], reply.adjusted.get(option))
                for name in asked
                if (option := self.options[name]) in reply.values
            }
        if len(asked) == 1:
            return {}
        names = list(asked)
        half = len(names) // 2
        return self._group({name: asked[name] for name in names[:half]}) | self._group(
            {name: asked[name] for name in names[half:]}
        )


def _apart(names: Iterable[str]) -> list[list[str]]:
    """Return names in as few groups as keep apart those that are one variable, or derived from one another."""
    groups: list[list[str]] = []
    for name in names:
        near = rules.related(name)
        for group in groups:
            if not any(other in near or one_name(other) == one_name(name) for other in group):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def _with_ranges(variables: Mapping[str, Variable], ask: _Asking) -> dict[str, Variable]:
    """Return the numbers of whose range nothing was told, with their ranges."""
    unknown = {
        name: variable
        for name, variable in variables.items()
        if variable.kind in (Kind.INTEGER, Kind.NUMERIC) and variable.minimum is None and variable.maximum is None
    }
    low, high = _minima(unknown, ask), _maxima(unknown, ask)
    return {
        name: replace(variable, minimum=low[name], maximum=high[name])
        for name, variable in unknown.items()
        if name in low and name in high and low[name] <= high[name]
    }


def _minima(names: Iterable[str], ask: _Asking) -> dict[str, int | float]:
    # A zero that the server took and prints otherwise has it choose (back_log), and is in range.
    found = {name: answer.range_end or 0 for name, answer in ask(dict.fromkeys(names, 0)).items()}
    below = ask(dict.fromkeys((name for name, least in found.items() if least == 0), -1))
    # Elsewhere -1 is read as the largest number of all, and nothing is below zero.
    signed = [name for name, answer in below.items() if answer.limit is None and answer.printed.startswith("-")]
    least = ask(dict.fromkeys(signed, _LEAST))
    negative = {name: answer.number for name, answer in least.items() if answer.number is not None}
    return found | {name: negative.get(name, -1) for name in signed}


def _maxima(names: Iterable[str], ask: _Asking) -> dict[str, int | float]:
    told = ask(dict.fromkeys(names, _HUGE))
    found = {name: end for name, answer in told.items() if (end := answer.range_end) is not None}
    open_ended = [name for name in told if name not in found]
    # 5.5 reads no number so large, and takes -1 for it.
    beyond = ask(dict.fromkeys(open_ended, _UNSIGNED)), ask(dict.fromkeys(open_ended, -1))
    for name in open_ended:
        numbers = [answers[name].number for answers in beyond if name in answers]
        found[name] = max((number for number in numbers if number is not None and number > _HUGE), default=_HUGE)
    return found


def _with_blocks(variables: Mapping[str, Variable], ask: _Asking) -> dict[str, Variable]:
    """Return the whole numbers that are rounded down, with what they are rounded down to a multiple of."""
    asked = {
        name: probes
        for name, variable in variables.items()
        if variable.kind is Kind.INTEGER and variable.block is None and (probes := _block_probes(variable))
    }
    answers = [ask({name: probes[turn] for name, probes in asked.items() if turn < len(probes)}) for turn in (0, 1)]
    found = {}
    for name, probes in asked.items():
        pairs = [(value, given[name].number) for value, given in zip(probes, answers, strict=False) if name in given]
        if len(pairs) == len(probes) and (block := _block(pairs)):
            found[name] = replace(variables[name], block=block)
    return found


def _block_probes(variable: Variable) -> list[int]:
    """Return numbers within a variable's range that rounding would show on: all binary digits ones, and nearly so."""
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


def _block(pairs: Iterable[tuple[int, int | float | None]]) -> int | None:
    told = list(pairs)
    if all(value == got for value, got in told):
        return None
    least = min(value for value, _ in told)
    return next(
        (block for block in _POWERS if block <= least and all(value - value % block == got for value, got in told)), None
    )


def _with_words(variables: Mapping[str, Variable], ask: _Asking, plain: Reply) -> dict[str, Variable]:
    """Return the enumerations and sets with their words, and text as text."""
    found: dict[str, Variable] = {}
    unknown = []
    for name, variable in variables.items():
        default = variable.default or ""
        if variable.choices and name not in rules.CHOICES:
            continue
        if _is_set(variable) and _SWITCHES.fullmatch(default):
            words = tuple(part.partition("=")[0] for part in default.split(","))
            found[name] = replace(variable, kind=Kind.SET, choices=words)
        elif name in ask.options and _may_be_words(variable, plain.options[ask.options[name]]):
            unknown.append(name)
    first = ask(dict.fromkeys(unknown, 0))
    for name, answer in first.items():
        told = variables[name]
        if told.kind is Kind.UNKNOWN and answer.printed == "0" and told.default not in ("ON", "OFF"):
            found[name] = replace(told, kind=Kind.STRING)
    worded = {name: answer.printed for name, answer in first.items() if _is_word(answer.printed)}
    # 3 is the fourth word of an enumeration, and the first two of a set.
    third = ask(dict.fromkeys(worded, 3))
    sets = {name: worded[name] for name, answer in third.items() if "," in answer.printed}
    sets |= {name: "" for name, answer in first.items() if answer.printed == "" and _is_set(variables[name])}
    for name, words in _enumerated({name: word for name, word in worded.items() if name not in sets}, ask).items():
        found[name] = replace(variables[name], kind=Kind.ENUMERATION, choices=words)
    for name, words in _members(sets, ask).items():
        found[name] = replace(variables[name], kind=Kind.SET, choices=words)
    return found


def _may_be_words(variable: Variable, takes: str) -> bool:
    """Tell whether text may be an enumeration or a set: its default is made of words, and no word of it names something."""
    kinds = (Kind.UNKNOWN, Kind.STRING, Kind.ENUMERATION, Kind.SET)
    if variable.kind not in kinds or "name" not in takes or rules.identifies_instance(variable.name):
        return False
    default = variable.default or ""
    return bool(_WORDS.fullmatch(default) or _SWITCHES.fullmatch(default)) and not variable.name.startswith(_NAMING)


def _is_word(printed: str) -> bool:
    return bool(printed) and printed != _NO_DEFAULT and not printed.lstrip("-").isdecimal()


def _is_set(variable: Variable) -> bool:
    return variable.kind in (Kind.UNKNOWN, Kind.SET)


def _enumerated(first: Mapping[str, str], ask: _Asking) -> dict[str, tuple[str, ...]]:
    """Return the words of enumerations, asked for by number until one is refused, repeated, or taken for text."""
    words = {name: [word] for name, word in first.items()}
    going = list(words)
    for number in range(1, _MOST_WORDS):
        answers = ask(dict.fromkeys(going, number))
        going = [name for name, answer in answers.items() if _is_word(answer.printed) and answer.printed not in words[name]]
        for name in going:
            words[name].append(answers[name].printed)
        if not going:
            break
    return {name: tuple(found) for name, found in words.items() if len(found) > 1}


def _members(first: Mapping[str, str], ask: _Asking) -> dict[str, tuple[str, ...]]:
    """Return the words of sets, each asked for by its own binary digit; a word for none of them is first."""
    told = {name: [word] if word else [] for name, word in first.items()}
    going = list(told)
    for digit in range(_MOST_WORDS - 1):
        answers = ask(dict.fromkeys(going, 2**digit))
        going = [name for name, answer in answers.items() if _is_word(answer.printed) and answer.printed not in told[name]]
        for name in going:
            told[name].append(answers[name].printed)
        if not going:
            break
    return {name: words for name, printed in told.items() if (words := _own_words(printed))}


def _own_words(printed: list[str]) -> tuple[str, ...]:
    """Return the word of each digit: some, such as TRADITIONAL of sql_mode, are printed with others that they stand for."""
    alone = {text for text in printed if "," not in text}
    words = (next((part for part in text.split(",") if part and (part == text or part not in alone)), "") for text in printed)
    return tuple(word for word in words if word and not word.startswith(_NOT_USED))

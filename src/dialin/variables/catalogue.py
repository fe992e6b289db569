"""The variables of one build, as the server itself reports them.

MySQL 9 has `performance_schema.variables_metadata`, MySQL 8.0 `performance_schema.variables_info`, MariaDB
`information_schema.SYSTEM_VARIABLES`; MySQL up to 5.7 has only names and values. The server is asked which of these tables it
has; that is not derived from its version. What MySQL does not report is determined by experiment: each variable is set to its
current value to learn whether it is dynamic, and `option_probing` finds kinds, ranges, blocks and words.
"""

from __future__ import annotations

import difflib
import json
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from dialin.answers import whole
from dialin.model.query import Query
from dialin.model.setting import as_number
from dialin.paths import parse_json
from dialin.variables import rules

FORMAT = "dialin/catalogue/1"
"""The format of a stored catalogue; a catalogue of another format is not used, and the server is read again."""

READ_ONLY = 1238
"""The server's error number when SET GLOBAL names a variable that is read only at startup, or exists only in sessions."""

UNKNOWN_NAME = 1193


class Kind(StrEnum):
    """The kind of value that a variable takes; `unknown` where the server does not report it."""

    INTEGER = "integer"
    NUMERIC = "numeric"
    BOOLEAN = "boolean"
    ENUMERATION = "enumeration"
    SET = "set"
    STRING = "string"
    UNKNOWN = "unknown"


NUMBERS = (Kind.INTEGER, Kind.NUMERIC)


@dataclass(frozen=True, slots=True)
class Variable:
    """What is known of one variable; None stands for "the server does not report it".

    Attributes:
        maximum: the largest number that can be effective: the maximum that the server reports, rounded down to a whole block.
        choices: the words that an enumeration or a set takes, in the order of the numbers that stand for them.
        block: the server rounds numbers down to a multiple of this.
        default: its value on a server that was started with nothing set.
        dynamic: whether it can be changed while the server runs.
        at_start: whether it can be given when the server starts.
    """

    name: str
    kind: Kind
    minimum: int | float | None = None
    maximum: int | float | None = None
    choices: tuple[str, ...] = ()
    block: int | None = None
    default: str | None = None
    dynamic: bool | None = None
    at_start: bool = True


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All variables of one build, by name.

    Attributes:
        build_id: the build that reported them, e.g. `mysql@9.7.4`.
        complete: False where the build did not answer every question in time; such a catalogue is not stored.
    """

    build_id: str
    variables: Mapping[str, Variable]
    complete: bool = True

    def defaults(self) -> dict[str, str]:
        """Return the values of a server that was started with nothing set, where they are known."""
        return {name: variable.default for name, variable in self.variables.items() if variable.default is not None}

    def nearest(self, name: str, n: int = 3) -> list[str]:
        """Return the names most like the one given, the best first: those that contain it, then those spelled alike."""
        spelled = name.lower().replace("-", "_")
        containing = sorted((known for known in self.variables if len(spelled) >= 4 and spelled in known), key=len)
        tails = {known.partition("_")[2]: known for known in self.variables}
        alike = difflib.get_close_matches(spelled, self.variables, n=n, cutoff=0.7)
        alike += [tails[tail] for tail in difflib.get_close_matches(spelled, tails, n=n, cutoff=0.8)]
        return list(dict.fromkeys(containing + alike))[:n]

    def to_json(self) -> str:
        variables = {name: asdict(variable) for name, variable in self.variables.items()}
        return json.dumps({"format": FORMAT, "build_id": self.build_id, "variables": variables}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Catalogue:
        """Read what `to_json` wrote; raise ValueError where the text is not a catalogue, or one of another format."""
        try:
            read = parse_json(text)
            if read["format"] != FORMAT:
                raise ValueError(f"the format is {read['format']!r}")
            return cls(read["build_id"], {name: _variable(reported) for name, reported in read["variables"].items()})
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"this is not a catalogue of variables: {error}") from None


def read(query: Query, build_id: str) -> Catalogue:
    """Read the variables of a server that was started with nothing set, so that its values are its defaults."""
    defaults = {_text(name).lower(): _text(value) for name, value in query("SHOW GLOBAL VARIABLES")}
    tables = {
        _text(name).lower()
        for (name,) in query(
            "SELECT table_name FROM information_schema.tables"
            " WHERE table_schema IN ('performance_schema', 'information_schema')"
            " AND table_name IN ('variables_metadata', 'variables_info', 'SYSTEM_VARIABLES')"
        )
    }
    sources: dict[str, Callable[[], Iterable[Variable]]] = {
        "variables_metadata": lambda: _from_metadata(query),
        "variables_info": lambda: _from_info(query, defaults),
        "system_variables": lambda: _from_system_variables(query),
    }
    # A table that exists but is empty is treated like a missing one.
    rows: list[Variable] = next(filter(None, (list(ask()) for table, ask in sources.items() if table in tables)), [])
    variables = {name: Variable(name, Kind.UNKNOWN) for name in defaults} | {reported.name: reported for reported in rows}
    return Catalogue(build_id, {name: _complete(variables[name], defaults) for name in sorted(variables)})


def _complete(variable: Variable, defaults: Mapping[str, str]) -> Variable:
    at_start = variable.at_start and rules.at_start(variable.name)
    return settled(replace(variable, default=defaults.get(variable.name), at_start=at_start))


def settled(variable: Variable) -> Variable:
    """Return a variable with a range that ends at a whole block and contains the default."""
    low, high, block = variable.minimum, variable.maximum, variable.block
    if block and isinstance(high, int) and high >= block:
        # MariaDB publishes 2147483647 for a read_buffer_size that is never more than 2147479552.
        variable = replace(variable, maximum=high - high % block)
    # A server runs with its default whatever range it reports: 10.11.19 has 1 to 2^64-1 for a variable that is 0.
    number = as_number(variable.default) if variable.default is not None else None
    if number is not None and low is not None and number < low:
        return replace(variable, minimum=number)
    if number is not None and variable.maximum is not None and number > variable.maximum:
        return replace(variable, maximum=number)
    return variable


def with_dynamic(catalogue: Catalogue, set_again: Callable[[str], int]) -> Catalogue:
    """Return a catalogue that shows for every variable whether it can be changed while the server runs.

    `set_again` sets a global variable to its current value on a private server, and returns the number of the server's error,
    0 where there was none.
    """
    variables = {
        name: replace(variable, dynamic=_dynamic(set_again(name)))
        if variable.dynamic is None and variable.default is not None
        else variable
        for name, variable in catalogue.variables.items()
    }
    return replace(catalogue, variables=variables)


def _dynamic(error: int) -> bool | None:
    # Any other error is about the value: a variable that cannot be set to NULL, for example, takes other values.
    return None if error == UNKNOWN_NAME else error != READ_ONLY


def _from_metadata(query: Query) -> Iterable[Variable]:
    for name, scope, kind, low, high in query(
        "SELECT variable_name, variable_scope, data_type, min_value, max_value FROM performance_schema.variables_metadata"
    ):
        reported = Kind.ENUMERATION if _text(name) in rules.CHOICES else _kind(_text(kind))
        yield Variable(
            _text(name),
            reported,
            _bound(low, reported),
            _bound(high, reported),
            choices=rules.CHOICES.get(_text(name), ()),
            at_start=_text(scope) != "SESSION_ONLY",
        )


def _from_info(query: Query, defaults: Mapping[str, str]) -> Iterable[Variable]:
    """Read the table of MySQL 8.0, which has the range of numbers; 0 to 0 stands for everything that is not a number."""
    for row in query("SELECT variable_name, min_value, max_value FROM performance_schema.variables_info"):
        name, low, high = map(_text, row)
        default = defaults.get(name, "")
        if low == high == "0":
            kind = Kind.BOOLEAN if default in ("ON", "OFF") and name not in rules.SEVERAL_VALUES else Kind.UNKNOWN
        else:
            kind = Kind.NUMERIC if "." in default else Kind.INTEGER
        choices = rules.CHOICES.get(name, ())
        reported = Kind.ENUMERATION if choices else kind
        yield Variable(name, reported, _bound(low, kind), _bound(high, kind), choices=choices, at_start=name in defaults)


def _from_system_variables(query: Query) -> Iterable[Variable]:
    for name, scope, kind, low, high, block, choices, read_only in query(
        "SELECT variable_name, variable_scope, variable_type, numeric_min_value, numeric_max_value, numeric_block_size,"
        " enum_value_list, read_only FROM information_schema.SYSTEM_VARIABLES"
    ):
        reported = _kind(_text(kind))
        words = _text(choices) if reported in (Kind.ENUMERATION, Kind.SET) else ""
        yield Variable(
            _text(name).lower(),
            reported,
            _bound(low, reported),
            _bound(high, reported),
            choices=tuple(words.split(",")) if words else (),
            block=size if block and (size := whole(block)) > 1 else None,
            dynamic=_text(read_only) == "NO",
            at_start=_text(scope) != "SESSION ONLY",
        )


_KINDS = {
    "boolean": Kind.BOOLEAN, "set": Kind.SET,
    # As MySQL calls them.
    "integer": Kind.INTEGER, "numeric": Kind.NUMERIC, "enumeration": Kind.ENUMERATION, "string": Kind.STRING,
    # As MariaDB does.
    "bigint": Kind.INTEGER, "int": Kind.INTEGER, "double": Kind.NUMERIC, "enum": Kind.ENUMERATION, "flagset": Kind.SET,
    "varchar": Kind.STRING,
}  # fmt: skip


def _kind(reported: str) -> Kind:
    return _KINDS.get(reported.lower().removesuffix(" unsigned"), Kind.UNKNOWN)


def _bound(reported: object, kind: Kind) -> int | float | None:
    text = _text(reported)
    number = as_number(text) if kind in NUMBERS and text else None
    if kind is Kind.NUMERIC and isinstance(number, int) and 2**60 <= abs(number) < 2**63:
        # MySQL gives some limits of decimals as the bits of a double: 4719230590769954816 is 31536000.0 (read on 9.7.4).
        return float(struct.unpack("<d", struct.pack("<q", number))[0])
    return number


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def _variable(reported: Mapping[str, Any]) -> Variable:
    return Variable(**{**reported, "kind": Kind(reported["kind"]), "choices": tuple(reported["choices"])})


def catalogues_of(texts: Mapping[str, str]) -> dict[str, Catalogue]:
    """Read the stored catalogues of builds; one that cannot be read is left out."""
    catalogues = {}
    for build, text in texts.items():
        try:
            catalogues[build] = Catalogue.from_json(text)
        except ValueError:  # stored by another version of dialin; without it, notes give fewer details of limits
            continue
    return catalogues


def excerpt(catalogue: Catalogue, names: Iterable[str]) -> str:
    """Return a catalogue as text for the store: the named variables in full, and the defaults of all others."""
    in_full = set(names)
    variables = {
        name: known if name in in_full else Variable(name, Kind.UNKNOWN, default=known.default)
        for name, known in catalogue.variables.items()
        if name in in_full or known.default is not None
    }
    return Catalogue(catalogue.build_id, variables).to_json()

"""The file that describes a program that applies load: what it runs, and how its output becomes samples."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dialin.errors import UserError
from dialin.model.option_types import kebab
from dialin.paths import read_toml
from dialin.readers import load_rows
from dialin.readers.load_rows import FIELD, MEAN, LoadRow, ReadLine, percentile_of

SOCKET, HOST, PORT, PASSWORD = "socket", "host", "port", "password"
PLACEHOLDERS = (
    *(HOST, PORT, SOCKET, "user", PASSWORD, "option_file"),
    *("database", "threads", "seconds", "rate", "seed", "directory", "file_directory", "app_port"),
)
"""What an argument may have in braces, beside the file's own options."""

_BRACES = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_SEE = "See docs/workload-files.md"
_MOST_BYTES = 2.0**60

Words = Annotated[tuple[str, ...], Field(default=(), description="a program and its arguments; no shell")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=kebab, validate_by_name=True, validate_by_alias=True)


_FORMS = ("lines", "columns", "keys")


class Output(_Part):
    """How the program's output becomes samples: exactly one of `lines`, `columns` and `keys`."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": [form]} for form in _FORMS]})

    lines: str = Field(default="", description="regular expression; its named groups are figures")
    columns: dict[str, str | int] = Field(
        default_factory=dict, description="of a CSV that grows: for each figure the name of its column, or the number from 1"
    )
    keys: dict[str, str] = Field(default_factory=dict, description="of JSON lines: for each figure the key, such as data.value")
    file: str = Field(default="", description="the file that the program writes; empty for its standard output")
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    skip: dict[str, str] = Field(default_factory=dict, description="rows of a CSV to leave out: a column and its value")
    time: Literal["s", "ms", "us", "ns"] = Field(default="s", description="unit of the figure time where that is a number")
    latency: Literal["s", "ms", "us", "ns"] = Field(default="ms", description="unit in which latencies are printed")
    per: Literal["second", "minute"] = Field(default="second", description="unit of the figure rate")
    cumulative: bool = Field(default=False, description="count and errors are totals since the start")
    failed_in_count: bool = Field(default=False, description="count includes the failed transactions, which errors has as well")

    @property
    def figures(self) -> tuple[str, ...]:
        return tuple(re.compile(self.lines).groupindex) if self.lines else tuple(self.columns or self.keys)

    @property
    def percentiles(self) -> tuple[float, ...]:
        """The percentiles of latency that its rows have, `MEAN` among them."""
        return tuple(sorted(percentile_of(name) for name in self.figures if name.endswith("_ms")))

    @property
    def has_kinds(self) -> bool:
        return "kind" in self.figures

    def reader(self) -> ReadLine:
        """Return a new reader of its lines; its counts are of transactions that did not fail, its latencies in milliseconds."""
        read, factor = self._reader_of_its_form(), 1000 / load_rows.PER_SECOND[self.latency]
        if not self.failed_in_count and factor == 1:
            return read

        def read_converted(line: str) -> LoadRow | None:
            row = read(line)
            if row is None:
                return None
            count = row.count if row.count is None or not self.failed_in_count else max(0.0, row.count - row.errors)
            return replace(row, count=count, latencies={name: factor * value for name, value in row.latencies.items()})

        return read_converted

    def _reader_of_its_form(self) -> ReadLine:
        if self.lines:
            return load_rows.by_pattern(self.lines, self.time)
        if self.columns:
            return load_rows.by_columns(self.columns, self.time, self.delimiter, self.skip)
        return load_rows.by_keys(self.keys, self.time)

    @model_validator(mode="after")
    def _is_readable(self) -> Output:
        if mistakes := [*self._mistakes()]:
            raise ValueError("; ".join(mistakes))
        return self

    def _mistakes(self) -> Iterator[str]:
        if sum(bool(getattr(self, form)) for form in _FORMS) != 1:
            yield "give one of lines, columns and keys"
        if any(isinstance(column, int) and column < 1 for column in self.columns.values()):
            yield "columns are numbered from 1"
        try:
            figures = self.figures
        except re.error as error:
            yield f"lines is not a regular expression: {error}"
            return
        if unknown := [name for name in figures if not FIELD.fullmatch(name)]:
            yield (
                f"there is no figure {', '.join(map(repr, unknown))}; figures are time, seconds, count or rate, kind, errors, "
                "latency_ms, and percentiles such as p95_ms"
            )
        if ("count" in figures) == ("rate" in figures):
            yield "one of the figures count and rate is needed"
        for option in ("cumulative", "failed_in_count"):
            if getattr(self, option) and "count" not in figures:
                yield f"{kebab(option)} is for the figure count"


class LoadFile(_Part):
    """A program that applies load."""

    name: str = Field(min_length=1, description="what applies the load, for the report")
    description: str = Field(default="", description="what the load is, in a line")
    tested: str = Field(default="", description="what of this file was run for real, and when")
    install: str = Field(default="", description="how to install the program")
    interval: float = Field(default=1.0, ge=0.1, le=60, description="seconds between two reports of the program")
    stop: Literal["TERM", "INT"] = Field(default="TERM", description="the signal that asks the program to end")
    grace: float = Field(default=5.0, ge=0, le=60, description="seconds that the program may take to end before it is killed")
    unit: str = Field(default="transaction", pattern=r"^[a-z][a-z ]*$", description="what is counted, a singular noun")
    data: Literal["read-only", "same-size", "grows"] = Field(
        default="grows", description="what the load does to its data; data that grows is restored before every trial or block"
    )
    bytes: str | int = Field(default=256 * 1024**2, description="about how much data is prepared; may calculate with options")
    password_on_command_line: bool = Field(default=False, description="the program takes the password in no other way")
    options: dict[str, str | int | float] = Field(
        default_factory=dict, description="names with defaults, for --workload-option and {name}"
    )
    environment: dict[str, str] = Field(default_factory=dict, description="environment variables of all its programs")
    prepare: Words
    service: Words = Field(default=(), description="started before run and ended after it, such as the application itself")
    run: tuple[str, ...] = Field(min_length=1, description="the program and its arguments; no shell")
    check: Words = Field(default=(), description="run after a trial; a trial fails where its exit code is not 0")
    cleanup: Words = Field(default=(), description="run after each trial")
    output: Output

    @property
    def commands(self) -> Mapping[str, Sequence[str]]:
        every = {name: getattr(self, name) for name in ("prepare", "service", "run", "check", "cleanup")}
        return {name: words for name, words in every.items() if words}

    @property
    def placeholders(self) -> frozenset[str]:
        texts = [*(word for words in self.commands.values() for word in words), *self.environment.values(), self.output.file]
        return frozenset(name for text in texts for name in _BRACES.findall(text))

    @property
    def needs_port(self) -> bool:
        """Whether it connects over TCP, and not through a unix socket."""
        return bool(self.placeholders & {HOST, PORT, PASSWORD, "option_file"}) and SOCKET not in self.placeholders

    @property
    def puts_password_in_arguments(self) -> bool:
        return any(f"{{{PASSWORD}}}" in word for words in self.commands.values() for word in words)

    def percentile(self, wanted: int) -> float | None:
        """Return the percentile to report: the wanted one, else the mean; None where it reports neither."""
        known = self.output.percentiles
        return wanted if wanted in known else MEAN if MEAN in known else None

    @model_validator(mode="after")
    def _is_complete(self) -> LoadFile:
        if mistakes := [*self._mistakes()]:
            raise ValueError("; ".join(mistakes))
        return self

    def _mistakes(self) -> Iterator[str]:
        known = {*PLACEHOLDERS, *self.options}
        if unknown := [f"{{{name}}}" for name in sorted(self.placeholders - known)]:
            yield f"{', '.join(unknown)} is neither a placeholder nor an option; they are {', '.join(sorted(known))}"
        for name in sorted(self.options):
            if name in PLACEHOLDERS:
                yield f"the option {name} has the name of a placeholder"
            if not _BRACES.fullmatch(f"{{{name}}}"):
                yield f"the option {name} cannot be used as {{{name}}}: a name is lower-case letters, digits and _"
        if self.puts_password_in_arguments and not self.password_on_command_line:
            yield (
                "{password} in an argument shows the password to every user of the machine; use the environment variable "
                "MYSQL_PWD or {option_file}, or set password-on-command-line = true"
            )
        if "app_port" in self.placeholders and not self.service:
            yield "{app_port} is the port of a service: add service"

    def data_bytes(self, options: Mapping[str, str]) -> int:
        """Return about how many bytes it prepares; `bytes` is a number, or `NUMBER * OPTION`."""
        total = 1.0
        for factor in str(self.bytes).split("*"):
            text = options.get(factor.strip(), factor.strip())
            total *= float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else 1.0
        return int(min(total, _MOST_BYTES))


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return a text with its placeholders replaced; other braces are left alone."""
    return _BRACES.sub(lambda match: values.get(match[1], match[0]), text)


def read(path: Path) -> LoadFile:
    """Read a load file; raise UserError where it cannot be read, or has mistakes, all of which are named."""
    document = read_toml(path, _SEE, "Name the TOML file of a load program (docs/workload-files.md)")
    try:
        return LoadFile.model_validate(document)
    except ValidationError:
        raise UserError(f"{path}: {'; '.join(_mistakes_in(document))}", _SEE) from None


_STAND_INS: Mapping[str, Any] = {"name": "it", "run": ["it"], "output": {"keys": {"count": "count"}}}
"""What a file must have; they stand for keys that are missing or wrong while the others are checked."""


def _mistakes_in(document: Mapping[str, Any]) -> list[str]:
    """Return all mistakes: those of single keys, and what only right keys are checked for: what they mean together."""
    mistakes, right = dict[str, None](), dict(document)
    for _ in range(3):  # single keys, what the output means, what the file means
        try:
            LoadFile.model_validate(right)
        except ValidationError as error:
            for mistake in error.errors(include_url=False):
                where = ".".join(map(str, mistake["loc"])) or "the file"
                what = "unknown key" if mistake["type"] == "extra_forbidden" else mistake["msg"].removeprefix("Value error, ")
                mistakes[f"{where}: {what}"] = None
                right = _without(right, *map(str, mistake["loc"]))
        right = {**_STAND_INS, **right}
    return list(mistakes)


def _without(document: Mapping[str, Any], key: str = "", within: str = "", *_: str) -> dict[str, Any]:
    if key == "output" and within and within not in _FORMS:
        return {**document, key: _without(document[key], within)} if key in document else {**document}
    return {name: value for name, value in document.items() if name != key}

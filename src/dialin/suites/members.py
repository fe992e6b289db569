"""The workloads of a suite: listed in an option, or in a file such as `quick.toml`, which comes with dialin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dialin.errors import UserError, together
from dialin.model.option_types import LOAD, kebab
from dialin.model.setting import share_of
from dialin.paths import read_toml
from dialin.question.options import DEFAULT_WORKLOAD, StudyOptions
from dialin.question.study_file import mistakes, plain
from dialin.workloads import kinds

NAMED = ("quick", "sysbench")
"""The suites that come with dialin."""

_SEE = "See docs/suites.md"
_MOST = 64
"""The most workloads of a suite."""

_LARGEST_WEIGHT = 1e6

_OF_EACH = frozenset(
    {kebab(name) for name, one in StudyOptions.model_fields.items() if LOAD in one.metadata}
    | {"goal", "worthwhile", "measure", "warmup"}
) - {"workload", "suite"}
"""The options of a study that a workload of a suite file may have for itself."""


@dataclass(frozen=True, slots=True)
class Member:
    """A workload of a suite; `options` are those of its study, as a study file has them."""

    name: str
    weight: float
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SuiteRequest:
    """What a suite asks: its workloads, and the margin of its gate, if it has one; `common` are the options given for all."""

    title: str
    members: Sequence[Member]
    fail_if_worse: float | None
    common: Mapping[str, Any] = field(default_factory=dict)


class _Entry(BaseModel):
    """A `[[workload]]` of a suite file; its further keys are options of a study."""

    model_config = ConfigDict(extra="allow")

    workload: str
    name: str = ""
    weight: Annotated[float, Field(gt=0, le=_LARGEST_WEIGHT)] = 1.0


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str = ""
    workload: Annotated[list[_Entry], Field(min_length=1, max_length=_MOST)]


def requested_suite(keys: Mapping[str, Any], directory: Path) -> SuiteRequest | None:
    """Return the suite that the keys of a study ask for; None where they ask for a study of one workload.

    Paths in the keys are relative to `directory`.

    Raises:
        UserError: the suite is unknown, its file has mistakes, all of which are named, or a weight has one.
    """
    listed = _listed(keys.get("workload"))
    suite, margin = keys.get("suite"), keys.get("fail-if-worse")
    if suite is None and margin is None and len(listed) < 2 and not (listed and _weight_of(listed[0])):
        return None
    if suite is not None and listed not in ([], [DEFAULT_WORKLOAD]):
        raise UserError("--suite and --workload cannot be combined", "Leave one of them out")
    common = {key: value for key, value in keys.items() if key not in ("workload", "suite", "fail-if-worse")}
    if suite is not None:
        title, members = _from_file(str(suite), directory, common)
    else:
        title, members = "", [_listed_member(text, directory, common) for text in listed or [DEFAULT_WORKLOAD]]
    return SuiteRequest(title, list(_distinct(members)), None if margin is None else _margin(margin), common)


def _listed(value: Any) -> list[str]:
    texts = value if isinstance(value, list) else [] if value is None else [value]
    return [name.strip() for text in texts for name in str(text).split(",") if name.strip()]


def _weight_of(text: str) -> tuple[str, float] | None:
    match = re.fullmatch(r"(.+)=(\d+(?:\.\d+)?)", text)
    return (match[1], float(match[2])) if match else None


def _listed_member(text: str, directory: Path, common: Mapping[str, Any]) -> Member:
    """Return a workload of a list; names may hold colons, so that a weight follows `=`: `go-tpc:tpcc=2`."""
    name, weight = _weight_of(text) or (text, 1.0)
    colon = re.fullmatch(r"(.+):(\d+(?:\.\d+)?)", name)
    if colon and colon[1] in {known for kind in kinds.KINDS for known in kind.names}:
        raise UserError(f"--workload {name}: a weight follows an equals sign", f"Write {colon[1]}={colon[2]}")
    if not 0 < weight <= _LARGEST_WEIGHT:
        raise UserError(
            f"--workload {text}: a weight must be above 0, and at most {_LARGEST_WEIGHT:,.0f}",
            "Leave the workload out, or give it a weight",
        )
    return Member(_label(name), weight, {**common, "workload": kinds.with_absolute_path(name, directory)})


def _label(workload: str) -> str:
    prefix, colon, rest = workload.partition(":")
    name = rest if colon and kinds.is_path(rest) else workload
    return f"{prefix}:{Path(name).stem}" if name is rest and colon else Path(name).stem if kinds.is_path(name) else name


def _from_file(suite: str, directory: Path, common: Mapping[str, Any]) -> tuple[str, list[Member]]:
    path = Path(__file__).with_name(f"{suite}.toml") if suite in NAMED else directory / Path(suite).expanduser()
    data = read_toml(path.absolute(), _SEE, f"Name {' or '.join(NAMED)}, or a suite file (docs/suites.md)")
    if found := list(_mistakes_in(data)):
        raise together(found, f"{suite}: ")
    read = _File.model_validate(data)
    return read.title or path.stem, [_member(entry, path.absolute().parent, common) for entry in read.workload]


def _mistakes_in(data: Mapping[str, Any]) -> Iterator[UserError]:
    """Yield all mistakes in a suite file, each with the number of its workload, from 1."""
    try:
        _File.model_validate(data)
    except ValidationError as error:
        for one in error.errors(include_url=False):
            place = one["loc"][1:] or one["loc"]
            parts = [f"workload {part + 1}" if isinstance(part, int) else part for part in place]
            yield UserError(f"{': '.join(parts)}: {plain(one)}", _SEE)
    entries = data.get("workload")
    for number, entry in enumerate(entries if isinstance(entries, list) else (), start=1):
        options = _options_of(entry) if isinstance(entry, dict) else {}
        for key in sorted(options.keys() - _OF_EACH):
            remedy = f"A workload has workload, name, weight, {', '.join(sorted(_OF_EACH))}"
            yield UserError(f"workload {number}: there is no key {key!r}", remedy)
        try:
            StudyOptions.model_validate({key: value for key, value in options.items() if key in _OF_EACH})
        except ValidationError as error:  # what an entry lacks comes from the options for all workloads
            of_keys = (one for key, one in mistakes(error, remedy=_SEE).items() if key)
            yield from (UserError(f"workload {number}: {one.what}", one.remedy) for one in of_keys)


def _options_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {kebab(key): value for key, value in entry.items() if key not in _Entry.model_fields}


def _member(entry: _Entry, base: Path, common: Mapping[str, Any]) -> Member:
    options = _options_of(entry.model_extra or {})
    if isinstance(options.get("data"), str):
        options["data"] = str((base / Path(options["data"]).expanduser()).absolute())
    given = {**common.get("workload-options", {}), **options.get("workload-options", {})}
    options |= {"workload": kinds.with_absolute_path(entry.workload, base), **({"workload-options": given} if given else {})}
    return Member(entry.name or _label(entry.workload), entry.weight, {**common, **options})


def _distinct(members: Sequence[Member]) -> Iterator[Member]:
    """Yield members with distinct names: a second `oltp_read_only` becomes `oltp_read_only 2`.

    Raises:
        UserError: there are too many.
    """
    if len(members) > _MOST:
        raise UserError(f"A suite has at most {_MOST} workloads, not {len(members)}", "Leave some out")
    taken: set[str] = set()
    for member in members:
        name, number = member.name, 1
        while name in taken:
            number += 1
            name = f"{member.name} {number}"
        taken.add(name)
        yield replace(member, name=name)


def _margin(value: Any) -> float:
    try:
        margin = share_of(str(value))
    except ValueError:
        margin = 0.0
    if not 0 < margin < 1:
        raise UserError(f"--fail-if-worse {value}: must be a share between 0 and 100 %", "Write it like 3%")
    return margin

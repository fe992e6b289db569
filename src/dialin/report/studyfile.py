"""A study's question as a study file (TOML), so that readers of its report can repeat the study."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from dialin.model.dimension import Dimension
from dialin.model.option_types import kebab
from dialin.model.place import Attachment
from dialin.model.setting import Value
from dialin.model.study import MethodOptions, StudySpec
from dialin.model.workload import WorkloadSpec
from dialin.sentences.names import naming

_NO_OPTIONS = ("kind", "command_seconds", "washout")
"""What is stored of a place, and is no option."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def study_file(spec: StudySpec) -> str:
    """Return the study file of a question; `dialin run` repeats the study from it, with the same seed."""
    lines = [f"{key} = {_value(value)}" for key, value in _keys(spec).items()]
    for name, table in _tables(spec).items():
        lines += ["", f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _keys(spec: StudySpec) -> dict[str, Any]:
    servers = list(dict.fromkeys(candidate.server for candidate in spec.candidates))
    place: dict[str, Any] = {"server": servers if len(servers) > 1 else servers[0]}
    if isinstance(spec.place, Attachment):
        given = {name: value for name, value in spec.place if value != type(spec.place).model_fields[name].default}
        place = {"attach": True, **{kebab(name): value for name, value in given.items() if name not in _NO_OPTIONS}}
    keys = {
        **place,
        **({"traffic": "own"} if spec.is_live else _load(spec.workload)),
        "aa": len(spec.candidates) if spec.is_aa else None,
        "baseline": spec.baseline if not spec.tuned else None,
        "tune": [_tune_entry(variable) for variable in spec.tuned.values()] or None,
        **_method(spec),
        "worthwhile": spec.worthwhile,
        "switch": str(spec.switch) if spec.is_sandboxed and not spec.tuned else None,
    }
    return {key: _plain(value) for key, value in keys.items() if value is not None}


def _method(spec: StudySpec) -> dict[str, Any]:
    """Return the options of the method, without flags at their default.

    The lengths of measurement and warm-up are left out where the workload's runs decide them.
    """
    defaults = {name: field.default for name, field in MethodOptions.model_fields.items()}
    shown = {name: value for name, value in spec.method().items() if not (isinstance(value, bool) and value == defaults[name])}
    if spec.workload.traits.runs is not None:
        shown = {name: value for name, value in shown.items() if name not in ("measure", "warmup", "whole_warmup")}
    return {kebab(name): value for name, value in shown.items()}


def _load(load: WorkloadSpec) -> dict[str, Any]:
    return {
        "workload": load.asked,
        "threads": list(load.levels) or load.threads,
        **load.traits.size_keys,
        "rand-type": load.rand_type,
        "rate": load.rate or None,
        "percentile": load.percentile,
        "load-hosts": list(load.load_hosts) if load.load_hosts else None,
        "load-token": load.load_token,
    }


def _tables(spec: StudySpec) -> dict[str, Mapping[str, Value]]:
    tables: dict[str, Mapping[str, Any]] = {}
    swept = naming(spec).variables
    if spec.is_aa or spec.tuned or len(spec.server_memory or ()) > 1:
        pass
    elif len(swept) == 1 and all(candidate.setting for candidate in spec.candidates):
        tables["sweep"] = {swept[0]: list(dict.fromkeys(candidate.setting[swept[0]] for candidate in spec.candidates))}
    elif any(candidate.setting for candidate in spec.candidates):
        for candidate in spec.candidates:
            name = candidate.name.removesuffix(f" on {candidate.server}") if spec.compares_builds else candidate.name
            tables[f"candidates.{_key(name)}"] = candidate.setting
    baseline_setting = spec.candidate(spec.baseline).setting if spec.tuned else {}
    if set_for_all := {**spec.fixed, **spec.held, **baseline_setting}:
        tables["set"] = set_for_all
    if spec.workload.options:
        tables["workload-options"] = spec.workload.options
    return tables


def _tune_entry(variable: Dimension) -> str:
    if variable.values:
        return f"{variable.name}={','.join(map(str, variable.values))}"
    return f"{variable.name}={variable.low:.17g}..{variable.high:.17g}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    return _text(value) if isinstance(value, str) else repr(value)


def _text(text: str) -> str:
    """Return a TOML basic string in which every unprintable character is an escape."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(
        char if char.isprintable() else f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
        for char in quoted
    )


def _plain(value: Any) -> Any:
    """Return a float without a fraction as an integer. Values of variables are not converted, because they may be names too."""
    return int(value) if isinstance(value, float) and value.is_integer() else value

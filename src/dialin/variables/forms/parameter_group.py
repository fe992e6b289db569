"""The JSON of `aws rds describe-db-parameters`: the parameter group of an RDS or Aurora server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialin.errors import UserError
from dialin.model.setting import Value, canonical_name, parse_value
from dialin.model.study import FormKind, SettingForm
from dialin.paths import parse_json
from dialin.text import counted, listed
from dialin.variables.optionfile import OptionFile

_FORMULA = re.compile(r"\{.*\}|[A-Z]+\(.*\)", re.DOTALL)
"""`{DBInstanceClassMemory*3/4}`, `GREATEST({log(DBInstanceClassMemory/…)},8)`."""

_NOT_SET = "engine-default"
_FEW = 5
"""Names that a note lists; more are counted."""


def read(path: Path, content: str) -> OptionFile:
    """Return the settings of a parameter group.

    What the user or the service set is the setting; the engine's own defaults are only reported, for a build of another version
    may have others. A formula needs the memory of the instance, which nobody knows here, and is left alone.

    Raises:
        UserError: the text is no JSON, or that of something else.
    """
    parameters = _parameters(path, content)
    setting: dict[str, Value] = {}
    reported: dict[str, Value] = {}
    computed: dict[str, str] = {}
    for name, one in parameters.items():
        value = one.get("ParameterValue")
        if not isinstance(value, str) or one.get("IsModifiable") is False:
            continue
        if _FORMULA.fullmatch(value.strip()):
            computed[name] = value
        else:
            (reported if one.get("Source") == _NOT_SET else setting)[name] = parse_value(value)
    form = SettingForm(
        kind=FormKind.PARAMETER_GROUP,
        forbidden=tuple(name for name, one in parameters.items() if one.get("IsModifiable") is False),
        computed=computed,
        at_start=tuple(name for name, one in parameters.items() if one.get("ApplyType") == "static"),
        numbered=tuple(name for name, one in parameters.items() if one.get("AllowedValues") == "0,1"),
    )
    return OptionFile(
        setting,
        notes=tuple(_notes(form)),
        places={name: f"{path}, parameter {name}" for name in setting},
        reported=reported,
        form=form,
    )


def _notes(form: SettingForm) -> list[str]:
    formulas = [f"{name} ({formula})" for name, formula in form.computed.items()]
    notes = [f"the service computes {listed(formulas)} from the instance's memory: left at the build's default"]
    fixed = listed(form.forbidden) if len(form.forbidden) <= _FEW else counted(len(form.forbidden), "parameter")
    return [*(notes if formulas else []), *([f"the service lets nobody change {fixed}: left alone"] if form.forbidden else [])]


def _parameters(path: Path, content: str) -> dict[str, Mapping[str, Any]]:
    problem = UserError(
        f"{path} is JSON, but no parameter group",
        "Give the output of: aws rds describe-db-parameters --db-parameter-group-name NAME",
    )
    try:
        document = parse_json(content)
    except ValueError:
        raise problem from None
    rows = document.get("Parameters") if isinstance(document, dict) else document
    if not isinstance(rows, list) or not rows:
        raise problem
    parameters: dict[str, Mapping[str, Any]] = {}
    for one in rows:
        if not isinstance(one, dict) or not isinstance(one.get("ParameterName"), str):
            raise problem
        try:
            parameters[canonical_name(one["ParameterName"])] = one
        except ValueError:
            continue  # such as a plug-in's own spelling: no server variable
    return parameters

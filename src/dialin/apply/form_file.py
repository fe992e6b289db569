"""`recommended.json` and `recommended.yaml`: the recommendation in the form that the settings of a study were read from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from dialin.apply.option_file import WIDTH, Change, Comments, changes, safe_order
from dialin.apply.sql_file import known_variables
from dialin.model.record import StudyRecord
from dialin.model.setting import Value, as_number
from dialin.model.study import FormKind, SettingForm
from dialin.text import listed, visible, wrapped

JSON, YAML = "recommended.json", "recommended.yaml"
_NAMES: Mapping[FormKind, str] = {FormKind.PARAMETER_GROUP: JSON, FormKind.RESOURCE: YAML, FormKind.COMPOSE: YAML}
_ON_OFF = {"ON": "1", "OFF": "0"}


def render(record: StudyRecord, comments: Comments) -> dict[str, str | None]:
    """Return the files by name; None for one that must not exist, because the settings had another form or nothing changes."""
    form, changed = record.spec.form, safe_order(changes(record))
    files: dict[str, str | None] = {JSON: None, YAML: None}
    if form is None or form.kind not in _NAMES or not _changeable(form, changed):
        return files
    if form.kind is FormKind.PARAMETER_GROUP:
        text = _parameter_group(form, changed, record)
    else:
        text = _yaml(form, changed, [f"Written by dialin {record.dialin_version}", *comments.reasons])
    return files | {_NAMES[form.kind]: text}


def sentence(record: StudyRecord) -> str:
    """Return the sentence that names the file, and what the service does not let anybody change; empty where there is none."""
    form, changed = record.spec.form, changes(record)
    if form is None or form.kind not in _NAMES:
        return ""
    kept = [one.name for one in changed if one not in _changeable(form, changed)]
    has_file = f"{_NAMES[form.kind]} has them {_IN[form.kind]}." if _changeable(form, changed) else ""
    left = f"Not in it: {listed(kept)}, which the service computes or forbids." if kept else ""
    removed = [one.name for one in changed if one.value is None and one.name not in kept]
    reset = f"Reset {listed(removed)} there, so that the default applies." if removed else ""
    return " ".join(filter(None, (has_file, left, reset)))


_IN = {
    FormKind.PARAMETER_GROUP: "for aws rds modify-db-parameter-group --cli-input-json",
    FormKind.RESOURCE: "for the resource",
    FormKind.COMPOSE: "for the compose file",
}


def _changeable(form: SettingForm, changed: Sequence[Change]) -> list[Change]:
    """Return the changes that may be written: none of what a service forbids, and no fixed value for what it computes."""
    return [one for one in changed if one.name not in form.forbidden and one.name not in form.computed]


def _parameter_group(form: SettingForm, changed: Sequence[Change], record: StudyRecord) -> str:
    known = known_variables(record, record.verdict.chosen.server) if record.verdict else {}
    dynamic = {name for name, one in known.items() if one.dynamic}
    parameters = [
        {
            "ParameterName": one.name,
            "ParameterValue": _plain(one.value, is_numbered=one.name in form.numbered),
            "ApplyMethod": "immediate" if one.name in dynamic and one.name not in form.at_start else "pending-reboot",
        }
        for one in _changeable(form, changed)
        if one.value is not None
    ]
    return json.dumps({"Parameters": parameters}, indent=4, ensure_ascii=False) + "\n"


def _plain(value: Value, *, is_numbered: bool) -> str:
    """Return a value as a service takes it: sizes in bytes, and 1 and 0 for ON and OFF where it has only numbers."""
    number = as_number(value)
    text = str(value if number is None else number)
    return _ON_OFF.get(text.upper(), text) if is_numbered else text


def _yaml(form: SettingForm, changed: Sequence[Change], reasons: Sequence[str]) -> str:
    where = ".".join(form.place)
    verb = "options of" if form.kind is FormKind.COMPOSE else "lines of"
    lines = _comments([*reasons, f"These are the {verb} {where} that change: the others stay as they are."])
    depth = 0
    if form.kind is FormKind.RESOURCE:
        lines += [f"{key}: {_text(form.heading[key])}" for key in ("apiVersion", "kind") if key in form.heading]
        lines += ["metadata:", f"  name: {_text(form.heading['name'])}"] if "name" in form.heading else []
    for depth, key in enumerate(form.place):
        opens = " |" if form.kind is FormKind.RESOURCE and depth == len(form.place) - 1 else ""
        lines.append(f"{'  ' * depth}{_text(key)}:{opens}")
    indent = "  " * (depth + 1)
    lines += [f"{indent}[mysqld]"] if form.kind is FormKind.RESOURCE else []
    for one in _changeable(form, changed):
        before = "" if one.before is None else f"  # was {visible(one.before)}"
        if one.line is None:
            lines.append(f"{indent}# {visible(one.name)}: {visible(one.refusal) or 'remove its line'}{before}")
        elif form.kind is FormKind.RESOURCE:
            lines.append(f"{indent}{one.line}")
        else:
            option = f"--{one.name.replace('_', '-')}={one.value}".replace("$", "$$")
            lines.append(f"{indent}- {_text(option)}{before}")
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """Return a YAML scalar, quoted (as JSON, which YAML reads) where it is more than a plain word."""
    return text if text.replace("-", "").replace("_", "").replace("/", "").replace(".", "").isalnum() else json.dumps(text)


def _comments(texts: Sequence[str]) -> list[str]:
    return [line for text in texts if text for line in wrapped(visible(text), WIDTH, indent="# ", hanging="#   ")]

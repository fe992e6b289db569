"""YAML that holds a server's settings: a Kubernetes resource with an option file in it, and a compose file's `command:`."""

from __future__ import annotations

import ast
import math
import operator
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dialin.errors import UserError
from dialin.model.study import FormKind, SettingForm
from dialin.paths import parse_yaml
from dialin.text import listed
from dialin.variables import optionfile
from dialin.variables.optionfile import OptionFile

_GROUP = re.compile(r"^[ \t]*\[(mysqld|mariadb|mariadbd|server)\]", re.MULTILINE)
_SERVER = re.compile(r"mysql|mariadb|percona", re.IGNORECASE)
_PROGRAM = re.compile(r"([\w./-]*/)?(mysqld|mariadbd|docker-entrypoint\.sh)")
_EXPRESSION = re.compile(r"^([ \t]*)([\w-]+)([ \t]*=[ \t]*)\{\{(.*?)\}\}[ \t]*$", re.MULTILINE)
_LIMIT = "containerMemoryLimit"
_LARGEST = 2**64
"""No variable takes a number of this size."""
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)?")
_UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@dataclass(frozen=True, slots=True)
class _Found:
    """An option file within a resource: the keys that lead to it, its text, and the mapping that it stands in."""

    keys: tuple[str, ...]
    text: str
    around: Mapping[str, Any]


def read(path: Path, content: str, build: str = "") -> OptionFile:
    """Return the settings of a compose file's service, or of the option file within a resource.

    Raises:
        UserError: the text is no YAML, or there is no server's configuration in it, or there are several.
    """
    try:
        documents = [one for one in parse_yaml(content) if isinstance(one, dict)]
    except ValueError as error:
        raise UserError(f"{path}: {error}", "Correct it, or name an option file") from None
    for one in documents:
        if isinstance(one.get("services"), dict):
            return _compose(path, one["services"], build)
    found = [(document, one) for document in documents for one in _configurations(document)]
    if not found:
        raise UserError(
            f"{path}: no text in it has a group such as [mysqld]", "Name a resource with a configuration, or an option file"
        )
    if len(found) > 1:
        places = listed([".".join(one.keys) for _, one in found])
        raise UserError(f"{path} has several configurations: {places}", "Keep one of them, or name option files")
    return _resource(path, *found[0], build)


def _configurations(document: Mapping[str, Any]) -> Iterator[_Found]:
    """Yield the texts of a document that are option files of a server; what stands in it twice (`&`, `*`) is visited once."""
    pending: list[tuple[tuple[str, ...], Any]] = [((), document)]
    visited: set[int] = set()
    while pending:
        keys, node = pending.pop(0)
        if id(node) in visited:
            continue
        visited.add(id(node))
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in items:
            if isinstance(value, str) and _GROUP.search(value):
                yield _Found((*keys, str(key)), value, node if isinstance(node, dict) else {})
            elif isinstance(value, (dict, list)):
                pending.append(((*keys, str(key)), value))


def _resource(path: Path, document: Mapping[str, Any], found: _Found, build: str) -> OptionFile:
    where = f"{path}, {'.'.join(found.keys)}"
    limit = _memory_limit(found.around)
    computed: dict[str, str] = {}

    def value(match: re.Match[str]) -> str:
        result = _evaluate(match[4], limit)
        if result is None:
            return match[0]  # a template, which the reader refuses with its line
        computed[match[2].lower().replace("-", "_")] = f"{{{{{match[4]}}}}}"
        return f"{match[1]}{match[2]}{match[3]}{result}"

    text = _EXPRESSION.sub(value, found.text)
    read = optionfile.read_text(path, text, build, includes=False, where=where)
    metadata = document.get("metadata")
    heading = {"apiVersion": document.get("apiVersion"), "kind": document.get("kind")}
    heading["name"] = metadata.get("name") if isinstance(metadata, dict) else None
    form = SettingForm(
        kind=FormKind.RESOURCE,
        place=found.keys,
        heading={key: text for key, text in heading.items() if isinstance(text, str)},
        computed=computed,
    )
    notes = [
        f"{name} = {formula} is {read.setting[name]} with the container's memory limit of {limit} bytes"
        for name, formula in computed.items()
        if name in read.setting
    ]
    return replace(read, notes=(*read.notes, *notes), form=form)


def _memory_limit(around: Mapping[str, Any]) -> int | None:
    """Return the memory limit of the container in bytes, else what it requests; None where neither is said."""
    resources = around.get("resources")
    for kind in ("limits", "requests"):
        amounts = resources.get(kind) if isinstance(resources, dict) else None
        amount = amounts.get("memory") if isinstance(amounts, dict) else None
        if match := _QUANTITY.fullmatch(_plain(amount)):
            size = float(match[1]) * _UNITS.get(match[2], 1)
            return int(size) if math.isfinite(size) else None
    return None


def _plain(value: object) -> str:
    """Return a scalar as text; empty for a list or mapping, whose text may be of any length."""
    return str(value) if isinstance(value, str | int | float) else ""


def _evaluate(expression: str, limit: int | None) -> int | None:
    """Return the value of an operator's formula such as `containerMemoryLimit * 2 / 3`; None where it cannot be computed."""

    def value(node: ast.AST) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.Name) and node.id == _LIMIT and limit is not None:
            return limit
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            return _OPERATIONS[type(node.op)](value(node.left), value(node.right))
        raise ValueError("this is no arithmetic")

    try:
        result = int(value(ast.parse(expression.strip(), mode="eval").body))
        return result if abs(result) < _LARGEST else None
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None


def _compose(path: Path, services: Mapping[str, Any], build: str) -> OptionFile:
    commands = {str(name): _options(path, str(name), one) for name, one in services.items() if isinstance(one, dict)}
    servers = {name: options for name, options in commands.items() if options is not None}
    if len(servers) != 1:
        what = f"several services are servers: {listed(list(servers))}" if servers else "no service has a server's command:"
        raise UserError(f"{path}: {what}", "Keep one of them, or write its options below [mysqld] of an option file")
    ((name, options),) = servers.items()
    keys = ("services", name, "command")
    text = "\n".join(["[mysqld]", *options])
    read = optionfile.read_text(path, text, build, includes=False, where=f"{path}, {'.'.join(keys)}")
    return replace(read, form=SettingForm(kind=FormKind.COMPOSE, place=keys))


def _options(path: Path, name: str, service: Mapping[str, Any]) -> list[str] | None:
    """Return the options of a service's command as lines of an option file; None where it does not start a server."""
    command = service.get("command")
    try:
        words = shlex.split(command) if isinstance(command, str) else [_plain(word) for word in command or []]
    except (ValueError, TypeError):
        raise UserError(f"{path}: the command of the service {name} cannot be read", "Write it as a list") from None
    starts = bool(words) and bool(_PROGRAM.fullmatch(words[0]))
    if not starts and not (words and words[0].startswith("-") and _SERVER.search(_plain(service.get("image")))):
        return None
    return [word.removeprefix("--") for word in words if word.startswith("--")]

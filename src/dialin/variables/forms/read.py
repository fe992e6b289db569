"""Reads a file with a server's settings, whatever its form: the content shows which it is."""

from __future__ import annotations

import re
from pathlib import Path

from dialin.model.study import FormKind, SettingForm
from dialin.variables import optionfile
from dialin.variables.forms import listing, parameter_group, resource
from dialin.variables.optionfile import OptionFile

_JSON = re.compile(r"\s*(\[\s*)?\{(?![{%])")
_YAML = re.compile(r"^(apiVersion|kind|services|spec):", re.MULTILINE)


def read(path: Path, build: str = "", *, includes: bool = True) -> OptionFile:
    """Return the settings in a file, as a build such as `mysql@9.7.4` takes them.

    It is an option file, output of SHOW VARIABLES, a parameter group (JSON), or a resource or compose file (YAML).

    Raises:
        UserError: it cannot be read, or does not hold settings; the error names the line.
    """
    content = optionfile.text(path)
    if _JSON.match(content):
        return parameter_group.read(path, content)
    if _YAML.search(content):
        return resource.read(path, content, build)
    if (reported := listing.read(content)) is not None:
        return OptionFile({}, reported=reported, form=SettingForm(kind=FormKind.LISTING))
    return optionfile.read_text(path, content, build, includes=includes)

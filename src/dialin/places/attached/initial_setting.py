"""The setting that an attached server has when a study begins: a candidate like the others, and the default baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.model.setting import Value, combination_name, parse_value, same_value
from dialin.question.candidates import Variables
from dialin.sentences.tune_words import value_text
from dialin.servers.attached.server import Attached
from dialin.variables.aliases import reported_name

Named = tuple[str, Variables]

CURRENT = "now"
"""The name of the candidate that is added where the others are named by a file or by the user."""


def with_initial(
    settings: Sequence[Named], attached: Attached, reported: Mapping[str, str], *, is_added: bool
) -> tuple[list[Named], str | None, dict[str, str]]:
    """Return the settings, with the one that the server has now in front unless one of them is the same.

    `reported` holds every variable as the server reports it; `is_added` says whether the server's setting may be added.

    Returns:
        The settings, the name of the one in force (None where it is not among them), and the exact values in force of the
        variables that they set.
    """
    variables = list(dict.fromkeys(name for _, setting in settings for name in setting))
    known = {name: spelled for name in variables if (spelled := reported_name(name, reported)) in reported}
    values = attached.exact_values(known.values())
    in_force = {name: value for name, spelled in known.items() if (value := values[spelled]) is not None}
    exact = {name: str(value) for name, value in in_force.items()}
    for name, setting in settings:
        if all(variable in in_force and same_value(value, in_force[variable]) for variable, value in setting.items()):
            return list(settings), name, exact
    if not is_added or not in_force:
        return list(settings), None, exact
    initial = {name: _as_written(name, value) for name, value in in_force.items()}
    is_sweep = all(name == combination_name(setting) for name, setting in settings)
    name = (combination_name(initial) if is_sweep else CURRENT) or CURRENT
    while name in dict(settings):
        name = f"{name} (in force)"
    return [(name, initial), *settings], name, exact


def _as_written(name: str, value: Value) -> Value:
    """Return a value as a user would write it: bytes with a size letter where that is exact."""
    text = value_text(name, value)
    return parse_value(text if same_value(text, value) else str(value))

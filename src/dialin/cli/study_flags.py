"""The options that `sweep`, `compare` and `tune` share, with the names, defaults and help of the keys of a study file."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic import BeforeValidator
from pydantic.fields import FieldInfo

from dialin.errors import UserError
from dialin.model.live import LiveOptions
from dialin.model.measure import capital
from dialin.model.option_types import ATTACHED, FILES, LIVE, LOAD, MACHINE, METHOD, WHY, Panel, kebab
from dialin.model.setting import parse_value
from dialin.model.workload import LoadOptions
from dialin.question.options import StudyOptions
from dialin.workloads.kinds import load_option_help

_SPELLING = {
    "set": ("--set", "NAME=VALUE"),
    "workload_options": ("--workload-option", "NAME=VALUE"),
    "defaults_file": ("--defaults-file", "FILE"),
    "login_path": ("--login-path", "NAME"),
}


def help_of(field: str) -> str:
    """Return the help of an option: the description of its field, as a sentence."""
    text = StudyOptions.model_fields[field].description or ""
    return f"{text[:1].upper()}{text[1:]}."


def load_flag(name: str, panel: str) -> Any:
    """Return an option of the load for `advise` and `doctor`: `threads`, `tables`, `table_size` or `workload_options`."""
    if name == "workload_options":
        return typer.Option("--workload-option", metavar="NAME=VALUE", help=help_of(name), rich_help_panel=panel)
    text = f"{capital(load_option_help(name))}." if name == "threads" else help_of(name)
    return typer.Option(min=1, help=text, rich_help_panel=panel)


Servers = Annotated[
    list[str] | None,
    typer.Option("--server", metavar="BUILD", help=help_of("server")),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help=f"{help_of('set')[:-1]}; repeat for more."),
]
DefaultsFile = Annotated[
    str | None,
    typer.Option(metavar="FILE", help=help_of("defaults_file"), rich_help_panel=ATTACHED.title),
]
LoginPath = Annotated[
    str | None,
    typer.Option(metavar="NAME", help=help_of("login_path"), rich_help_panel=ATTACHED.title),
]
Baseline = Annotated[
    str | None,
    typer.Option(help=help_of("baseline")),
]
RestartCommand = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND",
        help="Command that restarts the attached server, for variables that only a start can set.",
        rich_help_panel="Attached server",
    ),
]
ApplyCommand = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND",
        help="Command that applies settings where dialin may not set them (docs/attached.md).",
        rich_help_panel="Attached server",
    ),
]
Live = Annotated[
    bool,
    typer.Option(
        "--i-know-it-is-live",
        help="Allow an attached server that others use.",
        rich_help_panel="Attached server",
    ),
]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Where to write the study. Default: a new directory.")]
Json = Annotated[bool, typer.Option("--json", help="Print only verdict.json on standard output.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Start without asking.")]
Watch = Annotated[bool, typer.Option("--watch", help="Serve the study as a live page.")]
OnFleet = Annotated[
    str,
    typer.Option(
        "--fleet",
        metavar="local|auto|ray://HEAD:10001",
        help="Where blocks run: here, or on hosts of a Ray cluster (docs/fleet.md).",
        rich_help_panel="Many hosts",
    ),
]
FleetHosts = Annotated[
    int | None,
    typer.Option(min=1, help="The most hosts to use. Default: all.", rich_help_panel="Many hosts"),
]


DEPENDENT = ("goal",)
"""Options whose default depends on other options: if they are not given, `StudyOptions` chooses the default."""


def spelled(key: str) -> str:
    """Return the command-line option for a key of a study file."""
    return _SPELLING.get(key.replace("-", "_"), (f"--{key}", None))[0]


def _parameters() -> list[inspect.Parameter]:
    """Return the options of a study as parameters; help, defaults and panels are those of its fields."""
    fields = StudyOptions.model_fields.items()
    panels = {name: panel for name, field in fields for panel in field.metadata if isinstance(panel, Panel)}
    order = (FILES, ATTACHED, LIVE, LOAD, METHOD, WHY, MACHINE)
    # The workload comes before the options that every load has.
    names = sorted(panels, key=lambda name: (order.index(panels[name]), name in LoadOptions.model_fields))
    return [_parameter(name, panels[name]) for name in names]


def _parameter(name: str, panel: Panel) -> inspect.Parameter:
    field = StudyOptions.model_fields[name]
    flag, metavar = _SPELLING.get(name, (f"--{kebab(name)}", None))
    if field.default is True:
        flag += f"/--no-{flag.removeprefix('--')}"
    option = typer.Option(flag, metavar=metavar, help=help_of(name), rich_help_panel=panel.title)
    kind, default = (list[str], [field.default]) if name == "workload" else _as_typed(field)
    if name in DEPENDENT:
        kind, default = kind | None, None
    annotation = Annotated[kind, option]  # type: ignore[valid-type]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _as_typed(field: FieldInfo) -> tuple[Any, Any]:
    """Return the type and the default of an option on the command line: text where several spellings are allowed."""
    if get_origin(field.annotation) is dict:
        return list[str] | None, None
    is_text = any(isinstance(each, BeforeValidator) for each in field.metadata) or get_origin(field.annotation) is Literal
    if not is_text and BeforeValidator not in {type(each) for each in _nested(field.annotation)}:
        return field.annotation, field.default
    if isinstance(field.default, float):
        return str, f"{100 * field.default:g}%"
    return (str, field.default) if field.default is not None else (str | None, None)


def _nested(annotation: Any) -> list[Any]:
    return [each for member in get_args(annotation) for each in getattr(member, "__metadata__", ())]


def _common(
    *,
    server: Servers = None,
    fixed: Set = None,
    baseline: Baseline = None,
    out: Out = None,
    json: Json = False,
    yes: Yes = False,
    watch: Watch = False,
    restart_command: RestartCommand = None,
    apply_command: ApplyCommand = None,
    live: Live = False,
    fleet: OnFleet = "local",
    fleet_hosts: FleetHosts = None,
) -> None:
    """Define the options beside those of the load and the method: only the signature is used."""


OF_A_SUITE = ("suite", "fail_if_worse")
"""Options that a tune does not take, because it searches under one workload."""


OF_A_TUNE = ("worst",)
"""Options that only a tune takes: the help of other commands leaves them out."""


OF_FILES = ("leave_out_unknown", "includes", "scale_sizes")
"""Options for commands that take files of settings."""

NOT_OF_A_TUNE = ("waits", "profile", "hold", "confirm", "baseline", "until", "confidence", "fleet", "fleet_hosts")
"""Options that a tune refuses."""

OF_LIVE_TRAFFIC = ("traffic", *LiveOptions.model_fields)
"""Options of a study on live traffic, which a tune never is."""


def with_study_options(
    command: Callable[..., None], *, hidden: Collection[str] = OF_A_TUNE, helps: Mapping[str, str] | None = None
) -> Callable[..., None]:
    """Give a command the options of a study; its help leaves out those that are `hidden`, and `helps` replaces help texts.

    The command receives the options of the load and the method as one mapping, `shared`, under their study-file names, and the
    others as `common`, under the names of their parameters. typer reads a command's options from its signature, so the
    signature is built here instead of being repeated for each command.
    """
    shared = _parameters()
    common = inspect.signature(_common, eval_str=True).parameters
    options = [_adapted(parameter, hidden, helps or {}) for parameter in (*common.values(), *shared)]
    arguments = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(command, eval_str=True).parameters.items()
        if name not in ("shared", "common")
    ]

    def wrapped(**given: Any) -> None:
        answers = {parameter.name.replace("_", "-"): given.pop(parameter.name) for parameter in shared}
        answers["workload-options"] = pairs(answers["workload-options"], "--workload-option")
        others = {name: given.pop(name) for name in common}
        command(**given, shared={name: value for name, value in answers.items() if value is not None}, common=others)

    wrapped.__name__ = command.__name__
    wrapped.__doc__ = command.__doc__
    signature = inspect.Signature([*arguments, *options])
    wrapped.__signature__ = signature  # type: ignore[attr-defined]
    wrapped.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return wrapped


def _adapted(parameter: inspect.Parameter, hidden: Collection[str], helps: Mapping[str, str]) -> inspect.Parameter:
    kind, option = get_args(parameter.annotation)
    option = copy.copy(option)
    option.hidden = parameter.name in hidden
    option.help = helps.get(parameter.name, option.help)
    return parameter.replace(annotation=Annotated[kind, option])


def pairs(texts: Sequence[str] | None, option: str) -> dict[str, Any]:
    """Read `NAME=VALUE` options, values as they are written.

    Raises:
        UserError: an option is not of that form, or a name is given twice.
    """
    values: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise UserError(f"{option} {text}: this is not NAME=VALUE", f"Write it like {option} name=value")
        if name in values:
            raise UserError(f"{option} names {name} twice", "Give each name one value")
        values[name] = parse_value(value)
    return values

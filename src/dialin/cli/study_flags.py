"""The options of a study on the command line: names, defaults and help are those of the keys of a study file."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic import BeforeValidator
from pydantic.fields import FieldInfo
from typer.core import TyperCommand

from dialin.errors import UserError
from dialin.model.option_types import ATTACHED, FILES, LIVE, LOAD, MACHINE, METHOD, WHY, Panel, kebab
from dialin.model.setting import parse_value
from dialin.model.workload import LoadOptions
from dialin.question.conflicts import Kind, refused_in
from dialin.question.options import StudyOptions

if TYPE_CHECKING:
    from dialin.places.permission import Permission

LOCAL = "local"
_SPELLING = {
    "server": ("--server", "BUILD"),
    "set": ("--set", "NAME=VALUE"),
    "goal": ("--goal", "GOAL"),
    "workload_options": ("--workload-option", "NAME=VALUE"),
    "defaults_file": ("--defaults-file", "FILE"),
    "login_path": ("--login-path", "NAME"),
}
_HOSTS = "Many hosts"
_ORDER = ["", *(panel.title for panel in (LOAD, METHOD, WHY, MACHINE, FILES, ATTACHED, LIVE)), _HOSTS]
"""The panels of `--help`, in order; options without one come first."""

_OTHERWISE_NAMED = ("sweep", "compare", "candidates", "aa", "tune")
"""The fields that a command has in another form: as its arguments, or as the command itself."""
STUDY = tuple(name for name in StudyOptions.model_fields if name not in _OTHERWISE_NAMED)

USUAL = ("server", "set", "baseline", "workload", "threads", "tables", "table_size", "minutes", "goal", "attach", "out", "yes")
"""The options of a study that `--help` shows; `--help-all` shows the others, too."""

DEPENDENT = ("goal",)
"""Options whose default depends on other options: if they are not given, `StudyOptions` chooses the default."""


def help_of(field: str) -> str:
    """Return the help of an option: the description of its field, as a sentence."""
    text = StudyOptions.model_fields[field].description or ""
    return as_sentence(f"{text}{'; repeat for more' if field == 'set' else ''}")


def as_sentence(text: str) -> str:
    """Return the description of a field as the sentence of a help."""
    return f"{text[:1].upper()}{text[1:]}."


DefaultsFile = Annotated[
    str | None, typer.Option(metavar="FILE", help=help_of("defaults_file"), rich_help_panel=ATTACHED.title)
]
LoginPath = Annotated[str | None, typer.Option(metavar="NAME", help=help_of("login_path"), rich_help_panel=ATTACHED.title)]
RestartCommand = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND",
        help="Command that restarts the attached server, for variables that only a start can set.",
        rich_help_panel=ATTACHED.title,
    ),
]
ApplyCommand = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND",
        help="Command that applies settings where dialin may not set them (docs/attached.md).",
        rich_help_panel=ATTACHED.title,
    ),
]
SnapshotCommand = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND",
        help="Command that restores the data of each trial by a snapshot of its volume (docs/install.md).",
        rich_help_panel=MACHINE.title,
    ),
]
Live = Annotated[
    bool,
    typer.Option("--i-know-it-is-live", help="Allow an attached server that others use.", rich_help_panel=ATTACHED.title),
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
        rich_help_panel=_HOSTS,
    ),
]
FleetHosts = Annotated[int | None, typer.Option(min=1, help="The most hosts to use. Default: all.", rich_help_panel=_HOSTS)]


def _show_all(context: typer.Context, asked: bool) -> None:
    if asked:
        context.meta[_ALL] = True
        typer.echo(context.get_help(), color=context.color)
        raise typer.Exit


_ALL = "dialin.help-all"


@dataclass(frozen=True, slots=True)
class How:
    """How a study is run: the options beside those of its question, which no study file has."""

    out: Out = None
    json: Json = False
    yes: Yes = False
    watch: Watch = False
    restart_command: RestartCommand = None
    apply_command: ApplyCommand = None
    snapshot_command: SnapshotCommand = None
    live: Live = False
    fleet: OnFleet = LOCAL
    fleet_hosts: FleetHosts = None

    @property
    def permission(self) -> Permission:
        """What the user allows dialin to do, and by which commands."""
        from dialin.places.permission import Permission

        return Permission(self.live, self.restart_command, self.apply_command, self.snapshot_command)


HOW = tuple(field.name for field in fields(How))


def _help_all(
    *,
    help_all: Annotated[
        bool, typer.Option("--help-all", is_eager=True, callback=_show_all, help="Show all options, and exit.")
    ] = False,
) -> None:
    """Define the option: only the signature is used."""


class ShortHelp(TyperCommand):
    """A command whose `--help` shows the options that people use; all others are taken, completed and documented as well."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; the options that are seldom used are hidden meanwhile, for typer writes what is not hidden."""
        options: list[Any] = [each for each in self.params if each.param_type_name == "option"]
        seldom = [each for each in options if each.name not in (*USUAL, "from_file", "help_all") and not each.hidden]
        for each in () if ctx.meta.get(_ALL) else seldom:
            each.hidden = True
        try:
            super().format_help(ctx, formatter)
        finally:
            for each in seldom:
                each.hidden = False


def spelled(key: str) -> str:
    """Return the command-line option for a key of a study file."""
    return _SPELLING.get(key.replace("-", "_"), (f"--{key}", None))[0]


def takes(
    *names: str,
    panel: str = "",
    helps: Mapping[str, str] | None = None,
    hidden: Collection[str] = (),
    how: Collection[str] = (),
    is_long: bool = False,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command some options of a study, with the panel and the help of their fields.

    The command receives those that have a value as `asked`, under their study-file names, and the fields of `How` that `how`
    names as `how`. `panel` and `helps` replace panels and help texts; `hidden` options are taken and not shown. The help of a
    command that `is_long` shows the usual options only. typer reads a command's options from its signature, so the signature
    is built here instead of being repeated for each command.
    """
    known = {each.name: each for each in _parameters_of(How)}
    added = [*(_parameter(name, panel) for name in names), *(known[name] for name in how)]
    added = [_changed(each, (helps or {}).get(each.name), is_hidden=each.name in hidden) for each in added]
    options = sorted([*added, *(_parameters_of(_help_all) if is_long else ())], key=_place)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        takes_of = inspect.signature(command).parameters
        own = [each for each in _parameters_of(command) if each.name not in ("asked", "how")]

        def wrapped(**given: Any) -> None:
            asked = {kebab(name): given.pop(name) for name in names}
            for key in asked.keys() & {"set", "workload-options"}:
                asked[key] = pairs(asked[key], spelled(key))
            received = {
                "asked": {key: value for key, value in asked.items() if value is not None},
                "how": How(**{name: given.pop(name) for name in how}),
            }
            given.pop("help_all", None)
            command(**given, **{name: value for name, value in received.items() if name in takes_of})

        wrapped.shown_by = ShortHelp if is_long else None  # type: ignore[attr-defined]
        wrapped.__name__ = command.__name__
        wrapped.__doc__ = command.__doc__
        signature = inspect.Signature([*own, *options])
        wrapped.__signature__ = signature  # type: ignore[attr-defined]
        wrapped.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
        return wrapped

    return decorate


def takes_study(
    kind: Kind, helps: Mapping[str, str] | None = None, hidden: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command all options of a study; those that this kind of study refuses are not shown."""
    hidden = {*hidden, *refused_in(kind), *(("fleet", "fleet_hosts") if kind is Kind.TUNE else ())}
    return takes(*STUDY, hidden=hidden, helps=helps, how=HOW, is_long=True)


def _parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    return [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]


def _place(parameter: inspect.Parameter) -> tuple[int, bool]:
    """Return where help shows an option: the workload comes before the options that every load has."""
    option = get_args(parameter.annotation)[1]
    panel = option.rich_help_panel or ""
    return (_ORDER.index(panel) if panel in _ORDER else len(_ORDER), parameter.name in LoadOptions.model_fields)


def _parameter(name: str, panel: str) -> inspect.Parameter:
    field = StudyOptions.model_fields[name]
    flag, metavar = _SPELLING.get(name, (f"--{kebab(name)}", None))
    if field.default is True:
        flag += f"/--no-{flag.removeprefix('--')}"
    title = panel or next((each.title for each in field.metadata if isinstance(each, Panel)), None)
    option = typer.Option(flag, metavar=metavar, help=help_of(name), rich_help_panel=title)
    kind, default = (list[str], [field.default]) if name == "workload" else _as_typed(field)
    if name in DEPENDENT:
        kind, default = kind | None, None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _changed(parameter: inspect.Parameter, text: str | None, *, is_hidden: bool) -> inspect.Parameter:
    kind, option = get_args(parameter.annotation)
    option = copy.copy(option)
    option.hidden, option.help = is_hidden, text or option.help
    return parameter.replace(annotation=Annotated[kind, option])


def _as_typed(field: FieldInfo) -> tuple[Any, Any]:
    """Return the type and the default of an option on the command line: text where several spellings are allowed."""
    if get_origin(field.annotation) is dict or list[str] in get_args(field.annotation):
        return list[str] | None, None
    is_text = any(isinstance(each, BeforeValidator) for each in field.metadata) or get_origin(field.annotation) is Literal
    nested = [each for member in get_args(field.annotation) for each in getattr(member, "__metadata__", ())]
    if not is_text and not any(isinstance(each, BeforeValidator) for each in nested):
        return field.annotation, field.default
    if isinstance(field.default, float):
        return str, f"{100 * field.default:g}%"
    return (str, field.default) if field.default is not None else (str | None, None)


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

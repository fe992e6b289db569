"""Checks of a study on an attached server; the server is asked, and not changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dialin.errors import UserError
from dialin.evidence import effective_settings
from dialin.model.cause import CauseCode
from dialin.model.fitness import FAR_MS
from dialin.model.study import Attachment, Candidate, StudySpec
from dialin.places.attached.initial_setting import with_initial
from dialin.places.attached.rehearsal import rehearse
from dialin.places.attached.site import AttachedServer
from dialin.preflight.admission import Admit, checked_candidate
from dialin.preflight.checked import CheckedStudy, StudyRequest, with_plan
from dialin.preflight.option_files import requested_settings
from dialin.question.candidates import candidates_of
from dialin.question.options import StudyOptions
from dialin.question.plan import Plan
from dialin.sentences.tune_words import range_text, value_text
from dialin.servers.attached import user_command
from dialin.servers.attached.client_options import find_account
from dialin.servers.attached.server import Attached
from dialin.servers.attached.undo import SCHEMA
from dialin.servers.connection import status
from dialin.text import listed
from dialin.trials import profiling
from dialin.trials.network import round_trip_ms
from dialin.trials.tools import Tools
from dialin.variables import behaviour, catalogue, check
from dialin.variables.catalogue import Catalogue, excerpt
from dialin.workloads.base import Workload

_APPLY = "let a command apply the settings (--apply-command; examples/apply/), or study it on a sandbox with --server"


@dataclass(frozen=True, slots=True)
class Permission:
    """What the user allows dialin to do to a server that it did not start. Never read from a file.

    Attributes:
        live: the server may be in use by others.
        restart_command: what restarts it; None where it must not be restarted.
        apply_command: what applies settings to it; None where dialin sets them.
    """

    live: bool = False
    restart_command: str | None = None
    apply_command: str | None = None

    @property
    def _commands(self) -> list[str]:
        given = {"--restart-command": self.restart_command, "--apply-command": self.apply_command}
        return [option for option, command in given.items() if command is not None]

    def check_commands(self) -> None:
        """Make sure that the commands can be read, and that there is only one.

        Raises:
            UserError: they cannot, or there are two.
        """
        if len(self._commands) > 1:
            raise UserError(
                "--apply-command and --restart-command are both given",
                "Leave out --restart-command: the apply command restarts the server where a setting needs it",
            )
        if self.apply_command is not None:
            user_command.split_command(self.apply_command, user_command.APPLY)
        if self.restart_command is not None:
            user_command.split_command(self.restart_command)

    def refuse_for_sandboxes(self) -> None:
        """Refuse permissions that have no meaning for sandboxes.

        Raises:
            UserError: there are some.
        """
        if self.live or self._commands:
            option = self._commands[0] if self._commands else "--i-know-it-is-live"
            raise UserError(f"{option} is for a server that dialin is attached to", "Give --attach as well, or leave it out")

    def refuse_restarts(self) -> None:
        """Refuse to restart a live server.

        Raises:
            UserError: that is allowed.
        """
        if self._commands:
            raise UserError(f"{self._commands[0]} is not for a live server, which is never restarted", "Leave it out")


NO_PERMISSION = Permission()


def check_attached(request: StudyRequest, tools: Tools, permission: Permission) -> CheckedStudy:
    """Check a study on an attached server; the server is asked, and not changed.

    Raises:
        UserError: something is not there or does not fit, or the server is in use by others and that is not allowed.
        ServerError: the server does not answer.
    """
    question, workload = request.question, request.workload
    check_options(question)
    attachment, attached = reach_asked(request, tools, permission)
    workload.check_account(attached.account)
    known = read_catalogue(attached)
    values = known.defaults()
    requested = requested_settings(question, request.directory, known, {})
    check.check_settings(requested.settings, known)
    is_added = not (question.baseline or question.aa)
    settings, initial, exact = with_initial(requested.settings, attached, values, is_added=is_added)
    candidates = candidates_of(settings, [known.build_id])
    spec = request.specify(candidates, {known.build_id: {**values, **exact}})
    spec = spec.model_copy(update={"initial": initial, "form": requested.form, "attachment": attachment})
    check.check_study(spec, {known.build_id: known}, {})
    spec, allowed = with_plan(spec)
    return check_on_server(
        spec,
        allowed,
        attached,
        workload,
        tools,
        permission,
        values=values,
        notes=[*requested.notes, *(note.sentence(spec) for note in effective_settings.overrides(spec))],
        known=known,
    )


def reach_asked(request: StudyRequest, tools: Tools, permission: Permission) -> tuple[Attachment, Attached]:
    """Return where the account of the server in question is found, and that server, after it has answered.

    Raises:
        UserError: its account is not found, or a command cannot be read.
        ServerError: it does not answer.
    """
    attachment = request.question.attachment(request.directory)
    if attachment is None:
        raise RuntimeError("the question is not about an attached server")
    permission.check_commands()
    attachment = attachment.model_copy(update={"applied": permission.apply_command is not None})
    return attachment, reach_server(attachment, tools)


def check_on_server(
    spec: StudySpec,
    allowed: Plan,
    attached: Attached,
    workload: Workload,
    tools: Tools,
    permission: Permission,
    *,
    values: Mapping[str, str],
    notes: Sequence[str] = (),
    known: Catalogue | None = None,
    admission: Callable[[AttachedServer], Admit] | None = None,
) -> CheckedStudy:
    """Return a study on a server that has answered; nothing is set.

    `values` are those of its variables now, `known` is its catalogue where the study begins, and `admission` returns what
    admits later candidates.

    Raises:
        UserError: a variable requires a restart that is not allowed, or the server is in use and that is not allowed.
    """
    if spec.attachment is None:
        raise RuntimeError("the study is not about an attached server")
    site = make_site(spec, spec.attachment, attached, workload, tools, permission)
    if spec.attachment.database:
        _check_tables(attached, spec.attachment.database, workload)
    _check_load_hosts(attached, workload, spec.attachment.database or SCHEMA)
    live = check_live(attached, permission)
    profiled = profiling.check(attached) if spec.profile else []
    return CheckedStudy(
        spec=spec,
        plan=allowed,
        servers={attached.build.id: facts_of_server(attached)},
        workload=workload,
        site=site,
        notes=(*attached.account.notes, *notes, *live, *profiled, *_far_away(spec, attached, tools)),
        changes=tuple(describe_changes(site, values)),
        admit=(admission or _admission)(site),
        catalogues={known.build_id: excerpt(known, spec.set_variables)} if known else {},
        rehearse=partial(rehearse, site) if site.apply_command is not None or site.at_start else None,
    )


def _far_away(spec: StudySpec, attached: Attached, tools: Tools) -> list[str]:
    """Return a note on a server whose network takes longer than many of its statements; a load from near it is proposed."""
    if attached.pid is not None or spec.workload.load_hosts:
        return []
    with attached.connect() as query:
        milliseconds = round_trip_ms(query, tools.clock)
    if milliseconds < FAR_MS:
        return []
    return [
        f"The round trip to the server takes {milliseconds:.1f} ms, for which each statement of the load waits. A load from a "
        "host near the server (--load-hosts, docs/load-agents.md) shows more of the server and less of the network"
    ]


def check_options(question: StudyOptions) -> None:
    """Raise UserError where an option is given that is for sandboxes only."""
    for option, given in (
        ("--hold", question.hold),
        ("--server-memory", question.server_memory is not None),
        ("--server-cpus", question.server_cpus is not None),
        ("--switch", question.switch != "auto"),
    ):
        if given:
            raise UserError(f"{option} is for sandboxes, which dialin starts itself", "Leave it out")


def resume_attached(
    spec: StudySpec,
    allowed: Plan,
    tools: Tools,
    workload: Workload,
    permission: Permission,
    known: Mapping[str, Mapping[str, Any]],
    admission: Callable[[AttachedServer], Admit] | None = None,
) -> CheckedStudy:
    """Return a study on an attached server that resumes.

    `known` holds the stored facts of the server from the study's beginning, per build id; `admission` returns what admits
    later candidates.

    Raises:
        UserError: the server is another one than it was, or is in use by others and that is not allowed.
        ServerError: it does not answer.
    """
    if spec.attachment is None:
        raise RuntimeError("the study is not about an attached server")
    permission.check_commands()
    if spec.attachment.applied and permission.apply_command is None:
        raise UserError("A command applies the settings of this study", "Give it again: --apply-command")
    if permission.apply_command is not None and not spec.attachment.applied:
        raise UserError("dialin sets the variables of this study itself", "Leave out --apply-command, or start a new study")
    attached = reach_again(spec, spec.attachment, tools, known)
    workload.check_account(attached.account)
    values = attached.variables()
    return check_on_server(spec, allowed, attached, workload, tools, permission, values=values, admission=admission)


def reach_again(spec: StudySpec, attachment: Attachment, tools: Tools, known: Mapping[str, Mapping[str, Any]]) -> Attached:
    """Return the attached server of a study that resumes, after it has answered; `known` are its stored facts.

    Raises:
        UserError: the server is another one than it was.
        ServerError: it does not answer.
    """
    attached = reach_server(attachment, tools, is_written=spec.live is None)
    build = spec.candidates[0].server
    if attached.build.id != build:
        raise UserError(f"The server runs {attached.build.id} now, but the study started on {build}", "Start a new study")
    if attached.build.instance != known[build].get("instance"):
        raise UserError(
            f"{attached.account} is not the server that the study started on",
            "Give the account of that server, or start a new study",
        )
    return attached


def _check_tables(attached: Attached, database: str, workload: Workload) -> None:
    """Make sure that the tables of the load are in the user's schema.

    Raises:
        UserError: one is missing, or the account may not see it.
    """
    statement = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s"
    with attached.connect() as query:
        existing = {str(name) for (name,) in query(statement, (database,))}
    missing = [name for name in workload.table_names if name not in existing]
    if missing or not existing:
        tables = f"the table {missing[0]}" if missing else "any table"
        more = f" (and {len(missing) - 1} more of the load)" if len(missing) > 1 else ""
        raise UserError(
            f"The account does not see {tables}{more} in the schema {database}",
            "Correct --database, --tables or the account's privileges; without --database dialin makes the tables itself",
        )


def _check_load_hosts(attached: Attached, workload: Workload, database: str) -> None:
    """Make sure that each host that applies the load, with an account of its own, logs in to this server.

    Raises:
        UserError: one cannot be reached, or logs in to another server.
    """
    with attached.connect() as query:
        before = status(query, "Connections")
        for address in workload.call_load_hosts():
            after = status(query, "Connections")
            if after == before:
                raise UserError(
                    f"The load host {address} logs in to another server than {attached.account}",
                    f"Start its agent with the account of this server, and with --database {database}",
                )
            before = after


def _admission(site: AttachedServer) -> Admit:
    """Return what admits candidates without an inspection: their trials show their effective settings."""

    def admit(spec: StudySpec, candidate: Candidate) -> tuple[Candidate, None]:
        named = checked_candidate(spec, candidate, lambda _: read_catalogue(site.attached))
        _check_starts(spec.with_candidates([named]), named, site)
        return named, None

    return admit


def reach_server(attachment: Attachment, tools: Tools, *, is_written: bool = True) -> Attached:
    """Return the attached server, after it has answered; with `is_written`, it must accept writes.

    Raises:
        UserError: its account is not found.
        ServerError: it does not answer.
    """
    file = Path(attachment.defaults_file) if attachment.defaults_file else None
    attached = Attached(find_account(file, attachment.login_path, os.environ), tools.clock, moves=attachment.applied)
    if attachment.applied:
        attached.patience = attachment.wait_for_server
    if is_written:
        attached.check_writable()
    else:
        attached.variables()
    return attached


def make_site(
    spec: StudySpec,
    attachment: Attachment,
    attached: Attached,
    workload: Workload,
    tools: Tools,
    permission: Permission,
) -> AttachedServer:
    """Return the place where trials run; the server is asked which variables only a start can set, and nothing is set.

    Raises:
        UserError: the load changes the amount of data in the user's schema, a variable requires a restart that is not allowed,
            or a value would prevent the server from starting.
    """
    if spec.workload.traits.grows and attachment.database:
        raise UserError(
            f"{spec.workload.name} changes how much data there is, and dialin does not restore the tables of the schema "
            f"{attachment.database}: trials would not start from the same state",
            "Leave out --database, so that data is prepared before each trial, or use a workload such as oltp_read_write",
        )
    at_start = only_at_start(spec.set_variables, attached, permission)
    site = AttachedServer(
        spec, attachment, attached, workload, tools, at_start, permission.restart_command, permission.apply_command
    )
    for candidate in spec.candidates:
        _check_starts(spec, candidate, site)
    return site


def only_at_start(variables: Sequence[str], attached: Attached, permission: Permission) -> tuple[str, ...]:
    """Return those of a study's variables that only a start of the server can set.

    Raises:
        UserError: the account may not set a variable, or there is no command that sets those of the start.
    """
    is_applied = permission.apply_command is not None
    try:
        at_start = tuple(attached.needs_restart(variables, may_set=not is_applied))
    except UserError as error:
        if error.cause.code is not CauseCode.NO_PRIVILEGE_TO_SET or not attached.build.service:
            raise
        remedy = f"{attached.build.service} grants that to nobody: {_APPLY}"
        raise UserError(error.cause, remedy) from error
    if not at_start or is_applied:
        return at_start
    if attached.build.service or not attached.can_persist():
        raise UserError(f"{at_start[0]} can be set only at startup", f"{_APPLY[0].upper()}{_APPLY[1:]}")
    if permission.restart_command is None:
        raise UserError(
            f"{at_start[0]} can be set only at startup",
            'Give a --restart-command such as "systemctl restart mysql", or study it on a sandbox with --server',
        )
    attached.check_persists()
    return at_start


def _check_starts(spec: StudySpec, candidate: Candidate, site: AttachedServer) -> None:
    """Refuse values that prevent a server from starting: a sandbox may fail to start, but a user's server must not."""
    build = site.attached.build.id
    for name, value in spec.setting_of(candidate.name).items():
        if name in site.at_start and (why := behaviour.kills(build, name, value)):
            raise UserError(f"{name}={value} would prevent {build} from starting: {why}", "Leave it out")


def check_live(attached: Attached, permission: Permission) -> list[str]:
    """Return notes on a server that is in use; raise UserError unless that is allowed."""
    reasons = attached.live_reasons()
    if reasons and not permission.live:
        raise UserError(
            f"The server is in use: {'; '.join(reasons)}",
            "Study a server that no one else uses. --i-know-it-is-live continues anyway, and its users will feel the load",
        )
    return [f"The server is in use (accepted with --i-know-it-is-live): {reason}" for reason in reasons]


def read_catalogue(attached: Attached) -> Catalogue:
    """Return the catalogue of a server's variables as it reports them; nothing is set to find out more."""
    with attached.connect() as query:
        return catalogue.read(query, attached.build.id)


def describe_changes(site: AttachedServer, values: Mapping[str, str]) -> list[str]:
    """Return sentences on what the study will change on the server, and how it is put back."""
    spec, account = site.spec, site.attached.account
    lines = [f"dialin did not start this server: {site.attached.build.id}, {account}. It will"]
    tuned_variables = {one.name: one for one in spec.tune.variables} if spec.tune else {}
    for name in spec.set_variables:
        now = value_text(name, values[name]) if name in values else "unknown"
        if (tuned := tuned_variables.get(name)) is not None:
            to = range_text(tuned)
        else:
            settings = [spec.setting_of(candidate.name) for candidate in spec.candidates]
            to = ", ".join(dict.fromkeys(str(setting[name]) for setting in settings if name in setting))
        lines.append(f"  set {name} (now {now}) to {to}")
    if site.attachment.database:
        lines.append(f"  run the load on the tables of the schema {site.attachment.database}; a load that writes changes them")
    else:
        lines.append(f"  make the schema {SCHEMA} with {site.workload.describe_data()}, and drop it at the end")
    if site.apply_command is not None:
        restarts = f", which restarts the server for {listed(site.at_start)}" if site.at_start else ""
        lines.append(
            f"  run your command for each setting, and at the end with the original ones{restarts}: {site.apply_command}"
        )
    elif site.at_start:
        lines.append(f"  restart the server before every trial and at the end: {site.restart_command}")
    lines.append("Every value is written down first and put back at the end; after a crash: dialin restore")
    return lines


def facts_of_server(attached: Attached) -> dict[str, Any]:
    """Return what a study stores of a server."""
    build = attached.build
    return {
        "version": build.version_text,
        "origin": f"attached: {attached.account}",
        "vendor": build.vendor.value,
        "instance": build.instance,
    }

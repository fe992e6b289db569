"""Checks of a study or a tune on an attached server; the server is asked, and not changed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dialin.errors import UserError
from dialin.evidence import effective_settings
from dialin.model.cause import CauseCode
from dialin.model.fitness import FAR_MS
from dialin.model.place import Attachment, LoadedPlace, ManagedPlace
from dialin.model.record import StudyRecord
from dialin.model.setting import Value, combination_name, parse_value, same_value
from dialin.model.study import Candidate, StudySpec
from dialin.places.attached.rehearsal import rehearse
from dialin.places.attached.site import AttachedServer
from dialin.places.permission import Permission
from dialin.preflight import tune_space
from dialin.preflight.checked import CheckedStudy, StudyRequest, check_goal, with_plan
from dialin.preflight.option_files import base_setting, requested_settings
from dialin.preflight.tune_study import refuse_options, specify
from dialin.probes import host
from dialin.question.candidates import Variables, candidates_of
from dialin.question.plan import Plan, plan
from dialin.search.variable_choice import Situation
from dialin.sentences.tune_words import range_text, value_text
from dialin.servers.attached.client_options import find_account
from dialin.servers.attached.server import Attached
from dialin.servers.attached.undo import SCHEMA
from dialin.servers.connection import status
from dialin.text import listed
from dialin.trials import profiling
from dialin.trials.network import round_trip_ms
from dialin.trials.tools import Tools
from dialin.variables import catalogue, cautions, check
from dialin.variables.aliases import reported_name
from dialin.variables.catalogue import Catalogue, excerpt
from dialin.workloads.base import Workload

_APPLY = "let a command apply the settings (--apply-command; examples/apply/), or study it on a sandbox with --server"


def check_attached(request: StudyRequest, place: LoadedPlace, tools: Tools, permission: Permission) -> CheckedStudy:
    """Check a study on an attached server; the server is asked, and not changed.

    Raises:
        UserError: something is not there or does not fit, or the server is in use by others and that is not allowed.
        ServerError: the server does not answer.
    """
    question, workload = request.question, request.workload
    attached = reach_server(place, tools)
    workload.check_account(attached.account)
    known = read_catalogue(attached)
    values = known.defaults()
    requested = requested_settings(question, request.directory, known, {})
    check.check_settings(requested.settings, known)
    is_added = not (question.baseline or question.aa)
    settings, initial, exact = with_initial(requested.settings, attached, values, is_added=is_added)
    candidates = candidates_of(settings, [known.build_id])
    spec = request.specify(candidates, {known.build_id: {**values, **exact}})
    spec = spec.model_copy(update={"initial": initial, "form": requested.form})
    check.check_study(spec, {known.build_id: known}, {})
    spec, allowed = with_plan(spec)
    notes = [*requested.notes, *(note.sentence(spec) for note in effective_settings.overrides(spec))]
    site = make_site(spec, place, attached, workload, tools, permission)
    return check_on_server(site, allowed, permission, values=values, notes=notes, known=known)


def check_tuned_attached(request: StudyRequest, place: LoadedPlace, tools: Tools, permission: Permission) -> CheckedStudy:
    """Check a tune on an attached server; the server is asked, and not changed.

    Raises:
        UserError: something is not there or does not fit, a variable requires a restart, or the server is in use by others and
            that is not allowed.
        ServerError: the server does not answer.
    """
    question, workload = request.question, request.workload
    refuse_options(request)
    if not question.tune:
        raise UserError("No variable to tune is named", "Name variables, e.g. innodb_io_capacity=200..20000")
    attached = reach_server(place, tools)
    workload.check_account(attached.account)
    known = read_catalogue(attached)
    requested = tune_space.resolve(tune_space.parse_named(question.tune), known, {})
    at_start = only_at_start([one.name for one in requested], attached, permission)
    setting, of_file = base_setting(request, known, {})
    tune_space.refuse_forbidden(requested, of_file.form)
    pid = attached.pid
    situation = Situation(
        memory=host.memory_within(pid, host.memory_available()) if pid is not None else 0,  # 0: no more than the baseline
        disk=0,
        cpus=host.cpu_count() if pid is None else host.cpus_of(pid),
        connections=request.load.threads,
        tables=request.load.tables,
        data=workload.expected_bytes(),
        in_force={**attached.variables(), **{name: str(value) for name, value in setting.items()}},
        build=known.build_id,
    )
    named = tune_space.name_variables(requested, known, situation, weaker=question.accept_weaker_durability)
    variables = [replace(one, static=one.name in at_start) for one in named]
    spec = specify(request, known.build_id, setting, variables, known, situation)
    spec, allowed = with_plan(spec.model_copy(update={"form": of_file.form}))
    site = make_site(spec, place, attached, workload, tools, permission)
    notes = (*of_file.notes, *tune_space.idle_notes(variables, known, situation))
    return check_on_server(site, allowed, permission, values=known.defaults(), notes=notes, known=known)


def check_on_server(
    site: AttachedServer,
    allowed: Plan,
    permission: Permission,
    *,
    values: Mapping[str, str],
    notes: Sequence[str] = (),
    known: Catalogue | None = None,
) -> CheckedStudy:
    """Return a study on a server that has answered; nothing is set.

    `values` are those of its variables now, and `known` is its catalogue where the study begins.

    Raises:
        UserError: the server is in use and that is not allowed, or lacks what the load or a profile needs.
    """
    spec, attached, workload, database = site.spec, site.attached, site.workload, site.place.database
    if database:
        _check_tables(attached, database, workload)
    _check_load_hosts(attached, workload, database or SCHEMA)
    live = check_live(attached, permission)
    profiled = profiling.check(attached) if spec.is_profiled else []
    return CheckedStudy(
        spec=spec,
        plan=allowed,
        servers={attached.build.id: facts_of_server(attached)},
        workload=workload,
        site=site,
        notes=(*attached.account.notes, *notes, *live, *profiled, *_far_away(spec, attached, site.tools)),
        changes=tuple(describe_changes(site, values)),
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
        "host near the server (--load-hosts, docs/fleet.md) shows more of the server and less of the network"
    ]


def resume_attached(
    record: StudyRecord, place: LoadedPlace, tools: Tools, workload: Workload, permission: Permission
) -> CheckedStudy:
    """Return a study on an attached server that resumes.

    Raises:
        UserError: the server is another one than it was, or is in use by others and that is not allowed.
        ServerError: it does not answer.
    """
    is_managed = isinstance(place, ManagedPlace)
    if is_managed and permission.apply_command is None:
        raise UserError("A command applies the settings of this study", "Give it again: --apply-command")
    if permission.apply_command is not None and not is_managed:
        raise UserError("dialin sets the variables of this study itself", "Leave out --apply-command, or start a new study")
    attached = reach_again(record, place, tools)
    workload.check_account(attached.account)
    site = make_site(record.spec, place, attached, workload, tools, permission)
    return check_on_server(site, plan(record.spec), permission, values=attached.variables())


def reach_again(record: StudyRecord, place: Attachment, tools: Tools) -> Attached:
    """Return the attached server of a study that resumes, after it has answered.

    Raises:
        UserError: the server is another one than it was.
        ServerError: it does not answer.
    """
    attached = reach_server(place, tools, is_written=not record.spec.is_live)
    build = record.spec.candidates[0].server
    if attached.build.id != build:
        raise UserError(f"The server runs {attached.build.id} now, but the study started on {build}", "Start a new study")
    if attached.build.instance != record.servers[build].get("instance"):
        raise UserError(
            f"{attached.account} is not the server that the study started on",
            "Give the account of that server, or start a new study",
        )
    return attached


def _check_tables(attached: Attached, database: str, workload: Workload) -> None:
    """Raise UserError where a table of the load is missing in the user's schema, or the account may not see it."""
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
    """Raise UserError where a host that applies the load, with an account of its own, does not log in to this server."""
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


def reach_server(place: Attachment, tools: Tools, *, is_written: bool = True) -> Attached:
    """Return the attached server, after it has answered; with `is_written`, it must accept writes.

    Raises:
        UserError: its account is not found.
        ServerError: it does not answer.
    """
    file = Path(place.defaults_file) if place.defaults_file else None
    attached = Attached(find_account(file, place.login_path, os.environ), tools.clock, moves=isinstance(place, ManagedPlace))
    if isinstance(place, ManagedPlace):
        attached.patience = place.wait_for_server
    if is_written:
        attached.check_writable()
    else:
        attached.variables()
    return attached


def make_site(
    spec: StudySpec, place: LoadedPlace, attached: Attached, workload: Workload, tools: Tools, permission: Permission
) -> AttachedServer:
    """Return the place where trials run; the server is asked which variables only a start can set, and nothing is set.

    Raises:
        UserError: the goal needs a server of this machine, the load changes the amount of data in the user's schema, a
            variable requires a restart that is not allowed, or a value would prevent the server from starting.
    """
    check_goal(spec.goal, is_here=attached.pid is not None)
    if spec.workload.traits.grows and place.database:
        raise UserError(
            f"{spec.workload.name} changes how much data there is, and dialin does not restore the tables of the schema "
            f"{place.database}: trials would not start from the same state",
            "Leave out --database, so that data is prepared before each trial, or use a workload such as oltp_read_write",
        )
    at_start = only_at_start(spec.set_variables, attached, permission)
    commands = permission.restart_command, permission.apply_command
    site = AttachedServer(spec, place, attached, workload, tools, at_start, *commands)
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
        if name in site.at_start and (why := cautions.kills(build, name, value)):
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
    for name in spec.set_variables:
        now = value_text(name, values[name]) if name in values else "unknown"
        if (tuned := spec.tuned.get(name)) is not None:
            to = range_text(tuned)
        else:
            settings = [spec.setting_of(candidate.name) for candidate in spec.candidates]
            to = ", ".join(dict.fromkeys(str(setting[name]) for setting in settings if name in setting))
        lines.append(f"  set {name} (now {now}) to {to}")
    if site.place.database:
        lines.append(f"  run the load on the tables of the schema {site.place.database}; a load that writes changes them")
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

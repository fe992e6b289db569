"""Reads an attached server for advice: its variables, its data, and a minute of its own load. Nothing is changed.

Cost: SHOW GLOBAL STATUS and information_schema.innodb_metrics once a second, SHOW ENGINE INNODB STATUS every 5 s, and
information_schema.tables once. Privileges: none for variables and status; PROCESS for InnoDB's status and metrics; SELECT on
tables for their size. What the account may not read is reported, and the rules that need it are silent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from dialin.advice import figures
from dialin.advice.server_reading import ServerReading, make_reading, unread_of_probes
from dialin.answers import number, whole
from dialin.clock import Clock
from dialin.errors import DialinError, ServerError, UserError
from dialin.model.advice import Unread, UnreadCode, Watch
from dialin.model.build import Build, Family
from dialin.model.evidence import Watched
from dialin.model.place import Attachment
from dialin.model.query import Query
from dialin.model.setting import same_value
from dialin.paths import Home
from dialin.probes import disk, host
from dialin.probes.innodb_status import InnodbStatusProbe
from dialin.probes.machine import MachineProbe
from dialin.probes.metrics import MetricsProbe
from dialin.probes.probe import Probe
from dialin.probes.probe_watch import Watch as ProbeWatch
from dialin.probes.status import StatusProbe
from dialin.search.variable_choice import Situation
from dialin.sentences.advice_sentences import unread as unread_of
from dialin.sentences.advice_sentences import unread_defaults, unread_load
from dialin.servers.assign import is_dynamic
from dialin.servers.attached.attached_build import AttachedBuild
from dialin.servers.attached.client_options import find_account
from dialin.servers.attached.server import Attached
from dialin.servers.attached.server_fitness import may_set_globals
from dialin.servers.capabilities import Capability, has
from dialin.servers.connection import NO_SYSTEM_TABLES, RefusedError
from dialin.trials.build_catalogue import stored_catalogues
from dialin.trials.probing import ProbeConnection
from dialin.variables import catalogue
from dialin.variables.catalogue import Catalogue, Kind, Variable
from dialin.variables.performance import TABLE

_IDLE = 5.0
"""Statements per second below which most rules have nothing to go by."""

_TABLES = f"SELECT SUM(data_length + index_length), COUNT(*) FROM information_schema.tables WHERE {NO_SYSTEM_TABLES}"  # noqa: S608 - a constant


@dataclass(frozen=True, slots=True)
class AttachedReading:
    """What was read of an attached server, and what could not be read."""

    reading: ServerReading
    build: AttachedBuild
    place: str
    watch: Watch
    unread: tuple[Unread, ...]
    notes: tuple[str, ...]
    is_here: bool
    in_use: bool
    may_set: bool


def read_attached(
    attachment: Attachment, home: Home, clock: Clock, seconds: float, say: Callable[[str], None]
) -> AttachedReading:
    """Read an attached server, and watch its own load for so many seconds.

    Raises:
        UserError: its account is not found.
        ServerError: it does not answer.
    """
    file = Path(attachment.defaults_file) if attachment.defaults_file else None
    attached = Attached(find_account(file, attachment.login_path, os.environ), clock)
    in_force, build, pid = attached.variables(), attached.build, attached.pid
    unread: list[Unread] = []
    with attached.connect() as query:
        reported, stored = catalogue.read(query, build.id), _stored_catalogue(home, build)
        variables = _merged(reported, stored)
        defaults = _changed_defaults(query, build, in_force, stored, unread)
        data, tables = _size_of_data(query, unread)
        at_start = _only_at_start(query, variables, unread)
        may_set = may_set_globals(query)
    directory = attached.data_directory
    with ProbeConnection(attached) as session:
        of_machine: list[Probe] = [MachineProbe(directory)] if pid is not None else []
        probes = [*of_machine, StatusProbe(session), InnodbStatusProbe(session), MetricsProbe(session)]
        say(f"Watching {build.id} for {seconds:.0f} s; nothing is changed")
        with ProbeWatch(probes, clock) as watch, watch.window():
            clock.sleep(seconds)
        watched = watch.taken()
    if pid is None:
        unread.append(unread_of(UnreadCode.MACHINE))
    unread += unread_of_probes(watched)
    situation = Situation(
        memory=float(host.memory_within(pid, host.memory_available() + _resident(pid))) if pid is not None else float("inf"),
        cpus=host.cpus_of(pid) if pid is not None else 0,
        connections=_connections(watched),
        data=data,
        disk=None,
        spinning=disk.is_rotational(directory) if directory is not None else None,
        tables=tables,
        in_force=in_force,
        build=build.id,
    )
    reading = make_reading(
        in_force, variables, situation, watched, defaults=defaults, at_start=at_start, now=clock.now(), own_statements=True
    )
    load = Watch(seconds=seconds, queries=reading.measured.transactions, running=figures.running(reading), data=data)
    if load.queries is not None and load.queries < _IDLE:
        unread.insert(0, unread_load(load.queries))
    return AttachedReading(
        reading,
        build,
        str(attached.account),
        load,
        tuple(unread),
        tuple(attached.account.notes),
        is_here=pid is not None,
        in_use=_is_in_use(attached, load),
        may_set=may_set is not False,
    )


def _is_in_use(attached: Attached, load: Watch) -> bool:
    """Return whether clients use the server; an account that sees no others goes by the statements that it received."""
    try:
        return bool(attached.live_reasons())
    except UserError:
        return load.queries is not None and load.queries >= _IDLE


def series_of(build: Build | AttachedBuild) -> str:
    """Return the series of a build, such as `mysql@8.0`."""
    return f"{build.vendor}@{'.'.join(map(str, build.version[:2]))}"


def _stored_catalogue(home: Home, build: AttachedBuild) -> Catalogue | None:
    """Return the stored catalogue of this build, else of another build of its series; None where dialin has none."""
    known = stored_catalogues(home, f"{series_of(build)}.")
    exact = [stored for stored in known if stored.build_id == build.id]
    return next(iter(exact or known), None)


def _merged(reported: Catalogue, stored: Catalogue | None) -> dict[str, Variable]:
    """Return the server's variables, each as the stored catalogue has it where the server itself reports less."""
    if stored is None:
        return dict(reported.variables)
    return {
        name: replace(stored.variables[name], default=variable.default)
        if name in stored.variables and (variable.kind is Kind.UNKNOWN or variable.dynamic is None)
        else variable
        for name, variable in reported.variables.items()
    }


def _changed_defaults(
    query: Query, build: AttachedBuild, in_force: Mapping[str, str], stored: Catalogue | None, unread: list[Unread]
) -> dict[str, str]:
    """Return the defaults of the variables that somebody changed, as far as the server or a stored catalogue shows them."""
    if build.family is Family.MARIADB and has(build, Capability.VALUE_ORIGIN):
        rows = query(
            "SELECT variable_name, default_value FROM information_schema.system_variables"
            " WHERE global_value_origin IN ('CONFIG', 'SQL')"
        )
        return {str(name).lower(): str(default) for name, default in rows if default is not None}
    if stored is None:
        unread.append(unread_defaults(series_of(build)))
        return {}
    changed = set(TABLE)
    if has(build, Capability.VALUE_ORIGIN):
        with suppress(RefusedError):
            rows = query("SELECT variable_name FROM performance_schema.variables_info WHERE variable_source <> 'COMPILED'")
            changed = {str(name).lower() for (name,) in rows}
    defaults = stored.defaults()
    return {
        name: defaults[name]
        for name in changed & defaults.keys() & in_force.keys()
        if not same_value(defaults[name], in_force[name])
    }


def _size_of_data(query: Query, unread: list[Unread]) -> tuple[float | None, int | None]:
    """Return the bytes and the number of the tables that the account sees."""
    with suppress(RefusedError):  # builds before 8.0 have no such variable: they do not cache these sizes
        query("SET SESSION information_schema_stats_expiry = 0")
    try:
        rows = query(_TABLES)
    except ServerError:
        unread.append(unread_of(UnreadCode.DATA))
        return None, None
    bytes_of_tables, tables = rows[0] if rows else (None, None)
    if not _sees_all_tables(query):
        unread.append(unread_of(UnreadCode.SOME_DATA))
    return (number(bytes_of_tables), whole(tables)) if bytes_of_tables else (None, None)


def _sees_all_tables(query: Query) -> bool:
    with suppress(ServerError):
        return bool(
            query(
                "SELECT 1 FROM information_schema.user_privileges WHERE privilege_type = 'SELECT'"
                " AND grantee = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''')"
            )
        )
    return False


def _only_at_start(query: Query, variables: Mapping[str, Variable], unread: list[Unread]) -> frozenset[str]:
    """Return which performance variables only a start can set; the server is asked where no catalogue says so."""
    static, refused = set(), False
    for name in TABLE:
        variable = variables.get(name)
        if variable is None:
            continue
        dynamic = variable.dynamic
        if dynamic is None and not refused:
            try:
                dynamic = is_dynamic(query, name)
            except DialinError:
                refused = True
        if dynamic is False:
            static.add(name)
    if refused:
        unread.append(unread_of(UnreadCode.AT_START))
    return frozenset(static)


def _connections(watched: Sequence[Watched]) -> int:
    status = next((result for result in watched if result.probe == "status"), None)
    gauge = status.gauges.get("Threads_connected") if status is not None else None
    return max(1, round(gauge.mean) - 1) if gauge is not None else 1


def _resident(pid: int | None) -> int:
    """Return the bytes of memory that a process has; 0 where they are not seen."""
    if pid is None:
        return 0
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0

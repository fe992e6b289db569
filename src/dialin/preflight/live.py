"""Checks of a study on a live server under its own traffic; it is asked, watched for some seconds, and not changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dialin.errors import UserError
from dialin.model.live import MOST_CANDIDATES, LatencySource, LiveOptions
from dialin.model.setting import same_value
from dialin.model.study import Goal, StudySpec
from dialin.model.traffic import TrafficSecond
from dialin.preflight.admission import refuse
from dialin.preflight.attached import check_options, facts_of_server, reach_again, reach_server, read_catalogue
from dialin.preflight.checked import CheckedStudy, StudyRequest, with_plan
from dialin.preflight.initial_setting import with_initial
from dialin.question.candidates import candidates_of
from dialin.question.plan import Plan
from dialin.report.note_sentences import note_text
from dialin.report.tune_words import value_text
from dialin.servers.attached import activity
from dialin.servers.attached.server import Attached
from dialin.servers.connection import RefusedError
from dialin.servers.sessions import sessions
from dialin.text import percent
from dialin.trials.live_site import LiveServer
from dialin.trials.tools import Tools
from dialin.variables import check, live_safety, rules
from dialin.verdict import effective_settings
from dialin.workloads.base import Workload
from dialin.workloads.traffic.meter import Meter
from dialin.workloads.traffic.reader import Reader
from dialin.workloads.traffic.traffic import Traffic

_WATCHED = 5
"""Seconds for which the server is watched: whether there is any traffic, and how often clients connect anew."""
_LEAST_TRAFFIC = 1.0
"""Statements per second below which there is nothing to measure."""
_FULL = 0.9
"""The share of max_connections from which on a server is at its limit."""
_TURNOVER = 1 / 3
"""The share of the washout in which all connections must be new for a variable that sessions copy when they begin."""

_SOURCES: Mapping[LatencySource, str] = {
    LatencySource.HISTOGRAM: "the performance schema, with percentiles",
    LatencySource.SUMMARY: "the performance schema, as means by kind of statement; this server has no percentiles",
    LatencySource.RESPONSE_TIME: "query_response_time, as one mean of all statements: a change of their mix counts as one of "
    "latency, unless the load explains it",
}


def check_live(request: StudyRequest, tools: Tools) -> CheckedStudy:
    """Check a study on the live traffic of a server.

    Raises:
        UserError: something does not fit, a privilege is missing, or the server is in no state to be studied.
        ServerError: the server does not answer.
    """
    question, workload = request.question, request.workload
    attachment = question.attachment(request.directory)
    if not isinstance(workload, Traffic) or attachment is None:
        raise RuntimeError("the question is not about live traffic")
    check_options(question)
    for option, is_given in (
        ("--database", question.database is not None),
        ("--set", bool(question.set)),
        ("--worst", question.worst is not None),
        ("--confirm", question.confirm),
        ("--waits", question.waits is not None),
    ):
        if is_given:
            raise UserError(f"{option} is not for a live server", "Leave it out")
    if question.goal is not Goal.LATENCY:
        raise UserError(
            f"--goal {question.goal} is not for live traffic: the clients decide what they send",
            "Leave it out: latency is compared, and the throughput is shown beside it",
        )
    attached = reach_server(attachment, tools, is_written=False)
    settings, left_out = question.settings(request.directory)
    known = read_catalogue(attached)
    values = known.defaults()
    settings, initial, exact = with_initial(settings, attached, values, is_added=not question.aa)
    candidates = candidates_of(settings, [known.build_id])
    live = LiveOptions(**{name: getattr(question, name) for name in LiveOptions.model_fields})
    spec = request.specify(candidates, {known.build_id: {**values, **exact}}).model_copy(
        update={"initial": initial, "live": live, "whole_warmup": True, "probes": False}
    )
    _check_candidates(spec, question.baseline)
    names = spec.variables_under_test
    settled = spec.warmup if spec.warmup is not None else live_safety.washout(names)
    spec = spec.model_copy(update={"warmup": settled})
    _check_safe(spec, values, attached)
    notes = [*left_out, *(note_text(spec, note) for note in check.check_study(spec, {known.build_id: known}, {}))]
    spec, allowed = with_plan(spec)
    state = _watch(attached, tools)
    notes += _check_state(spec, live, attached, state, values)
    site = _site(spec, live, attached, workload, tools, allowed, is_replica=state["is_replica"])
    return CheckedStudy(
        spec=spec,
        plan=allowed,
        servers={attached.build.id: {**facts_of_server(attached), "latency_source": state["source"].value}},
        workload=workload,
        site=site,
        notes=(*attached.account.notes, *notes),
        changes=tuple(_describe(spec, live, attached, values, allowed)),
        admit=refuse,
        catalogues={known.build_id: effective_settings.excerpt(known, spec.set_variables)},
    )


def resume_live(
    spec: StudySpec,
    live: LiveOptions,
    allowed: Plan,
    tools: Tools,
    workload: Workload,
    known: Mapping[str, Mapping[str, Any]],
) -> CheckedStudy:
    """Return a study on live traffic that resumes; `known` are the stored facts of its server. See `check_live` for errors."""
    if not isinstance(workload, Traffic) or spec.attachment is None:
        raise RuntimeError("the study is not about live traffic")
    attached = reach_again(spec, spec.attachment, tools, known)
    values = attached.variables()
    changed = [
        name for name, value in spec.setting_of(spec.baseline).items() if name in values and not same_value(value, values[name])
    ]
    if changed:
        raise UserError(
            f"{changed[0]} is {values[changed[0]]} now, and has another value in the study's baseline",
            "Set it back, or start a new study",
        )
    _check_safe(spec, values, attached)
    state = _watch(attached, tools)
    notes = _check_state(spec, live, attached, state, values)
    return CheckedStudy(
        spec=spec,
        plan=allowed,
        servers={attached.build.id: facts_of_server(attached)},
        workload=workload,
        site=_site(spec, live, attached, workload, tools, allowed, is_replica=state["is_replica"]),
        notes=(*attached.account.notes, *notes),
        changes=tuple(_describe(spec, live, attached, values, allowed)),
        admit=refuse,
    )


def _site(
    spec: StudySpec,
    live: LiveOptions,
    attached: Attached,
    workload: Traffic,
    tools: Tools,
    allowed: Plan,
    *,
    is_replica: bool,
) -> LiveServer:
    if spec.attachment is None:
        raise RuntimeError("the study is not about an attached server")
    return LiveServer(spec, live, spec.attachment, attached, workload, tools, allowed.trial_seconds, is_replica=is_replica)


def _check_candidates(spec: StudySpec, baseline: str | None) -> None:
    if len(spec.candidates) > MOST_CANDIDATES:
        raise UserError(
            f"A live server is studied with at most {MOST_CANDIDATES} candidates, the value in force included",
            "Name fewer values, or find the best ones on a sandbox first",
        )
    if not spec.aa and spec.baseline != spec.initial:
        named = baseline or spec.baseline
        raise UserError(
            f"The baseline of a live server is the value that it has now, {spec.initial}, not {named}", "Leave out --baseline"
        )


def _check_safe(spec: StudySpec, values: Mapping[str, str], attached: Attached) -> None:
    """Refuse variables that must not be changed on a live server, and values that give up durability."""
    for name in spec.set_variables:
        if (why := live_safety.why_refused(name)) is not None:
            raise UserError(f"{name} is not changed on a live server: it {why}", "Study it on a sandbox with --server")
    if at_start := attached.needs_restart(spec.set_variables):
        raise UserError(
            f"{at_start[0]} can be set only at startup, and a live server is not restarted",
            "Study it on a sandbox with --server",
        )
    if spec.accept_weaker_durability:
        return
    for candidate in spec.candidates:
        changed = {**values, **{name: str(value) for name, value in spec.setting_of(candidate.name).items()}}
        if weaker := rules.weaker_durability(changed, values):
            raise UserError(
                f"{candidate.name} gives up durability ({weaker[0]}: {rules.loses(weaker[0])})",
                "Leave it out, or accept that with --accept-weaker-durability",
            )


def _watch(attached: Attached, tools: Tools) -> dict[str, Any]:
    """Watch the server for some seconds; nothing is changed."""
    with attached.connect() as query:
        activity.check_sees_others(query)
        connections = sessions(query)
        is_replica = any(each.user == "system user" and each.command != "Daemon" for each in connections)
        lag = _lag(query) if is_replica else None
    clock = tools.clock
    seconds: list[TrafficSecond] = []
    with (
        Meter(attached.connect, lambda query, source: Reader(query, clock, source, pid=attached.pid), clock) as meter,
        meter.listening() as heard,
    ):
        for _ in range(_WATCHED):
            second = heard.get(timeout=30)
            if not isinstance(second, TrafficSecond):
                raise second
            seconds.append(second)
        source = meter.source
    return {
        "source": source,
        "is_replica": is_replica,
        "lag": lag,
        "statements": sum(one.statements for one in seconds) / sum(one.seconds for one in seconds),
        "busy_ms": sum(sum(one.times.values()) for one in seconds),
        "connections": sum(one.figures.get("connections", 0.0) for one in seconds) / sum(one.seconds for one in seconds),
        "connected": seconds[-1].connected,
    }


def _lag(query: Callable[..., list[tuple[Any, ...]]]) -> float | None:
    for statement in ("SHOW REPLICA STATUS", "SHOW SLAVE STATUS"):
        try:
            rows = query(statement)
        except RefusedError as error:
            if error.number in (1227, 1044, 1045):
                raise UserError(
                    "The server is a replica, and the account may not see how far it is behind its source",
                    "Grant it REPLICATION CLIENT (MariaDB 10.5 and later: REPLICA MONITOR); see docs/attached.md",
                ) from None
            continue
        return float(str(rows[0][32])) if rows and rows[0][32] is not None else None
    return None


def _check_state(
    spec: StudySpec, live: LiveOptions, attached: Attached, state: Mapping[str, Any], values: Mapping[str, str]
) -> list[str]:
    """Return notes on a server that can be studied now.

    Raises:
        UserError: it has no traffic, lags, is at its limit, or copies a variable to sessions that live on.
    """
    if state["statements"] < _LEAST_TRAFFIC:
        raise UserError(
            f"The server has no traffic: {state['statements']:.1f} statements/s within {_WATCHED} s",
            "Study it when it is used, or apply a load of dialin's own (leave out --traffic)",
        )
    if state["busy_ms"] <= 0:
        raise UserError(
            "This server counts its statements, but does not time them",
            "Time the instruments statement/% in performance_schema.setup_instruments, or restart it with the default ones",
        )
    if state["lag"] is not None and state["lag"] > live.guard_lag:
        raise UserError(
            f"The server is a replica, {state['lag']:.0f} s behind its source, more than --guard-lag {live.guard_lag:g}",
            "Wait until it has caught up, or give a larger --guard-lag",
        )
    limit = float(values.get("max_connections", 0) or 0)
    if limit and state["connected"] >= _FULL * limit:
        raise UserError(
            f"The server is at its limit: {state['connected']:.0f} of max_connections = {limit:.0f} connections are open",
            "Study it when it has room",
        )
    notes = [f"{state['statements']:,.0f} statements/s; their latency is read from {_SOURCES[state['source']]}"]
    washout = spec.warmup or 0.0
    for name in _session_variables(spec, attached):
        lives = state["connected"] / state["connections"] if state["connections"] else float("inf")
        if lives > _TURNOVER * washout:
            age = "do not end" if lives == float("inf") else f"live for about {lives:.0f} s"
            raise UserError(
                f"{name} is copied to each session when it begins, and the sessions of this server {age}: a change would reach "
                "few of them within a period",
                f"Give a --warmup of {3 * lives:.0f} s or more, or study it on a sandbox"
                if lives < 600
                else "Study it on a sandbox with --server",
            )
        notes.append(f"{name} reaches new sessions only; these live for about {lives:.1f} s here, less than the washout")
    read_only = [name for name in ("super_read_only", "read_only") if values.get(name, "OFF").upper() not in ("OFF", "0")]
    if read_only:
        notes.append(f"The server is read-only ({read_only[0]}); its variables can be set all the same")
    if state["is_replica"]:
        notes.append("The server is a replica; its lag is guarded")
    return notes


def _session_variables(spec: StudySpec, attached: Attached) -> list[str]:
    """Return the variables of which each session has a copy of its own."""
    found = []
    with attached.connect() as query:
        for name in spec.variables_under_test:
            try:
                query(f"SELECT @@SESSION.`{name}`")
            except RefusedError as error:
                if error.is_from_client:
                    raise
                continue
            found.append(name)
    return found


def _describe(spec: StudySpec, live: LiveOptions, attached: Attached, values: Mapping[str, str], allowed: Plan) -> list[str]:
    """Return sentences on what the study will change on the server, and how it is put back."""
    lines = [f"dialin did not start this server: {attached.build.id}, {attached.account}. It is live. dialin will"]
    lines.append(f"  watch it for {live.observe:g} s, without changing anything, and say what differences it can detect")
    for name in spec.set_variables:
        now = value_text(name, values[name]) if name in values else "unknown"
        others = [spec.setting_of(one.name)[name] for one in spec.candidates if name in spec.setting_of(one.name)]
        to = ", ".join(dict.fromkeys(str(value) for value in others if not same_value(value, values.get(name, ""))))
        lines.append(
            f"  set {name} (now {now}) to {to} in periods of {allowed.measure + allowed.warmup:g} s, and back after each"
        )
    where = f", only {live.between}" if live.between else ""
    lines.append(f"  be away from the present values for at most {percent(live.at_most)} of the time{where}")
    lines.append(
        f"  restore them at once if latency exceeds {live.guard_latency:g} times the usual, Threads_running "
        f"{live.guard_running:g} times, errors {live.guard_errors:g}/s more, or if the server stalls"
    )
    lines.append("  create nothing, and read the server once per second")
    lines.append("Every value is written down first and put back at the end; after a crash: dialin restore")
    return lines

"""Checks of a study on a live server under its own traffic; the server is queried, watched (`live_state`), and not changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dialin.errors import UserError
from dialin.evidence import effective_settings
from dialin.model.live import MOST_CANDIDATES
from dialin.model.place import LivePlace
from dialin.model.record import StudyRecord
from dialin.model.setting import same_value
from dialin.model.study import StudySpec
from dialin.places.attached.check import facts_of_server, reach_again, reach_server, read_catalogue, with_initial
from dialin.places.live import state as live_state
from dialin.places.live.site import LiveServer
from dialin.places.live.state import LiveState
from dialin.preflight.checked import CheckedStudy, StudyRequest, with_plan
from dialin.preflight.option_files import requested_settings
from dialin.question.candidates import candidates_of
from dialin.question.plan import Plan, plan
from dialin.sentences.tune_words import value_text
from dialin.servers.attached.server import Attached
from dialin.text import percent
from dialin.trials.tools import Tools
from dialin.variables import cautions, check, live_safety
from dialin.variables.catalogue import excerpt
from dialin.variables.durability import losses_text, weaker_durability
from dialin.workloads.base import Workload
from dialin.workloads.traffic.digests import Digest, stored_digests
from dialin.workloads.traffic.traffic import Traffic


def check_live(request: StudyRequest, place: LivePlace, tools: Tools) -> CheckedStudy:
    """Check a study on the live traffic of a server.

    Raises:
        UserError: something does not fit, a privilege is missing, or the server is in no state to be studied.
        ServerError: the server does not answer.
    """
    question = request.question
    attached = reach_server(place, tools, is_written=False)
    known = read_catalogue(attached)
    requested = requested_settings(question, request.directory, known, {})
    check.check_settings(requested.settings, known)
    values = known.defaults()
    settings, initial, exact = with_initial(requested.settings, attached, values, is_added=not question.aa)
    candidates = candidates_of(settings, [known.build_id])
    spec = request.specify(candidates, {known.build_id: {**values, **exact}}).model_copy(
        update={"initial": initial, "form": requested.form, "whole_warmup": True, "probes": False}
    )
    _check_candidates(spec, question.baseline)
    washout = question.warmup if question.warmup is not None else live_safety.washout(spec.variables_under_test)
    place = place.model_copy(update={"washout": washout})
    spec = spec.model_copy(update={"place": place})
    _check_safe(spec, place, values, attached)
    check.check_study(spec, {known.build_id: known}, {})
    notes = [*requested.notes, *(note.sentence(spec) for note in effective_settings.overrides(spec))]
    spec, allowed = with_plan(spec)
    state = live_state.watch(attached, tools)
    ready = _ready(spec, place, allowed, attached, request.workload, tools, state, state.digests, values, notes)
    facts = {"latency_source": state.source.value, "digests": [digest.stored() for digest in state.digests]}
    return replace(
        ready,
        servers={attached.build.id: {**facts_of_server(attached), **facts}},
        catalogues={known.build_id: excerpt(known, spec.set_variables)},
    )


def resume_live(record: StudyRecord, place: LivePlace, tools: Tools, workload: Workload) -> CheckedStudy:
    """Return a study on live traffic that resumes. See `check_live` for errors."""
    spec, attached = record.spec, reach_again(record, place, tools)
    values = attached.variables()
    changed = [
        name for name, value in spec.setting_of(spec.baseline).items() if name in values and not same_value(value, values[name])
    ]
    if changed:
        raise UserError(
            f"{changed[0]} is {values[changed[0]]} now, and has another value in the study's baseline",
            "Set it back, or start a new study",
        )
    _check_safe(spec, place, values, attached)
    chosen = stored_digests(record.servers.get(attached.build.id, {}))  # only periods with the same mix can be compared
    state = live_state.watch(attached, tools)
    return _ready(spec, place, plan(spec), attached, workload, tools, state, chosen, values)


def _ready(
    spec: StudySpec,
    place: LivePlace,
    allowed: Plan,
    attached: Attached,
    workload: Workload,
    tools: Tools,
    state: LiveState,
    chosen: tuple[Digest, ...],
    values: Mapping[str, str],
    noted: Sequence[str] = (),
) -> CheckedStudy:
    """Return a study on a server that was watched; `noted` is what was found before.

    Raises:
        UserError: the server is in no state to be studied.
    """
    if not isinstance(workload, Traffic):
        raise TypeError(f"live traffic is {Traffic.__name__}, not {type(workload).__name__}")
    notes = live_state.check_state(spec, place, attached, state, values)
    is_replica = state.replication is not None
    return CheckedStudy(
        spec=spec,
        plan=allowed,
        servers={attached.build.id: facts_of_server(attached)},
        workload=workload,
        site=LiveServer(spec, place, attached, workload, tools, allowed.trial_seconds, is_replica=is_replica, digests=chosen),
        notes=(*attached.account.notes, *noted, *notes),
        changes=tuple(_describe(spec, place, attached, values, allowed)),
    )


def _check_candidates(spec: StudySpec, baseline: str | None) -> None:
    if len(spec.candidates) > MOST_CANDIDATES:
        raise UserError(
            f"A live server is studied with at most {MOST_CANDIDATES} candidates, the value in force included",
            "Name fewer values, or find the best ones on a sandbox first",
        )
    if not spec.is_aa and spec.baseline != spec.initial:
        named = baseline or spec.baseline
        raise UserError(
            f"The baseline of a live server is the value that it has now, {spec.initial}, not {named}", "Leave out --baseline"
        )


def _check_safe(spec: StudySpec, place: LivePlace, values: Mapping[str, str], attached: Attached) -> None:
    """Refuse variables that must not be changed on a live server, and values that weaken durability."""
    for name in spec.set_variables:
        if (why := live_safety.why_refused(name)) is not None:
            raise UserError(f"{name} is not changed on a live server: it {why}", "Study it on a sandbox with --server")
        if (harm := cautions.strands(attached.build.id, name, values.get(name, ""))) is not None:
            raise UserError(
                f"{name} is not changed on this live server: {harm}, so that the guard could not end a stall",
                "Study it on a sandbox with --server",
            )
        if live_safety.resizes(name) and not place.accept_resizing:
            raise UserError(
                f"{name} is not changed on a live server: it allocates or frees memory, and may block all clients meanwhile",
                "Study it on a sandbox with --server, or accept that with --accept-resizing",
            )
    if at_start := attached.needs_restart(spec.set_variables):
        raise UserError(
            f"{at_start[0]} can be set only at startup, and a live server is not restarted",
            "Study it on a sandbox with --server",
        )
    if spec.accept_weaker_durability:
        return
    for candidate in spec.candidates:
        changed = {**values, **{name: str(value) for name, value in spec.setting_of(candidate.name).items()}}
        if losses := weaker_durability(changed, values):
            raise UserError(
                f"{candidate.name} weakens durability: {losses_text(losses)}",
                "Leave it out, or accept that with --accept-weaker-durability",
            )


def _describe(spec: StudySpec, live: LivePlace, attached: Attached, values: Mapping[str, str], allowed: Plan) -> list[str]:
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

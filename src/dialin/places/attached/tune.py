"""Checks of a tune on an attached server, whose variables are put back at the end."""

from __future__ import annotations

from dataclasses import replace

from dialin.errors import UserError
from dialin.model.place import LoadedPlace
from dialin.places.attached import check as attached_server
from dialin.places.permission import Permission
from dialin.preflight import tune_space
from dialin.preflight.checked import CheckedStudy, StudyRequest, with_plan
from dialin.preflight.option_files import base_setting
from dialin.preflight.tune_study import refuse_options, specify
from dialin.probes import host
from dialin.search.variable_choice import Situation
from dialin.trials.tools import Tools


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
    attached = attached_server.reach_server(place, tools)
    workload.check_account(attached.account)
    known = attached_server.read_catalogue(attached)
    requested = tune_space.resolve(tune_space.parse_named(question.tune), known, {})
    at_start = attached_server.only_at_start([one.name for one in requested], attached, permission)
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
    site = attached_server.make_site(spec, place, attached, workload, tools, permission)
    notes = (*of_file.notes, *tune_space.idle_notes(variables, known, situation))
    return attached_server.check_on_server(site, allowed, permission, values=known.defaults(), notes=notes, known=known)

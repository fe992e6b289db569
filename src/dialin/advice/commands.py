"""The commands that test experiments: one that works on this server."""

from __future__ import annotations

from collections.abc import Iterator

from dialin.model.advice import Experiment, Studied
from dialin.model.live import MOST_CANDIDATES
from dialin.model.option_types import kebab
from dialin.model.setting import Value
from dialin.question.options import DEFAULT_WORKLOAD, StudyOptions
from dialin.sentences.tune_words import value_text
from dialin.text import command_line
from dialin.variables import live_safety
from dialin.variables.size_units import with_letter

_LOAD = ("workload", "threads", "tables", "table_size", "rand_type", "rate")
_ACCOUNT = ("defaults_file", "login_path")
_CONTAINER = ("server_memory", "server_cpus")

_UNSET = {"innodb_flush_method": "fsync"}
"""The value that a server uses for a variable whose value is empty."""


_CAPTURE = "server.capture"
"""Where the footnote of a replay says to record the server's statements."""


def where_studied(experiment: Experiment, question: StudyOptions, *, in_use: bool, may_set: bool = True) -> Studied:
    """Return where an experiment can run.

    A server that clients use is studied under their traffic, for dialin puts no load of its own on it; what may not be changed
    there, on a sandbox with their statements. What only a start can set is studied on a sandbox. Where the account may not set
    variables, a command of the user applies them.
    """
    if not question.attach:
        return Studied.SANDBOX
    name = experiment.variable
    if in_use and may_set and not experiment.at_start and not experiment.beside and live_safety.why_refused(name) is None:
        return Studied.TRAFFIC
    if in_use and question.workload == DEFAULT_WORKLOAD:
        return Studied.REPLAY
    if in_use or experiment.at_start:
        return Studied.SANDBOX
    return Studied.SERVER if may_set else Studied.MANAGED


def with_command(
    experiment: Experiment,
    question: StudyOptions,
    build: str,
    pool: Value | None,
    *,
    in_use: bool = False,
    may_set: bool = True,
) -> Experiment:
    """Return an experiment with the command that tests it.

    Args:
        experiment: what to test.
        question: where the server is, and the load.
        build: such as `mysql@9.7` or `image:mysql:8.4`, for a sandbox.
        pool: the size of the server's buffer pool, for such a sandbox.
        in_use: whether clients use the attached server.
        may_set: whether the account may set its variables.
    """
    studied = where_studied(experiment, question, in_use=in_use, may_set=may_set)
    on_server = studied in (Studied.SERVER, Studied.MANAGED, Studied.TRAFFIC)
    now = experiment.now if experiment.now != "" else _UNSET.get(experiment.variable, "")
    tried = list(experiment.values)[: MOST_CANDIDATES - 1] if studied is Studied.TRAFFIC else list(experiment.values)
    values = [*([] if on_server or now == "" else [now]), *tried]
    text = ",".join(value_text(experiment.variable, value) for value in dict.fromkeys(values))
    words = ["dialin", "sweep", f"{experiment.variable}={text}"]
    words += ["--attach", *_options(question, _ACCOUNT)] if on_server else ["--server", build]
    words += [] if on_server else _options(question, _CONTAINER)
    words += ["--apply-command", "COMMAND"] if studied is Studied.MANAGED else []
    words += _options(question, ("database",)) if studied in (Studied.SERVER, Studied.MANAGED) else []
    settings = {**(question.set if not question.attach else {}), **experiment.beside}
    settings.pop(experiment.variable, None)
    if question.attach and not on_server and pool is not None and experiment.variable != "innodb_buffer_pool_size":
        settings["innodb_buffer_pool_size"] = pool
    for name, value in settings.items():
        words += ["--set", f"{name}={value_text(name, value)}"]
    if studied is Studied.TRAFFIC:
        words += ["--traffic", "own", *(["--accept-resizing"] if live_safety.resizes(experiment.variable) else [])]
    elif studied is Studied.REPLAY:
        words += ["--workload", f"capture:{_CAPTURE}", "--data", "DIR"]
    else:
        words += _options(question, _LOAD)
        for name, value in question.workload_options.items():
            words += ["--workload-option", f"{name}={value}"]
    return experiment.model_copy(update={"command": command_line(*words), "studied": studied})


def capture_command(question: StudyOptions) -> str:
    """Return the command that records the statements of an attached server, for a replay."""
    account = _options(question, _ACCOUNT)
    return command_line("dialin capture start --attach", *account, "--out", _CAPTURE)


def _options(question: StudyOptions, names: tuple[str, ...]) -> list[str]:
    return list(_written(question, names))


def _written(question: StudyOptions, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        value = getattr(question, name)
        if value is None or (value == StudyOptions.model_fields[name].default and name != "workload"):
            continue
        yield f"--{kebab(name)}"
        written = _size if name == "server_memory" else str
        yield ",".join(map(written, value)) if isinstance(value, tuple) else str(value)


def _size(limit: int) -> str:
    return str(limit) if limit % 2**20 else with_letter(limit)

"""The command that tests an experiment."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from dialin.model.advice import Experiment
from dialin.model.option_types import kebab
from dialin.model.setting import Value
from dialin.question.options import StudyOptions
from dialin.report.tune_words import value_text

_LOAD = ("workload", "threads", "tables", "table_size", "rand_type", "rate")
_ACCOUNT = ("defaults_file", "login_path", "database")

_UNSET = {"innodb_flush_method": "fsync"}
"""The value that a server uses for a variable whose value is empty."""


def experiment_command(experiment: Experiment, question: StudyOptions, build: str, pool: Value | None) -> str:
    """Return the command that tests an experiment.

    An attached server is studied where it runs. A variable that only a start can set is studied on a sandbox of the same
    series, `build`, with a buffer pool of the same size.

    Args:
        experiment: what to test.
        question: where the server is, and the load.
        build: such as `mysql@9.7`.
        pool: the size of the server's buffer pool, for a sandbox in place of an attached server.
    """
    attached = question.attach and not experiment.at_start
    now = experiment.now if experiment.now != "" else _UNSET.get(experiment.variable, "")
    values = [*([] if attached or now == "" else [now]), *experiment.values]
    tried = ",".join(value_text(experiment.variable, value) for value in dict.fromkeys(values))
    words = ["dialin", "sweep", f"{experiment.variable}={tried}"]
    if attached:
        words += ["--attach", *_options(question, _ACCOUNT)]
    else:
        words += ["--server", build]
    settings = {**(question.set if not question.attach else {}), **experiment.beside}
    settings.pop(experiment.variable, None)
    if question.attach and experiment.at_start and pool is not None and experiment.variable != "innodb_buffer_pool_size":
        settings["innodb_buffer_pool_size"] = pool
    for name, value in settings.items():
        words += ["--set", f"{name}={value_text(name, value)}"]
    words += _options(question, _LOAD)
    for name, value in question.workload_options.items():
        words += ["--workload-option", f"{name}={value}"]
    return shlex.join(words)


def _options(question: StudyOptions, names: tuple[str, ...]) -> list[str]:
    return list(_written(question, names))


def _written(question: StudyOptions, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        value = getattr(question, name)
        if value is None or (value == StudyOptions.model_fields[name].default and name != "workload"):
            continue
        yield f"--{kebab(name)}"
        yield ",".join(map(str, value)) if isinstance(value, tuple) else str(value)

"""How tests run dialin-load and sysbench by hand, and what a server counts meanwhile."""

import json
import signal
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from dialin.trials.tools import Tools
from dialin.workloads import load_binary
from live import LIMIT

BINARY = load_binary.find()
needs_dialin_load = pytest.mark.skipif(BINARY is None, reason="dialin-load is not installed: make setup builds it with cargo")

QUICK = {"innodb_flush_log_at_trx_commit": 0}
"""A log that nothing waits for."""


@contextmanager
def serving(build, **settings):
    """A server of a build, with an empty schema for the load."""
    with Tools.open(lambda text: None).preparer.running(build, {**QUICK, **settings}) as sandbox:
        with sandbox.connect() as query:
            query("CREATE DATABASE sbtest")
        yield sandbox


@dataclass
class Done:
    """What a run came to: its exit code, its lines, and what it said beside them."""

    code: int
    said: str
    lines: list = field(default_factory=list)

    @property
    def seconds(self):
        return [line for line in self.lines if line["type"] == "second"]

    @property
    def summary(self):
        (found,) = [line for line in self.lines if line["type"] == "summary"]
        return found

    @property
    def total(self):
        return self.summary["total"]


def finished(code, out, err):
    lines = out.splitlines()
    reported = "\n".join(line for line in lines if not line.startswith("{"))
    return Done(code, reported + err, [json.loads(line) for line in lines if line.startswith("{")])


def account(sandbox, database="sbtest"):
    return [f"--socket={sandbox.socket}", "--user=root", f"--database={database}"]


def options(**given):
    return [word for name, value in given.items() for word in ("--option", f"{name.replace('_', '-')}={value}")]


def command(verb, workload, sandbox, *words, database="sbtest", **given):
    return [BINARY, verb, workload, *account(sandbox, database), *map(str, words), *options(**given)]


def load(verb, workload, sandbox, *words, database="sbtest", code=0, **given):
    """Run dialin-load to its end; a run tells its seconds."""
    json_too = ["--json"] if verb == "run" else []
    whole = command(verb, workload, sandbox, *words, *json_too, database=database, **given)
    done = subprocess.run(whole, capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
    found = finished(done.returncode, done.stdout, done.stderr)
    assert code is None or found.code == code, f"exit code {found.code}\n{done.stdout[-2000:]}\n{done.stderr}"
    return found


@contextmanager
def running(workload, sandbox, *words, **given):
    """A run that goes on beside the test; `finish` waits for its end, or ends it as Ctrl-C does, and returns it."""
    whole = command("run", workload, sandbox, *words, "--json", **given)
    process = subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)

    def finish(*, now=False):
        if now:
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT)
        return finished(process.returncode, out, err)

    try:
        yield finish
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def sysbench(script, sandbox, *, verb="run", threads=1, events=0, database="sbtest", **given):
    """Let sysbench prepare its tables, or run so many transactions."""
    words = [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
    connection = ["--db-driver=mysql", f"--mysql-socket={sandbox.socket}", "--mysql-user=root", f"--mysql-db={database}"]
    limits = [f"--threads={threads}", "--time=0", f"--events={events}", f"--rand-seed={events + 1}"]
    done = subprocess.run(
        ["sysbench", script, *connection, *limits, *words, verb], capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, done.stdout + done.stderr

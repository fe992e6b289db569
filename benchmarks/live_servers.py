"""Prints, as Markdown tables, how studies on live traffic end on real servers, with clients that dialin is not told about.

    python benchmarks/live_servers.py [--builds mysql@9.7 mysql@8.0 mysql@5.6 mariadb@10.11] [--minutes 6] [--studies guard]

On each build these studies, one after another:

- planted: innodb_flush_log_at_trx_commit=2 in place of 1, which must lower latency. Its clients are dialin-load, which reads at
  a rate that rises and falls, and sysbench, which writes through prepared statements at a constant one.
- A/A: identical settings while the mix goes from read-heavy to write-heavy and back (two dialin-loads whose waves oppose
  each other); nothing may be claimed.
- I/O: the planted value again with --goal io; only a few minutes, to see that a cost decides.
- saturated: the same with --goal throughput, while 16 connections write as fast as they can.
- guard: innodb_thread_concurrency=1, innodb_max_purge_lag=1 before MySQL 8, binlog_commit_wait_usec=500000 on MariaDB stall the
  server; the baseline must be back at once, and the clients' own log says how many seconds were bad.
- cost: CPU of the server for one reading, which a study makes each second, and of dialin itself. The clients rest meanwhile, so
  that the kernel's count of the server's CPU, less that of a server that is not read, is of the readings alone.

Then replicas, of mysql@9.7 and mariadb@10.11: one that lags or has stopped is refused, and one that begins to lag, or stops,
during a study trips the guard. Periods are 2 s after 1 s of washout: a study takes minutes here, as it takes hours with periods
of 60 s.
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests_live"))

from dialin.model.build import Build
from dialin.model.place import Attachment
from dialin.places.attached.check import reach_server
from dialin.places.live import state as live_state
from dialin.probes import host
from dialin.store.store import Store
from dialin.trials.tools import Tools
from dialin.workloads.traffic.reader import Reader
from live import find
from live_traffic import DOCUMENT, QUICK, SCHEMA, bad_seconds, prepare, stalling, traffic, words_of
from playground import Playground, option_file, playground
from replica import replicated

LOG = "innodb_flush_log_at_trx_commit"
REPLICAS = ("mysql@9.7", "mariadb@10.11")
BUILDS = ["mysql@9.7", "mysql@8.0", "mysql@5.6", "mariadb@10.11"]
READS, WRITES = "50,40,25,10,25,40", "5,15,30,45,30,15"
"""Transactions per second of clients that read and of clients that write: the mix turns over within minutes."""
STEP = 20
"""Seconds of each rate."""
READINGS = 300


def dialin(directory: Path, *words: str) -> tuple[int, dict[str, Any], str]:
    """Run a study; its exit code, its verdict and what it said."""
    command = [sys.executable, "-m", "dialin", *words, "--json"]
    done = subprocess.run(
        command, cwd=directory, capture_output=True, text=True, timeout=1800, stdin=subprocess.DEVNULL, check=False
    )
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else {}, done.stderr


@contextmanager
def wave(server: Playground, directory: Path) -> Iterator[None]:
    """Clients whose mix goes from read-heavy to write-heavy and back."""
    many = 40
    with ExitStack() as opened:
        for workload, rates in (("oltp_read_only", READS), ("oltp_write_only", WRITES)):
            rate = ",".join([rates] * many)
            opened.enter_context(traffic(server, directory / workload, workload=workload, rate=rate, seconds=STEP))
        yield


@contextmanager
def sysbench_and_wave(server: Playground, directory: Path) -> Iterator[None]:
    """sysbench, which writes, and a dialin-load that reads at a rate that rises and falls."""
    words = [f"--mysql-socket={server.entry.socket}", "--mysql-user=client", f"--mysql-db={SCHEMA}", "--tables=2"]
    words += ["--table-size=5000", "--threads=4", "--rate=40", "--time=3600", "--mysql-ignore-errors=all"]
    process = subprocess.Popen(
        ["sysbench", "oltp_write_only", *words, "run"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    rate = ",".join([READS] * 40)
    try:
        with traffic(server, directory / "reads", workload="oltp_read_only", rate=rate, seconds=STEP):
            yield
        if process.poll() is not None:
            raise RuntimeError(f"sysbench ended by itself, with exit code {process.returncode}")
    finally:
        process.terminate()
        process.wait()


class Bench:
    """The studies of one server."""

    def __init__(self, server: Playground, directory: Path, minutes: float) -> None:
        self._server = server
        self._directory = directory
        self._minutes = minutes
        account = option_file(server, directory / "account.cnf")
        self._sweep = ["--defaults-file", str(account), *QUICK]
        self._account = account

    def planted(self) -> str:
        with sysbench_and_wave(self._server, self._directory):
            code, verdict, said = self._run("planted", [f"{LOG}=2", "--worthwhile", "10%"], self._minutes)
        return self._result(code, verdict, said, "2")

    def goal_io(self) -> str:
        with wave(self._server, self._directory):
            code, verdict, said = self._run("io", [f"{LOG}=2", "--worthwhile", "10%", "--goal", "io"], self._minutes)
        return self._result(code, verdict, said, "2")

    def saturated(self) -> str:
        with traffic(self._server, self._directory / "all", workload="oltp_write_only", connections=16, rate=""):
            time.sleep(5)
            code, verdict, said = self._run("saturated", [f"{LOG}=2", "--goal", "throughput"], self._minutes)
        share = f"; saturated in {100 * verdict['live']['saturated']:.0f} % of the periods" if verdict else ""
        return f"{self._result(code, verdict, said, '2')}{share}"

    def identical(self) -> str:
        study = self._directory / "aa.toml"
        study.write_text(
            f'attach = true\ntraffic = "own"\naa = 2\ndefaults-file = "{self._account}"\nminutes = {self._minutes}\n'
            "observe = 30\nmeasure = 2\nwarmup = 1\n"
        )
        with wave(self._server, self._directory):
            code, verdict, said = dialin(self._directory, "run", str(study), "--yes", "--out", str(self._directory / "aa"))
        return self._result(code, verdict, said, "A2")

    def guard(self) -> str:
        out = self._directory / "guard"
        clients = traffic(self._server, self._directory / "clients", workload="oltp_update_index", connections=16, rate="100")
        with stalling(self._server) as candidate, clients as seen:
            _, verdict, said = self._run("guard", [candidate], 3)
        if not verdict:
            return said.strip().splitlines()[-1]
        notes = [note["data"] for note in verdict["warnings"] if note["code"] == "guard_tripped"]
        if not notes:
            return "the guard did not trip"
        (note,) = notes
        with Store.open(out) as store:
            bad = [bad_seconds(seen, trial) for trial in store.trials() if trial.candidate == candidate.partition("=")[2]]
        return (
            f"{candidate}: {note['trips']} trips, restored within {note['restored_in']:.2f} s, bad seconds of the clients "
            f"{max(bad)}; {verdict['headline']}"
        )

    def cost(self) -> str:
        tools = Tools.open(lambda _text: None)
        attached = reach_server(Attachment(defaults_file=str(self._account)), tools, is_written=False)
        with wave(self._server, self._directory):
            time.sleep(5)
            state = live_state.watch(attached, tools)
        pid = attached.pid
        if pid is None:
            raise RuntimeError("the server's process is not seen")
        time.sleep(10)  # until what the clients left to be flushed is flushed
        with attached.connect() as query:
            reader = Reader(query, tools.clock, state.source, pid=pid, chosen=state.digests)
            idle = _spent(pid, lambda: None)
            reading = _spent(pid, reader.read)
        server, own = (1000 * (read - rest) / READINGS for read, rest in zip(reading, idle, strict=True))
        share = server / 1000 / host.cpu_count()
        return (
            f"{server:.1f} ms of the server's CPU per reading, {100 * share:.2f} % of {host.cpu_count()} CPUs; {own:.1f} ms of "
            f"dialin's own ({len(state.digests)} digests)"
        )

    def _run(self, name: str, words: list[str], minutes: float) -> tuple[int, dict[str, Any], str]:
        more = ["--accept-weaker-durability", "--minutes", f"{minutes:g}", "--out", str(self._directory / name)]
        return dialin(self._directory, "sweep", words[0], *self._sweep, *words[1:], *more)

    @staticmethod
    def _result(code: int, verdict: dict[str, Any], said: str, name: str) -> str:
        if not verdict:
            return f"exit code {code}: {said.strip().splitlines()[-1]}"
        one = next(each for each in verdict["live"]["candidates"] if each["name"] == name)
        costs = ", ".join(f"{cost} {_shown(ratio)}" for cost, ratio in one["costs"].items())
        digests = [len(facts.get("digests", ())) for facts in verdict["server"]["builds"].values()]
        return (
            f"{_shown(one['with_load'])}, {verdict['verdict']}: {verdict['recommended_candidate']} "
            f"after {verdict['minutes_of_wall_clock']:.0f} min "
            f"({verdict['live']['quads']} pairs, {digests[0]} digests); load {_shown(one['load'])}; {costs}"
        )


STUDIES = {
    "guard": Bench.guard,
    "planted": Bench.planted,
    "A/A": Bench.identical,
    "cost": Bench.cost,
    "I/O": Bench.goal_io,
    "saturated": Bench.saturated,
}
REPLICA = "replica"


def _spent(pid: int, act: Callable[[], object]) -> tuple[float, float]:
    """Return the CPU seconds that a server and this process use while something is done ten times a second."""
    before = host.cpu_seconds(pid), time.process_time()
    for _ in range(READINGS):
        act()
        time.sleep(0.1)
    return host.cpu_seconds(pid) - before[0], time.process_time() - before[1]


def _shown(ratio: dict[str, Any] | None) -> str:
    if ratio is None:
        return "none"
    ends = "no interval" if ratio["low"] is None else f"{100 * (ratio['low'] - 1):+.0f} to {100 * (ratio['high'] - 1):+.0f}"
    return f"{100 * (ratio['mean'] - 1):+.0f} % ({ends})"


def of_a_replica(build: Build, directory: Path) -> Iterator[tuple[str, str]]:
    """Give what was tried with a replica, and how it ended."""
    with replicated(build) as replica:
        account = option_file(replica.server, directory / "replica.cnf")
        sweep = ["sweep", "innodb_io_capacity=300", "--defaults-file", str(account), *QUICK[:-4], "--measure", "15"]
        sweep += ["--warmup", "1", "--minutes", "12"]
        with (
            traffic(replica.source, directory / "writes", workload="oltp_write_only", rate="40"),
            traffic(replica.server, directory / "reads", workload="oltp_read_only", rate="40"),
        ):
            time.sleep(3)

            def refusal() -> str:
                code, _, said = dialin(directory, *sweep, "--out", str(directory / "refused"))
                return f"exit code {code}: {said.strip().splitlines()[0]}"

            replica.delay(60)
            time.sleep(20)
            yield "applies everything 60 s late", refusal()
            replica.delay(0)
            replica.catch_up()
            replica.stop_applier()
            yield "SQL thread stopped", refusal()
            replica.start_applier()
            replica.catch_up()
            with ExitStack() as held:
                harm = functools.partial(held.enter_context, replica.blocked())
                yield "falls behind while a candidate is in force", _harmed(replica.server, directory, sweep, harm)
            replica.catch_up()
            yield (
                "SQL thread stopped while a candidate is in force",
                _harmed(replica.server, directory, sweep, replica.stop_applier),
            )


def _harmed(replica: Playground, directory: Path, sweep: list[str], harm: Callable[[], object]) -> str:
    """Do harm as soon as a candidate is in force; return what the guard said."""
    out = Path(tempfile.mkdtemp(dir=directory)) / "study"
    command = [sys.executable, "-m", "dialin", *sweep, "--out", str(out)]
    process = subprocess.Popen(command, cwd=directory, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(process.stderr or ()))
    reader.start()

    def value() -> str:
        return str(replica.variables()["innodb_io_capacity"])

    def wait_for(is_true: Callable[[], bool], seconds: float = 150) -> bool:
        limit = time.monotonic() + seconds
        while not is_true():
            if time.monotonic() > limit or process.poll() is not None:
                return False
            time.sleep(0.2)
        return True

    try:
        if not wait_for(lambda: value() == "300"):
            return f"no candidate came into force: {lines[-1:]}"
        harm()
        if not wait_for(lambda: any("The guard restored" in line for line in lines), 60):
            return f"the guard did not trip: {lines[-1:]}"
        said = next(line for line in lines if "The guard restored" in line).strip()
        return f"{said}; the value is {value()}"
    finally:
        process.send_signal(2)
        process.wait()
        reader.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--builds", nargs="*", default=BUILDS)
    parser.add_argument("--minutes", type=float, default=6)
    parser.add_argument("--studies", nargs="*", default=[*STUDIES, REPLICA], choices=[*STUDIES, REPLICA])
    asked = parser.parse_args()
    print("| server | study | result |\n|---|---|---|", flush=True)
    of_one_server = {title: run for title, run in STUDIES.items() if title in asked.studies}
    for name in asked.builds if of_one_server else ():
        build = find(name)
        with tempfile.TemporaryDirectory() as kept, playground(build, DOCUMENT, *words_of(build)) as server:
            prepare(server)
            bench = Bench(server, Path(kept), asked.minutes)
            for title, run in of_one_server.items():
                print(f"| {build.id} | {title} | {run(bench)} |", flush=True)
    for build in map(find, REPLICAS if REPLICA in asked.studies else ()):
        with tempfile.TemporaryDirectory() as kept:
            for what, result in of_a_replica(build, Path(kept)):
                print(f"| replica, {build.id} | {what} | {result} |", flush=True)


if __name__ == "__main__":
    main()

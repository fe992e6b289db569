"""Every probe on every build, under a small load: it sees what is there, and says in a sentence what is not."""

import time

import pytest

from dialin.model.workload import WorkloadSpec
from dialin.probes.innodb_mutex import InnodbMutexProbe
from dialin.probes.innodb_status import InnodbStatusProbe
from dialin.probes.metrics import MetricsProbe
from dialin.probes.probe_watch import Watch
from dialin.probes.statement_digests import StatementProbe
from dialin.probes.status import StatusProbe
from dialin.probes.wait_summary import WaitSummaryProbe
from dialin.sentences.probe_notes import probe_note_text
from dialin.servers.account import Account
from dialin.servers.capabilities import Capability, has
from dialin.servers.connection import connect
from dialin.testing.probe_conformance import ProbeConformance
from dialin.trials.probing import ProbeConnection, probes_of
from dialin.trials.tools import Tools
from dialin.workloads.base import Target
from dialin.workloads.sysbench import Sysbench
from live import INSTALLED

SPEC = WorkloadSpec(threads=2, tables=2, table_size=500, rate=200)
SECONDS = 2.5


@pytest.fixture(scope="module", params=INSTALLED, ids=lambda build: build.id)
def sandbox(request):
    tools = Tools.open(lambda text: None)
    with tools.preparer.running(request.param, {"performance_schema": "ON"}) as made:
        with made.connect() as query:
            query("CREATE DATABASE sbtest")
        Sysbench(SPEC).prepare(Target(made.account, made.directory))
        yield made


@pytest.fixture(scope="module")
def watched(sandbox):
    """What every probe saw of some seconds of load, by its name."""
    clock = Tools.open(lambda text: None).clock
    load = Sysbench(SPEC).start(Target(sandbox.account, sandbox.directory), threads=2, seed=1, cpus=None)
    try:
        load.read(30)
        with ProbeConnection(sandbox) as session:
            probes = probes_of(session, sandbox.pid, load.cpu_seconds, sandbox.data_directory)
            with Watch(probes, clock) as watch:
                with watch.window():
                    time.sleep(SECONDS)
                return {one.probe: one for one in watch.taken()}
    finally:
        load.stop()


def test_no_probe_fails(watched):
    assert not [note for one in watched.values() for note in one.notes if "could not be read" in probe_note_text(note)]
    assert all(one.seconds >= SECONDS for one in watched.values())


def test_the_servers_counters_move_with_the_load(watched):
    status = watched["status"]
    for name in ("Com_commit", "Com_select", "Bytes_sent", "Questions", "Innodb_rows_read"):
        assert status.counters.get(name, 1) > 0, name
    assert status.counters["Com_commit"] > 0
    assert status.gauges["Threads_running"].least >= 1
    assert status.gauges["Innodb_buffer_pool_pages_free"].most > 0
    # It counts whole seconds, and a reading comes as late as the server takes to answer.
    assert SECONDS - 1 <= status.counters["Uptime"] <= status.seconds + status.waited + 1


PROBES = ("process", "machine", "status", "innodb", "metrics", "mutex", "statements", "waits")


class TestEachProbe(ProbeConformance):
    @pytest.fixture(autouse=True, params=PROBES)
    def _connected(self, request, sandbox, watched):  # `watched`: on a server that had load something has waited
        with ProbeConnection(sandbox) as session:
            self.probes = lambda: probes_of(session, sandbox.pid, lambda: 0.0, sandbox.data_directory)
            self.named = request.param
            yield

    def make_probe(self):
        found = {probe.name: probe for probe in self.probes()}
        assert tuple(found) == PROBES
        return found[self.named]


def test_metrics_are_reported_where_the_build_has_them(sandbox, watched):
    metrics = watched["metrics"]
    if has(sandbox.build, Capability.INNODB_METRICS):
        assert metrics.counters["buffer_pool_read_requests"] > 0
        assert metrics.gauges["buffer_pool_pages_total"].least > 0
        assert metrics.notes == ()
    else:
        assert "has no information_schema.innodb_metrics" in probe_note_text(metrics.notes[0])


def test_waits_and_files_are_reported(watched):
    waits = watched["waits"]
    assert sum(value for name, value in waits.counters.items() if name.endswith("/count")) > 0
    # MariaDB 11.4 does not tell of its redo log, and within seconds nothing else may be written: the figures are there.
    assert waits.counters["file/wait/io/file/innodb/innodb_data_file/write_bytes"] >= 0
    if not any("table_io" in probe_note_text(note) for note in waits.notes):
        assert waits.counters["table/sbtest.sbtest1/fetches"] > 0


def test_statements_are_reported_where_the_build_has_them(sandbox, watched):
    statements = watched["statements"]
    if any("events_statements_summary_by_digest" in probe_note_text(note) for note in statements.notes):
        assert sandbox.build.id.startswith("mysql@5.5")
        return
    together = any("prepared statements" in probe_note_text(note) for note in statements.notes)
    executed = "(prepared statements together)" if together else "EXECUTE COMMIT"  # sysbench prepares its statements
    commits = statements.counters[f"{executed}/count"]
    assert commits > 0
    assert statements.counters[f"{executed}/seconds"] > 0
    assert not [name for name in statements.counters if name.startswith("SHOW") or "performance_schema" in name]
    histogram = sum(value for name, value in statements.counters.items() if name.startswith("histogram/"))
    assert (histogram > commits) == has(sandbox.build, Capability.STATEMENT_HISTOGRAM)


def test_the_process_and_the_machine_are_reported(watched):
    process, machine = watched["process"], watched["machine"]
    for name in ("server_cpu_user", "client_cpu", "voluntary_switches", "write_calls", "write_chars"):
        assert process.counters[name] > 0, name
    assert process.gauges["resident_bytes"].least > 1e6
    assert process.gauges["threads"].least > 2
    assert machine.counters["context_switches"] >= process.counters["voluntary_switches"]
    assert "run_queue" in machine.gauges


def test_innodb_reports_its_log_and_pool(watched):
    innodb = watched["innodb"]
    assert innodb.counters["log_bytes"] > 0
    assert 0 < innodb.gauges["free_pages"].least < innodb.gauges["pool_size_pages"].least
    assert innodb.gauges["checkpoint_age"].least >= 0


def test_semaphores_and_mutexes_are_reported_or_said_not_to_be(sandbox, watched):
    silent = sandbox.build.family == "mariadb" and sandbox.build.version >= (10, 11)
    assert bool(watched["innodb"].notes) == bool(watched["mutex"].notes) == silent
    assert ("spin/rw_excl/os_waits" in watched["innodb"].counters) != silent


def test_an_account_that_may_do_nothing_gets_notes_and_no_errors(sandbox):
    with sandbox.connect() as query:
        query("CREATE USER lowly@localhost IDENTIFIED BY 'a-Pass1word'")
    account = Account(socket=sandbox.socket, user="lowly", password="a-Pass1word")
    with connect(account) as query:
        assert StatusProbe(query).read().counters["Uptime"] >= 0
        for kind in (InnodbStatusProbe, InnodbMutexProbe, MetricsProbe, WaitSummaryProbe, StatementProbe):
            reading = kind(query).read()
            assert reading.notes, kind.name
            assert not reading.counters, kind.name

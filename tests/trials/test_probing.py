from contextlib import contextmanager

import pytest

from dialin.errors import MachineError, NoAnswerError, ServerError
from dialin.servers.connection import RefusedError
from dialin.trials import probing
from dialin.trials.probing import ProbeConnection, by_probes, probes_of


class Server:
    """An instance that counts its connections; what it answers is given."""

    def __init__(self, *answers):
        self.answers, self.made, self.open = list(answers), 0, 0
        self.pid = self.data_directory = None

    @contextmanager
    def connect(self, timeout=10.0):
        self.made += 1
        self.open += 1
        assert timeout <= 5, "no statement of a probe may be long"
        try:
            yield self.query
        finally:
            self.open -= 1

    def query(self, statement, arguments=()):
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, int):
            raise RefusedError("It is refused", "", answer)
        return answer


def test_a_session_connects_when_it_is_first_asked_and_only_once():
    server = Server([(1,)], [(2,)])
    with ProbeConnection(server) as session:
        assert server.made == 0
        assert [session("SELECT 1"), session("SELECT 2")] == [[(1,)], [(2,)]]
        assert (server.made, server.open) == (1, 1)
    assert server.open == 0


@pytest.mark.parametrize("lost", [NoAnswerError("It is lost"), MachineError("Too many open files")])
def test_a_session_that_lost_its_connection_makes_another(lost):
    server = Server(lost, [(1,)])
    with ProbeConnection(server) as session:
        with pytest.raises(type(lost)):
            session("SELECT 1")
        assert server.open == 0
        assert session("SELECT 1") == [(1,)]
    assert (server.made, server.open) == (2, 0)


def test_a_statement_that_is_refused_costs_no_connection():
    server = Server(1146, [(1,)])
    with ProbeConnection(server) as session:
        with pytest.raises(ServerError):
            session("SELECT 1 FROM nowhere")
        session("SELECT 1")
    assert server.made == 1


def test_a_server_that_cannot_be_reached_is_tried_again():
    server = Server([(1,)])
    connect = server.connect
    refusals = [ServerError("It does not answer")]

    @contextmanager
    def at_first_refused(timeout):
        if refusals:
            raise refusals.pop()
        with connect(timeout) as query:
            yield query

    server.connect = at_first_refused
    with ProbeConnection(server) as session:
        with pytest.raises(ServerError):
            session("SELECT 1")
        assert session("SELECT 1") == [(1,)]


def test_the_process_is_watched_only_where_it_is_here(tmp_path):
    names = ["process", "machine", "status", "innodb", "metrics", "mutex", "statements", "waits"]
    assert [probe.name for probe in probes_of(Server().query, 1, lambda: 0.0, tmp_path)] == names
    assert [probe.name for probe in probes_of(Server().query, None, lambda: 0.0, None)] == names[1:]


def test_a_trial_is_watched_over_one_connection_and_what_was_seen_is_kept(clock, monkeypatch):
    class Probe:
        name, period = "mine", 0.0

        def __init__(self, query):
            self.query = query

        def read(self):
            self.query("SELECT 1")
            return probing.StatusProbe(lambda statement: [("Questions", "5")]).read()

    monkeypatch.setattr(probing, "probes_of", lambda query, pid, client_cpu, directory: [Probe(query)])
    server = Server()
    with by_probes(clock)(None, server, None, lambda: 0.0) as watched:
        with watched.window():
            assert server.made == 1
        evidence = watched.evidence(7)
    assert (server.made, server.open) == (1, 0)
    assert ([one.probe for one in evidence.watched], list(evidence.points.at)) == (["mine"], [])

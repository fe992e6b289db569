"""A fake server, attached, and the undo log that is written of it."""

import pytest

from dialin.model.place import Attachment
from dialin.servers.attached.undo import UndoLog
from servers.attached.fakes import FakeServer


@pytest.fixture
def server():
    return FakeServer()


@pytest.fixture
def attached(server, clock):
    return server.attached(clock)


@pytest.fixture
def log(home, clock):
    return UndoLog(home.undo, clock)


@pytest.fixture
def begin(log, attached):
    def begin(*names, **more):
        return log.begin(attached, Attachment(defaults_file="my.cnf"), names, **more)

    return begin

"""What two real servers answered, recorded: `data/`."""

import json
from pathlib import Path

import pytest

from dialin.variables import catalogue


class Recorded:
    """Answers the catalogue's statements as a server did; sources can be hidden, as older servers lack them."""

    def __init__(self, name, hidden=()):
        self.answers = json.loads((Path(__file__).parent / "data" / f"{name}.json").read_text())
        self.hidden = hidden
        self.asked = []

    def __call__(self, statement):
        self.asked.append(statement)
        if statement == "SHOW GLOBAL VARIABLES":
            return [tuple(row) for row in self.answers["show"]]
        if "information_schema.tables" in statement:
            return [(table,) for (table,) in self.answers["tables"] if table not in self.hidden]
        source = statement.rpartition(".")[2].lower()
        return [tuple(row) for row in self.answers[source]]


@pytest.fixture(scope="session")
def recorded():
    return Recorded


@pytest.fixture(scope="session")
def mysql():
    return catalogue.read(Recorded("mysql-9.7.4"), "mysql@9.7.4")


@pytest.fixture(scope="session")
def mariadb():
    return catalogue.read(Recorded("mariadb-10.11.19"), "mariadb@10.11.19")

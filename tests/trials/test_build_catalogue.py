from pathlib import Path

import pytest

from dialin.errors import NoAnswerError
from dialin.model.build import Build
from dialin.paths import Home
from dialin.servers.connection import RefusedError
from dialin.trials.build_catalogue import _path, _setting_again, _store
from dialin.variables import catalogue
from dialin.variables.catalogue import Catalogue, Kind, Variable


def refusing(number):
    def query(statement):
        assert statement == "SET GLOBAL read_only = @@GLOBAL.read_only"
        raise RefusedError("refused", "", number)

    return query


def test_setting_again_tells_the_servers_error():
    assert _setting_again(lambda statement: [])("read_only") == 0
    assert _setting_again(refusing(1238))("read_only") == 1238


def test_a_lost_connection_tells_nothing_of_a_variable():
    def lost(statement):
        raise NoAnswerError("The connection broke")

    with pytest.raises(NoAnswerError):
        _setting_again(lost)("read_only")


KNOWN = {"read_only": Variable("read_only", Kind.BOOLEAN, default="OFF")}


def test_answers_of_a_build_are_kept(tmp_path):
    said = []
    _store(Catalogue("mysql@9.7.4", KNOWN), tmp_path / "catalogues" / "one.json", said.append)
    stored = Catalogue.from_json((tmp_path / "catalogues" / "one.json").read_text())
    assert (stored.variables, said) == (KNOWN, [])


def test_answers_that_came_too_late_are_not_kept_and_said(tmp_path):
    said = []
    _store(Catalogue("mysql@9.7.4", KNOWN, complete=False), tmp_path / "one.json", said.append)
    assert not list(tmp_path.iterdir())
    assert "mysql@9.7.4 did not answer everything in time" in said[0]


def test_a_catalogue_of_another_format_is_stored_elsewhere(tmp_path, monkeypatch):
    binary = tmp_path / "mysqld"
    binary.touch()
    build = Build("mysql", (9, 7, 4), Path(binary), "a test")
    before = _path(build, Home(tmp_path))
    assert _path(build, Home(tmp_path)) == before
    monkeypatch.setattr(catalogue, "FORMAT", "dialin/catalogue/another")
    assert _path(build, Home(tmp_path)) != before

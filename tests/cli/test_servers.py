"""`dialin servers remove`: the builds are scripts in a home of the test's own."""

import sys

import pytest

from dialin.cli import app
from dialin.model.build import BuildReference
from dialin.paths import Home
from dialin.servers.install import manifest
from dialin.servers.install.manifest import Layout
from dialin.servers.ledger import Ledger
from servers.fakes import write_server


@pytest.fixture
def home(tmp_path, monkeypatch):
    home = Home(tmp_path / "home")
    monkeypatch.setenv("DIALIN_HOME", str(home.root))
    for version in ((9, 7, 1), (9, 7, 4)):
        text = ".".join(map(str, version))
        root = home.builds / f"mysql@{text}"
        layout = Layout("usr/sbin/mysqld", "usr")
        write_server(root / layout.binary, f"mysqld  Ver {text} for Linux on x86_64")
        manifest.write(root, layout, manifest.build_at(root, layout, BuildReference.parse(f"mysql@{text}"), text), "a test")
    return home


@pytest.fixture
def remove(monkeypatch, capsys, home):
    def call(build):
        monkeypatch.setattr(sys, "argv", ["dialin", "servers", "remove", build])
        with pytest.raises(SystemExit) as ended:
            app.main()
        return ended.value.code, capsys.readouterr().err

    return call


def there(home):
    return sorted(path.name for path in home.builds.glob("mysql@*"))


def test_a_word_that_means_several_builds_removes_none(remove, home):
    code, said = remove("mysql")
    assert code == 2
    assert "mysql@9.7.4 and mysql@9.7.1" in said
    assert there(home) == ["mysql@9.7.1", "mysql@9.7.4"]


def test_a_build_in_use_is_not_removed(remove, home, tmp_path):
    Ledger(home.ledger).open("abc", tmp_path / "abc", build="mysql@9.7.4", keep=True)
    code, said = remove("mysql@9.7.4")
    assert code == 2
    assert "mysql@9.7.4 is in use by server abc" in said
    assert there(home) == ["mysql@9.7.1", "mysql@9.7.4"]


def test_a_build_that_is_named_and_free_is_removed_alone(remove, home):
    assert remove("mysql@9.7.1")[0] == 0
    assert there(home) == ["mysql@9.7.4"]

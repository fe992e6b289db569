from __future__ import annotations

import json
from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.model.build import Build, BuildReference, Family, Vendor
from dialin.paths import Home
from dialin.servers.builds import add_directory, added_directories, discover, find, forget_directory, resolve
from dialin.servers.server_binary import identify
from servers.fakes import write_server


def build(name: str) -> Build:
    reference = BuildReference.parse(name)
    return Build(reference.vendor, reference.version, Path("/b") / name)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def unpacked(root: Path, name: str = "mysqld", says: str = "mysqld  Ver 8.0.36 for Linux on x86_64") -> Path:
    (root / "share" / "english").mkdir(parents=True)
    (root / "share" / "english" / "errmsg.sys").touch()
    return write_server(root / "bin" / name, says)


def look(home: Home, *path: Path, usual: tuple[Path, ...] = ()) -> list[Build]:
    return discover(home, {"PATH": ":".join(map(str, path))}, usual)


@pytest.mark.parametrize(
    ("says", "flavour", "version", "text"),
    [
        ("mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))", "mysql", (9, 7, 4), "9.7.4-2"),
        ("mysqld  Ver 8.0.33 for Linux on x86_64 (MySQL Community Server - GPL)", "mysql", (8, 0, 33), "8.0.33"),
        ("mysqld  Ver 5.5.9 for Linux on x86_64 (MySQL Community Server (GPL))", "mysql", (5, 5, 9), "5.5.9"),
        ("mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL))", "mysql", (8, 0, 36), "8.0.36-28"),
        ("mysqld  Ver 10.1.8-MariaDB for Linux on x86_64", "mariadb", (10, 1, 8), "10.1.8-MariaDB"),
        ("mysqld  Ver 11.4.5 for Linux on x86_64 (MariaDB Server)", "mariadb", (11, 4, 5), "11.4.5"),
        ("mariadb/mysqld  Ver 8.0.36 for Linux on x86_64", "mysql", (8, 0, 36), "8.0.36"),
    ],
)
def test_flavour_and_version_are_read_from_what_the_binary_says_and_not_from_its_path(
    tmp_path: Path, says: str, family: str, version: tuple[int, ...], text: str
):
    assert identify(write_server(tmp_path / "mysqld", says)) == (Family(family), version, text)


def test_a_launcher_stands_before_the_binary(tmp_path: Path):
    server = write_server(tmp_path / "mysqld")
    server.chmod(0o644)
    assert identify(server, ("/bin/sh",))[1] == (9, 7, 4)


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("echo hello", "is not a MySQL or MariaDB server: hello"),
        ("echo 'mysqld: Ver 8.0.36'; exit 1", "is not a MySQL or MariaDB server"),
        ("exit 3", "ended with 3"),
        (
            "echo 'mysqld: error while loading shared libraries: libaio.so.1: cannot open' >&2; exit 127",
            "needs libaio.so.1, which this machine lacks",
        ),
    ],
)
def test_a_binary_that_is_no_server_or_does_not_run_is_refused_with_its_reason(tmp_path: Path, script: str, complaint: str):
    path = tmp_path / "mysqld"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    with pytest.raises(UserError, match=complaint):
        identify(path)


def test_a_binary_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="cannot be run: No such file"):
        identify(tmp_path / "mysqld")


def test_a_binary_is_listed_once_though_links_lead_to_it(home: Home, tmp_path: Path):
    real = write_server(tmp_path / "sbin" / "mariadbd", "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1")
    real.with_name("mysqld").symlink_to("mariadbd")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "mysqld").symlink_to(real)
    (found,) = look(home, tmp_path / "links", tmp_path / "sbin", usual=(tmp_path / "sbin",))
    assert (found.id, found.binary, found.origin) == ("mariadb@10.11.19", real, "on PATH")


def test_the_usual_places_are_searched_beside_path(home: Home, tmp_path: Path):
    write_server(tmp_path / "usual" / "mysqld")
    (found,) = look(home, usual=(tmp_path / "usual",))
    assert found.origin == f"in {tmp_path / 'usual'}"


def test_what_does_not_run_is_left_out_and_hides_nothing(home: Home, tmp_path: Path):
    write_server(tmp_path / "a" / "mysqld", "nonsense", code=1)
    write_server(tmp_path / "b" / "mysqld")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "mysqld").write_text("not executable")
    assert [each.id for each in look(home, tmp_path / "a", tmp_path / "c", tmp_path / "none", tmp_path / "b")] == [
        "mysql@9.7.4"
    ]


def test_an_unpacked_archive_is_added_with_its_basedir_and_found_again(home: Home, tmp_path: Path):
    root = tmp_path / "mysql-8.0.36"
    binary = unpacked(root)
    (added,) = add_directory(home, root)
    assert (added.binary, added.basedir, added.messages) == (binary, root, root / "share")
    assert look(home) == [added]


def test_a_server_beside_its_share_has_its_basedir_there(home: Home, tmp_path: Path):
    root = tmp_path / "server"
    write_server(root / "mysqld", "mysqld  Ver 5.6.24 for Linux on x86_64")
    (root / "share" / "english").mkdir(parents=True)
    (root / "share" / "english" / "errmsg.sys").touch()
    (added,) = add_directory(home, root)
    assert (added.id, added.basedir, added.messages) == ("mysql@5.6.24", root, root / "share")


@pytest.mark.parametrize("named", ["bin", "bin/mysqld"])
def test_the_binary_or_its_directory_may_be_named_instead(home: Home, tmp_path: Path, named: str):
    unpacked(tmp_path / "mysql")
    (added,) = add_directory(home, tmp_path / "mysql" / named)
    assert added.basedir == tmp_path / "mysql"
    assert [each.id for each in look(home)] == ["mysql@8.0.36"]


def test_adding_twice_remembers_once_and_forgetting_leaves_the_files(home: Home, tmp_path: Path):
    binary = unpacked(tmp_path / "mysql")
    add_directory(home, tmp_path / "mysql")
    add_directory(home, tmp_path / "mysql")
    assert added_directories(home) == [tmp_path / "mysql"]
    forget_directory(home, tmp_path / "mysql")
    assert look(home) == []
    assert binary.exists()


def test_forgetting_what_was_not_added_is_refused(home: Home, tmp_path: Path):
    with pytest.raises(UserError, match="was not added"):
        forget_directory(home, tmp_path)


def test_a_directory_without_a_server_is_refused_and_not_remembered(home: Home, tmp_path: Path):
    with pytest.raises(UserError, match="no mysqld or mariadbd"):
        add_directory(home, tmp_path)
    assert not home.config.exists()


def test_a_directory_whose_server_does_not_run_is_refused_and_not_remembered(home: Home, tmp_path: Path):
    write_server(tmp_path / "bin" / "mysqld", "nonsense", code=1)
    with pytest.raises(UserError, match="is not a MySQL or MariaDB server"):
        add_directory(home, tmp_path)
    assert not home.config.exists()


def test_an_added_directory_that_is_gone_is_passed_over(home: Home, tmp_path: Path):
    binary = unpacked(tmp_path / "mysql")
    add_directory(home, tmp_path / "mysql")
    binary.unlink()
    assert look(home) == []


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"directories": 3})])
def test_a_foreign_list_of_directories_is_named(home: Home, text: str):
    home.root.mkdir()
    home.config.write_text(text)
    with pytest.raises(UserError, match=r"servers\.json is not dialin's list"):
        look(home)


def test_the_newest_match_is_meant_and_the_first_listed_among_equals():
    builds = [build("mysql@8.0.33"), build("mysql@9.7.4"), build("mariadb@10.11.19"), build("mysql@8.0.4")]
    assert resolve(BuildReference.parse("mysql"), builds).id == "mysql@9.7.4"
    assert resolve(BuildReference.parse("mysql@8.0"), builds).id == "mysql@8.0.33"
    twin = Build(Vendor.ORACLE, (9, 7, 4), Path("/other"))
    assert resolve(BuildReference.parse("mysql@9.7"), [*builds, twin]) is builds[1]


def test_a_build_that_can_be_installed_is_offered_where_it_is_missing():
    with pytest.raises(UserError) as caught:
        resolve(BuildReference.parse("mysql@9.7"), [build("mariadb@10.11.19")])
    assert caught.value.what == "No build of mysql@9.7 is on this machine, which has mariadb@10.11.19"
    assert caught.value.remedy == "`dialin servers install mysql@9.7` installs it"


def test_a_build_that_cannot_be_installed_gets_the_nearest_named():
    with pytest.raises(UserError) as caught:
        resolve(BuildReference.parse("mysql@8.1"), [])
    assert "which has none at all" in caught.value.what
    assert caught.value.remedy.startswith("The nearest is mysql@8.0; ")


def test_words_that_name_no_build_get_the_nearest_spelling():
    with pytest.raises(UserError) as caught:
        find("mysq@9.7", [build("mysql@9.7.4")])
    assert caught.value.remedy.startswith("Did you mean mysql@9.7")
    assert find(" MySQL@9.7 ", [build("mysql@9.7.4")]).id == "mysql@9.7.4"

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.model.build import Build, BuildReference, Vendor
from dialin.paths import Home
from dialin.servers.builds import Added, add_directory, added_directories, discover, find, forget_directory, resolve
from dialin.servers.install.installer import remove
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
    ("says", "vendor", "version", "text"),
    [
        ("mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))", "mysql", (9, 7, 4), "9.7.4-2"),
        ("mysqld  Ver 8.0.33 for Linux on x86_64 (MySQL Community Server - GPL)", "mysql", (8, 0, 33), "8.0.33"),
        ("mysqld  Ver 5.5.9 for Linux on x86_64 (MySQL Community Server (GPL))", "mysql", (5, 5, 9), "5.5.9"),
        ("mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL))", "percona", (8, 0, 36), "8.0.36-28"),
        ("mysqld  Ver 10.1.8-MariaDB for Linux on x86_64", "mariadb", (10, 1, 8), "10.1.8-MariaDB"),
        ("mysqld  Ver 11.4.5 for Linux on x86_64 (MariaDB Server)", "mariadb", (11, 4, 5), "11.4.5"),
        ("mariadb/mysqld  Ver 8.0.36 for Linux on x86_64", "mysql", (8, 0, 36), "8.0.36"),
    ],
)
def test_vendor_and_version_are_read_from_what_the_binary_says_and_not_from_its_path(
    tmp_path: Path, says: str, vendor: str, version: tuple[int, ...], text: str
):
    assert identify(write_server(tmp_path / "mysqld", says)) == (BuildReference(Vendor(vendor), version), text)


def test_a_launcher_stands_before_the_binary(tmp_path: Path):
    server = write_server(tmp_path / "mysqld")
    server.chmod(0o644)
    assert identify(server, ("/bin/sh",))[0].version == (9, 7, 4)


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


def test_a_build_that_does_not_run_is_left_out_and_hides_nothing(home: Home, tmp_path: Path):
    write_server(tmp_path / "a" / "mysqld", "nonsense", code=1)
    write_server(tmp_path / "b" / "mysqld")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "mysqld").write_text("not executable")
    unreadable = Path("/", "x" * 300)  # as a directory of somebody else, what lies in it cannot be asked
    looked = tmp_path / "a", tmp_path / "c", tmp_path / "none", unreadable, tmp_path / "b"
    assert [each.id for each in look(home, *looked)] == ["mysql@9.7.4"]


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
    assert added_directories(home) == [Added(str(tmp_path / "mysql"), "", ("mysql@8.0.36",))]
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


def test_a_moved_directory_is_named_whatever_refers_to_its_build(home: Home, tmp_path: Path):
    root = tmp_path / "mysql"
    unpacked(root)
    add_directory(home, root)
    root.rename(tmp_path / "moved")
    assert look(home) == []
    for text in ("mysql@8.0", "mysql@8.0.36", str(root)):
        with pytest.raises(UserError, match=rf"mysql@8\.0\.36 was added from {root}, which is gone"):
            find(text, look(home), home)


def test_an_installed_build_never_runs_in_place_of_an_added_one_of_its_name(home: Home, tmp_path: Path):
    root = tmp_path / "mysql"
    binary = unpacked(root)
    add_directory(home, root)
    write_server(tmp_path / "usr" / "mysqld", "mysqld  Ver 8.0.36 for Linux on x86_64")
    assert find("mysql", look(home, tmp_path / "usr"), home).binary == binary
    binary.unlink()
    with pytest.raises(UserError, match="which has no such server now"):
        find("mysql", look(home, tmp_path / "usr"), home)
    forget_directory(home, root)
    assert find("mysql", look(home, tmp_path / "usr"), home).binary == tmp_path / "usr" / "mysqld"


def test_a_build_of_the_name_of_another_is_added_only_under_a_name_of_its_own(home: Home, tmp_path: Path, monkeypatch):
    unpacked(tmp_path / "one")
    unpacked(tmp_path / "other")
    add_directory(home, tmp_path / "one")
    with pytest.raises(UserError, match=r"mysql@8\.0\.36 is on this machine already") as caught:
        add_directory(home, tmp_path / "other")
    assert "--as mysql@8.0.36-mine" in caught.value.remedy
    (mine,) = add_directory(home, tmp_path / "other", BuildReference.parse("mysql@8.0.36-mine"))
    assert find("mysql@8.0.36-mine", look(home), home) == mine
    assert find("mysql@8.0", look(home), home).id == "mysql@8.0.36"


def test_the_directory_of_an_added_server_names_it(home: Home, tmp_path: Path):
    unpacked(tmp_path / "percona", says="mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28)")
    (added,) = add_directory(home, tmp_path / "percona")
    assert added.id == "percona@8.0.36"
    assert find(str(tmp_path / "percona"), look(home), home) == added
    with pytest.raises(UserError, match="was not added"):
        find(str(tmp_path / "no"), look(home), home)


def test_vanilla_and_percona_of_one_version_are_two_builds():
    here = [build("mysql@8.0.36"), build("percona@8.0.36")]
    assert [resolve(BuildReference.parse(name), here).id for name in ("percona", "mysql")] == ["percona@8.0.36", "mysql@8.0.36"]


def test_a_build_that_is_used_where_it_is_cannot_be_removed_but_forgotten(home: Home, tmp_path: Path):
    unpacked(tmp_path / "mysql")
    (added,) = add_directory(home, tmp_path / "mysql")
    with pytest.raises(UserError, match="is used where it is") as caught:
        remove(home, added)
    assert caught.value.remedy.startswith(f"`dialin servers forget {tmp_path / 'mysql'}`")


def test_what_may_not_be_run_and_what_is_not_there_are_said(home: Home, tmp_path: Path):
    binary = unpacked(tmp_path / "mysql")
    binary.chmod(0o644)
    with pytest.raises(UserError, match="may not be run") as caught:
        add_directory(home, tmp_path / "mysql")
    assert caught.value.remedy.startswith(f"chmod +x {binary}")
    with pytest.raises(UserError, match="does not exist"):
        add_directory(home, tmp_path / "none")


def test_a_link_out_of_a_file_system_is_not_followed_to_a_server_of_this_machine(home: Home, tmp_path: Path):
    mine = write_server(tmp_path / "machine" / "mysqld")
    root = tmp_path / "rootfs"
    (root / "lib64").mkdir(parents=True)
    (root / "lib64" / "ld-linux-x86-64.so.2").touch()
    (root / "usr" / "sbin").mkdir(parents=True)
    (root / "usr" / "sbin" / "mysqld").symlink_to(mine)
    with pytest.raises(UserError, match="There is no mysqld or mariadbd in"):
        add_directory(home, root)


def test_a_server_for_another_processor_is_refused(tmp_path: Path, home: Home):
    binary = write_server(tmp_path / "bin" / "mysqld")
    binary.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(11) + (243).to_bytes(2, "little") + bytes(40))
    with pytest.raises(UserError, match="was built for riscv64; this machine is"):
        add_directory(home, tmp_path)
    assert not home.config.exists()


def test_a_missing_library_is_named_with_the_package_that_has_it(tmp_path: Path):
    path = tmp_path / "mysqld"
    path.write_text("#!/bin/sh\necho 'mysqld: error while loading shared libraries: libaio.so.1: cannot open' >&2; exit 127\n")
    path.chmod(0o755)
    with pytest.raises(UserError) as caught:
        identify(path)
    assert caught.value.remedy == "Debian, Ubuntu: apt-get install libaio1; Fedora, RHEL: dnf install libaio"


ADDED = (5, {}, {"directory": 5, "name": "", "builds": []}, {"directory": "/a\0b", "name": "", "builds": []})


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"directories": 3}), *(json.dumps({"added": [one]}) for one in ADDED)])
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


def test_words_that_name_no_build_get_the_nearest_spelling(home: Home):
    with pytest.raises(UserError) as caught:
        find("mysq@9.7", [build("mysql@9.7.4")], home)
    assert caught.value.remedy.startswith("Did you mean mysql@9.7")
    assert find(" MySQL@9.7 ", [build("mysql@9.7.4")], home).id == "mysql@9.7.4"

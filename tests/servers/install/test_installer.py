from __future__ import annotations

import fcntl
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from dialin.errors import ServerError, UserError
from dialin.model.build import Build, BuildReference, Vendor
from dialin.paths import Home
from dialin.servers.builds import discover
from dialin.servers.install import installer
from dialin.servers.install.apt import AptServer
from dialin.servers.install.clients import Clients, Say
from dialin.servers.install.installable import INSTALLABLE, Installable, installable
from dialin.servers.install.installer import exclusively, install, remove, to_remove
from dialin.servers.install.manifest import MANIFEST, Layout, installed
from servers.fakes import VERSIONS, FakeClients, write_server

REFERENCE = BuildReference.parse("mysql@9.7")


class FakeSource:
    description = "a source of the tests"

    def __init__(self, says: str = VERSIONS["mysql"], trouble: Callable[[], None] = lambda: None) -> None:
        self.says = says
        self.trouble = trouble
        self.brought = 0
        self.tidied = 0

    def bring(self, reference: BuildReference, downloads: Path, into: Path, clients: Clients) -> Layout:
        self.brought += 1
        write_server(into / "usr" / "sbin" / "mysqld", self.says)
        loader = into / "lib" / "loader"
        loader.parent.mkdir()
        loader.write_text('#!/bin/sh\n[ "$1" = --library-path ] || exit 1\nshift 2\nexec "$@"\n')
        loader.chmod(0o755)
        self.trouble()
        return Layout("usr/sbin/mysqld", "usr", loader="lib/loader", libraries=("lib",))

    def tidy(self, downloads: Path, clients: Clients) -> None:
        self.tidied += 1


def table(source: FakeSource, unpacked: int = 1, fetched: int = 0) -> list[Installable]:
    return [Installable(REFERENCE, source, fetched=fetched, unpacked=unpacked)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def put(home: Home, source: FakeSource, say: Say = lambda _: None, **more: object) -> Build:
    return install(home, REFERENCE, say, table=table(source), clients=FakeClients(), **more)  # type: ignore[arg-type]


def leftovers(home: Home) -> list[str]:
    return sorted(path.name for path in home.builds.iterdir() if path.name != ".lock")


def test_an_installed_build_is_complete_and_discovered(home: Home):
    source = FakeSource()
    build = put(home, source)
    assert build.id == "mysql@9.7.4"
    assert build.launcher[0] == str(home.builds / "mysql@9.7.4" / "lib" / "loader")
    assert discover(home, {}, ()) == [build]
    assert discover(home, {}, ())[0].version_text == "9.7.4-2"
    assert leftovers(home) == ["mysql@9.7.4"]
    assert source.tidied == 1


def test_installing_again_says_so_and_brings_nothing(home: Home):
    source, said = FakeSource(), []
    first = put(home, source)
    assert put(home, source, said.append) == first
    assert source.brought == 1
    assert said == ["mysql@9.7.4 is already installed"]


def test_the_cache_may_be_moved(home: Home, tmp_path: Path):
    put(home, FakeSource())
    shutil.move(home.root, tmp_path / "moved")
    (build,) = installed(Home(tmp_path / "moved"))
    assert build.launcher[0].startswith(str(tmp_path / "moved"))


def fail() -> None:
    raise UserError("the network went away")


def interrupt() -> None:
    raise KeyboardInterrupt


def fill_disk() -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(("trouble", "error"), [(fail, UserError), (interrupt, KeyboardInterrupt), (fill_disk, UserError)])
def test_an_install_that_ends_early_leaves_nothing_half_made(
    home: Home, trouble: Callable[[], None], error: type[BaseException]
):
    with pytest.raises(error):
        put(home, FakeSource(trouble=trouble))
    assert leftovers(home) == []
    assert put(home, FakeSource()).id == "mysql@9.7.4"


def test_remains_of_a_killed_install_are_removed_by_the_next_and_never_taken_for_a_build(home: Home):
    write_server(home.builds / ".new-1" / "usr" / "sbin" / "mysqld")
    write_server(home.builds / ".old-1" / "usr" / "sbin" / "mysqld")
    write_server(home.builds / "mysql@9.7.4" / "usr" / "sbin" / "mysqld")
    write_server(home.builds / "mysql@9.7.1" / "usr" / "sbin" / "mysqld")
    assert installed(home) == []
    put(home, FakeSource())
    assert leftovers(home) == ["mysql@9.7.4"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "dialin/build/9"}', '{"schema": "dialin/build/1"}'])
def test_a_build_whose_manifest_does_not_read_is_not_installed(home: Home, text: str):
    put(home, FakeSource())
    (home.builds / "mysql@9.7.4" / MANIFEST).write_text(text)
    assert installed(home) == []


def test_a_build_whose_binary_is_gone_is_installed_anew(home: Home):
    put(home, FakeSource()).binary.unlink()
    assert put(home, FakeSource()).binary.is_file()


def test_a_build_that_fails_its_trial_is_not_installed(home: Home):
    tried: list[Build] = []

    def verify(build: Build) -> None:
        tried.append(build)
        assert build.binary == home.builds / "mysql@9.7.4" / "usr" / "sbin" / "mysqld"
        assert build.binary.is_file()
        assert installed(home) == []
        raise ServerError("mysql@9.7.4 did not start")

    with pytest.raises(ServerError):
        put(home, FakeSource(), verify=verify)
    assert len(tried) == 1
    assert leftovers(home) == []


def test_another_version_than_was_requested_is_not_installed(home: Home):
    with pytest.raises(UserError, match=r"turned out to be mariadb@10\.11\.19, not mysql@9\.7"):
        put(home, FakeSource(VERSIONS["mariadb"]))
    assert leftovers(home) == []


def test_too_little_space_is_reported_before_anything_is_brought(home: Home):
    source = FakeSource()
    with pytest.raises(UserError, match="needs 1999999998 MB in") as caught:
        install(home, REFERENCE, lambda _: None, table=table(source, unpacked=999_999_999), clients=FakeClients())
    assert "DIALIN_HOME" in caught.value.remedy
    assert source.brought == 0


@pytest.mark.parametrize(("name", "needs"), [("builds", 200), ("downloads", 50)])
def test_space_is_asked_for_where_a_build_is_unpacked_and_downloaded(
    name: str, needs: int, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Either may be a link to another disk, which has less room than the home's."""
    disk = tmp_path / "disk"
    disk.mkdir()
    home.root.mkdir(parents=True, exist_ok=True)
    (home.root / name).symlink_to(disk)
    monkeypatch.setattr(installer, "_disk_of", lambda directory: int(directory == disk))
    monkeypatch.setattr("shutil.disk_usage", lambda directory: SimpleNamespace(free=10**9 if directory != disk else 10**6))
    with pytest.raises(UserError, match=f"needs {needs} MB in {disk}, where 1 MB are free"):
        install(home, REFERENCE, lambda _: None, table=table(FakeSource(), unpacked=100, fetched=50), clients=FakeClients())


def test_a_cache_that_cannot_be_made_is_reported(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be made"):
        put(Home(tmp_path / "file"), FakeSource())


def test_two_installs_at_once_bring_the_build_once(home: Home):
    inside, go_on = threading.Event(), threading.Event()
    said: list[str] = []

    def linger() -> None:
        inside.set()
        assert go_on.wait(10)

    def say(line: str) -> None:
        said.append(line)
        go_on.set()

    slow, second = FakeSource(trouble=linger), FakeSource()
    thread = threading.Thread(target=put, args=(home, slow))
    thread.start()
    assert inside.wait(10)
    assert put(home, second, say).id == "mysql@9.7.4"
    thread.join()
    assert said == ["another dialin is installing; waiting for it", "mysql@9.7.4 was installed meanwhile"]
    assert second.brought == 0


def test_a_client_that_outlives_its_dialin_keeps_the_lock(home: Home, tmp_path: Path):
    home.builds.mkdir(parents=True)
    lock = home.builds / ".lock"
    script = f"touch {tmp_path}/began; until [ -e {tmp_path}/enough ]; do :; done"
    client = threading.Thread(target=Clients(print).run, args=(["sh", "-c", script],))
    with exclusively(home, print):
        client.start()
        while not (tmp_path / "began").exists():
            assert client.is_alive()
    with lock.open() as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    (tmp_path / "enough").touch()
    client.join()
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_removing_a_build_removes_all_of_it(home: Home):
    remove(home, put(home, FakeSource()))
    assert leftovers(home) == []


def builds(home: Home, *versions: tuple[int, ...]) -> list[Build]:
    return [
        Build(Vendor.ORACLE, version, home.builds / f"mysql@{'.'.join(map(str, version))}" / "mysqld") for version in versions
    ]


@pytest.mark.parametrize("text", ["mysql", "mysql@9", "mysql@9.7"])
def test_of_several_builds_none_is_removed_before_one_is_named(home: Home, text: str):
    with pytest.raises(UserError, match=r"is ambiguous: it could be mysql@9\.7\.4 and mysql@9\.7\.1") as caught:
        to_remove(home, BuildReference.parse(text), builds(home, (9, 7, 1), (9, 7, 4)))
    assert "dialin servers remove mysql@9.7.1" in caught.value.remedy


def test_the_one_that_is_named_is_meant_and_of_equals_dialins_own(home: Home, tmp_path: Path):
    old, new = builds(home, (9, 7, 1), (9, 7, 4))
    other = Build(Vendor.ORACLE, (9, 7, 4), tmp_path / "usr" / "mysqld")
    assert to_remove(home, BuildReference.parse("mysql@9.7.4"), [old, other, new]) == new
    assert to_remove(home, BuildReference.parse("mysql@9.7.4"), [old, other]) == other
    assert to_remove(home, BuildReference.parse("mysql@9.7.1"), [old, new]) == old
    assert to_remove(home, BuildReference.parse("mariadb"), [old, new]) is None


def test_a_build_that_came_otherwise_is_not_removed(home: Home, tmp_path: Path):
    binary = write_server(tmp_path / "mysqld")
    with pytest.raises(UserError, match="was not installed by dialin"):
        remove(home, Build(Vendor.ORACLE, (9, 7, 4), binary))
    assert binary.exists()


@pytest.mark.parametrize(
    ("asked", "row"),
    [
        ("mysql", "mysql@9.7"),
        ("mysql@9", "mysql@9.7"),
        ("mysql@9.7", "mysql@9.7"),
        ("mysql@9.7.4", "mysql@9.7"),
        ("mysql@8", "mysql@8.0"),
        ("mysql@8.0.33", "mysql@8.0"),
        ("mysql@5", "mysql@5.6"),
        ("mysql@5.5", "mysql@5.5"),
        ("mariadb", "mariadb@10.11"),
        ("mariadb@10", "mariadb@10.11"),
        ("mariadb@10.11", "mariadb@10.11"),
        ("mariadb@10.11.19", "mariadb@10.11"),
        ("mariadb@10.11.5", "mariadb@10.11.5"),
        ("mariadb@10.1", "mariadb@10.1"),
        ("mariadb@10.2.11", "mariadb@10.2"),
        ("mariadb@11", "mariadb@11.4"),
    ],
)
def test_a_reference_finds_the_preferred_row_unless_it_names_the_very_version_of_another(asked: str, row: str):
    assert str(installable(BuildReference.parse(asked)).reference) == row


@pytest.mark.parametrize(
    ("asked", "near"), [("mysql@8.0.34", "mysql@8.0"), ("mysql@5.7", "mysql@5.6"), ("mariadb@10.6", "mariadb@10.2")]
)
def test_an_unknown_build_gets_the_nearest_named(asked: str, near: str):
    with pytest.raises(UserError) as caught:
        installable(BuildReference.parse(asked))
    assert caught.value.remedy.startswith(f"Did you mean {near}?")


def test_another_build_that_is_installed_is_not_taken_for_the_preferred_one(home: Home):
    old, new = (BuildReference.parse(text) for text in ("mysql@8.0.33", "mysql@9.7"))
    rows = [
        Installable(new, FakeSource(), fetched=0, unpacked=1),
        Installable(
            old,
            FakeSource("mysqld  Ver 8.0.33 for Linux on x86_64"),
            fetched=0,
            unpacked=1,
            exact=(8, 0, 33),
        ),
    ]
    any_version = BuildReference.parse("mysql")
    assert install(home, old, print, table=rows, clients=FakeClients()).id == "mysql@8.0.33"
    assert install(home, any_version, print, table=rows, clients=FakeClients()).id == "mysql@9.7.4"
    assert install(home, any_version, print, table=rows, clients=FakeClients()).id == "mysql@9.7.4"
    assert leftovers(home) == ["mysql@8.0.33", "mysql@9.7.4"]


def test_a_build_that_is_installed_need_not_be_one_that_can_be_installed_still(home: Home):
    there = put(home, FakeSource())
    assert install(home, REFERENCE, print, table=[], clients=FakeClients()) == there


def test_a_mirror_that_cannot_serve_has_its_remedy_among_the_other_rows():
    for row in INSTALLABLE:
        if isinstance(row.source, AptServer):
            other = installable(BuildReference.parse(row.source.packages.instead))
            assert not isinstance(other.source, AptServer)
            assert other.reference.family is row.reference.family


def test_no_row_names_a_host():
    assert "://" not in repr(INSTALLABLE)


def test_every_row_names_its_source_and_its_cost():
    for row in INSTALLABLE:
        assert row.source.description
        assert row.fetched > 0 < row.unpacked

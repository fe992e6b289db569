from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.model.build import BuildReference
from dialin.servers.install.apt import AptPackages, AptServer, Package, configuration_text, parse_uris
from dialin.servers.install.apt_sources import Archive
from dialin.servers.install.clients import missing
from servers.fakes import FakeClients

MIRROR = [Archive("https://deb.example.org/debian", "bookworm", ("main",))]
LISTING = """\
Reading package lists...
The following NEW packages will be installed:
'https://deb.example.org/pool/libc6_2.43-7_amd64.deb' libc6_2.43-7_amd64.deb 11 SHA256:aa
'https://deb.example.org/pool/perl_5.42_amd64.deb' perl_5.42_amd64.deb 12
'https://deb.example.org/pool/libcrypt1_1%253a4.5.2_amd64.deb' libcrypt1_1%3a4.5.2_amd64.deb 13 SHA256:bb
'https://deb.example.org/pool/mysql-server-core_9.7.4-2_amd64.deb' mysql-server-core_9.7.4-2_amd64.deb 14 SHA256:cc
"""
PACKAGES = AptPackages("sid", ("mysql-server-core",), leave_out=("perl*",))
SIZES = {each.name: each.size for each in parse_uris(LISTING)}


def download(arguments: Sequence[str], cwd: Path | None) -> str:
    assert cwd is not None
    for spec in arguments[arguments.index("download") + 1 :]:
        name, version = spec.split("=")
        (cwd / f"{name}_{version.replace(':', '%3a')}_amd64.deb").write_bytes(b"x" * SIZES[name])
    return ""


def extract(arguments: Sequence[str], cwd: Path | None) -> str:
    package, into = Path(arguments[-2]).name, Path(arguments[-1])
    library = into / "usr" / "lib" / "x86_64-linux-gnu"
    if package.startswith("libc6"):
        library.mkdir(parents=True)
        (library / "ld-linux-x86-64.so.2").touch()
        (into / "usr" / "share" / "doc" / "libc6").mkdir(parents=True)
    if package.startswith("mysql-server-core"):
        for file in ("usr/sbin/mysqld", "usr/bin/mysqlbinlog", "usr/share/mysql/english/errmsg.sys", "etc/mysql/my.cnf"):
            (into / file).parent.mkdir(parents=True, exist_ok=True)
            (into / file).touch()
    return ""


def mirror(listing: str = LISTING) -> FakeClients:
    return FakeClients(update="", **{"--print-uris": listing}, download=download, **{"--extract": extract})


def test_names_versions_and_sizes_are_read_from_what_apt_prints():
    assert [(each.name, each.version, each.size) for each in parse_uris(LISTING)] == [
        ("libc6", "2.43-7", 11),
        ("perl", "5.42", 12),
        ("libcrypt1", "1:4.5.2", 13),
        ("mysql-server-core", "9.7.4-2", 14),
    ]


def test_the_closure_is_fetched_without_what_a_server_does_not_need(tmp_path: Path):
    clients = mirror()
    files = PACKAGES.fetch(tmp_path, clients, MIRROR)
    assert [file.name.split("_")[0] for file in files] == ["libc6", "libcrypt1", "mysql-server-core"]
    assert all(file.is_file() for file in files)
    assert clients.said[-1] == "downloading 3 packages, 0 MB"


def test_packages_requested_alone_come_without_what_they_depend_on(tmp_path: Path):
    alone = AptPackages("bookworm", ("libcrypt1",), alone=True)
    assert [each.name for each in alone.fetch(tmp_path, mirror(), MIRROR)] == ["libcrypt1_1%3a4.5.2_amd64.deb"]


def test_nothing_is_fetched_twice(tmp_path: Path):
    PACKAGES.fetch(tmp_path, mirror(), MIRROR)
    again = mirror()
    PACKAGES.fetch(tmp_path, again, MIRROR)
    assert "download" not in again.words()
    assert again.said[-1] == "all 3 packages were downloaded before"


def test_a_package_that_arrived_in_part_is_fetched_again(tmp_path: Path):
    (half, *_) = PACKAGES.fetch(tmp_path, mirror(), MIRROR)
    half.write_bytes(b"x")
    PACKAGES.fetch(tmp_path, mirror(), MIRROR)
    assert half.stat().st_size == SIZES["libc6"]


def test_apt_is_reported_to_keep_to_its_private_state_and_to_run_no_hooks(tmp_path: Path):
    text = configuration_text(tmp_path)
    settings = [line for line in text.splitlines() if line.startswith("Dir::")]
    assert all(str(tmp_path) in line or "/dev/null" in line or '""' in line for line in settings)
    assert "#clear APT::Update::Post-Invoke;" in text
    clients = mirror()
    PACKAGES.fetch(tmp_path, clients, MIRROR)
    assert all(run[1:3] == ["-c", str(tmp_path / "apt" / "sid" / "apt.conf")] for run in clients.ran if run[0] == "apt-get")
    assert (tmp_path / "apt" / "sid" / "status").read_text() == ""
    assert "Suites: sid" in (tmp_path / "apt" / "sid" / "sources" / "debian.sources").read_text()


def test_a_machine_without_a_debian_mirror_is_reported_so_and_nothing_is_run(tmp_path: Path):
    clients = mirror()
    with pytest.raises(UserError, match="no Debian mirror"):
        PACKAGES.fetch(tmp_path, clients, [Archive("https://deb.example.org/ubuntu", "noble", ("main",))])
    assert clients.ran == []


def test_a_mirror_without_the_package_is_reported_in_the_words_of_the_update_that_failed(tmp_path: Path):
    unsigned = UserError("apt-get failed: E: The repository is not signed.")
    clients = FakeClients(update=unsigned, **{"--print-uris": UserError("apt-get failed: E: Unable to locate package")})
    with pytest.raises(UserError, match=r"offers no mysql-server-core of Debian sid: .*not signed"):
        PACKAGES.fetch(tmp_path, clients, MIRROR)


@pytest.mark.parametrize("archives", [[], MIRROR])
def test_where_the_mirror_cannot_serve_a_build_from_elsewhere_is_the_remedy(tmp_path: Path, archives: list[Archive]):
    packages = AptPackages("sid", ("mysql-server-core",), instead="mysql@8.0")
    clients = FakeClients(update=missing("apt-get"), **{"--print-uris": missing("apt-get")})
    with pytest.raises(UserError) as caught:
        packages.fetch(tmp_path, clients, archives)
    assert "`dialin servers install mysql@8.0`" in caught.value.remedy


def test_one_archive_that_fails_does_not_matter_where_another_has_the_package(tmp_path: Path):
    clients = mirror()
    clients.answers["update"] = UserError("apt-get failed: Err:3")
    assert PACKAGES.fetch(tmp_path, clients, MIRROR)


@pytest.fixture
def debian(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialin.servers.install.apt.read_archives", lambda: MIRROR)


SERVER = AptServer(PACKAGES, binary="usr/sbin/mysqld", drop=("usr/bin",))


@pytest.mark.usefixtures("debian")
def test_a_server_is_unpacked_with_its_own_loader_and_without_what_it_does_not_need(tmp_path: Path):
    root = tmp_path / "root"
    layout = SERVER.bring(BuildReference.parse("mysql@9.7"), tmp_path / "downloads", root, mirror())
    assert (root / layout.binary).is_file()
    assert layout.messages == "usr/share/mysql"
    assert layout.launcher(Path("/b")) == (
        "/b/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
        "--library-path",
        "/b/usr/lib/x86_64-linux-gnu",
    )
    assert not any((root / gone).exists() for gone in ("usr/bin", "usr/share/doc", "etc"))


@pytest.mark.usefixtures("debian")
def test_a_loader_that_is_a_link_to_the_machines_own_is_not_taken(tmp_path: Path):
    def with_link(arguments: Sequence[str], cwd: Path | None) -> str:
        answer = extract(arguments, cwd)
        linked = Path(arguments[-1]) / "lib" / "x86_64-linux-gnu"
        if not linked.exists():
            linked.mkdir(parents=True)
            (linked / "ld-linux-x86-64.so.2").symlink_to("/lib64/ld-linux-x86-64.so.2")
        return answer

    clients = mirror()
    clients.answers["--extract"] = with_link
    layout = SERVER.bring(BuildReference.parse("mysql"), tmp_path / "downloads", tmp_path / "root", clients)
    assert layout.loader == "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"


@pytest.mark.usefixtures("debian")
def test_a_release_that_has_moved_on_is_refused_before_anything_is_unpacked(tmp_path: Path):
    clients = mirror()
    with pytest.raises(UserError, match=r"has version 9\.7\.4 of mysql-server-core now, not mysql@9\.6"):
        SERVER.bring(BuildReference.parse("mysql@9.6"), tmp_path / "downloads", tmp_path / "root", clients)
    assert "--extract" not in clients.words()


@pytest.mark.usefixtures("debian")
def test_a_path_that_a_loader_cannot_take_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="cannot contain ':'"):
        SERVER.bring(BuildReference.parse("mysql"), tmp_path / "downloads", tmp_path / "a:b", mirror())


def test_a_package_reports_its_version_with_its_epoch():
    assert Package("mariadb-server-core_1%3a10.11.19-0+deb12u1_amd64.deb", 1).version == "1:10.11.19-0+deb12u1"

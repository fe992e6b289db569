"""Servers from archives: what is unpacked, what is refused, and that nothing is left or written elsewhere."""

from __future__ import annotations

import io
import lzma
import os
import platform
import shutil
import subprocess
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from dialin.errors import ServerError, UserError
from dialin.model.build import Build, BuildReference
from dialin.paths import Home
from dialin.servers.builds import check_name, discover, find
from dialin.servers.install import archive_file, installer
from dialin.servers.install.archive_file import add_archive, is_archive

PERCONA = "mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28, Revision 47601f19)"
SERVER = f"#!/bin/sh\necho '{PERCONA}'\n".encode()

Member = tuple[str, bytes | str]
"""A name, and the content of a file, or the target of a symbolic link."""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def tar(path: Path, *members: Member | tarfile.TarInfo, mode: str = "w:gz", executable: int = 0o755) -> Path:
    with tarfile.open(path, mode) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
                continue
            name, content = member
            info = tarfile.TarInfo(name)
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
            else:
                info.size, info.mode = len(content), executable
            archive.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return path


def percona(top: str = "Percona-Server-8.0.36-28-Linux.x86_64.glibc2.35") -> tuple[Member, ...]:
    return (f"{top}/bin/mysqld", SERVER), (f"{top}/share/english/errmsg.sys", b"m"), (f"{top}/mysql-test/t/a.test", b"t")


def add(home: Home, archive: Path, name: str = "", verify: Callable[[Build], None] = lambda _: None) -> Build:
    reference = BuildReference.parse(name) if name else None
    return add_archive(home, archive, lambda _: None, reference, check=lambda build: check_name(home, build), verify=verify)


def left(home: Home) -> list[str]:
    return sorted(path.name for path in home.builds.iterdir())


def test_the_server_of_an_archive_is_named_and_kept_without_what_a_sandbox_does_not_need(home: Home, tmp_path: Path):
    archive = tar(tmp_path / "p.tar.gz", *percona())
    build = add(home, archive)
    root = home.builds / "percona@8.0.36"
    assert (build.id, build.binary, build.messages) == ("percona@8.0.36", root / "bin" / "mysqld", root / "share")
    assert not (root / "mysql-test" / "t").exists()
    assert discover(home, {}, ()) == [build]
    archive.unlink()
    assert find("percona", discover(home, {}, ()), home) == build
    installer.remove(home, build)
    assert left(home) == [".lock"]


def test_an_archive_that_was_added_names_its_server(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    build = add(home, tar(tmp_path / "p.tar.gz", *percona()))
    monkeypatch.chdir(tmp_path)
    for text in ("./p.tar.gz", "p.tar.gz", str(tmp_path / "p.tar.gz")):
        assert find(text, [build], home) == build
    tar(tmp_path / "q.tar.gz", *percona())
    with pytest.raises(UserError, match="was not added") as caught:
        find("q.tar.gz", [build], home)
    assert "dialin servers add q.tar.gz" in caught.value.remedy


@pytest.mark.parametrize("name", ["p.tar.xz", "p.tar.bz2", "p.tar"])
def test_other_compressions_are_read(home: Home, tmp_path: Path, name: str):
    mode = {"p.tar.xz": "w:xz", "p.tar.bz2": "w:bz2", "p.tar": "w"}[name]
    assert add(home, tar(tmp_path / name, *percona(), mode=mode)).id == "percona@8.0.36"


@pytest.mark.skipif(shutil.which("zstd") is None, reason="zstd is not installed")
@pytest.mark.parametrize("whole", [True, False])
def test_zstd_is_read_by_its_program_and_a_cut_file_is_damaged(home: Home, tmp_path: Path, *, whole: bool):
    plain = tar(tmp_path / "p.tar", *percona(), ("top/data", bytes(range(256)) * 4000), mode="w")
    packed = tmp_path / "p.tar.zst"
    subprocess.run(["zstd", "-q", plain, "-o", packed], check=True)
    if whole:
        assert add(home, packed).id == "percona@8.0.36"
        return
    packed.write_bytes(packed.read_bytes()[:-200])
    with pytest.raises(UserError, match="damaged"):
        add(home, packed)
    assert left(home) == [".lock"]


def test_without_the_program_for_zstd_its_name_is_given(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "p.tar.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(100))
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(UserError, match="zstd"):
        add(home, tmp_path / "p.tar.zst")


def damaged(path: Path) -> bytes:
    whole = lzma.compress(tar(path, *percona(), mode="w").read_bytes())
    return whole[: len(whole) // 2]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"PK\x03\x04 a zip archive", "is not a tar archive"),
        (b"", "is not a tar archive"),
        (None, "is not a tar archive, or is damaged"),
    ],
)
def test_what_is_no_archive_or_is_cut_is_refused_and_leaves_nothing(
    home: Home, tmp_path: Path, content: bytes | None, complaint: str
):
    archive = tmp_path / "x"
    archive.write_bytes(damaged(tmp_path / "p.tar") if content is None else content)
    with pytest.raises(UserError, match=complaint):
        add(home, archive)
    assert left(home) == [".lock"]


def test_an_archive_without_a_server_or_with_two_is_refused(home: Home, tmp_path: Path):
    with pytest.raises(UserError, match="There is no mysqld or mariadbd in"):
        add(home, tar(tmp_path / "client.tar.gz", ("client/bin/mysql", b"#!/bin/sh\n")))
    with pytest.raises(UserError, match=r"has several servers: a/bin/mysqld and b/bin/mysqld"):
        add(home, tar(tmp_path / "two.tar.gz", ("a/bin/mysqld", SERVER), ("b/bin/mysqld", SERVER)))
    assert left(home) == [".lock"]


def test_a_server_that_cannot_be_run_by_its_mode_is_run_all_the_same(home: Home, tmp_path: Path):
    assert add(home, tar(tmp_path / "p.tar.gz", *percona(), executable=0o600)).id == "percona@8.0.36"


def test_a_server_that_does_not_pass_its_trial_is_not_kept(home: Home, tmp_path: Path):
    def fail(_: Build) -> None:
        raise ServerError("it does not start", "")

    with pytest.raises(ServerError, match="does not start"):
        add(home, tar(tmp_path / "p.tar.gz", *percona()), verify=fail)
    assert left(home) == [".lock"]


def test_what_a_killed_dialin_left_of_an_archive_goes_with_the_next_one(home: Home, tmp_path: Path):
    for name in (f"{installer.FRESH}1", "percona@8.0.35"):
        (home.builds / name / "bin").mkdir(parents=True)
    add(home, tar(tmp_path / "p.tar.gz", *percona()))
    assert left(home) == [".lock", "percona@8.0.36"]


def test_a_directory_of_the_user_among_the_builds_stays(home: Home, tmp_path: Path):
    (home.builds / "my-build" / "bin").mkdir(parents=True)
    add(home, tar(tmp_path / "p.tar.gz", *percona()))
    assert left(home) == [".lock", "my-build", "percona@8.0.36"]


def test_two_archives_of_one_version_are_two_builds_only_under_two_names(home: Home, tmp_path: Path):
    archive = tar(tmp_path / "p.tar.gz", *percona())
    add(home, archive)
    with pytest.raises(UserError, match=r"percona@8\.0\.36 is on this machine already") as caught:
        add(home, archive)
    assert "--as percona@8.0.36-mine" in caught.value.remedy
    assert add(home, archive, "percona@8.0.36-mine").id == "percona@8.0.36-mine"


def test_nothing_is_written_outside_by_names_or_through_links(home: Home, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("as it was")
    hard = tarfile.TarInfo("t/hard")
    hard.type, hard.linkname = tarfile.LNKTYPE, str(outside / "kept")
    archive = tar(
        tmp_path / "evil.tar.gz",
        *percona("t"),
        ("../up", b"x"),
        (f"{outside}/absolute", b"x"),
        ("t/out", str(outside)),
        ("t/out/through", b"x"),
        ("t/kept", f"{outside}/kept"),
        ("t/kept", b"x"),
        ("t/dots", "../../../../outside"),
        ("t/d", "."),
        ("t/d/d", "../../../outside"),
        hard,
    )
    add(home, archive)
    assert [path.name for path in outside.iterdir()] == ["kept"]
    assert (outside / "kept").read_text() == "as it was"
    assert not (home.root / "up").exists()
    root = (home.builds / "percona@8.0.36").resolve()
    assert [path for path in root.rglob("*") if not path.resolve().is_relative_to(root)] == []


def test_a_server_that_is_a_link_to_one_of_this_machine_is_none_and_that_one_stays(home: Home, tmp_path: Path):
    mine = tmp_path / "opt" / "mysql" / "bin" / "mysqld"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(SERVER)
    mine.chmod(0o755)
    archive = tar(tmp_path / "links.tar.gz", ("t/bin/mysqld", str(mine)), ("t/bin/mysql", b"x"))
    with pytest.raises(UserError, match="There is no mysqld or mariadbd in"):
        add(home, archive)
    assert mine.exists()


def test_links_inside_lead_where_the_archives_root_has_them(home: Home, tmp_path: Path):
    linked = tarfile.TarInfo("usr/bin/hard")
    linked.type, linked.linkname = tarfile.LNKTYPE, "usr/sbin/mysqld-8.0"
    members = ("usr/sbin/mysqld-8.0", SERVER), ("usr/sbin/mysqld", "/etc/alternatives/mysqld")
    archive = tar(tmp_path / "fs.tar", *members, ("etc/alternatives/mysqld", "/usr/sbin/mysqld-8.0"), linked, mode="w")
    build = add(home, archive)
    root = home.builds / "percona@8.0.36"
    assert build.binary == root / "usr" / "sbin" / "mysqld-8.0"
    assert (root / "usr" / "bin" / "hard").samefile(build.binary)


def test_the_loader_and_libraries_of_a_file_system_are_its_own_wherever_the_server_is(home: Home, tmp_path: Path):
    loader = b'#!/bin/sh\n[ "$1" = --library-path ] || exit 1\nshift 2\nexec "$@"\n'
    libraries = f"rootfs/usr/lib/{platform.machine()}-linux-gnu"
    archive = tar(
        tmp_path / "fs.tar.gz",
        ("rootfs/opt/vendor/mysql/bin/mysqld", SERVER),
        ("rootfs/usr/lib64/ld-linux-x86-64.so.2", loader),
        ("rootfs/lib64", "usr/lib64"),
        (f"{libraries}/libaio.so.1", b"x"),
    )
    build = add(home, archive)
    root = home.builds / "percona@8.0.36"
    assert build.launcher[0].startswith(str(root))
    assert str(root / libraries.removeprefix("rootfs/")) in build.launcher[2].split(":")


@pytest.mark.parametrize(("most_bytes", "most_members"), [(100, 1000), (10_000, 2)])
def test_an_archive_that_unpacks_without_end_is_refused(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_bytes: int, most_members: int
):
    monkeypatch.setattr(archive_file, "_MOST_BYTES", most_bytes)
    monkeypatch.setattr(archive_file, "_MOST_MEMBERS", most_members)
    with pytest.raises(UserError, match="unpacks to more than a server has"):
        add(home, tar(tmp_path / "p.tar.gz", *percona(), ("t/more", bytes(200)), ("t/most", b"")))
    assert left(home) == [".lock"]


def test_an_archive_that_the_disk_has_no_room_for_is_refused_before_it_is_full(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    archive = tar(tmp_path / "p.tar.gz", *percona(), ("t/more", bytes(200)))
    free = archive_file._SPARE + len(SERVER)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))
    with pytest.raises(UserError, match=f"more than the disk of {home.builds.resolve()} has free"):
        add(home, archive)
    assert left(home) == [".lock"]
    free += 200
    assert add(home, archive).id == "percona@8.0.36"


def of_pax(name: str, **headers: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.pax_headers = headers
    return info


def link_of_pax(target: str) -> tarfile.TarInfo:
    info = of_pax("t/link", linkpath=target)
    info.type = tarfile.SYMTYPE
    return info


@pytest.mark.parametrize(
    "odd",
    [
        of_pax("t/a", path="t/a\0b"),
        link_of_pax("a\0b"),
        of_pax("t/a", **{"GNU.sparse.map": "a,b", "GNU.sparse.size": "9"}),
    ],
    ids=["name", "link", "sparse file"],
)
def test_an_archive_with_a_name_or_a_size_that_none_can_be_is_damaged(home: Home, tmp_path: Path, odd: tarfile.TarInfo):
    with pytest.raises(UserError, match=r"p\.tar is damaged"):
        add(home, tar(tmp_path / "p.tar", *percona(), odd, mode="w"))
    assert left(home) == [".lock"]


def test_a_pipe_is_no_archive_and_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(UserError, match="is not a file or directory"):
            is_archive(path)


@pytest.mark.parametrize(
    ("content", "expected"), [(SERVER, False), (b"\x7fELF\x02", False), (b"\x1f\x8b\x08", True), (b"", True)]
)
def test_a_program_is_no_archive_whoever_may_run_it(tmp_path: Path, content: bytes, *, expected: bool):
    path = tmp_path / "file"
    path.write_bytes(content)
    for mode in (0o644, 0o755):
        path.chmod(mode)
        assert is_archive(path) is expected
    assert not is_archive(tmp_path)


@pytest.mark.parametrize("top", ["debug", "doc", "mysql-test", "dev"])
def test_what_an_archive_calls_its_own_directory_says_nothing_of_what_is_in_it(home: Home, tmp_path: Path, top: str):
    assert add(home, tar(tmp_path / "p.tar.gz", *percona(top))).id == "percona@8.0.36"
    assert not (home.builds / "percona@8.0.36" / "mysql-test" / "t").exists()


def headers_without_end(path: Path, kind: bytes, *, count: int, size: int) -> Path:
    """Write an archive whose first member has headers of its own kind, each of a size in bytes."""
    with lzma.open(path, "wb", preset=0) as archive:
        for _ in range(count):
            info = tarfile.TarInfo("././@LongLink")
            info.type, info.size = kind, size
            archive.write(info.tobuf(tarfile.GNU_FORMAT))
            for _ in range(0, size, 1 << 20):
                archive.write(bytes(min(size, 1 << 20)))
    return path


@pytest.mark.parametrize(
    ("kind", "count", "size"),
    [(tarfile.GNUTYPE_LONGNAME, 1, 64 << 20), (tarfile.XHDTYPE, 1, 64 << 20), (tarfile.GNUTYPE_LONGLINK, 3000, 0)],
    ids=["name", "attributes", "chain"],
)
def test_headers_that_unpack_without_end_are_not_held_in_memory(home: Home, tmp_path: Path, kind: bytes, count: int, size: int):
    archive = headers_without_end(tmp_path / "p.tar.xz", kind, count=count, size=size)
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match=r"headers of a file in it have more than 4 MiB"):
            add(home, archive)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert left(home) == [".lock"]

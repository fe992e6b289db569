from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.servers.install import archive_file
from dialin.servers.install.apt import AptPackages
from dialin.servers.install.archives import Contents, Part, extract
from servers.fakes import FakeClients, make_tar, make_zip

MEMBERS = {
    "dist/linux/bin/mysqld": 0o644,
    "dist/linux/bin/mysql": 0o755,
    "dist/linux/libs/libaio.so.1": 0o644,
    "dist/linux/share/english/errmsg.sys": 0o644,
    "dist/linux/share/test_data.sql": 0o644,
    "dist/win/bin/mysqld": 0o755,
}
PART = Part(prefix="dist/linux/", keep=("bin/mysqld", "libs/*", "share/*"), drop=("share/test_*",))
CONTENTS = Contents(parts=(PART,))

Make = Callable[[Path, dict[str, int]], Path]


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def unpack(tmp_path: Path, contents: Contents, archive: Path, clients: FakeClients | None = None):
    return contents.unpack(archive, tmp_path / "downloads", tmp_path / "root", clients or FakeClients())


@pytest.mark.parametrize("make", [make_zip, make_tar])
def test_only_what_a_server_needs_is_unpacked_without_the_prefix(tmp_path: Path, make: Make):
    unpack(tmp_path, CONTENTS, make(tmp_path / "archive", MEMBERS))
    assert files(tmp_path / "root") == ["bin/mysqld", "libs/libaio.so.1", "share/english/errmsg.sys"]


@pytest.mark.parametrize("make", [make_zip, make_tar])
def test_permissions_are_the_archives_and_its_owner_may_always_read_and_write(tmp_path: Path, make: Make):
    archive = make(tmp_path / "archive", {"a": 0o755, "b": 0o644, "c": 0, "d": 0o7777})
    extract(archive, tmp_path / "root", [Part(keep=("*",))])
    modes = {path.name: path.stat().st_mode & 0o7777 for path in (tmp_path / "root").iterdir()}
    assert modes == {"a": 0o755, "b": 0o644, "c": 0o600, "d": 0o755}


def test_a_server_that_its_archive_does_not_mark_as_a_program_becomes_one(tmp_path: Path):
    unpack(tmp_path, CONTENTS, make_zip(tmp_path / "archive", MEMBERS))
    assert (tmp_path / "root" / "bin" / "mysqld").stat().st_mode & 0o111 == 0o111


def test_parts_go_where_they_are_reported(tmp_path: Path):
    parts = (Part(prefix="dist/linux/bin/", keep=("mysqld",), into="sbin"), Part(keep=("dist/win/*",), into="other"))
    extract(make_zip(tmp_path / "archive", MEMBERS), tmp_path / "root", parts)
    assert files(tmp_path / "root") == ["other/dist/win/bin/mysqld", "sbin/mysqld"]


def test_an_archive_within_an_archive_is_unpacked_too(tmp_path: Path):
    inner = make_zip(tmp_path / "inner", {"share/english/errmsg.sys": 0o644, "META-INF/MANIFEST.MF": 0o644})
    archive = make_zip(tmp_path / "archive", {"5/linux/mysqld": 0o644})
    with zipfile.ZipFile(archive, "a") as opened:
        opened.write(inner, "5/share_dir.jar")
    parts = (Part(prefix="5/linux/", keep=("mysqld",), into="bin"), Part(within="5/share_dir.jar", keep=("share/*",)))
    layout = unpack(tmp_path, Contents(parts), archive)
    assert files(tmp_path / "root") == ["bin/mysqld", "share/english/errmsg.sys"]
    assert layout.messages == "share"


@pytest.mark.parametrize("make", [make_zip, make_tar])
@pytest.mark.parametrize("name", ["../outside", "/outside", "share/../../outside"])
def test_no_name_in_an_archive_leads_out_of_the_build(tmp_path: Path, make: Make, name: str):
    extract(make(tmp_path / "archive", {name: 0o644}), tmp_path / "deep" / "root", [Part(keep=("*",))])
    assert [path for path in files(tmp_path) if "outside" in path and not path.startswith("deep/root/")] == []


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 cut short"])
def test_a_damaged_archive_is_removed_so_that_the_next_attempt_fetches_it_anew(tmp_path: Path, content: bytes):
    archive = tmp_path / "archive"
    archive.write_bytes(content)
    with pytest.raises(UserError, match="arrived damaged"):
        extract(archive, tmp_path / "root", [PART])
    assert not archive.exists()


@pytest.mark.parametrize("make", [make_zip, make_tar])
def test_an_archive_whose_contents_are_damaged_is_removed(tmp_path: Path, make: Make):
    archive = make(tmp_path / "archive", {"share/a": 0o644})
    content = archive.read_bytes()
    archive.write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match="arrived damaged"):
        extract(archive, tmp_path / "root", [Part(keep=("*",))])
    assert not archive.exists()


def test_an_archive_without_the_server_is_a_fault_of_dialin_and_reported(tmp_path: Path):
    with pytest.raises(UserError, match="has no bin/mysqld"):
        unpack(tmp_path, CONTENTS, make_zip(tmp_path / "archive", {"dist/win/bin/mysqld": 0o755}))


def test_a_server_is_reported_where_the_libraries_are_that_came_with_it(tmp_path: Path):
    layout = unpack(tmp_path, CONTENTS, make_zip(tmp_path / "archive", MEMBERS))
    assert layout.launcher(Path("/b")) == ("env", "LD_LIBRARY_PATH=/b/libs")


def test_a_server_that_finds_its_libraries_or_has_none_is_reported_nothing(tmp_path: Path):
    archive = make_zip(tmp_path / "archive", MEMBERS)
    assert unpack(tmp_path, Contents((PART,), finds_libraries=True), archive).launcher(Path("/b")) == ()
    alone = Contents((Part(prefix="dist/linux/", keep=("bin/mysqld",)),))
    assert alone.unpack(archive, tmp_path, tmp_path / "alone", FakeClients()).launcher(Path("/b")) == ()


def test_a_path_that_a_loader_cannot_take_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="cannot contain ':'"):
        CONTENTS.unpack(make_zip(tmp_path / "a", MEMBERS), tmp_path, tmp_path / "a:b", FakeClients())


def unpack_library(arguments: Sequence[str], cwd: Path | None) -> str:
    library = Path(arguments[-1]) / "usr" / "lib" / "x86_64-linux-gnu" / "libcrypt.so.1"
    library.parent.mkdir(parents=True)
    library.touch()
    return ""


def test_libraries_that_the_machine_lacks_are_put_where_the_server_looks_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(AptPackages, "fetch", lambda *_: [tmp_path / "libcrypt1.deb"])
    clients = FakeClients(**{"--version": UserError("mysqld failed: libcrypt.so.1"), "--extract": unpack_library})
    part = Part(prefix="dist/linux/", keep=("bin/mysqld",))
    contents = Contents((part,), needs=AptPackages("bookworm", ("libcrypt1",), alone=True))
    layout = unpack(tmp_path, contents, make_zip(tmp_path / "archive", MEMBERS), clients)
    assert files(tmp_path / "root") == ["bin/mysqld", "libs/libcrypt.so.1"]
    assert layout.libraries == ("libs",)


def test_a_machine_that_has_the_libraries_fetches_none(tmp_path: Path):
    clients = FakeClients()
    contents = Contents((PART,), needs=AptPackages("bookworm", ("libcrypt1",), alone=True))
    unpack(tmp_path, contents, make_zip(tmp_path / "archive", MEMBERS), clients)
    (run,) = clients.ran
    assert run[0] == "env"
    assert run[-1] == "--version"


@pytest.mark.parametrize("kind", [tarfile.LNKTYPE, tarfile.SYMTYPE])
@pytest.mark.parametrize("link", ["../outside", "{outside}", "inner/../../outside"])
def test_no_member_of_a_users_archive_is_written_through_a_link_to_a_file_outside(tmp_path: Path, kind: bytes, link: str):
    outside = tmp_path / "outside"
    outside.write_text("of the user")
    archive = tmp_path / "archive"
    with tarfile.open(archive, "w") as packed:
        member = tarfile.TarInfo("mysqld")
        member.type, member.linkname = kind, link.format(outside=outside)
        packed.addfile(member)
        member = tarfile.TarInfo("mysqld")
        member.size = 4
        packed.addfile(member, io.BytesIO(b"evil"))
    with archive.open("rb") as stream:
        archive_file._unpack(stream, "archive", tmp_path / "into")
    assert outside.read_text() == "of the user"
    assert outside.stat().st_mode & 0o100 == 0

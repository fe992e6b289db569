"""Servers that a user has: a vendor's archive, the file system of an image. They are made of a build that is installed here."""

import os
import shutil
import subprocess
import tarfile

import pytest

from dialin.paths import Home
from dialin.servers.builds import discover
from live import EASY, FAST, MYSQL, SHORT, find, only_with_all

BUILD, FASTEST = find(MYSQL), find(FAST)
COMMENT = b"(Debian)"
"""What the build's version says of its vendor; another text of the same length makes it another vendor's."""

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.skipif(
        BUILD is None or not (Home.of().builds / BUILD.id).is_dir(), reason=f"{MYSQL} is not installed by dialin"
    ),
]


@pytest.fixture(scope="module")
def percona(tmp_path_factory):
    """A build's whole tree with Percona's name in its version, as the file system of an image has it: loader and all."""
    root = tmp_path_factory.mktemp("percona") / "Percona-Server"
    shutil.copytree(Home.of().builds / BUILD.id, root, copy_function=os.link, symlinks=True)
    (root / "build.json").unlink()
    binary = root / BUILD.binary.relative_to(Home.of().builds / BUILD.id)
    text = binary.read_bytes()
    if COMMENT not in text:
        pytest.skip(f"{BUILD.id} is not of Debian")
    text = text.replace(COMMENT, b"Percona ")
    binary.unlink()
    binary.write_bytes(text)
    binary.chmod(0o755)
    return root


@pytest.fixture
def home(tmp_path, monkeypatch):
    home = Home(tmp_path / "home")
    monkeypatch.setenv("DIALIN_HOME", str(home.root))
    return home


def packed(root, file):
    with tarfile.open(file, "w:gz", compresslevel=0) as archive:  # gzip that takes no time
        archive.add(root, root.name)
    return file


def added_archive(dialin, percona, home, tmp_path):
    """The name of the build that is added from the packed tree."""
    archive = packed(percona, tmp_path / "server.tar.gz")
    _, err = dialin("servers", "add", archive)
    name = BUILD.id.replace("mysql", "percona")
    assert f"Added {name}: {home.builds / name}" in err
    archive.unlink()
    return name


@only_with_all  # tests/servers/install/test_archive_file.py adds archives, test_builds.py boots what was unpacked elsewhere
def test_an_archive_of_percona_server_is_added_by_its_name_and_uses_the_libraries_beside_it(dialin, percona, home, tmp_path):
    name = added_archive(dialin, percona, home, tmp_path)
    assert name in dialin("servers")[0]
    (added,) = discover(home, {}, ())
    loaded = subprocess.run([*added.launcher, "--list", added.binary], capture_output=True, text=True, check=True).stdout
    libraries = [line.split(" => ")[1].split(" (")[0] for line in loaded.splitlines() if " => /" in line]
    assert len(libraries) > 5
    assert [each for each in libraries if not each.startswith(str(home.builds / name))] == []
    dialin("servers", "remove", name)
    assert not (home.builds / name).exists()


@only_with_all
def test_percona_server_is_compared_with_mysql_of_its_version(dialin, percona, home, tmp_path):
    name = added_archive(dialin, percona, home, tmp_path)
    dialin("servers", "add", BUILD.binary.parents[2])
    words = ["compare", "--server", BUILD.id, "--server", "percona", *SHORT, *EASY, "--minutes", "1", "--worthwhile", "100%"]
    found = dialin.verdict(*words, "--out", "study", code=dialin.any_code)
    assert {each["server"] for each in found["candidates"]} == {BUILD.id, name}


def test_a_library_that_the_tree_lacks_is_named(dialin, percona, home, tmp_path):
    root = tmp_path / "lacks"
    shutil.copytree(percona, root, copy_function=os.link, symlinks=True)
    for path in root.rglob("libaio.so.1*"):
        path.unlink()
    _, err = dialin("servers", "add", root, code=2)
    assert "needs libaio.so.1" in err
    assert "apt-get install libaio1" in err
    assert not home.config.exists()


def test_a_moved_directory_is_named_and_may_be_added_again(dialin, home, tmp_path):
    root = tmp_path / "here"
    shutil.copytree(FASTEST.binary.parents[2], root, copy_function=os.link, symlinks=True)
    (root / "build.json").unlink(missing_ok=True)
    dialin("servers", "add", root)
    root.rename(tmp_path / "there")
    out, _ = dialin("servers")
    assert "cannot be used" in out
    _, err = dialin("sweep", "sort_buffer_size=256K,512K", "--server", FASTEST.id, *SHORT, code=2)
    assert f"was added from {root}, which is gone" in err
    dialin("servers", "forget", root)
    dialin("servers", "add", tmp_path / "there")
    assert [build.binary.is_relative_to(tmp_path / "there") for build in discover(home, {}, ())] == [True]


def test_a_saved_image_is_refused_with_the_way_to_export_it(dialin, home, tmp_path):
    (tmp_path / "image" / "blobs").mkdir(parents=True)
    (tmp_path / "image" / "oci-layout").write_text("{}")
    with tarfile.open(tmp_path / "image.tar", "w") as archive:
        archive.add(tmp_path / "image", ".")
    _, err = dialin("servers", "add", tmp_path / "image.tar", code=2)
    assert "podman export" in err
    assert [path.name for path in home.builds.iterdir()] == [".lock"]

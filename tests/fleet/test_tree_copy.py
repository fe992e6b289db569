"""What arrives on a host is what was sent, or is refused."""

import os

import pytest

from dialin.errors import DialinError, MachineError
from dialin.fleet.tree_copy import Arrival, digest, pieces


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "mysql@9.7.4"
    (root / "bin").mkdir(parents=True)
    (root / "empty").mkdir()
    (root / "bin" / "mysqld").write_bytes(os.urandom(100_000))
    (root / "bin" / "mysqld").chmod(0o755)
    (root / "lib.so").symlink_to("bin/mysqld")
    return root


def sent(source, target, spoil=lambda pieces: pieces):
    arrival = Arrival(target)
    for piece in spoil(list(pieces(source))):
        arrival.add(piece)
    arrival.finish(digest(source))


def test_a_directory_arrives_with_links_and_executable_bits(tree, tmp_path):
    target = tmp_path / "other" / "builds" / tree.name
    sent(tree, target)
    assert digest(target) == digest(tree)
    assert os.access(target / "bin" / "mysqld", os.X_OK)
    assert (target / "lib.so").is_symlink()
    assert [path.name for path in target.parent.iterdir()] == [tree.name]


def test_a_file_arrives_as_a_file(tree, tmp_path):
    target = tmp_path / "other" / "dialin-load"
    sent(tree / "bin" / "mysqld", target)
    assert target.read_bytes() == (tree / "bin" / "mysqld").read_bytes()
    assert os.access(target, os.X_OK)


def test_the_holes_of_files_are_neither_sent_nor_filled(tree, tmp_path):
    with (tree / "compressed.ibd").open("wb") as file:
        for number in range(64):  # as a server writes pages that it compresses
            file.seek(number * 1024**2)
            file.write(os.urandom(4096))
        file.truncate(64 * 1024**2)
    assert sum(map(len, pieces(tree))) < 8 * 1024**2
    target = tmp_path / "other" / tree.name
    sent(tree, target)
    assert digest(target) == digest(tree)
    assert (target / "compressed.ibd").stat().st_blocks * 512 < 8 * 1024**2


def test_what_cannot_be_read_is_an_error_and_no_shorter_copy(tree, tmp_path):
    with pytest.raises(MachineError, match="could not be read"):
        list(pieces(tmp_path / "nowhere"))


def test_a_copy_that_did_not_arrive_whole_is_refused_and_changes_nothing(tree, tmp_path):
    target = tmp_path / "other" / tree.name
    sent(tree, target)
    (tree / "bin" / "mysqld").write_bytes(b"another")
    before = digest(target)

    def spoil(parts):
        whole = b"".join(parts)
        return [whole.replace(b"another", b"anothex")]

    with pytest.raises(DialinError, match="did not arrive whole"):
        sent(tree, target, spoil)
    assert digest(target) == before
    assert [path.name for path in target.parent.iterdir()] == [tree.name]


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "bin" / "mysqld").write_bytes(b"x"),
        lambda root: (root / "bin" / "mysqld").chmod(0o644),
        lambda root: (root / "new").touch(),
        lambda root: (root / "empty").rmdir(),
        lambda root: (root / "lib.so").rename(root / "lib.so.1"),
    ],
)
def test_every_difference_changes_the_digest(tree, change):
    before = digest(tree)
    change(tree)
    assert digest(tree) != before

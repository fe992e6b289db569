"""Files that dialin writes and reads in directories that others may write to as well."""

import errno
import os
import stat

import pytest

from dialin import paths
from dialin.file_lock import locked
from dialin.paths import OthersRecordError, read_record, replace_text


def test_a_text_is_never_written_through_a_link_that_somebody_has_put_in_its_way(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / f".record.json.{os.getpid()}").symlink_to(tmp_path / "precious")
    (tmp_path / "record.json").symlink_to(tmp_path / "precious")
    replace_text(tmp_path / "record.json", "new")
    assert (tmp_path / "precious").read_text() == "mine"
    assert (tmp_path / "record.json").read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious", "record.json"]


def test_a_private_text_is_private_from_its_first_byte_on(tmp_path, monkeypatch):
    modes = []

    def looked(descriptor):
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))

    monkeypatch.setattr(os, "fsync", looked)
    before = os.umask(0)
    try:
        replace_text(tmp_path / "secret", "x", mode=0o600)
        replace_text(tmp_path / "report", "x")
    finally:
        os.umask(before)
    assert modes == [0o600, 0o666]


def test_a_record_that_is_acted_on_is_a_file_of_ones_own(tmp_path, give_away):
    path = tmp_path / "record.json"
    path.write_text('{"directory": "/etc"}')
    assert read_record(path) == {"directory": "/etc"}
    (tmp_path / "link.json").symlink_to(path)
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(OSError, match="symbolic link"):
        read_record(tmp_path / "link.json")
    for of_others in (False, True):
        with pytest.raises(PermissionError, match="not a regular file"):
            read_record(tmp_path / "pipe.json", of_others=of_others)
    owner = give_away(path)
    with pytest.raises(OthersRecordError, match=f"it belongs to the user {owner}"):
        read_record(path)
    assert read_record(path, of_others=True) == {"directory": "/etc"}


def test_a_record_that_only_its_user_may_read_is_named_as_that_user_s(tmp_path, give_away, monkeypatch):
    """The records that matter are private: another user is refused by the kernel, before their owner can be looked at."""
    path = tmp_path / "record.json"
    path.write_text("{}")

    def refuse(*_arguments, **_words):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(PermissionError, match="Permission denied"):
            read_record(path)
    owner = give_away(path)
    monkeypatch.setattr(os, "open", refuse)
    for of_others in (False, True):
        with pytest.raises(OthersRecordError, match=f"it belongs to the user {owner}"):
            read_record(path, of_others=of_others)


def test_where_a_file_system_gives_all_files_to_another_user_records_are_still_ones_own(tmp_path, give_away, monkeypatch):
    path = tmp_path / "record.json"
    path.write_text('{"directory": "/etc"}')
    give_away(path)
    monkeypatch.setattr(paths, "_owner_within", lambda directory: path.stat().st_uid)
    assert read_record(path) == {"directory": "/etc"}


def test_a_record_without_end_is_not_read_to_its_end(tmp_path):
    with (tmp_path / "record.json").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ValueError, match="larger than 16 MiB"):
        read_record(tmp_path / "record.json")


def test_a_lock_is_not_taken_through_a_link_and_empties_no_file(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "lock").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="symbolic link"), locked(tmp_path / "lock"):
        pass
    assert (tmp_path / "precious").read_text() == "mine"

"""What a host reports is neither lost nor counted twice, wherever the network is cut."""

import pickle
import resource
import signal

import pytest

from dialin.fleet.journal import JournalReader, JournalWriter


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal"


def unpacked(records):
    return [pickle.loads(record) for record in records]


def test_a_journal_that_does_not_exist_yet_has_nothing(path):
    assert JournalReader(path).after(0) == []


@pytest.mark.parametrize("cut", range(7))
def test_whoever_asks_again_after_a_cut_gets_each_record_once(path, cut):
    """The coordinator asks for what comes after the last record that arrived; an answer that was lost is asked for again."""
    writer, reader, arrived = JournalWriter(path), JournalReader(path), []
    for number in range(1, 7):
        writer.append({"second": number})
        answer = unpacked(reader.after(len(arrived)))
        if number <= cut:  # this answer does not arrive
            continue
        arrived.extend(answer)
    arrived.extend(unpacked(reader.after(len(arrived))))
    assert arrived == [{"second": number} for number in range(1, 7)]


def test_a_record_that_is_not_whole_yet_is_not_read(path):
    writer, reader = JournalWriter(path), JournalReader(path)
    writer.append("first")
    writer.append("second" * 100)
    whole = path.read_bytes()
    for length in range(len(whole) - 1, len(whole) - 40, -7):
        path.write_bytes(whole[:length])
        assert unpacked(reader.after(0)) == ["first"]
    path.write_bytes(whole)
    assert unpacked(reader.after(1)) == ["second" * 100]


def test_an_answer_has_at_most_so_many_records(path):
    writer, reader = JournalWriter(path), JournalReader(path)
    for number in range(10):
        writer.append(number)
    assert unpacked(reader.after(0, most=4)) == [0, 1, 2, 3]
    assert unpacked(reader.after(4, most=4)) == [4, 5, 6, 7]
    assert unpacked(reader.after(8)) == [8, 9]


def test_a_record_that_the_disk_took_a_part_of_is_replaced_by_the_next(path):
    """As on a disk that is full in the middle of a record, and has room again later."""
    writer, reader = JournalWriter(path), JournalReader(path)
    writer.append("first")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, limit[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            writer.append("lost" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    assert unpacked(reader.after(0)) == ["first"]
    writer.append("second")
    assert unpacked(reader.after(0)) == ["first", "second"]

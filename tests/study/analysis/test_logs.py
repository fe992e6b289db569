import bz2
import gzip
import lzma
import zipfile

import pytest

from dialin.errors import UserError
from dialin.study.analysis.logs import incomplete, load, natural
from study.analysis.made import SUMMARY, csv, human, series, write

X, Y = series(seed=1), series(seed=2)


def names(runs):
    return [run.name for run in runs]


def statuses(folder):
    return {entry.file: entry.status for entry in folder.files}


def details(folder):
    return {entry.file: (str(entry.status), entry.detail) for entry in folder.files}


def test_directories_are_searched_for_logs_and_all_else_in_them_is_listed(tmp_path):
    write(tmp_path, bpi8__log=csv(X), notes__md="# notes", data__tar__gz="a\0b" * 100, picture__png="\0\1", _hidden="")
    write(tmp_path / "more", bpi32__txt__gz=human(Y))
    write(tmp_path / ".git", bpi64__log=csv(Y))
    folder = load([tmp_path])
    assert names(folder.runs) == ["bpi8.log", "more/bpi32.txt.gz"]
    assert statuses(folder) == {
        "_hidden": "not_a_log",
        "bpi8.log": "used",
        "data.tar.gz": "not_a_log",
        "more/bpi32.txt.gz": "used",
        "notes.md": "not_a_log",
        "picture.png": "not_a_log",
    }


def test_files_and_their_directory_are_read_once(tmp_path):
    write(tmp_path, a__log=csv(X), b__log=csv(Y))
    runs = load([tmp_path / "a.log", tmp_path, tmp_path / "a.log"]).runs
    assert names(runs) == ["a.log", "b.log"]
    assert all(run.copy_of is None for run in runs)


def test_names_are_below_the_directory_that_holds_all(tmp_path):
    write(tmp_path / "bpi8", log=csv(X))
    write(tmp_path / "bpi32", log=csv(Y))
    assert names(load([tmp_path / "bpi8" / "log", tmp_path / "bpi32" / "log"]).runs) == ["bpi8/log", "bpi32/log"]


def test_copies_byte_for_byte_are_told_and_packing_does_not_hide_them(tmp_path):
    write(tmp_path, a__log=csv(X), **{"a-r2__log__gz": csv(X), "b__log": csv(Y)})
    runs = load([tmp_path]).runs
    assert {run.name: (run.copy_of, run.exact) for run in runs} == {
        "a.log": (None, False),
        "a-r2.log.gz": ("a.log", True),
        "b.log": (None, False),
    }


@pytest.mark.parametrize("disguised", [csv(X, threads=64), human(X), csv(X, whole=False), csv(X[:50])])
def test_the_same_series_in_another_dress_is_a_copy_too(tmp_path, disguised):
    write(tmp_path, a__log=csv(X), another__log=disguised)
    runs = load([tmp_path]).runs
    assert [(run.copy_of, run.exact) for run in runs] == [(None, False), ("a.log", False)]


def test_runs_that_only_begin_alike_are_two(tmp_path):
    write(tmp_path, a__log=csv([*X[:100], *Y[100:]]), b__log=csv(X))
    assert all(run.copy_of is None for run in load([tmp_path]).runs)


def test_a_link_with_another_name_is_a_copy(tmp_path):
    write(tmp_path, a__log=csv(X))
    (tmp_path / "again.log").symlink_to(tmp_path / "a.log")
    assert [run.copy_of for run in load([tmp_path]).runs] == [None, "a.log"]


def test_two_runs_in_one_file_are_two_runs(tmp_path):
    write(tmp_path, both__log=csv(X, threads=8) + csv(Y, threads=16))
    assert names(load([tmp_path]).runs) == ["both.log#1", "both.log#2"]


def test_runs_of_too_few_lines_are_left_out_and_said(tmp_path):
    write(tmp_path, a__log=csv(X), b__log=csv(Y[:19]))
    folder = load([tmp_path])
    assert names(folder.runs) == ["a.log"]
    assert statuses(folder) == {"a.log": "used", "b.log": "too_short"}


def test_a_time_that_stands_still_is_no_run(tmp_path):
    write(tmp_path, a__log=csv(X, interval=0))
    with pytest.raises(UserError, match="time does not move on"):
        load([tmp_path])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("none.log", "There is no"),
        ("notes.txt", "holds no interval report of sysbench"),
        ("empty", "There is no log of sysbench in"),
        ("short.log", "short.log cannot be used: 3 lines"),
        ("torn.gz", "cut short or damaged"),
        ("fifo", "neither a file nor a directory"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path, given, says):
    import os

    write(tmp_path, notes__txt="Threads started!\n", short__log=csv(X[:3]))
    (tmp_path / "empty").mkdir()
    (tmp_path / "torn.gz").write_bytes(b"\x1f\x8b\x08")
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UserError, match=says) as refused:
        load([tmp_path / given])
    assert "\n" not in str(refused.value)


def test_a_log_with_lines_missing_or_less_than_its_summary_is_told(tmp_path):
    whole = csv(X)
    lines = whole.splitlines(keepends=True)
    write(tmp_path, a__log=whole, b__log="".join(lines[:60] + lines[100:]), c__log="".join(lines[:100] + lines[-4:]))
    told = {run.name: incomplete(run) for run in load([tmp_path]).runs}
    assert told["a.log"] is None
    assert "40.0 of 200 lines are missing" in told["b.log"]
    assert "its summary counts" in told["c.log"]


def test_numbers_in_names_sort_by_size():
    assert sorted(["bpi32", "bpi8", "a", "bpi128"], key=natural) == ["a", "bpi8", "bpi32", "bpi128"]


def test_every_file_of_a_directory_has_a_status(tmp_path):
    lines = csv(X, whole=False)
    write(
        tmp_path,
        good__log=csv(Y),
        the_copy__log=csv(Y),
        failed__log="sysbench 1.0.20\n\nFATAL: unable to connect to MySQL server\n",
        early__log="sysbench --time=10000 run\nsysbench 1.0.20\n\n" + lines,
        summary__log="sysbench 1.0.20\n\n" + SUMMARY.format(transactions=20000),
    )
    (tmp_path / "torn.gz").write_bytes(gzip.compress(csv(X).encode())[:-100])
    (tmp_path / "gone.log").symlink_to(tmp_path / "nowhere")
    found = details(load([tmp_path]))
    assert found["good.log"] == ("used", "")
    assert found["the_copy.log"] == ("copy", "of good.log")
    assert found["failed.log"] == ("failed", "FATAL: unable to connect to MySQL server")
    assert found["early.log"] == ("ended_early", "199 of 10,000 s")
    assert found["summary.log"] == ("no_intervals", "the summary says 100 tps; not compared, as it shows no seconds")
    assert found["torn.gz"][0] == found["gone.log"][0] == "unreadable"


def test_files_that_are_named_have_the_same_statuses_as_in_their_directory(tmp_path):
    write(tmp_path, a__log=csv(X), notes__txt="none", short__log=csv(Y[:3]))
    assert details(load(sorted(tmp_path.iterdir()))) == details(load([tmp_path]))


def test_the_last_second_of_a_killed_run_is_left_out(tmp_path):
    write(tmp_path, a__log="sysbench 1.0.20\n\n" + csv([*X, 0], whole=False), b__log=csv(Y))
    killed, whole = load([tmp_path]).runs
    assert (killed.killed, killed.log.tps.tolist()) == (True, X.tolist())
    assert (whole.killed, whole.log.tps.tolist()) == (False, Y.tolist())


def test_seconds_after_the_planned_end_do_not_count(tmp_path):
    write(tmp_path, a__log="+ sysbench --time=200 run\n" + csv([*X, 0, 0, 0]))
    (run,) = load([tmp_path]).runs
    assert (run.planned_seconds, run.ended_early, run.log.tps.tolist()) == (200, False, X.tolist())


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_logs_are_read(tmp_path, pack):
    (tmp_path / "a").write_bytes(pack(csv(X).encode()))
    assert load([tmp_path]).runs[0].log.tps.tolist() == X.tolist()


def test_zstandard_is_read_and_one_that_is_cut_short_is_unreadable(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    packed = zstandard.compress(csv(X).encode())
    (tmp_path / "a.zst").write_bytes(packed)
    assert load([tmp_path]).runs[0].log.tps.tolist() == X.tolist()


def test_each_member_of_a_zip_archive_is_a_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("a.log", csv(X))
        archive.writestr("notes.txt", "none")
    assert statuses(load([tmp_path])) == {"all.zip/a.log": "used", "all.zip/notes.txt": "not_a_log"}

import bz2
import lzma
import tarfile
import zipfile

import pytest
import zstandard

from dialin.errors import UserError
from dialin.logs import log_folder
from dialin.logs.log_folder import incomplete, load, natural_order
from dialin.readers import log_text
from fixtures.sysbench_logs import HEADER, SUMMARY, csv, human, series, write

X, Y = series(seed=1), series(seed=2)


def names(runs):
    return [run.name for run in runs]


def test_directories_are_searched_for_logs_and_all_else_in_them_is_left_alone(tmp_path):
    write(tmp_path, bpi8__log=csv(X), notes__md="# notes", data__tar__gz="a\0b" * 100, picture__png="\0\1", _hidden="")
    write(tmp_path / "more", bpi32__txt__gz=human(Y))
    write(tmp_path / ".git", bpi64__log=csv(Y))
    folder = load([tmp_path])
    assert names(folder.runs) == ["bpi8.log", "more/bpi32.txt.gz"]
    assert {entry.file: entry.status for entry in folder.files} == {
        "_hidden": "no_log",
        "bpi8.log": "used",
        "more/bpi32.txt.gz": "used",
        "data.tar.gz": "no_log",
        "notes.md": "no_log",
        "picture.png": "no_log",
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


def test_copies_byte_for_byte_are_reported_and_packing_does_not_hide_them(tmp_path):
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
    assert [(entry.file, entry.status, entry.detail) for entry in folder.files][1:] == [
        ("b.log", "too_short", "19 lines; at least 20 are needed")
    ]


def test_a_time_that_stands_still_is_no_run(tmp_path):
    write(tmp_path, a__log=csv(X, interval=0))
    with pytest.raises(UserError, match="timestamps do not increase"):
        load([tmp_path])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("none.log", "There is no"),
        ("notes.txt", "no report of a load program in it"),
        ("empty", "There is no file in"),
        ("short.log", "short.log: 3 lines; at least 20 are needed"),
        ("torn.gz", "truncated or damaged"),
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


def test_a_log_with_lines_missing_or_less_than_its_summary_is_reported(tmp_path):
    whole = csv(X)
    lines = whole.splitlines(keepends=True)
    write(tmp_path, a__log=whole, b__log="".join(lines[:60] + lines[100:]), c__log="".join(lines[:100] + lines[-4:]))
    reported = {run.name: incomplete(run) for run in load([tmp_path]).runs}
    assert reported["a.log"] == []
    assert "40.0 of 200 lines are missing" in reported["b.log"][0]
    assert "its summary counts" in reported["c.log"][0]


def test_a_run_that_ended_just_before_its_last_line_is_complete(tmp_path):
    lines = human(X[:30]).replace("\n[ 30s ]", "\nnot printed [ 30 ]")
    write(tmp_path, a__log=lines + "General statistics:\n    total time:                          30.0093s\n")
    (run,) = load([tmp_path]).runs
    assert run.log.times.size == 29
    assert incomplete(run) == []


def test_figures_below_zero_are_left_out_and_named(tmp_path):
    write(tmp_path, a__log=human(X).replace("[ 7s ] thds: 16 tps: ", "[ 7s ] thds: 16 tps: 1844674407370955"))
    (run,) = load([tmp_path]).runs
    (sentence,) = incomplete(run)
    assert sentence.startswith("a.log: at 7.00 s the line was left out")
    assert run.log.tps.max() < 1e6


def test_numbers_in_names_sort_by_size():
    assert sorted(["bpi32", "bpi8", "a", "bpi128"], key=natural_order) == ["a", "bpi8", "bpi32", "bpi128"]


OLD = "[{second:4d}s] threads: 16, tps: {tps:.2f}, reads: 100.00, writes: 40.00, response time: 21.07ms (95%), errors: 0.00, "
OLD += "reconnects:  0.00"


def test_reports_of_sysbench_0_5_are_read(tmp_path):
    write(tmp_path, old__log="\n".join(OLD.format(second=1 + n, tps=tps) for n, tps in enumerate(X)) + "\n")
    (run,) = load([tmp_path]).runs
    assert run.log.tps.tolist() == X.tolist()
    assert (run.log.threads, run.log.percentile, run.log.interval) == (16, 95, 1)


@pytest.mark.parametrize(("ending", "pack"), [("bz2", bz2.compress), ("xz", lzma.compress), ("zst", zstandard.compress)])
def test_packed_logs_are_read_whatever_packed_them(tmp_path, ending, pack):
    (tmp_path / f"a.log.{ending}").write_bytes(pack(csv(X).encode()))
    assert load([tmp_path]).runs[0].log.tps.tolist() == X.tolist()


def test_each_member_of_an_archive_is_a_log(tmp_path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("bpi8.log", csv(X))
        archive.writestr("bpi32.log", csv(Y))
        archive.writestr("notes.txt", "nothing")
    folder = load([tmp_path])
    assert names(folder.runs) == ["all.zip/bpi8.log", "all.zip/bpi32.log"]
    assert [entry.status for entry in folder.files if entry.file == "all.zip/notes.txt"] == ["no_log"]


def test_results_that_somebody_numbered_are_runs_and_no_samples(tmp_path):
    tables = {f"mysql.results.r{run}.csv": series(seed=run) for run in (1, 2, 3)}
    for name, values in tables.items():
        (tmp_path / name).write_text("time,tps\n" + "".join(f"{at},{value}\n" for at, value in enumerate(values)))
    assert names(load([tmp_path]).runs) == list(tables)
    (tmp_path / "mysql.samples.csv").write_text("time,tps\n" + "".join(f"{at},{value}\n" for at, value in enumerate(X)))
    assert names(load([tmp_path]).runs) == ["mysql.samples.csv"]


def test_the_fate_of_every_file_is_listed(tmp_path):
    fatal = "sysbench 1.0.20\n\nFATAL: mysql_stmt_prepare() failed\n"
    summary = HEADER.format(threads=16) + SUMMARY.format(transactions=5000)
    write(tmp_path, a__log=csv(X), b__log=csv(Y), c__log=csv(X[::-1]), early__log=csv(series(seed=7)[:90]), failed__log=fatal)
    write(tmp_path, sums__log=summary)
    (tmp_path / "torn.gz").write_bytes(b"\x1f\x8b\x08")
    found = {entry.file: (entry.status, entry.detail) for entry in load([tmp_path]).files}
    assert found["a.log"] == ("used", "")
    assert found["early.log"] == ("ended_early", "ended after 90.0 of 200 s")
    assert found["failed.log"] == ("failed", "FATAL: mysql_stmt_prepare() failed (after 0 lines)")
    assert found["sums.log"] == ("summary_only", "no interval reports: the throughput of its summary is used")
    assert found["torn.gz"][0] == "unreadable"


def test_seconds_after_the_planned_time_do_not_count(tmp_path):
    command = "+ sysbench oltp_read_write --time=150 run\n"
    write(tmp_path, a__log=command + csv([*X[:150], 3.0, 1.0]))
    (run,) = load([tmp_path]).runs
    assert run.log.times[-1] == 150


def test_the_last_report_of_a_run_that_was_killed_does_not_count(tmp_path):
    killed = HEADER.format(threads=16) + csv([*X[:99], 2.0], whole=False)
    write(tmp_path, a__log=csv(X), b__log=csv(Y), c__log=csv(X[::-1]), killed__log=killed)
    folder = load([tmp_path])
    assert [run.log.times[-1] for run in folder.runs if run.name == "killed.log"] == [99]
    assert [entry.detail for entry in folder.files if entry.file == "killed.log"] == [
        "ended after 99.0 of 200 s and has no summary: it was killed"
    ]


def test_a_file_that_unpacks_to_more_than_any_log_is_listed_as_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(log_text, "LARGEST", 100_000)
    write(tmp_path, a__log=csv(X), bomb__gz="0" * 200_000)
    assert {entry.file: entry.status for entry in load([tmp_path]).files} == {"a.log": "used", "bomb.gz": "too_large"}


def test_the_usual_length_of_runs_is_computed_once_for_all(tmp_path, monkeypatch):
    asked, real = [], log_folder._usual_length
    monkeypatch.setattr(log_folder, "_usual_length", lambda runs: (asked.append(len(runs)), real(runs))[1])
    write(tmp_path, **{f"run{number}__log": csv([100.0 + number, *X]) for number in range(12)})
    assert len(load([tmp_path]).runs) == 12
    assert asked == [12]


def test_a_file_of_the_kernel_that_a_link_leads_to_is_not_waited_for(tmp_path):
    """Such a file has no size, and some never end or wait for news: /proc/kmsg."""
    write(tmp_path, a__log=csv(X))
    (tmp_path / "b.log").symlink_to("/proc/self/mountinfo")
    folder = load([tmp_path])
    assert {entry.file: entry.status for entry in folder.files} == {"a.log": "used", "b.log": "no_log"}
    assert [list(opened().__enter__()) for _, opened in log_text.files(tmp_path / "b.log")] == [[]]


def test_headers_of_an_archive_that_unpack_without_end_are_named(tmp_path):
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 64 << 20
    write(tmp_path, a__log=csv(X))
    with lzma.open(tmp_path / "b.tar.xz", "wb", preset=0) as archive:
        archive.write(info.tobuf(tarfile.GNU_FORMAT) + bytes(info.size))
    assert {entry.file: entry.status for entry in load([tmp_path]).files} == {"a.log": "used", "b.tar.xz": "unreadable"}

"""Stacks as perf prints them: samples of real servers, and text that no perf should print."""

from pathlib import Path

import pytest

from dialin.model.profile import KERNEL, Slice, Stack, ThreadKind
from dialin.probes.perf_stacks import Sample, add_up, kind_of, read_samples

SAMPLES = Path(__file__).parent / "samples"


def of(name):
    return list(read_samples((SAMPLES / f"perf_script_{name}.txt").read_text().splitlines(keepends=True)))


def stack(*frames, kind=ThreadKind.CONNECTIONS):
    return Stack(kind, frames, (1,))


def test_every_sample_of_a_real_server_is_read_with_its_frames_from_the_outermost():
    first, *others = of("mysql_9_7")
    assert (first.name, first.thread, first.time) == ("connection", 10198, 66825.872481)
    assert first.frames[:4] == ("[libc.so.6]", "[mysqld]", "[mysqld]", "do_command")
    assert first.frames[-1] == "Field::pack_length"
    assert all(one.frames for one in others)


def test_frames_of_the_kernel_are_marked_and_belong_to_the_system_call():
    yielded = of("mysql_9_7")[1]
    assert yielded.frames[-1] == f"do_sched_yield{KERNEL}"
    assert stack(*yielded.frames).function == "sched_yield (system call)"


def test_time_in_the_kernel_without_a_system_call_belongs_to_what_interrupted_the_program():
    assert stack("main", f"asm_exc_page_fault{KERNEL}", f"handle_mm_fault{KERNEL}").function == "asm_exc_page_fault (kernel)"


def test_functions_without_a_name_are_called_by_their_file():
    assert "[mariadbd]" in of("mariadb_10_11")[0].frames


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("connection", ThreadKind.CONNECTIONS),
        ("thread/sql/one_connection", ThreadKind.CONNECTIONS),
        ("ib_log_writer", ThreadKind.LOG),
        ("ib_log_fl_notif", ThreadKind.LOG),
        ("thread/innodb/log_flusher_thread", ThreadKind.LOG),
        ("ib_pg_flush_co", ThreadKind.FLUSH),
        ("thread/innodb/page_flush_coordinator_thread", ThreadKind.FLUSH),
        ("thread/innodb/page_cleaner_thread", ThreadKind.FLUSH),
        ("ib_srv_purge", ThreadKind.PURGE),
        ("thread/innodb/srv_worker_thread", ThreadKind.PURGE),
        ("ib_io_wr-1", ThreadKind.IO),
        ("thread/innodb/io_write_thread", ThreadKind.IO),
        ("ib_dict_stats", ThreadKind.OTHER),
        ("mysqld", ThreadKind.OTHER),
    ],
)
def test_a_thread_is_known_by_its_name(name, kind):
    assert kind_of([name], {("start_thread",): 1}) is kind


def test_a_thread_whose_name_says_nothing_is_known_by_what_it_runs():
    """MariaDB's threads all have the name of the program, which is that of the loader where an archive is run."""
    assert of("mariadb_10_11")[0].name == "ld-linux-x86-64"
    assert {kind_of([one.name], {one.frames: 1}) for one in of("mariadb_10_11")} == {ThreadKind.CONNECTIONS}
    assert kind_of(["mariadbd"], {("start_thread", "buf_flush_page_cleaner"): 1}) is ThreadKind.FLUSH


def test_a_commit_that_prepares_a_purge_is_of_a_connection():
    assert kind_of(["mysqld"], {("start_thread", "trx_purge_add_undo_to_history"): 1}) is ThreadKind.OTHER
    assert kind_of(["mysqld"], {("trx_purge_add_undo_to_history", "do_command"): 1}) is ThreadKind.CONNECTIONS
    assert kind_of(["mysqld"], {("start_thread", "que_run_threads", "row_purge_step"): 1}) is ThreadKind.PURGE


def test_all_samples_of_a_thread_have_the_kind_that_most_recognized_ones_have():
    stacks = [("main", "do_command")] * 3 + [("main", "log_writer")] * 2 + [("main", "[mysqld]")] * 9
    samples = [Sample("mysqld", 7, 0.5, frames) for frames in stacks] + [Sample("mysqld", 8, 0.5, ("main", "[mysqld]"))]
    added = add_up(samples, [Slice(0.0, 1.0)], {}, 0.0)
    assert {(one.kind, one.frames[-1], one.samples) for one in added} == {
        (ThreadKind.CONNECTIONS, "do_command", (3,)),
        (ThreadKind.CONNECTIONS, "log_writer", (2,)),
        (ThreadKind.CONNECTIONS, "[mysqld]", (9,)),
        (ThreadKind.OTHER, "[mysqld]", (1,)),
    }


def test_a_sample_without_a_stack_is_of_an_unknown_function():
    assert [one.frames for one in read_samples(["mysqld 12 34.500000:    4973000 \n", "\n"])] == [("[unknown]",)]


@pytest.mark.parametrize(
    ("symbol", "file"),
    [
        ("work", "/opt/mysql (9.7)/bin/mysqld"),
        ("work", "/opt/mysql(9.7)/bin/mysqld"),
        ("std::function<void (int)>::operator()", "/opt/mysql (new)/mysqld (deleted)"),
        ("f(char (*)[3])", "/usr/sbin/mysqld (deleted)"),
        ("work", "[vdso]"),
        ("work", "inlined"),
    ],
)
def test_a_frame_is_read_whatever_parentheses_are_in_its_function_and_its_file(symbol, file):
    (one,) = read_samples(["a 12 34.500000:    4973000 \n", f"\t  1f {symbol} ({file})\n"])
    assert one.frames == (symbol,)


def test_the_file_of_a_function_without_a_name_is_named_without_what_perf_adds():
    (one,) = read_samples(["a 12 34.500000:    4973000 \n", "\t  1f [unknown] (/opt/my (new)/mysqld (deleted))\n"])
    assert one.frames == ("[mysqld]",)


def test_samples_are_added_up_by_slice_and_those_outside_are_left_out():
    samples = [Sample("connection", 7, at, ("main", "work")) for at in (9.9, 10.0, 10.5, 11.2, 12.0)]
    samples.append(Sample("mysqld", 8, 11.5, ("main", "work")))
    slices = [Slice(110.0, 111.0), Slice(111.0, 112.0)]
    stacks = add_up(samples, slices, {8: "thread/innodb/log_writer_thread"}, 100.0)
    assert stacks == [
        Stack(ThreadKind.CONNECTIONS, ("main", "work"), (2, 1)),
        Stack(ThreadKind.LOG, ("main", "work"), (0, 1)),
    ]


def test_text_that_would_break_a_folded_stack_or_a_terminal_is_made_harmless():
    lines = [
        "a b 12 34.500000:    4973000 \n",
        "\t  1f f(int;char)\x1b[2J (/usr/sbin/mysqld (deleted))\n",
        "nonsense\n",
        "\t  2f operator new (/usr/lib/libstdc++.so.6)\n",
        "\n",
    ]
    (one,) = read_samples(lines)
    assert (one.name, one.thread, one.time) == ("a b", 12, 34.5)
    assert one.frames == ("operator new", "f(int:char)\\x1b[2J")

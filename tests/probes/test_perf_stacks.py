"""Stacks as perf prints them: samples of real servers, and text that no perf should print."""

from pathlib import Path

import pytest

from dialin.model.profile import KERNEL, PREEMPTED, Slice, Stack, ThreadKind
from dialin.probes import perf_stacks
from dialin.probes.perf_stacks import Call, Sample, add_up, kind_of, read_samples, read_trace

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


SERVER = 4711


def switched(*events, process=SERVER):
    """The lines of a trace: for each event its thread, time and text."""
    return [f"connection {process}/{thread}   {time:.6f}: {text}\n" for thread, time, text in events]


FUTEX = [
    "\tffffffff82266833 schedule ([kernel.kallsyms])\n",
    "\tffffffff8144aa4d __x64_sys_futex ([kernel.kallsyms])\n",
    "\t           85f16 __futex_abstimed_wait_common (/usr/lib/x86_64-linux-gnu/libc.so.6)\n",
    "\t           1f10a os_event::wait_low (/usr/sbin/mysqld)\n",
    "\t           1f20b log_write_up_to (/usr/sbin/mysqld)\n",
    "\t           1f30c do_command (/usr/sbin/mysqld)\n",
    "\n",
]


def waits(lines):
    return [one for one in read_trace(lines, SERVER) if not isinstance(one, Call)]


def test_a_wait_lasts_from_a_switch_to_the_next_of_its_thread_and_is_of_what_waited():
    stack = switched((7, 1.0, "context-switches/period=13/: "))
    others = switched((8, 1.1, "PERF_RECORD_SWITCH IN         "), (7, 1.25, "PERF_RECORD_SWITCH IN         "))
    (one,) = waits([*stack, *FUTEX, *switched((7, 1.000007, "PERF_RECORD_SWITCH OUT        ")), *others])
    assert (one.thread, one.time, one.until) == (7, 1.000007, 1.25)
    assert one.frames == ("do_command", "log_write_up_to", "os_event::wait_low", f"futex{KERNEL}")
    assert stack_of(one).waits_in == "log_write_up_to (futex)"


def test_what_other_processes_and_cpus_did_is_no_part_of_a_wait():
    foreign = [*switched((9, 1.0, "context-switches: "), process=12), *FUTEX]
    theirs = switched((9, 1.0, "PERF_RECORD_SWITCH_CPU_WIDE OUT          next pid/tid: 4711/7"), process=12)
    mine = [*switched((7, 1.0, "context-switches: ")), *FUTEX]
    on_another_cpu = [*switched((8, 1.0, "context-switches: ")), *FUTEX[:3]]
    ends = [
        (7, 1.1, "PERF_RECORD_SWITCH_CPU_WIDE OUT          next pid/tid: 12/9"),
        (7, 1.3, "PERF_RECORD_SWITCH_CPU_WIDE IN           prev pid/tid: 0/0"),
    ]
    taken = [(8, 1.4, "PERF_RECORD_SWITCH_CPU_WIDE OUT preempt  next pid/tid: 12/9")]
    first, second = waits([*foreign, *theirs, *mine, *on_another_cpu, *switched(*ends, *taken)])
    assert (first.thread, first.time, first.until) == (7, 1.1, 1.3)
    assert stack_of(first).waits_in == "log_write_up_to (futex)"
    assert (second.thread, second.frames) == (8, (PREEMPTED,))


def stack_of(sample):
    return Stack(ThreadKind.CONNECTIONS, sample.frames, (1,))


def test_waits_whose_stack_was_not_recorded_count_for_the_known_stacks_of_their_thread():
    known = [*switched((7, 1.0, "context-switches: ")), *FUTEX]
    ends = [(7, 1.0, "PERF_RECORD_SWITCH OUT "), (7, 1.1, "PERF_RECORD_SWITCH IN ")]
    more = [(7, 1.2, "PERF_RECORD_SWITCH OUT "), (8, 1.2, "PERF_RECORD_SWITCH OUT "), (7, 1.4, "PERF_RECORD_SWITCH IN ")]
    taken = [(7, 1.4, "PERF_RECORD_SWITCH OUT preempt"), (7, 1.45, "PERF_RECORD_SWITCH IN ")]
    added = add_up(read_trace([*known, *switched(*ends, *more, *taken)], SERVER), [Slice(1.0, 2.0)], {}, 0.0)
    assert {one.frames[-1]: one.samples for one in added} == {f"futex{KERNEL}": (300_000,), PREEMPTED: (50_000,)}


def test_a_thread_from_which_the_cpu_was_taken_waits_for_a_cpu():
    lines = [*switched((7, 1.0, "context-switches: ")), *FUTEX, *switched((7, 1.0, "PERF_RECORD_SWITCH OUT preempt"))]
    (one,) = waits([*lines, *switched((7, 1.5, "PERF_RECORD_SWITCH IN "))])
    assert one.frames == (PREEMPTED,)
    assert stack_of(one).waits_in == "preempted"


def test_a_wait_whose_end_was_not_recorded_lasts_to_the_end_of_its_slice():
    lines = [*switched((7, 1.0, "context-switches: ")), *FUTEX, *switched((7, 1.0, "PERF_RECORD_SWITCH OUT "))]
    again = [*lines, *[line.replace("1.000000", "9.000000") for line in lines]]
    added = add_up(waits(again), [Slice(100.5, 101.5), Slice(108.5, 109.25)], {}, 100.0)
    assert [one.samples for one in added] == [(500_000, 250_000)]
    assert added[0].kind is ThreadKind.CONNECTIONS


def test_a_wait_without_a_name_is_of_its_file_and_one_for_a_page_of_the_kernel():
    nameless = [line.replace("log_write_up_to", "[unknown]").replace("os_event::wait_low", "[unknown]") for line in FUTEX]
    lines = [*switched((7, 1.0, "context-switches: ")), *nameless, *switched((7, 1.0, "PERF_RECORD_SWITCH OUT "))]
    assert stack_of(waits(lines)[0]).waits_in == "[mysqld] (futex)"
    fault = ["\tf8 io_schedule ([kernel.kallsyms])\n", "\tf9 asm_exc_page_fault ([kernel.kallsyms])\n", *FUTEX[4:]]
    lines = [*switched((7, 1.0, "context-switches: ")), *fault, *switched((7, 1.0, "PERF_RECORD_SWITCH OUT "))]
    assert stack_of(waits(lines)[0]).waits_in == "log_write_up_to (asm_exc_page_fault)"


def test_system_calls_have_their_names(monkeypatch):
    monkeypatch.setattr(perf_stacks.platform, "machine", lambda: "x86_64")
    lines = [
        "   connection 4711/7  1.000000:    raw_syscalls:sys_enter: NR 75 (1f, 0) ffffffff81423c90 syscall_trace_enter ([k])\n",
        *switched((7, 1.1, "raw_syscalls:sys_enter: NR 9999 (0)")),
    ]
    assert [(one.thread, one.time, one.frames) for one in read_trace(lines, SERVER)] == [
        (7, 1.0, ("fdatasync",)),
        (7, 1.1, ("system call 9999",)),
    ]
    assert all(isinstance(one, Call) for one in read_trace(lines, SERVER))


@pytest.mark.parametrize(("machine", "number"), [("x86_64", 202), ("aarch64", 98), ("riscv64", 98)])
def test_numbers_of_system_calls_are_those_of_the_architecture(machine, number):
    assert perf_stacks.name_of_call(number, machine) == "futex"
    assert perf_stacks.name_of_call(number, "s390x") == f"system call {number}"


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

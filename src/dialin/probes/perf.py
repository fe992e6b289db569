"""Runs `perf`, which samples the call stacks of a server's threads, and traces where they wait and what they call.

It samples the CPUs that the server may use, and only what belongs to the server is read. Attached to the threads instead, perf
starts and stops a timer at each switch between them, which took a tenth of throughput and more at any rate of samples
(benchmarks/results/profile_cost.md); it does so only where it may not sample CPUs. Cost of the stacks otherwise: a timer
interrupt for each `PERIOD` of a busy CPU, and some 300 bytes each. Cost of the trace: a record of each switch, a tenth of
throughput, so it is used for few seconds. How much throughput both take is measured in every profile. Privileges: root; those
of the server's user where perf is attached, without a trace. kernel.perf_event_paranoid may forbid more, or allow more to all.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from dialin.death_signal import dying_by
from dialin.errors import MachineError, UserError
from dialin.probes.perf_stacks import FIELDS, TRACE_FIELDS, Call, Sample, read_samples, read_trace
from dialin.scratch import scratch
from dialin.text import visible

PERIOD = 0.001997
"""Seconds between two samples of a busy CPU; no divisor of a second, so that it keeps step with no timer."""

SWITCHES_PER_STACK = 13
CALLS_PER_RECORD = 31
"""How many switches of a CPU there are to a stack of one, and system calls to a recorded one: primes, which keep step with no
loop of a server."""

CLOCK = ("--event", "cpu-clock:I", "--count", str(round(PERIOD * 1e9)), "--call-graph", "fp")
"""What perf records of the time of CPUs that are not idle where the machine counts no cycles, as in most virtual machines."""

CYCLES = ("--event", "cycles", "--count", "5000011", "--call-graph", "fp")
"""The same where it does: such a sample is taken while interrupts are off, too. At 2.5 GHz they are as many."""

_DEBUG = "/usr/lib/debug"
_DEVICES = Path("/sys/bus/event_source/devices")

TRACE = (
    *("--event", f"context-switches/period={SWITCHES_PER_STACK}/", "--switch-events", "--call-graph", "fp"),
    *("--event", "raw_syscalls:sys_enter/call-graph=no/", "--count", str(CALLS_PER_RECORD), "--no-period"),
)
"""What perf records of their waits and system calls. With its period recorded, a tracepoint would record every call."""

_LARGEST = "2G"
"""The size at which perf ends a recording: some two minutes of 100 busy CPUs."""

_ANSWERS_WITHIN = 30.0
_ENDS_WITHIN = 30.0
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_WITHOUT_KERNEL = 2
"""The value of perf_event_paranoid from which on the kernel's functions are hidden from users without privileges."""

_SMALLER = f"If its recording reached {_LARGEST}, measure for a shorter time (--measure); or leave out --profile"
_INSTALL = "Install it (Debian: linux-perf, Ubuntu: linux-tools-generic, Red Hat: perf), or leave out --profile"
ROOT = "to trace them, run dialin as root"
_ATTACHED = (
    "perf may not sample whole CPUs and is attached to the server's threads, which costs more with each switch between them: "
    "a tenth of throughput where it was measured. Run dialin as root to avoid that"
)
_ALLOW = "Run dialin as root or as the server's user with kernel.perf_event_paranoid at 2 or less, or leave out --profile"


def check_perf(pid: int | None = None) -> list[str]:
    """Make sure that perf can profile a process, by doing it for a moment; without a process, that it can profile a program.

    Returns:
        Notes where perf costs more, the kernel's functions are hidden, or waits and system calls cannot be traced.

    Raises:
        UserError: perf is missing, too old, or not allowed.
    """
    if shutil.which("perf") is None:
        raise UserError("--profile needs perf, which is not installed", _INSTALL)
    notes = [] if _sees_kernel() else ["Profiles are without the kernel's functions: kernel.perf_event_paranoid is 2 or more"]
    with scratch() as directory:
        try:
            with recording_stacks(pid or os.getpid(), directory / "trial") as (recorded, _):
                notes += [_ATTACHED] if recorded.is_attached else []
        except MachineError as error:
            raise UserError(f"--profile: {error.what}", _ALLOW) from error
        try:
            with recording(pid or os.getpid(), directory / "trace", TRACE):
                pass
        except MachineError as error:
            notes.append(f"Profiles are without waits and system calls: {error.what} ({ROOT})")
    return notes


def _sees_kernel() -> bool:
    if os.geteuid() == 0:
        return True
    try:
        return int(_PARANOID.read_text(encoding="ascii")) < _WITHOUT_KERNEL
    except (OSError, ValueError):
        return True


class Recording:
    """A recording of the stacks of all threads of a process, those that it starts later included.

    perf takes seconds to start on a busy machine, so it is started before the load, and samples only in windows.

    Attributes:
        is_attached: whether perf is attached to the threads, because it may not sample the CPUs that they use.
    """

    def __init__(self, ask: int, answers: int, *, is_attached: bool) -> None:
        self._ask = ask
        self._answers = answers
        self.is_attached = is_attached

    @contextmanager
    def window(self) -> Iterator[None]:
        """Sample while this is open; raise MachineError where perf has ended."""
        self.order("enable")
        try:
            yield
        except BaseException:  # what ended the trial is to be seen, also where the server's end has ended perf
            with suppress(MachineError):
                self.order("disable")
            raise
        self.order("disable")

    def order(self, word: str) -> None:
        """Have perf carry out an order; raise MachineError where perf has ended, or does not answer."""
        with suppress(BrokenPipeError):
            os.write(self._ask, f"{word}\n".encode())
        ready, _, _ = select.select([self._answers], [], [], _ANSWERS_WITHIN)
        if not ready or not os.read(self._answers, 64):
            raise MachineError("perf has ended or does not answer", _SMALLER)


@contextmanager
def recording_stacks(pid: int, file: Path) -> Iterator[tuple[Recording, float | None]]:
    """Record the stacks of a process into a file; yield with the recording the seconds of CPU time of each sample.

    These are None where a sample stands for cycles of the CPU. So it is only where the kernel's are counted, too: the samples
    can then share the CPU time that the kernel counts.

    Raises:
        MachineError: perf does not start, or is not allowed.
    """
    with ExitStack() as opened:
        recorded, each = None, None
        if _sees_kernel() and any(_DEVICES.glob("*/events/cpu[-_]cycles")):
            with suppress(MachineError):
                recorded = opened.enter_context(recording(pid, file, CYCLES))
        if recorded is None:
            recorded, each = opened.enter_context(recording(pid, file, CLOCK)), PERIOD
        yield recorded, each


@contextmanager
def recording(pid: int, file: Path, events: Sequence[str]) -> Iterator[Recording]:
    """Record `CLOCK`, `CYCLES` or a `TRACE` of a process into a file, in the windows of what this yields.

    Times are of the monotonic clock. The file may have other processes that used the same CPUs.

    Raises:
        MachineError: perf does not start, or is not allowed.
    """
    with ExitStack() as opened:
        try:
            cpus = ",".join(map(str, sorted(os.sched_getaffinity(pid))))
            recorded = opened.enter_context(_recording(pid, file, ("--cpu", cpus, *events), is_attached=False))
        except (MachineError, OSError):
            recorded = opened.enter_context(_recording(pid, file, ("--pid", str(pid), *events), is_attached=True))
        yield recorded


@contextmanager
def _recording(pid: int, file: Path, what: Sequence[str], *, is_attached: bool) -> Iterator[Recording]:
    control, ask = os.pipe()
    answers, acknowledge = os.pipe()
    words = [
        *(*dying_by(), "perf", "record", "--max-size", _LARGEST),
        *(*what, "--clockid", "monotonic", "--no-buildid", "--no-buildid-cache", "--delay", "-1"),
        *("--control", f"fd:{control},{acknowledge}", "--output", str(file)),
    ]
    descriptors = {control, ask, answers, acknowledge}
    try:
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                pass_fds=(control, acknowledge),
                start_new_session=True,
                env=_environment(),
            )
            try:
                for descriptor in (control, acknowledge):
                    os.close(descriptor)
                    descriptors.remove(descriptor)
                recorded = Recording(ask, answers, is_attached=is_attached)
                try:
                    recorded.order("disable")
                except MachineError as error:
                    _end(process)
                    errors.seek(0)
                    raise MachineError(f"perf cannot profile process {pid}: {_first_line(errors.read())}", _ALLOW) from error
                yield recorded
            finally:
                _end(process)
    except OSError as error:
        raise MachineError.of(error, "perf cannot be started", _INSTALL) from error
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()


def _first_line(errors: bytes) -> str:
    lines = [line.strip() for line in errors.decode(errors="replace").splitlines() if line.strip(" -")]
    return visible(next((line for line in lines if line != "Error:"), "it gives no reason"))


def stacks(file: Path, pid: int) -> Iterator[Sample]:
    """Yield the samples of a recording of a process, with the names of functions; the server should still run.

    Raises:
        MachineError: perf cannot read the recording.
    """
    with _script(file, pid, "--fields", FIELDS) as lines:
        yield from read_samples(lines)


def trace(file: Path, pid: int) -> Iterator[Sample | Call]:
    """Yield the waits and system calls of a trace of a process; the server should still run.

    Raises:
        MachineError: perf cannot read the recording.
    """
    with _script(file, pid, "--show-switch-events", "--fields", TRACE_FIELDS) as lines:
        yield from read_trace(lines, pid)


@contextmanager
def _script(file: Path, pid: int, *options: str) -> Iterator[Iterable[str]]:
    """Yield the lines that `perf script` prints of a process in a recording; of switches between threads, those of all."""
    words = ["perf", "script", "--input", str(file), "--pid", str(pid), "--no-inline", *options]
    try:
        with tempfile.TemporaryFile() as errors, _files_of(pid) as where:
            with subprocess.Popen(
                [*words, *where],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                errors="replace",
                env=_environment(),
            ) as process:
                yield process.stdout or ()
            if process.returncode != 0:
                errors.seek(0)
                raise MachineError(f"perf cannot read its recording: {_first_line(errors.read())}")
    except OSError as error:
        raise MachineError.of(error, "perf cannot be started", _INSTALL) from error


@contextmanager
def _files_of(pid: int) -> Iterator[list[str]]:
    """Yield what lets perf find the files of a process in a container where only root may enter that: links to them.

    perf takes /proc/PID/root for /, because it follows it by its text. With links it looks for the names of the kernel's
    functions only where it is told to.
    """
    files = _mapped_files(pid) if os.geteuid() != 0 and _is_elsewhere(pid) else []
    if not files:
        yield []
        return
    with scratch() as directory:
        for file in (_DEBUG, *(one for one in files if not one.startswith(f"{_DEBUG}/"))):
            link = directory / file.lstrip("/")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(f"/proc/{pid}/root{file}")
        yield ["--symfs", str(directory), "--kallsyms", "/proc/kallsyms"]


def _is_elsewhere(pid: int) -> bool:
    """Return whether a process sees other files than this one."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/ns/mnt").readlink() != Path("/proc/self/ns/mnt").readlink()
    return False


def _mapped_files(pid: int) -> list[str]:
    """Return the files whose code a process may run, as it names them; none where that may not be read."""
    try:
        lines = [line.split(maxsplit=5) for line in Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()]
    except OSError:
        return []
    return sorted({words[5] for words in lines if len(words) > 5 and "x" in words[1] and words[5].startswith("/")})


def _environment() -> dict[str, str]:
    """Return an environment in which perf reads no configuration and asks no server for symbols."""
    return {**os.environ, "LC_ALL": "C", "PERF_CONFIG": os.devnull, "DEBUGINFOD_URLS": ""}

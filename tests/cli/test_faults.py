import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dialin.cli import app, conduct, last_words
from dialin.errors import ServerError, UserError
from dialin.servers import process_limits


class PanicException(BaseException):
    """A panic in Rust, which is no Exception."""


@pytest.fixture
def fault(monkeypatch, tmp_path, capsys):
    """Returns a function that has `dialin report` raise an error; gives standard error and the faults that were written."""

    def raised(error: BaseException) -> tuple[str, list[str]]:
        def broken(*_args, **_more):
            raise error

        monkeypatch.setenv("DIALIN_HOME", str(tmp_path))
        monkeypatch.setattr(conduct, "show", broken)
        monkeypatch.setattr(sys, "argv", ["dialin", "report", "x"])
        with pytest.raises(SystemExit) as ended:
            app.main()
        assert ended.value.code == 1
        err = capsys.readouterr().err
        assert "Traceback" not in err
        return err, [log.read_text() for log in tmp_path.glob("fault-*.log") if str(log) in err]

    return raised


def test_a_fault_of_dialin_is_one_line_and_its_traceback_goes_to_a_file(fault):
    _, (log,) = fault(RuntimeError("inside"))
    assert "RuntimeError: inside" in log


@pytest.mark.parametrize(
    "error",
    [
        ImportError("cannot import name 'levels' from 'dialin.stats'", name="dialin.stats"),
        ModuleNotFoundError("No module named 'dialin.gone'", name="dialin.gone"),
    ],
)
def test_an_import_that_dialin_gets_wrong_is_a_fault_and_no_matter_of_memory(fault, error):
    err, (log,) = fault(error)
    assert "internal error" in err
    assert "emory" not in err
    assert str(error) in log


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            PanicException('no thread: Os { message: "Resource temporarily unavailable" }'),
            "This machine allows no more",
        ),
        (
            OSError(errno.EMFILE, "Too many open files", "a.lock"),
            "a.lock: Too many open files. Raise the limit of open files (ulimit -n).",
        ),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device. Free disk space."),
        (FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)), "the current directory: No such file or directory."),
        (FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "x"), "x: No such file or directory."),
        (FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']"), "No usable temporary directory"),
        (
            OSError(errno.EACCES, "Permission denied", "x"),
            "x: Permission denied. Check that it exists, that you have permission",
        ),
    ],
)
def test_a_failing_system_call_is_named_with_its_remedy(fault, error, says):
    err, logs = fault(error)
    assert f"dialin: {says}" in err
    assert err.endswith("Completed trials are safe\n")
    assert not logs


def test_a_package_that_is_missing_is_named(fault):
    err, logs = fault(ModuleNotFoundError("No module named 'polars.lazy'", name="polars.lazy"))
    assert "The Python package polars is missing. Reinstall dialin" in err
    assert not logs


@pytest.mark.parametrize(
    "error", [MemoryError(), ImportError("libopenblas.so: failed to map segment from shared object: Cannot allocate memory")]
)
def test_memory_that_is_full_is_named_and_a_limit_of_the_shell_before_it(fault, monkeypatch, error):
    err, logs = fault(error)
    assert "Memory is full. Free memory" in err
    assert not logs
    monkeypatch.setattr(process_limits.resource, "getrlimit", lambda _: (1024**3, resource.RLIM_INFINITY))
    err, _ = fault(error)
    assert "ulimit -v limits address space to 1,024 MiB" in err


def test_no_more_threads_is_a_limit_of_the_machine(fault):
    err, logs = fault(RuntimeError("can't start new thread"))
    assert "allows no more threads" in err
    assert "ulimit -u" in err
    assert not logs


def test_a_path_of_no_users_directory_is_no_fault_of_dialin(fault):
    with pytest.raises(RuntimeError) as raised:
        Path("~no-such-user/my.cnf").expanduser()
    err, logs = fault(raised.value)
    assert "begins with ~ and the name of no user" in err
    assert not logs


# The last words

CHANGED = "NOT restored: mysql@9.7.4 at db1:3306: innodb_io_capacity is 2000 (was 200). Run: dialin restore"


@pytest.fixture
def changed(monkeypatch):
    """A server that is not restored."""
    monkeypatch.setitem(sys.modules, "dialin.servers.attached.still_changed", SimpleNamespace(last_words=lambda: [CHANGED]))


@pytest.mark.parametrize(
    "ending",
    [
        None,
        RuntimeError("inside"),
        RuntimeError("can't start new thread"),
        RecursionError(),
        MemoryError(),
        OSError(28, "No space left on device"),
        UserError("wrong"),
        ServerError("gone", "See it", "a log\nof two lines"),
        KeyboardInterrupt(),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"),
    ],
    ids=repr,
)
def test_the_last_words_of_every_ending_name_what_is_still_changed(changed, monkeypatch, tmp_path, capsys, ending):
    def end(*_args, **_more):
        if ending is not None:
            raise ending

    monkeypatch.setenv("DIALIN_HOME", str(tmp_path))
    monkeypatch.setattr(conduct, "show", end)
    monkeypatch.setattr(sys, "argv", ["dialin", "report", "x"])
    with pytest.raises(SystemExit):
        app.main()
    assert capsys.readouterr().err.splitlines()[-1] == CHANGED


def test_where_an_error_cannot_be_reported_the_last_words_are_said(changed, monkeypatch, tmp_path, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setenv("DIALIN_HOME", str(tmp_path))
    monkeypatch.setattr(conduct, "show", lambda *_, **__: 1 / 0)
    monkeypatch.setattr(app, "_fault", interrupted)
    monkeypatch.setattr(sys, "argv", ["dialin", "report", "x"])
    with pytest.raises(SystemExit) as ended:
        app.main()
    assert ended.value.code == 130
    assert CHANGED in capsys.readouterr().err


def test_a_stream_that_cannot_be_written_to_is_written_to_by_its_descriptor(changed, monkeypatch, capfd):
    monkeypatch.setattr(sys, "stderr", None)
    last_words.say()
    assert CHANGED in capfd.readouterr().err


def test_nothing_is_said_where_nothing_was_changed(monkeypatch, capfd):
    monkeypatch.delitem(sys.modules, "dialin.servers.attached.still_changed", raising=False)
    last_words.say()
    assert capfd.readouterr().err == ""


KILLED = f"""
import os, sys, types
from dialin.cli import last_words
sys.modules["dialin.servers.attached.still_changed"] = types.SimpleNamespace(last_words=lambda: [{CHANGED!r}])
with last_words.at_signals():
    os.kill(os.getpid(), int(sys.argv[1]))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_process_has_it_say_its_last_words(number):
    done = subprocess.run([sys.executable, "-c", KILLED, str(int(number))], capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (-number, CHANGED)


def test_a_signal_that_is_ignored_stays_so():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with last_words.at_signals():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)

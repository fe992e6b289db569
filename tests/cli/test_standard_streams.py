"""Standard streams that are closed, hung up, full, or of an old encoding."""

import json
import os
import pty
import subprocess
import sys

import pytest

from fixtures import example_studies, stored_study
from warm_start import START

PROTECT = "from dialin.cli.standard_streams import protect_standard_streams; protect_standard_streams()"
WRITES = """
import sys
from dialin.cli.standard_streams import protect_standard_streams
protect_standard_streams()
for line in range(100_000):
    print(line)
sys.stdout.flush()
print("still here", file=sys.stderr)
open(sys.argv[1], "w").write("done")
"""


def closed_pipe():
    """Return the writing end of a pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def run(*words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE):
    """Run dialin with these streams; its exit code, and what it said on standard error."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": stdout, "stderr": stderr}
    with START([sys.executable, "-m", "dialin", *words], **streams) as process:
        _, said = process.communicate(timeout=60)
    return process.returncode, said or b""


def shell(redirected, *command, **more):
    """Run dialin with redirections that only a shell can make, as in `dialin recipes >&-`."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirected}', "sh", sys.executable, "-m", "dialin", *command],
        check=False,
        timeout=60,
        capture_output=True,
        **more,
    )


@pytest.mark.parametrize("streams", [("stdout",), ("stdout", "stderr")])
def test_a_program_whose_reader_is_gone_runs_to_its_end(tmp_path, streams):
    ends = {name: closed_pipe() for name in streams}
    process = subprocess.run([sys.executable, "-c", WRITES, str(tmp_path / "done")], check=False, timeout=60, **ends)
    for end in ends.values():
        os.close(end)
    assert process.returncode == 0
    assert (tmp_path / "done").read_text() == "done"


@pytest.mark.parametrize("command", [["--help"], ["recipes"], ["sweep", "--help"]])
def test_a_command_that_only_prints_ends_quietly(command):
    writer = closed_pipe()
    code, said = run(*command, stdout=writer)
    os.close(writer)
    assert (code, said) == (0, b"")


@pytest.mark.parametrize(("study", "code", "streams"), [("winner", 0, ("stdout", "stderr")), ("inconclusive", 1, ("stdout",))])
def test_a_report_writes_its_files_and_keeps_its_exit_code_though_nobody_reads_on(tmp_path, study, code, streams):
    stored_study.keep(getattr(example_studies, study)(), tmp_path)
    ends = {"stdout": subprocess.DEVNULL} | {name: closed_pipe() for name in streams}
    ended, said = run("report", str(tmp_path), **ends)
    for name in streams:
        os.close(ends[name])
    assert ended == code
    assert (json.loads((tmp_path / "verdict.json").read_text())["verdict"] == "inconclusive") is (code == 1)
    assert "</html>" in (tmp_path / "report.html").read_text()
    assert b"Traceback" not in said


CLOSED = [">&-", "<&- >&- 2>&-"]


@pytest.mark.parametrize(
    ("command", "redirected"),
    [
        *((["recipes"], redirected) for redirected in (*CLOSED, "2>&-", ">&- 2>&-", "<&-")),
        *((["--version"], redirected) for redirected in CLOSED),
    ],
)
def test_streams_that_are_closed_from_the_start_do_no_harm(redirected, command):
    process = shell(redirected, *command)
    assert (process.returncode, process.stderr) == (0, b"")


def test_an_error_keeps_its_exit_code_where_standard_error_is_closed(tmp_path):
    process = shell("2>&-", "report", str(tmp_path))
    assert (process.returncode, process.stdout) == (2, b"")


def test_a_file_that_is_opened_later_never_takes_the_place_of_a_closed_stream(tmp_path):
    code = (
        f"{PROTECT}; import os, sys; file = open({str(tmp_path / 'file')!r}, 'w'); "
        "print('lost', flush=True); os.write(1, b'lost'); sys.exit(file.fileno() < 3)"
    )
    process = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", code], check=False, timeout=60)
    assert process.returncode == 0
    assert (tmp_path / "file").read_bytes() == b""


def test_colours_and_progress_stay_on_a_terminal():
    code = f"{PROTECT}; import sys; sys.exit(not sys.stdout.isatty())"
    leader, follower = os.openpty()
    process = subprocess.run([sys.executable, "-c", code], stdout=follower, check=False, timeout=60)
    os.close(leader)
    os.close(follower)
    assert process.returncode == 0


def test_a_terminal_that_is_hung_up_ends_nothing(tmp_path):
    """The terminal goes while the program runs; like `nohup`, the program ignores the signal and gets errors of its writes."""
    ready, go = tmp_path / "ready", tmp_path / "go"
    code = f"""
import os, signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_IGN)
open({str(ready)!r}, "w").close()
while not os.path.exists({str(go)!r}):
    time.sleep(0.01)
sys.argv = ["dialin", "recipes"]
from dialin.cli.app import main
main()
"""
    child, leader = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", code])
    while not ready.exists():
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
    os.close(leader)
    go.touch()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_output_that_a_full_disk_refuses_is_an_error_with_its_remedy():
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        code, said = run("recipes", stdout=full)
    assert code == 1
    assert said.decode().startswith("dialin: standard output: No space left on device. ")
    assert said.count(b"\n") == 1


def test_messages_that_a_full_disk_refuses_end_nothing(tmp_path):
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        code, _ = run("report", str(tmp_path), stderr=full)
    assert code == 2


@pytest.mark.parametrize(
    "variables", [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "latin-1"}]
)
def test_every_character_can_be_printed_in_an_old_encoding(variables):
    process = subprocess.run(
        [sys.executable, "-c", WRITES.replace("range(100_000)", r"['\u2212', '\udcff']"), os.devnull],
        env={**os.environ, **variables},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (process.returncode, process.stdout) == (0, rb"\u2212" + b"\n" + rb"\udcff" + b"\n")


def test_ctrl_c_while_a_command_is_loaded_is_said():
    code = """
import importlib, os, signal, sys
from dialin.cli import app, commands
commands.import_module = lambda name: os.kill(os.getpid(), signal.SIGINT) or importlib.import_module(name)
sys.argv = ["dialin", "recipes"]
app.main()
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)
    assert (process.returncode, process.stderr) == (130, b"Stopped\n")

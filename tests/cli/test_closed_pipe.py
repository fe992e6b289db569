"""Output into a pipe whose reader has gone."""

import os
import subprocess
import sys

import pytest

WRITES = """
import sys
from dialin.cli.closed_pipe import outlive_readers
outlive_readers()
for line in range(100_000):
    print(line)
sys.stdout.flush()
print("still here", file=sys.stderr)
open(sys.argv[1], "w").write("done")
"""


def closed_pipe():
    """The writing end of a pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize("streams", [("stdout",), ("stdout", "stderr")])
def test_what_runs_goes_on_to_its_end(tmp_path, streams):
    ends = {name: closed_pipe() for name in streams}
    process = subprocess.run([sys.executable, "-c", WRITES, str(tmp_path / "done")], check=False, timeout=60, **ends)
    for end in ends.values():
        os.close(end)
    assert process.returncode == 0
    assert (tmp_path / "done").read_text() == "done"


@pytest.mark.parametrize("command", [["--help"], ["recipes"], ["sweep", "--help"]])
def test_a_command_that_only_prints_ends_quietly(command):
    writer = closed_pipe()
    process = subprocess.run(
        [sys.executable, "-m", "dialin", *command], stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60
    )
    os.close(writer)
    assert (process.returncode, process.stderr) == (0, b"")


def test_colours_and_progress_stay_on_a_terminal():
    code = "import sys; from dialin.cli.closed_pipe import outlive_readers as o; o(); sys.exit(not sys.stdout.isatty())"
    leader, follower = os.openpty()
    process = subprocess.run([sys.executable, "-c", code], stdout=follower, check=False, timeout=60)
    os.close(leader)
    os.close(follower)
    assert process.returncode == 0

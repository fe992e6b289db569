import os
import subprocess
import sys

import pytest

from dialin.dashboard import page_process
from dialin.errors import DialinError

PROGRAM = "import os, sys, time\nfrom dialin.dashboard import page_process\n"


def program(*lines):
    return [sys.executable, "-c", PROGRAM + "\n".join(lines)]


def test_the_link_is_taken_over_and_the_page_stands_alone_from_then_on():
    process, link = page_process.start(
        program(
            "page_process.publish_link('http://127.0.0.1:1/?t=x')",
            "print('nobody reads this')",
            "sys.exit(os.getsid(0) == os.getpid())",
        )
    )
    assert link == "http://127.0.0.1:1/?t=x"
    assert process.wait(30) == 1, "it has a session of its own and its streams are nobody's"


def test_a_page_that_does_not_begin_is_reported_in_its_own_words():
    with pytest.raises(DialinError, match="The live page did not start: it cannot be"):
        page_process.start(program("print('dialin: it cannot be', file=sys.stderr)"))


def test_a_page_that_says_nothing_in_time_is_given_up():
    with pytest.raises(DialinError, match="it printed nothing"):
        page_process.start(program("time.sleep(600)"), patience=0)


def test_it_is_this_very_dialin_that_serves_the_page(tmp_path):
    words = page_process.command(tmp_path)
    assert words[0] == sys.executable
    assert os.fspath(tmp_path) in words


def test_modules_in_the_current_directory_are_not_run(tmp_path):
    (tmp_path / "typing.py").write_text("raise SystemExit(3)")
    words = page_process.command(tmp_path)
    python = words[: words.index("-m")]
    found = subprocess.run([*python, "-m", "dialin.errors"], cwd=tmp_path, check=False, capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, "")


def test_a_page_that_cannot_be_started_at_all_is_reported_too(tmp_path):
    with pytest.raises(
        DialinError, match=r"The live page did not start: No such file or directory\. The study continues without"
    ):
        page_process.start([str(tmp_path / "none")])

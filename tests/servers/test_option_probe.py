"""Running a server's help mode: a shell script stands for the server."""

import pytest

from dialin.model.build import Build, Vendor
from dialin.servers import option_probe

TABLE = """cat <<'END'
  --read-buffer-size=#  A buffer.

Variables (--variable-name=value)
--------------------- ----------
read-buffer-size      8192

END
"""


@pytest.fixture
def probing(tmp_path, clock):
    def make(script):
        binary = tmp_path / "mysqld"
        binary.write_text(f"#!/bin/sh\n{script}")
        binary.chmod(0o755)
        return option_probe.ask_of(Build(Vendor.ORACLE, (5, 6, 24), binary, basedir=tmp_path), clock)

    return make


def test_the_help_mode_gets_the_options_a_private_directory_and_no_option_file(probing, tmp_path):
    reply = probing(f'echo "$@" > {tmp_path}/words\n{TABLE}')({"read_buffer_size": 0})
    assert reply.complete
    assert reply.values == {"read_buffer_size": "8192"}
    words = (tmp_path / "words").read_text().split()
    assert words[0] == "--no-defaults"
    assert "--loose-read-buffer-size=0" in words
    assert f"--basedir={tmp_path}" in words
    assert {"--verbose", "--help"} <= set(words)
    directory = next(word.partition("=")[2] for word in words if word.startswith("--datadir="))
    assert not (tmp_path / directory).exists(), "it is removed afterwards"


@pytest.mark.parametrize("script", ["kill -SEGV $$", "exit 1", f"{TABLE}\nexit 1", "exec /nowhere"])
def test_a_help_mode_that_fails_reports_nothing(probing, script):
    reply = probing(script)({})
    assert not reply.complete
    assert reply.answered, "a crash is an answer"


def test_a_binary_that_is_not_there_reports_nothing(tmp_path, clock):
    build = Build(Vendor.ORACLE, (5, 6, 24), tmp_path / "none")
    assert not option_probe.ask_of(build, clock)({}).complete


def test_a_help_mode_that_hangs_is_ended(probing, monkeypatch):
    monkeypatch.setattr(option_probe, "_TIMEOUT", 0.2)
    reply = probing("exec sleep 60")({})
    assert (reply.complete, reply.answered) == (False, False)


def test_a_build_that_takes_too_long_in_all_is_asked_nothing_more(probing, clock, tmp_path):
    ask = probing(f"echo ran >> {tmp_path}/runs\n{TABLE}")
    assert ask({}).complete
    clock.sleep(option_probe._BUDGET + 1)
    reply = ask({})
    assert (reply.complete, reply.answered) == (False, False)
    assert (tmp_path / "runs").read_text() == "ran\n"

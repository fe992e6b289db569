"""What the tests of commands share."""

import sys

import pytest

from dialin.cli import app


@pytest.fixture
def dialin(monkeypatch, tmp_path, capsys):
    """Call dialin with words, in an empty directory and home; returns its exit code and what it printed to both streams."""
    monkeypatch.setenv("DIALIN_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["dialin", *words])
        with pytest.raises(SystemExit) as ended:
            app.main()
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return call

import sys

import pytest

from dialin.cli import app, conduct


def test_a_fault_of_dialin_is_one_line_and_its_traceback_goes_to_a_file(monkeypatch, tmp_path, capsys):
    def broken(*_args, **_more):
        raise RuntimeError("inside")

    monkeypatch.setenv("DIALIN_HOME", str(tmp_path))
    monkeypatch.setattr(conduct, "show", broken)
    monkeypatch.setattr(sys, "argv", ["dialin", "report", "x"])
    with pytest.raises(SystemExit) as ended:
        app.main()
    err = capsys.readouterr().err
    assert ended.value.code == 1
    assert "Traceback" not in err
    (log,) = tmp_path.glob("fault-*.log")
    assert str(log) in err
    assert "RuntimeError: inside" in log.read_text()

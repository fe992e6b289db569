import resource
import sys

import pytest

from dialin.cli import app, conduct
from dialin.servers import process_limits


@pytest.fixture
def fault(monkeypatch, tmp_path, capsys):
    """Returns a function that has `dialin report` raise an error; gives standard error and the faults that were written."""

    def raised(error: Exception) -> tuple[str, list[str]]:
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

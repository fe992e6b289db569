"""What dialin knows of its load driver is what the driver's own source says."""

import os
import subprocess
import tomllib
from pathlib import Path

import pytest

import dialin
from dialin.workloads.dialin_load_lines import STREAM
from dialin.workloads.load_binary import LOAD_WORKLOADS

CRATE = Path(__file__).parents[1] / "crates" / "dialin-load"


def test_dialin_and_its_load_driver_have_one_version():
    manifest = tomllib.loads((CRATE / "Cargo.toml").read_text())
    assert manifest["package"]["version"] == dialin.__version__


def test_the_workloads_that_the_driver_ships_are_known_by_name():
    shipped = {path.stem for path in (CRATE / "workloads").glob("*.toml")}
    assert sorted({*shipped, "noop"}) == sorted(LOAD_WORKLOADS)


def test_dialin_reads_the_stream_that_its_load_driver_writes():
    source = (CRATE / "src" / "record" / "start.rs").read_text(encoding="utf-8")
    assert f'pub const SCHEMA: &str = "{STREAM}";' in source


@pytest.mark.parametrize(
    ("cargo", "says"),
    [
        ("echo 'error: no default toolchain' >&2; echo 'stack backtrace: 0: rustup' >&2; exit 1", "rustup default stable"),
        ("echo 'cargo 1.20.0 (abc 2017)'", "cargo is 1.20.0"),
        ("echo 'cargo 99.0.0'; [ $1 = --version ] || { echo 'error: no linker here' >&2; exit 101; }", "no linker here"),
    ],
)
def test_a_cargo_that_cannot_build_the_driver_costs_one_line(tmp_path, cargo, says):
    program = tmp_path / "cargo"
    program.write_text(f"#!/bin/sh\n{cargo}\n")
    program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    driver = CRATE.parents[1] / "scripts" / "driver.sh"
    done = subprocess.run([driver, "build"], capture_output=True, text=True, env={**os.environ, "PATH": path}, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = done.stdout.splitlines()
    assert "sysbench applies the loads" in line
    assert says in line
    # A wheel is not made without the driver: it begins with the lock file.
    refused = subprocess.run([driver, "lock"], capture_output=True, text=True, env={**os.environ, "PATH": path}, timeout=60)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert says in refused.stderr

"""What dialin knows of its load driver is what the driver's own source says."""

import tomllib
from pathlib import Path

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

"""What benchmarks/driver.py computes and writes, and how it runs dialin-load."""

from __future__ import annotations

import argparse
import importlib
import math
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def driver() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        yield importlib.import_module("driver")


def test_an_estimate_is_the_geometric_mean_with_students_interval_of_logarithms(driver: ModuleType) -> None:
    # Logarithms -ln 2, 0 and ln 2: mean 0, standard error ln 2 / sqrt 3, and 4.30265 is Student's 97.5 % at 2 degrees.
    half = 4.302653 * math.log(2) / math.sqrt(3)
    assert driver.estimate([0.5, 1, 2]) == pytest.approx([1, math.exp(-half), math.exp(half)], rel=1e-4)


def test_ratios_pair_the_slices_of_a_round(driver: ModuleType) -> None:
    # The machine was twice as slow in the second round: unpaired, the interval would be wide.
    rounds = [
        {name: driver.Slice(tps / slow, cpu_us * slow, 0.01) for name, (tps, cpu_us) in slices.items()}
        for slow in (1, 2, 1, 2)
        for slices in [{"sysbench": (100, 10), "today": (120, 5), "other": (60, 6)}]
    ]
    figures = driver.summarize(rounds, ["today", "other"])
    assert figures["today"]["to_sysbench"] == {"cpu": [0.5] * 3, "throughput": [1.2] * 3}
    assert figures["other"]["to_first_arm"] == {"cpu": [1.2] * 3, "throughput": [0.5] * 3}
    assert figures["today"]["cpu_us"][1] < figures["today"]["cpu_us"][0] == pytest.approx(5 * math.sqrt(2), rel=1e-4)
    assert "to_first_arm" not in figures["today"]
    with_bare = driver.summarize([one | {"bare loop": driver.Slice(150, 4, 0.01)} for one in rounds[:1] * 2], ["today"])
    assert with_bare["bare loop"]["to_first_arm"] == {"cpu": [0.8] * 3, "throughput": [1.25] * 3}
    table = driver.make_table({"read_write/16": figures}, ["today", "other"]).splitlines()
    assert {line.count("|") for line in table} == {table[0].count("|")}
    assert table[3].startswith("| oltp_read_write | 16 | today | 0.50 (0.50 to 0.50) | 1.20 (1.20 to 1.20) | – | – | 7.1 (")


def test_an_arm_is_options_or_a_command_with_options(driver: ModuleType) -> None:
    parse = driver.Arm.parse
    assert parse("today:") == driver.Arm("today", (), ())
    assert parse("one loop: --load-threads 1") == driver.Arm("one loop", (), ("--load-threads", "1"))
    batch = parse("batch: chrt -b 0 dialin-load --gather off")
    assert batch == driver.Arm("batch", ("chrt", "-b", "0", "dialin-load"), ("--gather", "off"))
    assert parse("lto: 'a b/dialin-load'").command == ("a b/dialin-load",)
    for wrong in ("--load-threads 1", ": --load-threads 1", "sysbench:", "bare loop:", "batch: chrt -b 0"):
        with pytest.raises(argparse.ArgumentTypeError):
            parse(wrong)


def test_the_program_of_an_arm_adds_options_to_run_alone(driver: ModuleType, tmp_path: Path) -> None:
    binary = tmp_path / "with space" / "dialin-load"
    binary.parent.mkdir()
    binary.write_text('#!/bin/sh\necho "$NAME:" "$@"\n', encoding="utf-8")
    binary.chmod(0o700)
    arm = driver.Arm.parse(f"a/b: env 'NAME=one two' '{binary}' --load-threads 1 --gather on")
    program = arm.write_program(tmp_path)

    def call(*words: str) -> str:
        return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout

    assert call("run", "oltp_read_write", "--json") == "one two: run oltp_read_write --json --load-threads 1 --gather on\n"
    assert call("--version") == "one two: --version\n"


def test_a_cell_that_cannot_be_run_is_refused(driver: ModuleType) -> None:
    assert str(driver.Cell.parse("read_only/8")) == "read_only/8"
    for wrong in ("read_only", "read_only/0", "read_only/100000", "insert/8", "nothing/8"):
        with pytest.raises(argparse.ArgumentTypeError):
            driver.Cell.parse(wrong)


def test_a_table_takes_the_place_between_the_marks_of_its_name(driver: ModuleType) -> None:
    page = "a\n<!-- driver x: begin -->\n\nold\n\n<!-- driver x: end -->\nb\n"
    assert driver.insert_into_page(page, "x", "new") == page.replace("old", "new")
    assert driver.insert_into_page(page, "y", "new") == page


def test_every_stored_name_of_the_page_has_both_marks(driver: ModuleType) -> None:
    page = driver.PAGE.read_text(encoding="utf-8")
    for name in ("table", "choice", "tries", "record"):
        assert driver.insert_into_page(page, name, "new").count("-->") == page.count("-->"), name

"""The profile of a trial in a study's directory."""

from dataclasses import replace

import polars as pl
import pytest

from dialin.store import profile_file
from fixtures.profiles import PROFILE, TRACED


def test_a_profile_is_read_as_it_was_written_with_slices_that_have_no_sample(tmp_path):
    path = tmp_path / "profiles" / "trial-7.parquet"
    profile_file.write(path, PROFILE)
    assert profile_file.read(path) == PROFILE
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("content", [None, b"", b"PAR1 and nothing else"])
def test_a_file_that_is_missing_or_damaged_is_no_profile(tmp_path, content):
    path = tmp_path / "trial-7.parquet"
    if content is not None:
        path.write_bytes(content)
    assert profile_file.read(path) is None


def test_waits_and_calls_are_read_as_they_were_written_or_why_there_are_none(tmp_path):
    path = tmp_path / "profiles" / "trial-7.parquet"
    profile_file.write(path, TRACED)
    assert profile_file.read(path) == TRACED
    lacking = replace(PROFILE, untraced="No permission; to trace")
    profile_file.write(path, lacking)
    assert profile_file.read(path) == lacking


def test_a_profile_of_before_waits_were_traced_is_read(tmp_path):
    path = tmp_path / "trial-7.parquet"
    times = [(number, one.began, one.ended, 0.002) for number, one in enumerate(PROFILE.slices)]
    rows = [(*time, "", "", 0) for time in times]
    rows += [
        (*times[number], stack.kind.value, ";".join(stack.frames), count)
        for stack in PROFILE.stacks
        for number, count in enumerate(stack.samples)
        if count
    ]
    columns = ["slice", "began", "ended", "seconds_per_sample", "thread", "stack", "samples"]
    pl.DataFrame(rows, schema=columns, orient="row").write_parquet(path)
    assert profile_file.read(path) == PROFILE


def test_the_name_of_a_function_is_in_the_file_once_however_many_rows_there_are(tmp_path):
    path = tmp_path / "trial-7.parquet"
    frames = [("main", f"function_{number // 100}", f"function_{number % 100}") for number in range(10_000)]
    many = replace(PROFILE, stacks=tuple(replace(PROFILE.stacks[0], frames=one, samples=(1, 2, 3)) for one in frames))
    profile_file.write(path, many)
    assert profile_file.read(path) == many
    assert pl.read_parquet(path)["stack"].str.contains("function_7$").sum() == 1


def test_a_function_is_in_memory_once_however_many_stacks_have_it(tmp_path):
    path = tmp_path / "trial-7.parquet"
    profile_file.write(path, TRACED)
    read = profile_file.read(path)
    assert len({id(stack.frames[0]) for part in (read, read.waits) for stack in part.stacks}) == 1


def test_folded_stacks_begin_with_the_kind_of_thread_and_end_with_the_number_of_samples():
    assert profile_file.folded(PROFILE).splitlines() == [
        "connections;main;do_command;fsync;do_fsync_[k] 5",
        "redo log;main;log_writer 2",
    ]


@pytest.mark.parametrize(
    "altered",
    [
        pl.lit(None, pl.Int64).alias("samples"),
        pl.lit("many").alias("samples"),
        pl.lit(-1).alias("samples"),
        pl.lit(-1).alias("slice"),
        pl.lit(float("inf")).alias("ended"),
        pl.lit(None, pl.String).alias("stack"),
        pl.lit("nobody").alias("thread"),
        pl.lit("999999").alias("stack"),
    ],
    ids=str,
)
def test_a_file_that_somebody_altered_is_no_profile(tmp_path, altered):
    path = tmp_path / "trial-7.parquet"
    profile_file.write(path, TRACED)
    pl.read_parquet(path).with_columns(altered).write_parquet(path)
    assert profile_file.read(path) is None

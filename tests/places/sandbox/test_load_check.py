"""What the check of a load file says beside the samples that it reads."""

import pytest

from dialin.model.workload import WorkloadSpec
from dialin.places.sandbox import load_check
from dialin.workloads.command.command import Command


@pytest.mark.parametrize(
    ("figure", "usual", "rates", "says"),
    [
        ("count", 1.0, [100, 102, 99, 104, 101], []),
        (
            "count",
            10.0,
            [100, 102, 99, 104, 101],
            ["It reports about every 10.0 s"],
        ),
        ("count", 1.0, [100, 200, 300, 400, 500], ["Each sample has more than the one before"]),
        ("rate", 1.0, [100, 200, 300, 400, 500], []),
        ("count", 1.0, [100, 101, 102, 103, 104], []),
    ],
)
def test_what_seems_wrong_in_a_file_is_said(tmp_path, figure, usual, rates, says):
    path = tmp_path / "mine.toml"
    path.write_text(f"name = 'it'\nrun = ['true']\noutput = {{lines = '(?P<{figure}>[0-9]+)'}}\n")
    doubts = [*load_check._doubts(Command(WorkloadSpec(name=str(path), kind="command")), usual, rates)]
    assert [doubt.startswith(words) for doubt, words in zip(doubts, says, strict=True)] == [True] * len(says)

"""What `dialin capture show` says of a capture, from its summary, the driver's own `show` says too, from the statements."""

import json
import subprocess
from pathlib import Path

import pytest

from dialin.workloads import load_binary

SAMPLES = Path(__file__).parents[2] / "crates" / "dialin-load" / "tests" / "driver"
LOGS = sorted([*SAMPLES.glob("capture/*.log"), *SAMPLES.glob("logs/*.log"), *SAMPLES.glob("capture/cases/**/*.log")])

pytestmark = pytest.mark.skipif(load_binary.find() is None, reason="dialin-load is not built")


@pytest.mark.parametrize("log", LOGS, ids=lambda log: str(log.relative_to(SAMPLES)))
def test_the_summary_and_the_plan_of_a_replay_have_the_same_numbers(log, tmp_path):
    binary, capture = load_binary.need(), tmp_path / "made.capture"
    made = subprocess.run([binary, "capture", log, "--out", capture], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(made.stderr)
    summary = json.loads((capture / "summary.json").read_text())
    shown = subprocess.run([binary, "show", f"capture:{capture}"], capture_output=True, text=True)
    if shown.returncode:
        assert summary["capture"]["lack"] or summary["capture"]["sampling"] or not summary["transactions"], shown.stderr
        return
    plan = json.loads(shown.stdout)
    assert plan["not_replayed"] == {each["reason"]: each["statements"] for each in summary["not_replayed"]}
    assert plan["sessions"] == summary["sessions"]
    assert plan["transactions"] == sum(shape["transactions"] for shape in summary["transactions"])

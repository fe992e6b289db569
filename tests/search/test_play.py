import io
import json
import math

import pytest

from dialin.errors import UserError
from dialin.search.play import play

HELLO = {
    "space": [
        {"name": "pool", "type": "int", "min": 1, "max": 1024, "log": True, "static": True, "default": 4, "rule": 200},
        {"name": "word", "type": "enum", "values": ["a", "b"], "static": False, "default": "a"},
        {"name": "limit", "type": "int", "min": 1, "max": 100, "log": False, "special": [0], "static": False, "default": 0},
    ],
    "minutes": 30,
    "switch": {"static": 60, "dynamic": 8},
    "seconds": [10, 300],
    "ram": 2**30,
    "memory": {"pool": 2**20},
}


class Other:
    """The other side: answers each run that was written."""

    def __init__(self, out: io.StringIO, hello: dict = HELLO) -> None:
        self.out, self.left, self.hello = out, 60.0 * hello["minutes"], hello

    def __iter__(self):
        yield json.dumps({"hello": self.hello})
        while True:
            last = json.loads([line for line in self.out.getvalue().splitlines() if '"run"' in line][-1])
            run = last["run"]
            self.left -= run["seconds"] + 20
            gain = 0.05 * math.log(run["setting"].get("pool", 4) / 4)
            yield json.dumps({"ok": True, "throughput": 1000 * math.exp(gain), "life": 1, "cost": 1, "left": self.left})


def played(hello: dict = HELLO) -> list[dict]:
    out = io.StringIO()
    play(Other(out, hello), out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_session_runs_to_its_end_within_the_budget() -> None:
    lines = played()
    runs = [line["run"] for line in lines if "run" in line]
    assert 30 * 60 * 0.5 < sum(run["seconds"] + 20 for run in runs) <= 30 * 60
    assert all(10 <= run["seconds"] <= 300 for run in runs)
    done = lines[-1]["done"]
    assert done["verdict"] == "gain"
    assert done["setting"]["pool"] > 100
    low, high = done["interval"]
    assert low <= done["gain"] <= high
    assert done["gain"] == pytest.approx(math.exp(0.05 * math.log(done["setting"]["pool"] / 4)) - 1, abs=0.01)
    assert any("best" in line for line in lines)


def test_it_ends_when_the_other_side_says_so() -> None:
    out = io.StringIO()
    play([json.dumps({"hello": HELLO}), '{"over": true}'], out)
    last = json.loads(out.getvalue().splitlines()[-1])
    done = {"setting": {}, "gain": 0.0, "interval": [None, None], "verdict": "inconclusive", "best": {}, "carries": {}}
    assert last == {"done": done}


@pytest.mark.parametrize(
    "line", ["", "{}", "[1]", "no JSON", "[" * 9999, '{"hello": {}}', '{"hello": {"space": [{"name": "x"}], "minutes": 1}}']
)
def test_a_hello_that_is_none_is_refused(line: str) -> None:
    with pytest.raises(UserError):
        play([line], io.StringIO())

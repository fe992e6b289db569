"""A tuner of any system: asked and told without a server."""

import math
import re
from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.search.system_tuner import SystemTuner, read_dimension, read_memory

SPACE = [
    {"name": "pool", "min": 2**20, "max": 2**30, "static": True, "default": 2**22},
    {"name": "word", "values": ["a", "b"], "default": "a"},
    {"name": "share", "type": "float", "min": 0, "max": 1, "default": 0.5},
    {"name": "flag", "type": "bool", "default": "OFF"},
]


def session(tuner: SystemTuner, *, dies_of: str = "") -> list[dict]:
    """Play a session in which the pool alone does anything; a server with this word for `word` does not start."""
    settings = []
    while (asked := tuner.ask()) is not None:
        setting, seconds = asked
        settings.append(setting)
        if dies_of and setting.get("word") == dies_of:
            tuner.tell(None, cost=90)
        else:
            tuner.tell(1000 * math.exp(0.05 * math.log(setting.get("pool", 2**22) / 2**22)), cost=seconds + 20, life="a start")
    return settings


def test_asked_and_told_it_finds_and_proves_what_is_there() -> None:
    tuner = SystemTuner(SPACE, minutes=30)
    settings = session(tuner)
    result = tuner.result()
    assert settings[0] == {}, "the defaults come first"
    assert result["verdict"] == "gain"
    assert list(result["setting"]) == list(result["carries"]) == ["pool"]
    low, high = result["interval"]
    assert low <= math.exp(0.05 * math.log(result["setting"]["pool"] / 2**22)) - 1 <= high
    assert result["carries"]["pool"][1] > 0
    assert 0 <= tuner.seconds_left < 120


def test_a_setting_without_a_figure_is_tried_twice_at_most() -> None:
    settings = session(SystemTuner(SPACE, minutes=30), dies_of="b")
    assert sum(setting.get("word") == "b" for setting in settings) <= 3


def test_values_have_the_types_that_were_given() -> None:
    settings = session(SystemTuner(SPACE, minutes=20))
    assert {type(one["pool"]) for one in settings if "pool" in one} == {int}
    assert {type(one["share"]) for one in settings if "share" in one} <= {int, float}
    assert all(2**20 <= one.get("pool", 2**22) <= 2**30 for one in settings)
    assert {one["flag"] for one in settings if "flag" in one} == {"ON"}


def test_the_same_seed_and_answers_ask_the_same_and_another_seed_something_else() -> None:
    first, again, other = (session(SystemTuner(SPACE, minutes=15, seed=seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_asked_twice_it_answers_the_same_and_told_unasked_it_refuses() -> None:
    tuner = SystemTuner(SPACE, minutes=10)
    assert tuner.ask() == tuner.ask()
    tuner.tell(1.0, cost=20)
    with pytest.raises(UserError, match="No trial was asked for"):
        tuner.tell(1.0, cost=20)


@pytest.mark.parametrize("one", [{"name": "x"}, {"name": "x", "default": 1, "min": 3, "max": 3}, {"min": 1, "max": 2}])
def test_a_variable_that_is_incomplete_is_refused(one: dict) -> None:
    with pytest.raises(UserError):
        SystemTuner([one], minutes=10)


def test_the_code_of_the_document_runs_as_it_stands_there() -> None:
    text = (Path(__file__).parents[2] / "docs" / "tune.md").read_text()
    code = text[text.index("## The search as a library") :]
    block = re.search(r"```python\n(.*?)```", code, flags=re.DOTALL)[1]
    names: dict = {}
    exec(compile(block, "tune.md", "exec"), names)
    assert names["result"]["verdict"] == "gain"


def test_a_default_outside_of_the_range_is_a_category() -> None:
    read = read_dimension({"name": "x", "type": "int", "min": 1, "max": 100, "default": -1, "rule": "AUTO"})
    assert read.special == (-1,)
    assert read.rule is None
    assert read.log


def test_memory_of_a_hello() -> None:
    named = read_memory({"pool": 1, "sort": 16}, 100.0)
    assert named is not None
    assert named.factors == {"pool": 1, "sort": 16}
    assert named.limit == pytest.approx(92)
    listed = read_memory(["pool"], 100.0)
    assert listed is not None
    assert listed.factors == {"pool": 1}
    assert read_memory({"pool": 1}, None) is None
    with pytest.raises(UserError):
        read_memory("pool + rest", 100.0)

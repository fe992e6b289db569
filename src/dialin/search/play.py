"""A search against anything that answers JSON lines: `python -m dialin.search.play`; no server is needed.

It reads `{"hello": {...}}`, then writes `{"run": {"setting": {...}, "seconds": 15}}` and reads `{"ok", "throughput", "life",
"cost", "left"}` until the budget is over or `{"over": true}` comes. `{"best": {...}}` stands between where the best setting
changed; the last line is `{"done": {"setting", "gain", "interval", "verdict"}}`. Settings name what differs from the
defaults. A
gain is a fraction of the baseline's throughput: 0.35 is 35 % more.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from dialin.errors import UserError
from dialin.model.dimension import Dimension
from dialin.model.setting import Value, same_value
from dialin.model.tune import MemoryFormula
from dialin.model.verdict import TuneOutcome
from dialin.search.constraints import MEMORY_SHARE, SERVER_BYTES, Constraints
from dialin.search.space import Space, is_log_range
from dialin.search.trial_records import Options, Result, TrialOutcome
from dialin.search.tuner import Tuner

_FRACTIONS = ("float", "double", "real", "numeric", "decimal")


def read_dimension(facts: Mapping[str, Any]) -> Dimension:
    """Read one variable of a hello.

    Raises:
        KeyError: it lacks a name, a default, or both a range and values.
        ValueError: its range holds no two values.
    """
    name, default = str(facts["name"]), facts["default"]
    kind = str(facts.get("type") or "").lower()
    values = tuple(facts.get("values") or (("OFF", "ON") if kind.startswith("bool") and facts.get("max") is None else ()))
    special = tuple(facts.get("special") or ()) if not isinstance(facts.get("special"), (int, str)) else (facts["special"],)
    static = bool(facts.get("static"))
    if values:
        values = _with(values, default)
        rule = facts.get("rule")
        known = rule is not None and any(same_value(rule, value) for value in values)
        return Dimension(name, values=values, static=static, default=default, rule=rule if known else None)
    low, high = float(facts["min"]), float(facts["max"])
    special = tuple(value for value in special if isinstance(value, str) or not low <= value <= high)
    if isinstance(default, str) or not low <= default <= high:
        special = _with(special, default)
    log = bool(facts["log"]) if facts.get("log") is not None else is_log_range(low, high)
    whole = kind not in _FRACTIONS and low.is_integer() and high.is_integer()
    rule = facts.get("rule")
    if isinstance(rule, str) and not any(same_value(rule, value) for value in special):
        rule = None
    return Dimension(
        name, low, high, log=log and low > 0, step=1 if whole else 0, special=special, static=static, default=default, rule=rule
    )


def _with(values: tuple[Value, ...], one: Value) -> tuple[Value, ...]:
    return values if any(same_value(one, value) for value in values) else (*values, one)


def read_memory(facts: object, ram: float | None) -> MemoryFormula | None:
    """Read what a hello says of memory: bytes by variable, e.g. `{"pool": 1, "sort_buffer": 16}`; None where it says nothing.

    Also understood: a list of names, each of which counts its bytes once, and a mapping with `constant` and `factors`.
    """
    if not ram or not facts:
        return None
    constant = SERVER_BYTES
    if isinstance(facts, Mapping) and isinstance(facts.get("factors"), Mapping):
        constant, facts = float(facts.get("constant", constant)), facts["factors"]
    if isinstance(facts, Mapping):
        factors = {str(name): float(factor) for name, factor in facts.items() if isinstance(factor, (int, float))}
    elif isinstance(facts, list):
        factors = {name: 1.0 for name in facts if isinstance(name, str)}
    else:
        raise UserError("The memory of the hello is not understood", 'Give bytes by variable, e.g. {"pool": 1}')
    return MemoryFormula(constant, factors, MEMORY_SHARE * float(ram))


def read_hello(facts: Mapping[str, Any], seed: int = 0) -> Tuner:
    """Return the tuner that a hello asks for.

    Raises:
        UserError: the hello is incomplete.
    """
    try:
        space = Space(tuple(read_dimension(one) for one in facts["space"]))
        minutes = float(facts["minutes"])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"The hello cannot be used: {error}", "See docs/tune.md for the protocol") from error
    shortest, longest = facts.get("seconds") or (10, 300)
    switch = facts.get("switch") or {}
    usual = Options(minutes)
    options = Options(
        minutes,
        search_seconds=min(max(usual.search_seconds, shortest), longest),
        proof_seconds=min(max(usual.proof_seconds, shortest), longest),
        start_seconds=float(switch.get("static", usual.start_seconds)),
        set_seconds=float(switch.get("dynamic", usual.set_seconds)),
    )
    return Tuner(space, Constraints(memory=read_memory(facts.get("memory"), facts.get("ram"))), options, seed)


def done(result: Result) -> dict[str, Any]:
    """Return the last line: what is recommended and its gain; nothing gained is 0, within what fresh trials allow."""
    low, high = (None, None) if result.gain is None else (result.gain.low, result.gain.high)
    gain = 0.0 if result.gain is None else result.gain.mean - 1
    interval = [None if low is None else low - 1, None if high is None else high - 1]
    if result.outcome is not TuneOutcome.GAIN:
        gain = 0.0
        interval = [
            None if interval[0] is None else min(interval[0], 0.0),
            None if interval[1] is None else max(interval[1], 0.0),
        ]
    return {"setting": dict(result.setting), "gain": gain, "interval": interval, "verdict": str(result.outcome)}


def play(lines: Iterable[str], out: TextIO, seed: int = 0) -> None:
    """Read the other side's lines and write ours, until the search is done.

    Raises:
        UserError: a line is not what the protocol asks for.
    """

    def write(message: Mapping[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    answers = (_object(line) for line in lines if line.strip())
    hello = next(answers, {}).get("hello")
    if not isinstance(hello, Mapping):
        raise UserError('The first line is not {"hello": {...}}', "See docs/tune.md for the protocol")
    tuner = read_hello(hello, seed)
    best: dict[str, Value] = {}
    while (ask := tuner.ask()) is not None:
        write({"run": {"setting": dict(ask.setting), "seconds": ask.seconds}})
        answer = next(answers, {"over": True})
        if answer.get("over"):
            break
        cost = float(answer.get("cost") or 0.0)
        if (left := answer.get("left")) is not None:
            cost = max(0.0, tuner.seconds_left - float(left))
        throughput = float(answer.get("throughput") or 0.0)
        tuner.tell(TrialOutcome(ask, bool(answer.get("ok")), throughput, _life(answer), cost))
        if (now := tuner.best()) != best:
            best = now
            write({"best": best})
    write({"done": done(tuner.result())})


def _life(answer: Mapping[str, Any]) -> int:
    try:
        return int(answer.get("life") or 0)
    except (TypeError, ValueError):
        return zlib.crc32(str(answer["life"]).encode())


def _object(line: str) -> Mapping[str, Any]:
    try:
        read = json.loads(line)
    except ValueError:
        raise UserError("A line is not JSON", "See docs/tune.md for the protocol") from None
    if not isinstance(read, dict):
        raise UserError("A line is not a JSON object", "See docs/tune.md for the protocol")
    return read


def main() -> int:
    try:
        play(sys.stdin, sys.stdout)
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return int(error.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A search against anything that answers JSON lines: `python -m dialin.search.play`; no server is needed.

It reads `{"hello": {...}}`, then writes `{"run": {"setting": {...}, "seconds": 15}}` and reads `{"ok", "throughput", "life",
"cost", "left"}` until the budget is over or `{"over": true}` comes. It also writes `{"best": {...}}` whenever the best setting
changes; the last line is `{"done": {"setting", "gain", "interval", "verdict", "best", "carries"}}`. Settings name what differs
from the defaults. A gain is a share of the throughput with the defaults: 0.35 is 35 % more.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from dialin.errors import UserError
from dialin.model.setting import Value
from dialin.paths import parse_json
from dialin.search.system_tuner import SystemTuner

_DOCS = "See docs/tune.md, JSON lines"
_OPTIONS = ("switch", "seconds", "ram", "memory", "noise", "worthwhile", "seed")


def play(lines: Iterable[str], out: TextIO) -> None:
    """Read the caller's lines and write those of the search, until it is done.

    Raises:
        UserError: a line is not what the protocol asks for.
    """

    def write(message: Mapping[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    answers = (_object(line) for line in lines if line.strip())
    tuner = read_hello(next(answers, {}).get("hello"))
    best: dict[str, Value] = {}
    while (trial := tuner.ask()) is not None:
        setting, seconds = trial
        write({"run": {"setting": setting, "seconds": seconds}})
        answer = next(answers, {"over": True})
        if answer.get("over"):
            break
        tuner.tell(
            float(answer.get("throughput") or 0.0) if answer.get("ok") else None,
            cost=float(answer.get("cost") or 0.0) if answer.get("left") is None else tuner.seconds_left - float(answer["left"]),
            life=answer.get("life") or 0,
        )
        if (now := tuner.best()) != best:
            best = now
            write({"best": best})
    write({"done": tuner.result()})


def read_hello(facts: object) -> SystemTuner:
    """Return the tuner that the first line asks for.

    Raises:
        UserError: the line is not a hello, or an incomplete one.
    """
    if not isinstance(facts, Mapping):
        raise UserError('The first line is not {"hello": {...}}', _DOCS)
    if missing := [name for name in ("space", "minutes") if facts.get(name) is None]:
        raise UserError(f"The hello has no {missing[0]}", _DOCS)
    options = {name: facts[name] for name in _OPTIONS if facts.get(name) is not None}
    return SystemTuner(facts["space"], facts["minutes"], **options)


def _object(line: str) -> Mapping[str, Any]:
    try:
        read = parse_json(line)
    except ValueError:
        raise UserError("A line is not JSON", _DOCS) from None
    if not isinstance(read, dict):
        raise UserError("A line is not a JSON object", _DOCS)
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

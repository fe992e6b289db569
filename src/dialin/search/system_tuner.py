"""A tuner of any system that the caller runs and measures: it needs no server, and knows the system only by `tell`."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from dialin.errors import UserError
from dialin.model.dimension import Dimension
from dialin.model.setting import Value, is_one_of
from dialin.model.tune import MemoryFormula
from dialin.model.verdict import TuneOutcome
from dialin.search.constraints import MEMORY_SHARE, SERVER_BYTES, Constraints
from dialin.search.space import Space, is_log_range
from dialin.search.trial_records import Ask, Options, Result, TrialOutcome
from dialin.search.tuner import Tuner

_DOCS = "See docs/tune.md, The search as a library"


class SystemTuner:
    """Searches the settings of a system within a budget, and proves the gain of what it recommends with fresh trials.

    The caller applies each setting, measures, and reports the outcome with `tell`. Answers depend on the arguments and these
    outcomes only.

    Args:
        space: the variables, each a mapping with `name`, `default`, and `min` and `max` or `values`; also `type` (`int`,
            `float`, `bool`, ...), `log`, `step`, `special` (values outside of the range's order), `static` (whether a change
            needs a restart of the system) and `rule` (the value that a rule of thumb recommends). docs/tune.md has the meaning
            of each.
        minutes: the budget, proof included.
        switch: seconds from one trial to the next where the system restarts (`static`), and where not (`dynamic`).
        seconds: the shortest and the longest trial that the caller can measure.
        ram: bytes of memory; None for no limit.
        memory: bytes that a unit of each variable takes.
        noise: relative standard deviation of a trial of any length, and of the part that falls with its length, the latter
            times the square root of seconds. Both are only a beginning: the tuner learns how noisy trials are.
        worthwhile: a gain below this share counts as nothing.
        seed: another one makes other random choices.

    Raises:
        UserError: an argument cannot be used.

    Example:
        >>> space = [{"name": "io_capacity", "min": 100, "max": 20_000, "default": 200}]
        >>> tuner = SystemTuner(space, minutes=20)
        >>> tuner.ask()
        ({}, 15.0)
        >>> tuner.tell(2400.0, cost=23.0)
    """

    def __init__(
        self,
        space: Sequence[Mapping[str, Any]],
        minutes: float,
        *,
        switch: Mapping[str, float] | None = None,
        seconds: tuple[float, float] = (10.0, 300.0),
        ram: float | None = None,
        memory: object = None,
        noise: tuple[float, float] | None = None,
        worthwhile: float | None = None,
        seed: int = 0,
    ) -> None:
        try:
            dimensions = tuple(read_dimension(one) for one in space)
            options = _options(float(minutes), switch or {}, seconds, noise, worthwhile)
            self._tuner = Tuner(Space(dimensions), Constraints(memory=read_memory(memory, ram)), options, seed)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"The space or the budget cannot be used: {error}", _DOCS) from error
        self._pending: Ask | None = None

    def ask(self) -> tuple[dict[str, Value], float] | None:
        """Return the next setting (the values that differ from the defaults) and for how many seconds to measure it.

        None when the budget is over or the answer is known. Asked again before `tell`, the answer is the same.
        """
        self._pending = self._pending or self._tuner.ask()
        return None if self._pending is None else (dict(self._pending.setting), self._pending.seconds)

    def tell(self, throughput: float | None, *, cost: float, life: int | str = 0) -> None:
        """Learn the outcome of the trial that was asked for last.

        Args:
            throughput: of the trial, or any other figure above 0 that is to be high; None where the system crashed, did not
                start or refused the setting.
            cost: seconds of the budget that the trial took in all: change of the setting, start, warm-up and measuring.
            life: which start of the system it ran in; trials of one life share an effect that is not the setting's.

        Raises:
            UserError: no trial was asked for.
        """
        if self._pending is None:
            raise UserError("No trial was asked for", "Call ask before tell")
        number = life if isinstance(life, int) else zlib.crc32(str(life).encode())
        outcome = TrialOutcome(self._pending, throughput is not None, throughput or 0.0, number, max(0.0, float(cost)))
        self._pending = None
        self._tuner.tell(outcome)

    @property
    def seconds_left(self) -> float:
        return self._tuner.seconds_left

    def best(self) -> dict[str, Value]:
        """Return the best setting so far by the model, without proof; empty for the defaults."""
        return self._tuner.best()

    def result(self) -> dict[str, Any]:
        """Return what is recommended and what fresh trials show of it, at any time.

        Returns:
            `setting`: the values to change from the defaults, empty unless the verdict is `gain`; `gain`: a share of the
            throughput with the defaults; `interval`: its ends, None where fresh trials are too few; `verdict`: `gain`,
            `nothing` or `inconclusive`; `best`: as `best`; `carries`: what each variable of the setting carries, as
            `[share, low, high]`.
        """
        result = self._tuner.result()
        carries = {
            one.variable: [_share(end) for end in (one.ratio.mean, one.ratio.low, one.ratio.high)] for one in result.carried
        }
        return {**result_message(result), "best": self.best(), "carries": carries}


_FRACTIONS = ("float", "double", "real", "numeric", "decimal")


def read_dimension(facts: Mapping[str, Any]) -> Dimension:
    """Read one variable of a space.

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
        known = rule is not None and is_one_of(rule, values)
        return Dimension(name, values=values, static=static, default=default, rule=rule if known else None)
    low, high = float(facts["min"]), float(facts["max"])
    special = tuple(value for value in special if isinstance(value, str) or not low <= value <= high)
    if isinstance(default, str) or not low <= default <= high:
        special = _with(special, default)
    log = bool(facts["log"]) if facts.get("log") is not None else is_log_range(low, high)
    whole = kind not in _FRACTIONS and low.is_integer() and high.is_integer()
    rule = facts.get("rule")
    if isinstance(rule, str) and not is_one_of(rule, special):
        rule = None
    step = float(facts["step"]) if facts.get("step") is not None else 1.0 if whole else 0.0
    return Dimension(
        name, low, high, log=log and low > 0, step=step, special=special, static=static, default=default, rule=rule
    )


def _with(values: tuple[Value, ...], one: Value) -> tuple[Value, ...]:
    return values if is_one_of(one, values) else (*values, one)


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
        raise UserError("The memory is not understood", 'Give bytes by variable, e.g. {"pool": 1}')
    return MemoryFormula(constant, factors, MEMORY_SHARE * float(ram))


def _options(
    minutes: float,
    switch: Mapping[str, float],
    seconds: tuple[float, float],
    noise: tuple[float, float] | None,
    worthwhile: float | None,
) -> Options:
    shortest, longest = seconds
    usual = Options(minutes)
    return Options(
        minutes,
        search_seconds=min(max(usual.search_seconds, shortest), longest),
        proof_seconds=min(max(usual.proof_seconds, shortest), longest),
        start_seconds=float(switch.get("static", usual.start_seconds)),
        set_seconds=float(switch.get("dynamic", usual.set_seconds)),
        noise=noise or usual.noise,
        worthwhile=worthwhile or usual.worthwhile,
    )


def _share(ratio: float | None) -> float | None:
    return None if ratio is None else ratio - 1


def result_message(result: Result) -> dict[str, Any]:
    """Return what is recommended, with its gain and interval; where no gain is shown it is 0, and the interval includes 0."""
    gain = 0.0 if result.gain is None else result.gain.mean - 1
    interval = [None, None] if result.gain is None else [_share(result.gain.low), _share(result.gain.high)]
    if result.outcome is not TuneOutcome.GAIN:
        gain = 0.0
        interval = [
            None if interval[0] is None else min(interval[0], 0.0),
            None if interval[1] is None else max(interval[1], 0.0),
        ]
    return {"setting": dict(result.setting), "gain": gain, "interval": interval, "verdict": str(result.outcome)}

"""Simulated servers with many variables, whose best setting and whose true throughput are known; each seed is another server.

A server has 20 variables: half of them on a log scale, a fifth linear, a fifth categories, a tenth with a special value 0; a
quarter is read at start only. Half of them act. Each that acts lowers the demand on one of three resources, and on the others a
little; the logarithm of throughput is the soft minimum over the resources, so that a gain takes several variables at once.
Variable 0 is the big memory; two others cost memory per connection and gain nothing. Not from any real server.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from dialin.model.dimension import Dimension
from dialin.model.setting import Value
from dialin.model.tune import MemoryFormula
from dialin.search.constraints import Constraints
from dialin.search.space import Space

GIB = 2**30
RAM = 16 * GIB
CONNECTIONS = 64
_RESOURCES = 3
_CROSS = 0.05
_IDLE = 0.002
"""The most that a variable that does not act moves throughput by, to either side."""

Benefit = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Surface:
    """One simulated server.

    Attributes:
        space: its variables, with what rules of thumb recommend.
        constraints: what a tuner knows of its memory.
        best: the setting of the highest throughput that fits into memory.
        gain: the logarithm of throughput at `best` over that of the defaults.
    """

    space: Space
    constraints: Constraints
    best: Mapping[str, Value]
    gain: float
    acting: frozenset[str]
    log_throughput: Callable[[Mapping[str, Value]], float]

    def crashes(self, setting: Mapping[str, Value]) -> bool:
        """Return whether the server dies of a setting: it takes a little more memory than the known formula says."""
        if self.constraints.memory is None:
            return False
        pool, rest = _memory_parts({**self.space.defaults, **setting})
        return 1.06 * pool + 0.5 * GIB + 1.15 * rest > RAM


def _memory_parts(values: Mapping[str, Value]) -> tuple[float, float]:
    per_connection = float(values["v1"]) + float(values["v2"])
    return float(values["v0"]), per_connection * CONNECTIONS / 4


def make_surface(seed: int, *, count: int = 20, gain: float = 0.4, hard: bool = True) -> Surface:
    """Return the server of a seed whose best setting gains exactly `gain`; 0 is a server whose defaults are the best."""
    rng = np.random.default_rng([20_261_124, seed])
    kinds = ["log"] * 3 + rng.permutation(
        ["log"] * (count // 2 - 3) + ["linear"] * (count // 5) + ["category"] * (count // 5)
        + ["special"] * (count - count // 2 - 2 * (count // 5))
    ).tolist()  # fmt: skip
    static = {0, *(3 + rng.permutation(count - 3)[: count // 4 - 1]).tolist()}
    acting = {0, *(3 + rng.permutation(count - 3)[: count // (2 if hard else 3) - 1]).tolist()}
    raw = rng.exponential(size=count)
    raw[0] = 1.0  # a moderate gain
    resource = rng.integers(0, _RESOURCES, size=count)
    resource[sorted(acting)[:_RESOURCES]] = range(_RESOURCES)
    dimensions, benefits, optima = [], [], []
    for index, kind in enumerate(kinds):
        dimension, benefit, optimum = _variable(rng, index, kind, index in acting, index in static, best_is_default=gain == 0)
        dimensions.append(dimension)
        benefits.append(benefit)
        optima.append(optimum)
    space = Space(tuple(dimensions))
    idle = np.array([0.0 if index in acting else rng.uniform(-_IDLE, _IDLE) for index in range(count)])
    sharpness = 10.0 if hard else 4.0
    default = space.point({})
    at_default = np.array([benefits[i](default[i]) for i in range(count)])

    def log_of(point: np.ndarray, scale: float) -> float:
        better = np.array([benefits[i](point[i]) for i in range(count)]) - at_default
        demand = np.zeros(_RESOURCES)
        for index in acting:
            share = np.full(_RESOURCES, _CROSS)
            share[resource[index]] = 1.0
            demand -= scale * raw[index] * better[index] * share
        moved = np.minimum(point, 2.0) / 2 - np.minimum(default, 2.0) / 2 + (point - default) / 4
        highest = demand.max()
        return float(-highest - np.log(np.mean(np.exp(sharpness * (demand - highest)))) / sharpness + idle @ moved)

    best = default.copy()
    for index in acting:
        best[index] = optima[index]
    # 1.06 x pool + 0.5 GiB + 1.15 x rest <= RAM
    rest = 1.15 * _memory_parts(space.defaults)[1]
    pool = min(float({**space.defaults, **space.setting(best)}["v0"]), (RAM - 0.5 * GIB - rest) / 1.06 * 0.999)
    best[0] = space.dimensions[0].position(int(pool))
    for index in set(range(count)) - acting - {1, 2}:  # those that hardly act
        choices = (
            [0.0, 1.0]
            if space.dimensions[index].values == ()
            else [2.0 + i for i in range(len(space.dimensions[index].values))]
        )
        best[index] = max([default[index], *choices], key=lambda x, i=index: idle[i] * (min(x, 2.0) / 2 + x / 4))
    low, high = 0.0, 64.0
    target = gain or 0.4
    if gain:
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if log_of(best, middle) < target else (low, middle)
    scale = (low + high) / 2 if gain else 0.4 / max(raw[sorted(acting)].sum() / _RESOURCES, 1e-9)
    memory = MemoryFormula(
        constant=0.5 * GIB, factors={"v0": 1.0, "v1": CONNECTIONS / 4, "v2": CONNECTIONS / 4}, limit=0.92 * RAM
    )
    truth = log_of(best, scale)
    names = frozenset(f"v{index}" for index in acting)
    return Surface(
        space,
        Constraints(memory=memory),
        space.setting(best),
        truth,
        names,
        lambda setting: log_of(space.point(setting), scale),
    )


def make_additive_surface(seed: int, *, count: int, gain: float, most: float, interacting: int = 0) -> Surface:
    """Return the server of a seed on which every variable acts a little: each carries 0 to `most`, all together `gain`.

    Effects add up on the log scale, and no resource hides them. `interacting` of the variables are in pairs, each of which
    carries half of its share only where the other one of its pair is at its best, too. Memory limits nothing.
    """
    rng = np.random.default_rng([20_261_129, seed])
    half, quarter = count // 2, count // 4
    kinds = rng.permutation(["log"] * half + ["linear"] * quarter + ["category"] * (count - half - quarter))
    static = set(rng.permutation(count)[:quarter].tolist())
    made = [
        _variable(rng, index + 3, str(kind), acts=True, static=index in static, best_is_default=False)  # no memory among them
        for index, kind in enumerate(kinds)
    ]
    space, benefits = Space(tuple(one for one, _, _ in made)), [benefit for _, benefit, _ in made]
    best, default = np.array([optimum for _, _, optimum in made]), space.default_point
    weights = _shares(rng, count, gain, most)
    pairs = rng.permutation(count)[:interacting].reshape(-1, 2).tolist()

    def log_of(point: np.ndarray) -> float:
        reached = [
            (benefits[i](point[i]) - benefits[i](default[i])) / max(benefits[i](best[i]) - benefits[i](default[i]), 1e-9)
            for i in range(count)
        ]
        alone = weights.copy()
        together = 0.0
        for first, second in pairs:
            alone[[first, second]] /= 2
            both = max(min(reached[first], reached[second]), 0.0)
            together += (alone[first] + alone[second]) * both
        return float(alone @ [max(2 * share, -6.0) if share < 0 else share for share in reached] + together)

    names = frozenset(one.name for one in space.dimensions)
    return Surface(space, Constraints(), space.setting(best), log_of(best), names, lambda setting: log_of(space.point(setting)))


def _shares(rng: np.random.Generator, count: int, gain: float, most: float) -> np.ndarray:
    """Return positive shares of a gain, none above `most`."""
    shares = rng.exponential(size=count)
    for _ in range(60):
        shares = np.minimum(shares * gain / shares.sum(), most)
    return shares


def _variable(
    rng: np.random.Generator, index: int, kind: str, acts: bool, static: bool, *, best_is_default: bool
) -> tuple[Dimension, Benefit, float]:
    """Return a variable, its benefit by position (0 at its best, less elsewhere), and the position of its best."""
    name = f"v{index}"
    if kind == "category":
        levels = int(rng.integers(2, 5))
        words = tuple(f"w{number}" for number in range(levels))
        worth = -rng.uniform(0, 1, size=levels)
        best = int(rng.integers(1, levels))
        default = best if best_is_default else 0
        worth[0], worth[best] = -1.0, 0.0
        rule = _rule(rng, acts)
        harmful = int(np.argmin(worth))
        chosen = {"right": words[best], "harmful": words[harmful], "silent": None}[rule]
        dimension = Dimension(name, values=words, static=static, default=words[default], rule=chosen)
        return dimension, lambda x: float(worth[int(x) - 2]), 2.0 + best
    low, high, log = (1024, GIB, True) if kind == "log" else (0, 100, False)
    if kind == "special":
        low, high, log = (1, 10_000, True)
    if index == 0:
        low, high, log = 4 * GIB, 16 * GIB, True
    side = 1 if index < 3 else int(rng.choice([-1, 1]))
    distance = float(rng.uniform(0.25, 0.55))
    default = 0.1 if index == 0 else float(rng.uniform(0.2, 0.5) if index < 3 else rng.uniform(0.02, 0.95 - distance))
    default = default if side > 0 else 1 - default
    optimum = default if best_is_default else default + side * distance
    width = float(rng.uniform(0.12, 0.25))
    shape = "ramp" if index == 0 else str(rng.choice(["ramp", "peak", "cliff"]))
    if best_is_default:
        shape = "peak"
    special_is_best = kind == "special" and rng.random() < 0.3 and not best_is_default
    special_benefit = 0.0 if special_is_best else float(-rng.uniform(0, 1.5))

    def benefit(x: float) -> float:
        """Return 0 at the best value and less elsewhere."""
        if x >= 2:
            return special_benefit
        along = side * (x - default)
        if shape == "ramp":
            edge = x if side > 0 else 1 - x
            return -min(math.exp(-along / (width / 2)), 2.5) - 0.1 * max(0.0, edge - 0.95) / 0.05
        if shape == "peak":
            return -min(((x - optimum) / width) ** 2, 4) / 2
        return -1 / (1 + math.exp(min(max((along - distance) / 0.03, -50), 50)))

    grid = np.linspace(0, 1, 401)
    best_at = float(grid[int(np.argmax([benefit(float(x)) for x in grid]))])
    if special_is_best:
        best_at = 2.0
    rule = _rule(rng, acts)
    aim = default + side * distance if shape != "cliff" else min(max(default + side * (distance + 0.15), 0.0), 1.0)
    spot = {"right": aim + rng.uniform(-0.15, 0.15), "harmful": default - side * rng.uniform(0.1, 0.4), "silent": None}[rule]
    whole = Dimension(
        name, low=low, high=high, log=log, special=(0,) if kind == "special" else (), static=static, default=low, step=1
    )

    def value_at(share: float) -> Value:
        return whole.value(min(max(float(share), 0.0), 1.0))

    chosen = None if spot is None else 0 if special_is_best and rule == "right" else value_at(spot)
    dimension = Dimension(
        name, low=low, high=high, log=log, special=whole.special, static=static, default=value_at(default), rule=chosen, step=1
    )
    return dimension, benefit, best_at


def _rule(rng: np.random.Generator, acts: bool) -> str:
    """Return what a rule of thumb says of a variable: right for six of ten that act, harmful for one of ten, silent else."""
    draw = rng.random()
    if not acts:
        return "silent"
    return "right" if draw < 0.6 else "harmful" if draw < 0.7 else "silent"


@dataclass(slots=True)
class Machine:
    """A session on a simulated server: noise, disturbed trials, lives of the server, drift, and the time that all takes."""

    surface: Surface
    seed: int
    clock: float = 0.0
    life: int = 0
    crashes: int = 0
    trials: int = 0
    _static: tuple[Value, ...] | None = None
    _life_effect: float = 0.0
    _rng: np.random.Generator = field(init=False)
    _waves: list[tuple[float, float, float]] = field(init=False)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng([self.seed, 77])
        periods = self._rng.uniform(40, 240, size=3) * 60
        phases = self._rng.uniform(0, 2 * math.pi, size=3)
        weights = self._rng.uniform(0.5, 1, size=3)
        slopes = sum(
            w * np.cos(phase + 2 * math.pi / period * np.linspace(0, 40 * 3600, 4000))
            for w, period, phase in zip(weights, periods, phases, strict=True)
        )
        scale = 0.09 / 3600 / float(np.quantile(np.abs(slopes), 0.9))
        self._waves = [
            (scale * w * period / (2 * math.pi), period, phase)
            for w, period, phase in zip(weights, periods, phases, strict=True)
        ]

    def drift(self, at: float) -> float:
        return sum(height * math.sin(phase + 2 * math.pi / period * at) for height, period, phase in self._waves)

    def run(self, setting: Mapping[str, Value], seconds: float) -> tuple[bool, float, float]:
        """Run one trial; return whether it completed, its throughput, and how many seconds it took in all."""
        begun, rng, space = self.clock, self._rng, self.surface.space
        static = space.static_part(setting)
        self.trials += 1
        if static != self._static:
            self.clock += 60
            self.life += 1
            self._life_effect = rng.normal(scale=0.01)
            self._static = static
        else:
            self.clock += 8
        if self.surface.crashes(setting):
            self.clock = begun + 90
            self._static = None
            self.crashes += 1
            return False, 0.0, self.clock - begun
        self.clock += seconds
        noise = rng.normal(scale=math.sqrt(0.02**2 + 0.12**2 / seconds))
        disturbed = math.log1p(-rng.uniform(0.05, 0.30)) if rng.random() < 0.03 else 0.0
        moved = self._life_effect + self.drift(self.clock - seconds / 2) + noise + disturbed
        return True, 1000 * math.exp(self.surface.log_throughput(setting) + moved), self.clock - begun

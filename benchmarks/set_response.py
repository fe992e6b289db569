"""Prints how throughput responds when a variable is set back and forth under one load that never stops, on a real server.

    python benchmarks/set_response.py [--periods 60] [--seconds 15] [--server mysql@9.7] VARIABLE=A,B [VARIABLE=A,B ...]

The value of each period is drawn by a fair coin, so that the value of the period before is independent of it. Of a switch, the
response is the effect in the first seconds of a period against that in its last third; what carries over is the effect of the
value before on the speed of a period whose own value is the same, which is 0 where nothing carries over. Both are
found by least squares on the logarithm of throughput, less the mean of the six periods around it, which takes the drift out;
intervals are Student's, at 95 %. Where what carries over is not small against the effect, a study that switches so quickly
would measure the value before as well.
"""

from __future__ import annotations

import argparse
import os
import random
import sys

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dialin.errors import DialinError, UserError, WorkloadError
from dialin.model.workload import WorkloadSpec
from dialin.servers import builds
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.workloads.base import Load
from probes import PATIENCE, running

SETTING = {
    "innodb_buffer_pool_size": 256 * 1024**2,
    "innodb_redo_log_capacity": 32 * 1024**2,
    "innodb_io_capacity_max": 20_000,
}
AROUND = 3
WARM_UP = 30


def second(load: Load) -> float:
    """Return the transactions of the next second."""
    read = load.read(PATIENCE)
    if read is None:
        raise WorkloadError(f"the driver reported nothing for {PATIENCE:.0f} s")
    return read.tps


def measure(sandbox: Sandbox, load: Load, variable: str, values: tuple[str, str], coins: list[bool], seconds: int) -> NDArray:
    """Return transactions a second, a row for each period; its value is the second one where the coin says so."""
    rows = []
    with sandbox.connect() as query:
        for coin in coins:
            query(f"SET GLOBAL {variable} = {values[coin]}")
            rows.append([second(load) for _ in range(seconds)])
    return np.array(rows)


def without_drift(speeds: NDArray) -> NDArray:
    """Return the logarithm of each period's speed, less the mean of the periods around it."""
    logs = np.log(speeds)
    count = len(logs)
    around = [
        np.mean([logs[other] for other in range(max(0, place - AROUND), min(count, place + AROUND + 1)) if other != place])
        for place in range(count)
    ]
    return logs - np.array(around)


def effects(speeds: NDArray, coins: list[bool]) -> list[tuple[float, float]]:
    """Return the effect of the own value and of the value before, log scale, each with half of its interval."""
    signs = np.where(coins, 0.5, -0.5)
    # The mean around a period holds effects of other periods, so regressors are treated alike.
    own, before = signs[1:], signs[:-1]
    outcome = without_drift(speeds[1:])
    design = np.column_stack([np.ones(len(own)), *(centred(one) for one in (own, before))])
    fitted, *_ = np.linalg.lstsq(design, outcome, rcond=None)
    rest = outcome - design @ fitted
    freedom = len(outcome) - design.shape[1]
    covariance = np.linalg.inv(design.T @ design) * (rest @ rest) / freedom
    quantile = stats.t.ppf(0.975, freedom)
    return [(float(fitted[place]), float(quantile * np.sqrt(covariance[place, place]))) for place in (1, 2)]


def centred(signs: NDArray) -> NDArray:
    """Return a regressor less its mean over the periods around, as the outcome is."""
    return without_drift(np.exp(signs))


def shown(effect: tuple[float, float]) -> str:
    """Return an effect in per cent with its interval."""
    mean, half = effect
    return f"{100 * np.expm1(mean):+.1f} % ({100 * np.expm1(mean - half):+.1f} to {100 * np.expm1(mean + half):+.1f})"


def parsed(text: str) -> tuple[str, tuple[str, str]]:
    variable, _, values = text.partition("=")
    first, _, last = values.partition(",")
    if not (variable.isidentifier() and first.isalnum() and last.isalnum()):
        raise UserError(f"{text} is not VARIABLE=A,B", "Give a variable and two values")
    return variable, (first, last)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variables", nargs="+", metavar="VARIABLE=A,B")
    parser.add_argument("--periods", type=int, default=60)
    parser.add_argument("--seconds", type=int, default=15, help="of each period")
    parser.add_argument("--workload", default="oltp_write_only", help="of dialin-load")
    parser.add_argument("--server", default="mysql@9.7")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    spec = WorkloadSpec(name=options.workload, kind="dialin-load", threads=options.connections, tables=4, table_size=100_000)
    tools = Tools.open(lambda text: print(text, file=sys.stderr))
    size = f"{options.connections} connections, {options.periods} periods of {options.seconds} s"
    print(f"{options.server}, {options.workload}, {size}:\n")
    print("| variable | effect, seconds 1 and 2 | last third | carried over, all but seconds 1 and 2 | last third |")
    print("|---|---|---|---|---|")
    try:
        build = builds.find(options.server, builds.discover(tools.home, os.environ), tools.home)
        for variable, values in map(parsed, options.variables):
            coins = [rng.random() < 0.5 for _ in range(options.periods)]
            with running(build, spec, tools, SETTING) as (sandbox, load):
                for _ in range(WARM_UP):
                    second(load)
                speeds = measure(sandbox, load, variable, values, coins, options.seconds)
            parts = (speeds[:, :2], speeds[:, -(options.seconds // 3) :], speeds[:, 2:])
            early, late, most = (effects(part.mean(axis=1), coins) for part in parts)
            cells = [shown(one) for one in (early[0], late[0], most[1], late[1])]
            print(f"| `{variable}` {values[0]} → {values[1]} | {' | '.join(cells)} |", flush=True)
    except DialinError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

"""Gunther's universal scalability law, fitted to throughput at several numbers of threads."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dialin.model.why import Usl

FEWEST = 4
"""Numbers of threads that a fit needs: it has three parameters, and a fourth point must show how well they fit."""

_NO_CURVE = 0.5
"""The typical relative deviation from which on points lie on no such curve."""


def fit(points: Mapping[int, float]) -> Usl | None:
    """Fit X(n) = lambda n / (1 + sigma (n-1) + kappa n (n-1)) with sigma and kappa no less than zero.

    n / X is linear in 1/lambda, sigma/lambda and kappa/lambda, none of which is negative. Each row weighed by X / n, its
    residual is the relative deviation of a point from the curve; non-negative least squares finds the one best fit, without a
    first guess.

    Returns:
        The law, or None where there are fewer than four numbers of threads, one without throughput, or no curve fits.
    """
    if len(points) < FEWEST or min(points) < 1 or not all(math.isfinite(x) and x > 0 for x in points.values()):
        return None
    from scipy.optimize import nnls  # takes a while to import, which --help need not wait for

    n, x = np.array(sorted(points), dtype=float), np.array([points[threads] for threads in sorted(points)])
    rows = np.column_stack([np.ones_like(n), n - 1, n * (n - 1)]) * (x / n / x[0])[:, None]
    weights, distance = nnls(rows, np.ones_like(n))
    error = float(distance) / math.sqrt(n.size)
    if weights[0] <= 0 or error > _NO_CURVE:
        return None
    contention, coherency = float(weights[1] / weights[0]), float(weights[2] / weights[0])
    return Usl(
        rate=float(x[0] / weights[0]),
        contention=contention,
        coherency=coherency,
        peak=max(1.0, math.sqrt(max(0.0, 1 - contention) / coherency)) if coherency > 0 else None,
        relative_error=error,
    )


def throughput(usl: Usl, threads: float) -> float:
    return usl.rate * threads / (1 + usl.contention * (threads - 1) + usl.coherency * threads * (threads - 1))

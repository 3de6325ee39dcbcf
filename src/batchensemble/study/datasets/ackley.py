"""The Ackley function with noise that grows outwards: a table that asks for depth."""

from typing import Literal

import numpy as np
import pandas as pd

from batchensemble.data.tables import Table
from batchensemble.words import one_of


def make_ackley(
    n: int = 10_000,
    *,
    seed: int = 0,
    task: Literal["regression", "classification"] = "regression",
) -> Table:
    """`n` points, uniform in [-1, 1]^10, with the noisy value of the Ackley function at each.

    f(x) = -a exp(-b sqrt(mean x^2)) - exp(mean cos(c x)) + a, with a = 20, b = 0.2, c = 2 pi;
    the noise has the standard deviation sigma(x) = 0.1 sd(f) |x| / max |x|, where sd and max are
    those of the sample. For classification the label is 1 where the noisy f(x) lies above the
    median of f, else 0. The same seed gives the same points and the same noise for both tasks.
    """
    one_of(task, ("regression", "classification"), "task")
    if n < 2:
        raise ValueError(f"expected n to be at least 2, got {n}")
    random = np.random.default_rng(seed)
    x = random.uniform(-1, 1, size=(n, 10))
    a, b, c = 20, 0.2, 2 * np.pi
    f = -a * np.exp(-b * np.sqrt((x**2).mean(1))) - np.exp(np.cos(c * x).mean(1)) + a
    radius = np.linalg.norm(x, axis=1)
    y = f + 0.1 * f.std() * radius / radius.max() * random.normal(size=n)
    X = pd.DataFrame(x, columns=[f"x{i}" for i in range(1, 11)])
    if task == "regression":
        return Table("ackley", "regression", X, y)
    return Table("ackley", "classification", X, (y > np.median(f)).astype(np.int64))

"""What a method gets, what it answers with, and how frames become numbers.

Numbers are answered with an object that has `mean`, `quantile(levels)` and, where there is a
density, `log_prob(y)`; classes with an array of probabilities.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

Array = NDArray[np.float64]
Predict = Callable[[pd.DataFrame], Any]
LEVELS = np.arange(1, 100) / 100


@dataclass(frozen=True)
class Task:
    X: pd.DataFrame
    y: NDArray[Any]
    n_classes: int  # 0: the target is a number
    seed: int
    device: str = "cpu"

    def parts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows to fit, and the 15 % held out for early stopping."""
        order = np.random.default_rng(self.seed).permutation(len(self.y))
        n_held_out = round(0.15 * len(order))
        return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


@dataclass(frozen=True)
class Normal:
    mean: Array
    std: Array

    def quantile(self, levels: Array) -> Array:
        return self.mean[:, None] + self.std[:, None] * ndtri(levels)

    def log_prob(self, y: Array) -> Array:
        z = (y - self.mean) / self.std
        return -0.5 * z**2 - np.log(self.std) - 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class Percentiles:
    mean: Array
    values: Array

    def quantile(self, levels: Array) -> Array:
        return self.values[:, np.rint(levels * 100).astype(int) - 1]


def one_spread(mean: Array, held_out_error: Array) -> Normal:
    """The RMSE on held-out rows as the standard deviation of every row."""
    spread = math.sqrt(np.mean(np.square(held_out_error)))
    return Normal(mean, np.full(len(mean), spread))


def words(X: pd.DataFrame) -> list[str]:
    return list(X.select_dtypes(exclude="number").columns)


def name_gaps(X: pd.DataFrame) -> pd.DataFrame:
    """A gap among words is a word of its own."""
    return X.fillna(dict.fromkeys(words(X), "missing"))


def numbers(X: pd.DataFrame) -> Any:
    """Turns frames like X into numbers: one-hot words; medians and a flag for gaps."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (one_hot, words(X)),
        remainder=SimpleImputer(strategy="median", add_indicator=True),
    )
    return make_pipeline(FunctionTransformer(name_gaps), columns).fit(X)

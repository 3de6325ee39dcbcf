"""What several tests need: networks with every parameter random, small tables and series."""

import numpy as np
import pandas as pd
import torch
from torch import Generator, nn

from batchensemble.engines import Data


def generator(seed: int = 0) -> Generator:
    return Generator().manual_seed(seed)


def randomised(module: nn.Module, seed: int = 0) -> nn.Module:
    """Every parameter random: a zero bias or a sign vector hides mistakes."""
    source = generator(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(generator=source)
    return module


def line(n_rows: int = 200, n_features: int = 3, noise: float = 0.3, seed: int = 0) -> Data:
    """Rows on a plane with Gaussian noise, scaled as estimators scale them."""
    source = generator(seed)
    x = torch.randn(n_rows, n_features, generator=source)
    slope = torch.linspace(-1, 1, n_features)
    return Data(x, x @ slope + noise * torch.randn(n_rows, generator=source))


def regression_table(n_rows: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x = random.normal(size=(n_rows, 3))
    return x, 10 + 5 * x[:, 0] - 3 * x[:, 1] + random.normal(size=n_rows)


TINY_FORECASTER = {
    "epochs": 2,
    "hidden": (8,),
    "hidden_size": 8,
    "n_members": 3,
    "n_passes": 4,
    "n_paths": 40,
    "horizon": 4,
    "random_state": 0,
}


def seasonal_values(n=60, seed=0, level=10.0):
    """Twelve steps a season, with AR(1) noise."""
    random = np.random.default_rng(seed)
    noise = np.zeros(n)
    for t in range(1, n):
        noise[t] = 0.6 * noise[t - 1] + 0.3 * random.normal()
    return level + np.sin(2 * np.pi * np.arange(n) / 12) + noise


def long_frame(n_series=3, n=60, freq="MS", ids=None, **extra):
    parts = []
    for i in range(n_series):
        times = pd.date_range("2015-01-01", periods=n, freq=freq)
        name = f"s{i}" if ids is None else ids[i]
        parts.append(
            pd.DataFrame({"unique_id": name, "ds": times, "y": seasonal_values(n, i, 10.0 * i)})
        )
    return pd.concat(parts, ignore_index=True).assign(**extra)

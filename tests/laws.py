"""What several tests need: networks with every parameter random, and small tables."""

import numpy as np
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

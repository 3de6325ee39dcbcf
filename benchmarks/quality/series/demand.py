"""Intermittent demand: paths cut off at zero, draws from history in their order, and history alone.

    python benchmarks/quality/series/demand.py

100 generated daily series, of which the last 14 days are forecast; about a minute.
"""

import dataclasses

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from batchensemble import Forecaster

N_SERIES, N_DAYS, HORIZON = 100, 200, 14
LEVELS = np.arange(1, 10) / 10


def main() -> None:
    torch.set_num_threads(1)
    y = generated(np.random.default_rng(0))
    known, truth = y[:, :-HORIZON], y[:, -HORIZON:]
    history = np.quantile(known, LEVELS, axis=1, method="inverted_cdf").T
    print("history alone:", scores(truth, np.repeat(history[:, None], HORIZON, axis=1)))
    frame = pd.DataFrame(
        {
            "unique_id": np.repeat(np.arange(N_SERIES), known.shape[1]),
            "ds": np.tile(pd.date_range("2024-01-01", periods=known.shape[1]), N_SERIES),
            "y": known.ravel(),
        }
    )
    model = Forecaster(horizon=HORIZON, random_state=0, device="cpu", epochs=8).fit(frame)
    print("intermittent:", len(model.intermittent_), "of", N_SERIES)
    print("draws from history chosen:", model.model_.encoder.draws_history_)
    for name, draws_history in (("cut off at zero", False), ("draws from history", True)):
        encoder = model.model_.encoder.drawing(history=draws_history)
        model.model_ = dataclasses.replace(model.model_, encoder=encoder)
        columns = model.forecast(n_paths=1000).columns(quantiles=LEVELS.tolist())
        found = [columns[f"BatchEnsemble-q-{100 * level:g}"] for level in LEVELS]
        print(f"{name}:", scores(truth, np.stack(found, -1)))


def generated(random: np.random.Generator) -> NDArray[np.float64]:
    """(series, days): a size of 1 to 8 on some days, more of them in one half of the week."""
    series = []
    for _ in range(N_SERIES):
        share, size = random.uniform(0.08, 0.6), random.uniform(1, 8)
        week = 1 + 0.5 * np.sin(2 * np.pi * (np.arange(N_DAYS) + random.integers(7)) / 7)
        is_day = random.random(N_DAYS) < np.clip(share * week, 0, 1)
        series.append(is_day * (1.0 + random.poisson(size - 1, N_DAYS)))
    return np.array(series)


def scores(truth: NDArray[np.float64], quantiles: NDArray[np.float64]) -> str:
    below = truth[..., None] - quantiles
    loss = 2 * np.maximum(LEVELS * below, (LEVELS - 1) * below)
    inside = (quantiles[..., 0] <= truth) & (truth <= quantiles[..., 8])
    wql = loss.sum((0, 1)).mean() / truth.sum()
    return f"weighted quantile loss {wql:.3f}, 80 % intervals cover {inside.mean():.0%}"


if __name__ == "__main__":
    main()

"""Forecast every dataset with statsforecast's and gluonts' models.

    python benchmarks/peers/rivals.py FOLDER [--only DATASET] [--rival RIVAL]

Each model is fitted once, before the first cutoff, and then forecasts every window from the values
up to its cutoff. Writes `FOLDER/forecasts/<dataset>/<rival>.npz` and skips what is already there.
"""

import argparse
import logging
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from series import NAMES, Dataset, load, save

DRAWS = 500
LONGEST_SEASON = 24  # AutoETS drops longer ones; AutoARIMA is not given them either
DEEPAR_SEEDS = (0, 1, 2)
HELD_OUT = 0.15  # of the values before the first cutoff, where DeepAR stops early
PERIODS = {"YS": "Y", "QS": "Q", "MS": "M", "D": "D"}

Forecasts = tuple[np.ndarray, float, float]
Simulate = Callable[[np.ndarray, int], np.ndarray]


def each_series(data: Dataset, fit: Callable[[np.ndarray], Simulate]) -> Forecasts:
    """Fit a model per series and simulate from each of its windows."""
    windows, paths, seconds_fit, seconds_predict = data.windows(), [], 0.0, 0.0
    for unique_id, _, y in data.series():
        start = time.perf_counter()
        simulate = fit(y[: data.first_end])
        seconds_fit += time.perf_counter() - start
        start = time.perf_counter()
        for window in windows:
            if window.unique_id == unique_id:
                paths.append(simulate(y[: window.end], len(paths)))
        seconds_predict += time.perf_counter() - start
    return np.stack(paths), seconds_fit, seconds_predict


def naive(data: Dataset, season: int) -> Forecasts:
    """Repeat the last season with normal errors of the size of the seasonal differences."""
    from statsforecast.models import SeasonalNaive

    def simulate(y: np.ndarray, seed: int) -> np.ndarray:
        return SeasonalNaive(season).fit(y).simulate(data.horizon, DRAWS, seed=seed)

    return each_series(data, lambda y: simulate)


def autoarima(data: Dataset, pairs: int = 0) -> Forecasts:
    """Simulate from AutoARIMA, with `pairs` Fourier pairs of the season as regressors."""
    from statsforecast.arima import forward_arima, simulate_arima
    from statsforecast.models import AutoARIMA

    def waves(start: int, stop: int) -> np.ndarray | None:
        angles = np.outer(np.arange(start, stop), np.arange(1, pairs + 1))
        angles = angles * (2 * np.pi / (365.25 if data.season == 365 else data.season))
        return np.hstack([np.sin(angles), np.cos(angles)]) if pairs else None

    def fit(y: np.ndarray) -> Simulate:
        season = data.season if data.season <= LONGEST_SEASON else 1
        model = AutoARIMA(season_length=season).fit(y, waves(0, len(y)))

        def simulate(y: np.ndarray, seed: int) -> np.ndarray:
            n = len(y)
            state = forward_arima(model.model_, y, waves(0, n), method=model.method)
            future = waves(n, n + data.horizon)
            return simulate_arima(state, data.horizon, DRAWS, xreg=future, seed=seed)

        return simulate

    return each_series(data, fit)


def autoets(data: Dataset) -> Forecasts:
    """Simulate from AutoETS, with the damping set to 1 where the trend is not damped."""
    from statsforecast.ets import forward_ets, simulate_ets
    from statsforecast.models import AutoETS

    def fit(y: np.ndarray) -> Simulate:
        season = data.season if data.season <= LONGEST_SEASON else 1
        model = AutoETS(season_length=season).fit(y)

        def simulate(y: np.ndarray, seed: int) -> np.ndarray:
            state = forward_ets(model.model_, y)
            if state["components"][3] == "N":
                state["par"][3] = 1.0  # simulate_ets reads a missing damping as 0: no trend at all
            return simulate_ets(state, data.horizon, DRAWS, seed=seed)

        return simulate

    return each_series(data, fit)


def deepar(data: Dataset, seed: int, stop_early: bool) -> Forecasts:
    """Train one DeepAR on all series, to the end or to the best loss on a held-out last part."""
    import torch
    from gluonts.torch import DeepAREstimator
    from lightning import seed_everything
    from lightning.pytorch.callbacks import EarlyStopping

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    seed_everything(seed, verbose=False)
    freq = PERIODS[data.freq]
    series = {
        unique_id: (pd.Period(ds[0], freq), y.astype(np.float32))
        for unique_id, ds, y in data.series()
    }

    def entry(unique_id: str, end: int) -> dict:
        start, y = series[unique_id]
        return {"item_id": unique_id, "start": start, "target": y[:end]}

    with tempfile.TemporaryDirectory() as folder:
        estimator = DeepAREstimator(
            freq=freq,
            prediction_length=data.horizon,
            context_length=min(max(2 * data.season, 12), 60),
            num_parallel_samples=DRAWS,
            trainer_kwargs={
                "accelerator": "cpu",
                "logger": False,
                "enable_progress_bar": False,
                "enable_model_summary": False,
                "default_root_dir": folder,
                "callbacks": [EarlyStopping("val_loss", patience=10)] if stop_early else [],
            },
        )
        held_out = max(int(HELD_OUT * data.first_end), data.horizon) if stop_early else 0
        ends = np.linspace(data.first_end - held_out + data.horizon, data.first_end, 20)
        ends = np.unique(ends.astype(int))
        begin = time.perf_counter()
        predictor = estimator.train(
            [entry(unique_id, data.first_end - held_out) for unique_id in series],
            [entry(i, end) for i in series for end in ends] if stop_early else None,
        )
        seconds_fit = time.perf_counter() - begin
    begin = time.perf_counter()
    forecasts = predictor.predict([entry(w.unique_id, w.end) for w in data.windows()])
    paths = np.stack([forecast.samples for forecast in forecasts])
    return paths, seconds_fit, time.perf_counter() - begin


RIVALS: dict[str, Callable[[Dataset], Forecasts]] = {
    "naive": partial(naive, season=1),
    "seasonal-naive": lambda data: naive(data, data.season),
    "autoets": autoets,
    "autoarima": autoarima,
    "autoarima-fourier": partial(autoarima, pairs=2),
    **{f"deepar-stopped-seed{s}": partial(deepar, seed=s, stop_early=True) for s in DEEPAR_SEEDS},
    **{f"deepar-seed{s}": partial(deepar, seed=s, stop_early=False) for s in DEEPAR_SEEDS},
}


def main() -> None:
    """Run what was asked for and is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=NAMES, nargs="+", default=NAMES)
    parser.add_argument("--rival", choices=list(RIVALS), nargs="+", default=list(RIVALS))
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    for rival in args.rival:
        for name in args.only:
            data = load(name, args.folder)
            if (args.folder / "forecasts" / name / f"{rival}.npz").exists():
                continue
            if rival == "autoarima-fourier" and data.season <= LONGEST_SEASON:
                continue
            paths, seconds_fit, seconds_predict = RIVALS[rival](data)
            save(args.folder, data, rival, paths, seconds_fit, seconds_predict)
            print(f"{name} {rival} {seconds_fit:.1f} + {seconds_predict:.1f} s", flush=True)


if __name__ == "__main__":
    main()

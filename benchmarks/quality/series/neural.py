"""gluonts' DeepAR and neuralforecast's PatchTST and NHITS: one network for all series.

Each is fitted once, to what precedes all windows; the end of that part decides when to stop.
"""

import copy
import logging
import tempfile
import warnings
from typing import Any

import numpy as np
import pandas as pd
from windows import LEVELS, Array, Dataset, known

SEED = 0
PATHS = 500
STEPS = 1000  # of PatchTST and NHITS
LONG = 10_000  # of series with more values two are drawn for a step, otherwise 32: all their
# windows are cut out anew for each step
EPOCHS = 50  # of DeepAR: 50 batches of 32 windows each
QUIET = {
    "accelerator": "cpu",
    "logger": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
}


def held_out(past: pd.DataFrame, task: Dataset) -> int:
    """How many values at the end decide when to stop: a tenth, one to five horizons."""
    shortest = int(past.groupby("unique_id").size().min())
    return int(np.clip(shortest // 10, task.horizon, 5 * task.horizon))


def patchtst(frame: pd.DataFrame, task: Dataset) -> Array:
    """The small network that its authors take for ETTh1."""
    from neuralforecast.models import PatchTST

    settings = {
        "encoder_layers": 3,
        "hidden_size": 16,
        "n_heads": 4,
        "linear_hidden_size": 128,
        "patch_len": min(16, task.context // 2),
        "stride": min(8, task.context // 4),
        "windows_batch_size": 64 if task.context > 300 else 128,
    }
    return quantile_network(frame, task, PatchTST, settings)


def nhits(frame: pd.DataFrame, task: Dataset) -> Array:
    """The package's default network."""
    from neuralforecast.models import NHITS

    return quantile_network(frame, task, NHITS, {"windows_batch_size": 128})


def quantile_network(
    frame: pd.DataFrame, task: Dataset, model: Any, settings: dict[str, Any]
) -> Array:
    """Trained by the pinball loss of the nine deciles; the best weights are kept."""
    import torch
    from neuralforecast import NeuralForecast
    from neuralforecast.losses.pytorch import MQLoss
    from pytorch_lightning import Callback

    class KeepBest(Callback):
        best, weights, checked_at = float("inf"), None, 0

        def on_validation_end(self, trainer: Any, module: Any) -> None:
            loss = float(trainer.callback_metrics.get("ptl/val_loss", float("inf")))
            if not trainer.sanity_checking and loss < self.best:
                self.best, self.weights = loss, copy.deepcopy(module.state_dict())
                self.checked_at = trainer.global_step

        def on_train_end(self, trainer: Any, module: Any) -> None:
            print(f"best of {trainer.global_step} steps: {self.checked_at}, {self.best:.5g}")
            module.load_state_dict(self.weights)

    quiet()
    torch.set_num_threads(1)
    past, order = known(frame, task, 0), frame["unique_id"].unique()
    lengths = past.groupby("unique_id").size()
    n_held_out = held_out(past, task)
    is_short = bool(lengths.min() < task.context + task.horizon + n_held_out)
    network = model(
        h=task.horizon,
        input_size=task.context,
        loss=MQLoss(quantiles=LEVELS.tolist()),
        scaler_type="standard",
        max_steps=STEPS,
        val_check_steps=50,
        early_stop_patience_steps=5,
        learning_rate=1e-3,
        batch_size=2 if lengths.max() > LONG else 32,
        inference_windows_batch_size=512,
        start_padding_enabled=is_short,
        # A window with one value has no spread to be scaled by, and would rule the loss.
        training_data_availability_threshold=1.0 if is_short else 0.0,
        random_seed=SEED,
        alias="m",
        callbacks=[KeepBest()],
        **settings,
        **QUIET,
    )
    forecaster = NeuralForecast(models=[network], freq=task.freq)
    forecaster.fit(past, val_size=n_held_out)
    windows = []
    for window in range(task.n_windows):
        found = forecaster.predict(df=known(frame, task, window)).set_index("unique_id").loc[order]
        values = found.drop(columns="ds").to_numpy(float)
        windows.append(values.reshape(len(order), task.horizon, len(LEVELS)))
    return np.sort(np.stack(windows, 1), axis=-1)


def deepar(frame: pd.DataFrame, task: Dataset) -> Array:
    """Its own likelihood (Student's t) and lags; the best weights are kept."""
    import torch
    from gluonts.torch import DeepAREstimator
    from lightning import seed_everything
    from lightning.pytorch.callbacks import EarlyStopping

    quiet()
    torch.set_num_threads(1)
    seed_everything(SEED, verbose=False)
    past = known(frame, task, 0)
    n_held_out = held_out(past, task)

    def entries(part: pd.DataFrame, without: int = 0) -> list[dict[str, Any]]:
        found = []
        for name, series in part.groupby("unique_id", sort=False):
            first = "2000-01-03" if isinstance(task.freq, int) else series["ds"].iloc[0]
            y = series["y"].to_numpy(np.float32)
            start = pd.Period(first, task.period)
            found.append({"item_id": name, "start": start, "target": y[: len(y) - without]})
        return found

    with tempfile.TemporaryDirectory() as folder:
        estimator = DeepAREstimator(
            freq=task.period,
            prediction_length=task.horizon,
            context_length=max(task.horizon, min(2 * task.season, 96)),
            num_parallel_samples=PATHS,
            trainer_kwargs=QUIET
            | {
                "max_epochs": EPOCHS,
                "default_root_dir": folder,
                "callbacks": [EarlyStopping("val_loss", patience=10)],
            },
        )
        ends = range(0, n_held_out - task.horizon + 1, task.horizon)
        predictor = estimator.train(
            entries(past, n_held_out), [entry for end in ends for entry in entries(past, end)]
        )
    windows = []
    for window in range(task.n_windows):
        forecasts = predictor.predict(entries(known(frame, task, window)))
        paths = np.stack([forecast.samples for forecast in forecasts])
        windows.append(np.moveaxis(np.quantile(paths, LEVELS, axis=1), 0, -1))
    return np.stack(windows, 1)


def quiet() -> None:
    warnings.filterwarnings("ignore")
    for name in ("lightning.pytorch", "pytorch_lightning", "lightning_fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)

"""The methods on a series, by the paper's protocol: all seeds of a method are one bank."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from batchensemble.estimators.presets import SERIES_PRESETS
from batchensemble.predictive import SamplePredictive
from batchensemble.study.datasets import Series
from batchensemble.study.spec import PLAIN, Change
from batchensemble.training.bank import Bank
from batchensemble.training.engines import Windows
from batchensemble.training.loop import Training
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.methods import MakeNetwork, Method
from batchensemble.training.models import Rows, fit_models, make_members, maker, sample_paths
from batchensemble.training.networks import Recurrent

PAPER = SERIES_PRESETS["paper"]
N_PATHS = 2000


@dataclass(frozen=True)
class SeriesSplit:
    """A series cut in two by time, scaled to [0, 1] on the first part; windows by their start.

    A training window lies in the first part. A test window forecasts the second part alone, but
    may look back into the first.
    """

    values: NDArray[np.float32]
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    context: int
    horizon: int

    @property
    def y_test(self) -> NDArray[np.float64]:
        """(windows, horizon)."""
        steps = self.context + np.arange(self.horizon)
        return np.asarray(self.values[self.test[:, None] + steps], dtype=np.float64)

    def windows(self, device: str | torch.device) -> Windows:
        """Series and windows on the device; nothing is scaled by window."""
        values = torch.tensor(self.values, device=device)
        return Windows(
            values.unsqueeze(1),
            torch.zeros_like(values),
            torch.ones_like(values),
            self.context,
            self.horizon,
        )


def split_series(
    series: Series, *, context: int = PAPER["context"], horizon: int = PAPER["horizon"]
) -> SeriesSplit:
    """The first 80 % of the series are for training."""
    n_train = int(0.8 * len(series.values))
    low, high = series.values[:n_train].min(), series.values[:n_train].max()
    length = context + horizon
    return SeriesSplit(
        ((series.values - low) / (high - low)).astype(np.float32),
        np.arange(n_train - length + 1),
        np.arange(n_train - context, len(series.values) - length + 1),
        context,
        horizon,
    )


def make_network(
    split: SeriesSplit,
    width: int = PAPER["hidden_size"],
    change: Change = PLAIN,
    *,
    loss: GaussianNLL | None = None,
    feedback: str = PAPER["feedback"],
) -> MakeNetwork:
    """Builds the paper's network for a series, or what is made of it by a change."""
    return maker(
        Recurrent,
        0,
        (1, 1),
        draw=(loss or default_loss()).draw,
        context=split.context,
        horizon=split.horizon,
        feedback=feedback,
        gates=change.gates,
        adapters=change.adapters,
        init=change.init,
        hidden_size=width,
        hidden=(width,) * change.n_hidden,
        dropout=change.dropout,
    )


def train_forecasters(
    split: SeriesSplit,
    seeds: Sequence[int],
    method: Method,
    training: Training,
    *,
    makes: Sequence[MakeNetwork] = (),
    loss: GaussianNLL | None = None,
    device: str | torch.device = "cpu",
) -> Bank:
    """All networks of the method for all seeds, one seed's after the other's, as one bank.

    With several ways to make a network, first those of the first way, for all seeds.
    """
    rows = [Rows(seed, torch.tensor(split.train)) for seed in seeds]
    loss, makes = loss or default_loss(), makes or [make_network(split)]
    bank, _ = fit_models(method, makes, loss, split.windows(device), training, rows=rows)
    return bank


def forecast(
    split: SeriesSplit, seeds: Sequence[int], bank: Bank, method: Method
) -> list[SamplePredictive]:
    """Each seed's paths of all test windows, as many for every method."""
    return [SamplePredictive(paths) for paths in draw_paths(split, seeds, bank, method)]


def draw_paths(
    split: SeriesSplit, seeds: Sequence[int], bank: Bank, method: Method
) -> Iterator[NDArray[np.float64]]:
    """The same as arrays, (windows, members, paths, horizon); not finite of a lost network."""
    windows = split.windows(bank.theta.device)
    for i, seed in enumerate(seeds):
        own = bank[i * method.n_networks : (i + 1) * method.n_networks]
        members = make_members(method, own, seed, torch.float32)
        window_seeds = np.random.SeedSequence(seed).generate_state(len(split.test)).tolist()
        per_member = N_PATHS // members.n_members
        chunks = sample_paths(members, windows, split.test, window_seeds, per_member)
        yield np.concatenate(list(chunks))


def default_loss() -> GaussianNLL:
    return GaussianNLL(bounds=PAPER["log_variance_bounds"])

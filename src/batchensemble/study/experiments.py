"""What the runs of a unit share: data ready on the device, networks to train, and their scores."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from batchensemble.estimators.presets import PRESETS
from batchensemble.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    Predictive,
    SamplePredictive,
)
from batchensemble.predictive.checks import LARGEST
from batchensemble.study.datasets import TABLES, load_series, load_table
from batchensemble.study.judgement import (
    DIVERGED,
    Judgement,
    judge_classification,
    judge_paths,
    judge_regression,
)
from batchensemble.study.spec import PLAIN, Change, Unit
from batchensemble.study.splits import (
    CONTEXT,
    HORIZON,
    SeriesSplit,
    TableSplit,
    split_series,
    split_table,
)
from batchensemble.training.bank import Bank
from batchensemble.training.engines import Data, Source, Windows
from batchensemble.training.loop import Training, TrainingDiverged
from batchensemble.training.losses import FREE, CategoricalNLL, GaussianNLL
from batchensemble.training.methods import MakeNetwork, Members, Method
from batchensemble.training.models import (
    Rows,
    fit_models,
    make_members,
    maker,
    predict_rows,
    sample_paths,
)
from batchensemble.training.networks import MLP, Network, Recurrent
from batchensemble.words import one_of

PAPER = PRESETS["paper"]
PAPER_TRAINING = Training(
    **{name: PAPER[name] for name in ("epochs", "batch_size", "lr", "weight_decay", "clip_norm")}
)
WIDTH: int = PAPER["hidden"][0]
Widths = tuple[int, int]
EQUAL: Widths = (WIDTH, WIDTH)
N_PATHS = 2000
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Experiment(ABC):
    """A dataset cut for every seed; subclasses define networks, predictives and scores.

    data    all training data, on the device
    rows    for each seed, the rows of `data` that it trains on
    facts   task and sizes, kept with the results
    """

    data: Source
    rows: Sequence[Rows]
    loss: GaussianNLL | CategoricalNLL
    facts: dict[str, Any]
    dtype: ClassVar[torch.dtype]  # of networks that predict

    @abstractmethod
    def network(self, widths: Widths = EQUAL, change: Change = PLAIN) -> MakeNetwork:
        """Builds the paper's network with first and later layers of these widths, changed so."""

    @abstractmethod
    def predict(self, seed_number: int, members: Sequence[Members]) -> Predictive:
        """The predictive of all these members for the test rows of a seed.

        Raises TrainingDiverged if the networks predict numbers that are not finite.
        """

    @abstractmethod
    def score(self, seed_number: int, predictive: Any) -> Judgement:
        """Compares a predictive with the truth."""

    def train(self, method: Method, training: Training, makes: Sequence[MakeNetwork] = ()) -> Bank:
        """All networks of the method for all seeds, one seed's after the other's, as one bank.

        With several ways to make a network, the networks of the first way come first.
        """
        makes = makes or [self.network()]
        bank, _ = fit_models(method, makes, self.loss, self.data, training, rows=self.rows)
        return bank

    def members(self, seed_number: int, bank: Bank, method: Method) -> Members:
        """The networks of a seed, ready to predict."""
        first = seed_number * method.n_networks
        networks = bank[first : first + method.n_networks]
        return make_members(method, networks, self.rows[seed_number].seed, self.dtype)

    def judge(self, bank: Bank, method: Method) -> list[Judgement]:
        """The scores of every seed; of one that diverged nothing but that is said."""
        judgements = []
        for i in range(len(self.rows)):
            try:
                predictive = self.predict(i, [self.members(i, bank, method)])
            except TrainingDiverged:
                judgements.append(DIVERGED)
            else:
                judgements.append(self.score(i, predictive))
        return judgements


def with_biases(make: MakeNetwork, how: str) -> MakeNetwork:
    """Biases as `make` has them, or uniform within 1 / sqrt(inputs), as torch.nn.Linear's are."""
    if one_of(how, ("zero", "uniform"), "initialisation of biases") == "zero":
        return make

    def made(generator: torch.Generator, *, n_members: int | None = None) -> Network:
        network = make(generator, n_members=n_members)
        for layer in network.modules():
            weight, bias = getattr(layer, "weight", None), getattr(layer, "bias", None)
            if weight is not None and bias is not None:
                bound = weight.shape[-1] ** -0.5
                torch.nn.init.uniform_(bias, -bound, bound, generator=generator)
        return network

    return made


def training_seed(unit: Unit, seed: int) -> int:
    """Of initialisation, shuffling and dropout; the split has the seed itself."""
    return seed + 1_000 * unit.changes[0].start


def prepare(unit: Unit, device: torch.device = CPU) -> Experiment:
    """The data of a unit, loaded, cut and scaled."""
    return (_table if unit.dataset in TABLES else _series)(unit, device)


@dataclass(frozen=True)
class TableExperiment(Experiment):
    splits: Sequence[TableSplit]
    dtype = torch.float64

    def network(self, widths: Widths = EQUAL, change: Change = PLAIN) -> MakeNetwork:
        n_layers = change.n_hidden + 1
        last = n_layers if change.last is None else change.last
        make = maker(
            MLP,
            self.splits[0].x_train.shape[1],
            self.splits[0].outputs,
            hidden=(widths[0], *[widths[1]] * (change.n_hidden - 1)),
            dropout=change.dropout,
            adapters=("",) * (n_layers - last) + (change.adapters,) * last,
            init=change.init,
        )
        return with_biases(make, change.bias)

    def predict(self, seed_number: int, members: Sequence[Members]) -> Predictive:
        x, device = self.splits[seed_number].x_test, self.data.device
        parts = [np.concatenate(list(predict_rows(m, x, device))) for m in members]
        outputs = torch.from_numpy(np.concatenate(parts, axis=1))
        if isinstance(self.loss, CategoricalNLL):
            return _checked(CategoricalPredictive, outputs.softmax(-1).numpy())
        means, log_variances = self.loss.moments(outputs)
        return _checked(GaussianPredictive, means.numpy(), log_variances.exp().numpy())

    def score(self, seed_number: int, predictive: Any) -> Judgement:
        split = self.splits[seed_number]
        if isinstance(self.loss, CategoricalNLL):
            return judge_classification(split.y_test, predictive, split.is_tail)
        judgement = judge_regression(split.y_test.astype(np.float64), predictive, split.is_tail)
        if self.loss.bounds == FREE:
            judgement.metrics["diverged"] = 0.0
        return judgement


def _table(unit: Unit, device: torch.device) -> TableExperiment:
    """Every seed cuts the table anew."""
    table, most_rows = load_table(unit.dataset), unit.settings.most_rows
    splits = [
        split_table(table, seed, variant=unit.variant, most_rows=most_rows) for seed in unit.seeds
    ]
    data = Data(
        torch.tensor(np.concatenate([split.x_train for split in splits]), device=device),
        torch.tensor(np.concatenate([split.y_train for split in splits]), device=device),
    )
    n_train = [len(split.y_train) for split in splits]
    seeds = [training_seed(unit, seed) for seed in unit.seeds]
    rows = [*map(Rows, seeds, torch.arange(len(data.x)).split(n_train))]
    facts = {
        "task": table.task,
        "n_rows": len(table.y),
        "n_features": table.X.shape[1],
        "n_inputs": data.x.shape[1],
        "n_train": n_train,
        "n_test": [len(split.y_test) for split in splits],
    }
    if unit.variant == "shift":
        facts["shifted_features"] = [list(split.shifted) for split in splits]
    loss = _gaussian(unit) if splits[0].is_regression else CategoricalNLL()
    return TableExperiment(data, rows, loss, facts, splits)


@dataclass(frozen=True)
class SeriesExperiment(Experiment):
    data: Windows
    loss: GaussianNLL
    split: SeriesSplit
    dtype = torch.float32

    def network(self, widths: Widths = EQUAL, change: Change = PLAIN) -> MakeNetwork:
        make = maker(
            Recurrent,
            0,
            (1, 1),
            draw=self.loss.draw,
            context=CONTEXT,
            horizon=HORIZON,
            feedback=change.feedback,
            gates=change.gates,
            adapters=change.adapters,
            init=change.init,
            hidden_size=widths[0],
            hidden=(widths[1],) * change.n_hidden,
            dropout=change.dropout,
        )
        return with_biases(make, change.bias)

    def predict(self, seed_number: int, members: Sequence[Members]) -> Predictive:
        """Every method draws the same number of paths, shared among its members."""
        starts, seed = self.split.test, self.rows[seed_number].seed
        seeds = np.random.SeedSequence(seed).generate_state(len(starts)).tolist()
        n_paths = N_PATHS // sum(m.n_members for m in members)
        parts = [sample_paths(m, self.data, starts, seeds, n_paths) for m in members]
        paths = [np.concatenate(list(part)) for part in parts]
        return _checked(SamplePredictive, np.concatenate(paths, axis=1))

    def score(self, seed_number: int, predictive: Any) -> Judgement:
        return judge_paths(self.split.y_test, predictive)


def _series(unit: Unit, device: torch.device) -> SeriesExperiment:
    """Every seed has the same windows; they are not scaled one by one."""
    series = load_series(unit.dataset)
    split = split_series(series, most_windows=unit.settings.most_windows)
    values = torch.tensor(split.values, device=device)
    location, scale = torch.zeros_like(values), torch.ones_like(values)
    windows = Windows(values.unsqueeze(1), location, scale, CONTEXT, HORIZON)
    rows = [Rows(training_seed(unit, seed), torch.tensor(split.train)) for seed in unit.seeds]
    facts = {
        "task": "forecasting",
        "n_rows": len(series.values),
        "n_features": 1,
        "n_inputs": 1,
        "n_train": [len(split.train)] * len(rows),
        "n_test": [len(split.test)] * len(rows),
    }
    return SeriesExperiment(windows, rows, _gaussian(unit), facts, split)


def _gaussian(unit: Unit) -> GaussianNLL:
    bounded = unit.changes[0].bounded
    return GaussianNLL(bounds=PAPER["log_variance_bounds"] if bounded else FREE)


def _checked(kind: Callable[..., Predictive], *arrays: NDArray[np.float64]) -> Predictive:
    """Raise TrainingDiverged for numbers that no predictive takes: NaN, infinite, or huge."""
    try:
        return kind(*arrays)
    except ValueError as error:
        if all((np.abs(array) <= LARGEST).all() for array in arrays):
            raise
        raise TrainingDiverged("the networks predict numbers that are not finite") from error

"""What each method costs: parameters, time to train and to predict, peak memory.

    measure_costs(["diabetes"], torch.device("cpu"), Path("costs.json"), settings=Settings())

One model of each entrant, with the paper's network and training, on the table or series as the main
study has it. A deep ensemble enters twice: as one bank, and network by network.
"""

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

from batchensemble.predictive import Predictive, SamplePredictive
from batchensemble.study.costs_file import (
    ENTRANTS,
    ONE_BY_ONE,
    add_costs,
    cost_sheet,
    is_measured,
    read_costs,
)
from batchensemble.study.datasets import SERIES, TABLES
from batchensemble.study.experiments import SeriesExperiment, TableExperiment, prepare
from batchensemble.study.measuring import (
    clock_of,
    meet_streams,
    one_thread,
    seconds_a_call,
    watch_memory,
)
from batchensemble.study.runner import WIDTH, training_of
from batchensemble.study.series import N_PATHS
from batchensemble.study.spec import PLAIN, Settings, Unit
from batchensemble.study.store import describe_machine
from batchensemble.study.tabular import to_predictive
from batchensemble.training.bank import Bank
from batchensemble.training.engines import Data, Source
from batchensemble.training.loop import Training, check_finite, plan_and_engine
from batchensemble.training.losses import Loss
from batchensemble.training.methods import METHODS, MakeNetwork, Members, Method, make_method
from batchensemble.training.models import make_members, predict_rows, sample_paths
from batchensemble.words import one_of

__all__ = ["cost_sheet", "measure_costs", "read_costs"]

SEED = 0
TRAINED = ("batch_ensemble", "deep_ensemble", "single")  # MC dropout is the single network
LEAST_SECONDS = {"cpu": 0.2, "cuda": 0.1}  # of a timed piece
MOST_WINDOWS = 64


def measure_costs(
    datasets: Sequence[str],
    device: torch.device,
    path: Path,
    *,
    settings: Settings,
    n_repeats: int = 5,
    tell: Callable[[str], None] = lambda line: None,
) -> list[dict[str, Any]]:
    """Measure what the file does not have yet of this device, and return all its rows.

    A row is {"device", "dataset", "entrant", "n_parameters", "train_seconds", "predict_seconds",
    "peak_bytes", ...}: seconds for an epoch of one model and for the predictions on its test
    rows, medians over the repeats, with quartiles as "..._low" and "..._high". `settings.epochs` is
    how long the training would be, which decides the engine on a GPU; only a few are done.
    """
    names = [one_of(name, (*TABLES, *SERIES), "dataset") for name in datasets]
    if n_repeats < 1:
        raise ValueError(f"expected n_repeats of at least 1, got {n_repeats}")
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    for name in names:
        if is_measured(path, where, name, settings):
            tell(f"{name} on {where}: measured before")
            continue
        start = time.monotonic()
        found = measure_dataset(name, device, settings, n_repeats)
        rows = [{"device": where, "dataset": name, **row} for row in found]
        add_costs(path, rows, settings, describe_machine())
        tell(f"{name} on {where}: measured in {time.monotonic() - start:.0f} s")
    return read_costs(path)


def measure_dataset(
    dataset: str, device: torch.device, settings: Settings, n_repeats: int
) -> list[dict[str, Any]]:
    """The rows of all entrants, without the names of device and dataset."""
    if device.type == "cuda":
        torch.compiler.reset()  # torch stops compiling what was compiled too often
        meet_streams(device)
    gc.collect()  # what is freed while memory is watched would be missing
    task = make_task(dataset, device, settings)
    with one_thread():
        trained, training = _measure_training(task, n_repeats)
        predicting = _measure_predicting(task, trained, n_repeats)
    n_networks = len(trained["deep_ensemble"].bank)
    kept = trained["deep_ensemble"].bank.theta.nbytes
    rows = []
    for entrant in ENTRANTS:
        train, predict = training[trained_as(entrant)], predicting[entrant]
        n_parameters = trained[trained_as(entrant)].bank.n_parameters
        if entrant == ONE_BY_ONE:  # while one network is trained, all are kept
            n_parameters *= n_networks
            peak = None if train.peak is None else train.peak + kept
            train = Cost([n_networks * seconds for seconds in train.seconds], peak)
        peaks = [peak for peak in (train.peak, predict.peak) if peak is not None]
        rows.append(
            {
                "entrant": entrant,
                "n_parameters": n_parameters,
                "n_train": len(task.rows),
                "n_predicted": task.n_predicted,
                "n_repeats": n_repeats,
                **_spread("train_seconds", train.seconds),
                **_spread("predict_seconds", predict.seconds),
                "train_peak_bytes": train.peak,
                "predict_peak_bytes": predict.peak,
                "peak_bytes": max(peaks, default=None),
            }
        )
    return rows


class Cost(NamedTuple):
    seconds: list[float]
    peak: int | None  # bytes


def _measure_training(task: "Task", n_repeats: int) -> tuple[dict[str, "Trainee"], dict[str, Cost]]:
    """An epoch of each model that is trained, and the models."""
    trained: dict[str, Trainee] = {}
    peaks = {}
    for word in TRAINED:
        with watch_memory(task.device) as memory:
            trained[word] = Trainee(task, make_method(word))
            trained[word].epoch()  # compiles and captures, where this is done at all
        peaks[word] = memory.peak
    epochs = {word: trainee.epoch for word, trainee in trained.items()}
    return trained, _with_seconds(epochs, peaks, task.device, n_repeats)


def _measure_predicting(
    task: "Task", trained: Mapping[str, "Trainee"], n_repeats: int
) -> dict[str, Cost]:
    """The predictions of each entrant; its networks are made ready before."""
    works, peaks = {}, {}
    for entrant in ENTRANTS:
        with watch_memory(task.device) as memory:
            works[entrant] = partial(task.predict, ready(entrant, trained, task))
            works[entrant]()
        peaks[entrant] = memory.peak
    return _with_seconds(works, peaks, task.device, n_repeats)


def _with_seconds(
    works: Mapping[str, Callable[[], object]],
    peaks: Mapping[str, int | None],
    device: torch.device,
    n_repeats: int,
) -> dict[str, Cost]:
    least = LEAST_SECONDS.get(device.type, max(LEAST_SECONDS.values()))
    seconds = seconds_a_call(works, clock_of(device), least, n_repeats)
    return {name: Cost(seconds[name], peaks[name]) for name in works}


@dataclass(frozen=True)
class Task:
    """What is trained on, where it lies, and how its test rows are predicted."""

    make: MakeNetwork
    loss: Loss
    training: Training
    data: Source
    rows: Tensor
    dtype: torch.dtype  # of predictions
    n_predicted: int
    predict: Callable[[Sequence[Members]], Predictive]
    """Members that are not folded into one network answer one after the other."""

    @property
    def device(self) -> torch.device:
        return self.data.device


def make_task(dataset: str, device: torch.device, settings: Settings) -> Task:
    """The dataset as the first run of the study has it."""
    unit = Unit(dataset, "id", tuple(METHODS), (SEED,), settings)
    experiment = prepare(unit)
    make, training = experiment.network(WIDTH, PLAIN), training_of(unit, experiment)
    if isinstance(experiment, TableExperiment):
        return _table(experiment, make, training, device)
    assert isinstance(experiment, SeriesExperiment)
    return _series(experiment, make, training, device)


def _table(
    experiment: TableExperiment, make: MakeNetwork, training: Training, device: torch.device
) -> Task:
    (split,), loss = experiment.splits, experiment.loss
    data = Data(
        torch.tensor(split.x_train, device=device), torch.tensor(split.y_train, device=device)
    )

    def predict(members: Sequence[Members]) -> Predictive:
        parts = [predict_rows(m, split.x_test, device) for m in members]
        return to_predictive(torch.cat([torch.cat(list(part)) for part in parts], 1), loss)

    rows = torch.arange(len(split.x_train))
    n_test = len(split.x_test)
    return Task(make, loss, training, data, rows, torch.float64, n_test, predict)


def _series(
    experiment: SeriesExperiment, make: MakeNetwork, training: Training, device: torch.device
) -> Task:
    split = experiment.split
    windows, starts = split.windows(device), split.test[:MOST_WINDOWS]
    seeds = np.random.SeedSequence(SEED).generate_state(len(starts)).tolist()

    def predict(members: Sequence[Members]) -> Predictive:
        n_paths = N_PATHS // sum(m.n_members for m in members)
        parts = [sample_paths(m, windows, starts, seeds, n_paths) for m in members]
        paths = [np.concatenate(list(part)) for part in parts]
        return SamplePredictive(np.concatenate(paths, axis=1))

    rows = torch.tensor(split.train)
    loss = experiment.loss
    return Task(make, loss, training, windows, rows, torch.float32, len(starts), predict)


class Trainee:
    """The networks of one model in training, an epoch when it is asked for.

    Epochs are those of `training.train`, with the engine that all of them would have; so several
    models can be trained in turns, and none is compiled twice.
    """

    def __init__(self, task: Task, method: Method) -> None:
        device = task.device
        states = np.random.SeedSequence(SEED).generate_state(method.n_networks)
        seeds = [int(seed) for seed in states]
        networks = [method.network(task.make, Generator().manual_seed(seed)) for seed in seeds]
        self.bank = Bank(networks).to(device, task.data.dtype)
        self.training = training = task.training
        generators = [Generator(device).manual_seed(seed) for seed in seeds]
        rows = [task.rows] * len(seeds)
        self.plan, self.engine = plan_and_engine(
            self.bank, task.loss, task.data, training, rows=rows, generators=generators
        )

    def epoch(self) -> None:
        parts = self.plan.epoch([True] * len(self.bank))
        losses = torch.cat([self.engine.run(steps) for steps in parts])
        check_finite(losses, 0, self.training)
        self.plan.epoch_means(losses)


def trained_as(entrant: str) -> str:
    """Whose training an entrant's is: one by one, and MC dropout, train the single network."""
    return entrant if entrant in TRAINED else "single"


def ready(entrant: str, trained: Mapping[str, Trainee], task: Task) -> list[Members]:
    """Trained networks made ready to predict: folded into one, or one by one."""
    if entrant == ONE_BY_ONE:
        bank, method = trained["deep_ensemble"].bank, make_method("single")
        banks = [bank[[i]] for i in range(len(bank))]
    else:
        method = make_method(entrant)
        banks = [trained[trained_as(entrant)].bank]
    for bank in banks:
        bank.module.eval()
    return [make_members(method, bank, SEED, task.dtype) for bank in banks]


def _spread(name: str, seconds: Sequence[float]) -> dict[str, float]:
    low, median, high = np.quantile(seconds, [0.25, 0.5, 0.75]).tolist()
    return {name: median, f"{name}_low": low, f"{name}_high": high}

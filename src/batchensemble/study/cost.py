"""Measures what each method costs: parameters, time to train and to predict, peak memory.

    measure_costs(["diabetes"], torch.device("cpu"), Path("costs.json"), settings=Settings())

One model of each entrant, with the paper's network and training, on the table or series of the main
study. A deep ensemble enters twice: as one bank, and network by network.
"""

import dataclasses
import gc
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Generator
from torch.utils.benchmark import set_torch_threads

from batchensemble.study.additions import fingerprint
from batchensemble.study.costs_file import (
    ENTRANTS,
    ONE_BY_ONE,
    add_costs,
    check_costs,
    is_measured,
    read_costs,
)
from batchensemble.study.datasets import SERIES, TABLES
from batchensemble.study.experiments import Experiment, SeriesExperiment, prepare
from batchensemble.study.meters import Cost, Work, measure, meet_streams
from batchensemble.study.runner import training_of
from batchensemble.study.spec import Settings, Unit
from batchensemble.study.store import describe_machine
from batchensemble.training.bank import Bank
from batchensemble.training.feed import plan_and_engine
from batchensemble.training.loop import Training, check_finite
from batchensemble.training.methods import METHODS, Members, Method, make_method
from batchensemble.training.models import make_members
from batchensemble.words import one_of

SEED = 0
TRAINED = ("batch_ensemble", "deep_ensemble", "single")  # MC dropout is the single network
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
    how long the training would be, which decides the engine on a GPU; only a few epochs are run.
    """
    names = [one_of(name, (*TABLES, *SERIES), "dataset") for name in datasets]
    if n_repeats < 1:
        raise ValueError(f"expected n_repeats of at least 1, got {n_repeats}")
    data = {name: fingerprint(name) for name in names}
    check_costs(path, settings, data)
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    for name in names:
        if is_measured(path, where, name):
            tell(f"{name} on {where}: measured before")
            continue
        start = time.monotonic()
        rows = measure_dataset(name, device, settings, n_repeats)
        of = {"device": where, "dataset": name} | ({"data": data[name]} if data[name] else {})
        rows = [of | row for row in rows]
        add_costs(path, rows, settings, describe_machine())
        tell(f"{name} on {where}: measured in {time.monotonic() - start:.0f} s")
    return read_costs(path)


def compile_kernels(datasets: Sequence[str], device: torch.device, settings: Settings) -> None:
    """Compile the kernels of the models to be measured, which takes no time of the GPU."""
    for name in datasets:
        experiment, training = first_run(name, device, settings)
        for word in TRAINED:
            Model(experiment, make_method(word), training)


def measure_dataset(
    dataset: str, device: torch.device, settings: Settings, n_repeats: int
) -> list[dict[str, Any]]:
    """The rows of all entrants, without the names of device and dataset."""
    if device.type == "cuda":
        torch.compiler.reset()  # torch stops compiling what was compiled too often
        meet_streams(device)
    gc.collect()  # memory freed while it is watched would be missing
    experiment, training = first_run(dataset, device, settings)
    models: dict[str, Model] = {}

    def train(word: str) -> Work:
        models[word] = Model(experiment, make_method(word), training)
        return models[word].epoch

    def predict(entrant: str) -> Work:
        return partial(experiment.predict, 0, ready(entrant, models, experiment))

    with set_torch_threads(1):
        epochs = measure({word: partial(train, word) for word in TRAINED}, device, n_repeats)
        answers = measure({word: partial(predict, word) for word in ENTRANTS}, device, n_repeats)
    ensemble, rows = models["deep_ensemble"].bank, []
    for entrant in ENTRANTS:
        word = trained_as(entrant)
        cost, n_parameters = epochs[word], models[word].bank.n_parameters
        if entrant == ONE_BY_ONE:  # while one network is trained, all are kept
            n_parameters = ensemble.n_parameters
            peak = None if cost.peak is None else cost.peak + ensemble.theta.nbytes
            cost = Cost([len(ensemble) * seconds for seconds in cost.seconds], peak)
        peaks = {"train": cost.peak, "predict": answers[entrant].peak}
        rows.append(
            {
                "entrant": entrant,
                "n_parameters": n_parameters,
                "n_train": len(experiment.rows[0].train),
                "n_predicted": experiment.facts["n_test"][0],
                "n_repeats": n_repeats,
                **_spread("train_seconds", cost.seconds),
                **_spread("predict_seconds", answers[entrant].seconds),
                **{f"{name}_peak_bytes": peak for name, peak in peaks.items()},
                "peak_bytes": max((p for p in peaks.values() if p is not None), default=None),
            }
        )
    return rows


def first_run(
    dataset: str, device: torch.device, settings: Settings
) -> tuple[Experiment, Training]:
    """The dataset as the first run of the study has it, with fewer windows to predict."""
    unit = Unit(dataset, "id", tuple(METHODS), (SEED,), settings)
    experiment = prepare(unit, device)
    if isinstance(experiment, SeriesExperiment):
        starts = experiment.split.test[:MOST_WINDOWS]
        split = dataclasses.replace(experiment.split, test=starts)
        facts = experiment.facts | {"n_test": [len(starts)]}
        experiment = dataclasses.replace(experiment, split=split, facts=facts)
    return experiment, training_of(unit, experiment)


class Model:
    """The networks of one model in training, one epoch at a time.

    Epochs are those of `training.loop.train`, with the engine that all of them would have; so
    several models can be trained in turns, and none is compiled twice.
    """

    def __init__(self, experiment: Experiment, method: Method, training: Training) -> None:
        data = experiment.data
        states = np.random.SeedSequence(SEED).generate_state(method.n_networks)
        seeds = [int(seed) for seed in states]
        make = experiment.network()
        networks = [method.network(make, Generator().manual_seed(seed)) for seed in seeds]
        self.bank = Bank(networks).to(data.device, data.dtype)
        self.training = training
        generators = [Generator(data.device).manual_seed(seed) for seed in seeds]
        rows = [experiment.rows[0].train] * len(seeds)
        self.plan, self.engine = plan_and_engine(
            self.bank, experiment.loss, data, training, rows=rows, generators=generators
        )

    def epoch(self) -> None:
        parts = self.plan.epoch([True] * len(self.bank))
        losses = torch.cat([self.engine.run(steps) for steps in parts])
        check_finite(losses, 0, self.training)
        self.plan.epoch_means(losses)


def trained_as(entrant: str) -> str:
    """The model that an entrant trains: for MC dropout, and one by one, the single network."""
    return entrant if entrant in TRAINED else "single"


def ready(entrant: str, models: Mapping[str, Model], experiment: Experiment) -> list[Members]:
    """Trained networks made ready to predict: folded into one, or one by one."""
    if entrant == ONE_BY_ONE:
        bank, method = models["deep_ensemble"].bank, make_method("single")
        banks = [bank[[i]] for i in range(len(bank))]
    else:
        method = make_method(entrant)
        banks = [models[trained_as(entrant)].bank]
    for bank in banks:
        bank.module.eval()
    return [make_members(method, bank, SEED, experiment.dtype) for bank in banks]


def _spread(name: str, seconds: Sequence[float]) -> dict[str, float]:
    low, median, high = np.quantile(seconds, [0.25, 0.5, 0.75]).tolist()
    return {name: median, f"{name}_low": low, f"{name}_high": high}

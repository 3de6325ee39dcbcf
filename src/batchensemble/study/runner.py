"""Does the work: trains a unit as one bank, judges every run in it, writes what came out."""

import dataclasses
import datetime as dt
import math
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from joblib import Parallel, delayed

from batchensemble.bank import Bank
from batchensemble.datasets import TABLES, load_series, load_table
from batchensemble.losses import FREE, GaussianNLL
from batchensemble.methods import Method, make_method
from batchensemble.predictive import GaussianPredictive, SamplePredictive
from batchensemble.study import series, tabular
from batchensemble.study.judging import (
    Judgement,
    judge_classification,
    judge_paths,
    judge_regression,
)
from batchensemble.study.spec import Settings, Unit
from batchensemble.study.store import Result, Store, describe_machine
from batchensemble.training import Training

Judge = Callable[[Bank, Method], list[Judgement]]
"""Predicts with trained networks, and judges the predictions of each seed."""


def run_unit(unit: Unit, device: torch.device) -> list[Result]:
    """Results of all runs of a unit."""
    prepare = _on_table if unit.dataset in TABLES else _on_series
    train, judge = prepare(unit, device)
    start = time.monotonic()
    bank = train(make_method(unit.methods[0]))
    trained = time.monotonic() - start
    results = []
    for word in unit.methods:
        start = time.monotonic()
        judgements = judge(bank, make_method(word))
        about = {
            "n_parameters": bank.n_parameters // len(unit.seeds),
            "seconds_training_all_seeds": trained,
            "seconds_judging_all_seeds": time.monotonic() - start,
            "finished": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
            **describe_machine(),
        }
        own = [run for run in unit.runs if run.method == word]
        results += [
            Result(run, j.metrics, j.curves, about, j.arrays)
            for run, j in zip(own, judgements, strict=True)
        ]
    return results


def run_units(
    units: Sequence[Unit],
    store: Store,
    *,
    device: torch.device,
    n_jobs: int = 1,
    tell: Callable[[Unit], None] = lambda unit: None,
) -> None:
    """Do what is not done yet, several units at a time, each written as soon as it is finished."""
    left = [unit for unit in units if not all(run in store for run in unit.runs)]
    jobs = (delayed(_work)(unit, store, device) for unit in left)
    for unit in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(jobs):
        tell(unit)


def _work(unit: Unit, store: Store, device: torch.device) -> Unit:
    torch.set_num_threads(1)
    for result in run_unit(unit, device):
        store.write(result)
    return unit


def _on_table(unit: Unit, device: torch.device) -> tuple[Callable[[Method], Bank], Judge]:
    table = load_table(unit.dataset)
    splits = [
        _shortened(tabular.split_table(table, seed, variant=unit.variant), unit.settings)
        for seed in unit.seeds
    ]
    loss = tabular.default_loss(splits[0])
    if isinstance(loss, GaussianNLL) and not unit.settings.bounded:
        loss = GaussianNLL(bounds=FREE)

    def train(method: Method) -> Bank:
        training = training_of(unit.settings)
        return tabular.train_networks(splits, method, training, loss=loss, device=device)

    def judge(bank: Bank, method: Method) -> list[Judgement]:
        judgements = []
        answers = tabular.predict(splits, bank, method, loss=loss)
        for split, dist in zip(splits, answers, strict=True):
            if isinstance(dist, GaussianPredictive):
                y = split.y_test.astype(np.float64)
                judgements.append(judge_regression(y, dist, split.is_tail))
            else:
                judgements.append(judge_classification(split.y_test, dist, split.is_tail))
        return judgements

    return train, judge


def _on_series(unit: Unit, device: torch.device) -> tuple[Callable[[Method], Bank], Judge]:
    split = series.split_series(load_series(unit.dataset))
    n = unit.settings.most_windows
    if n is not None:
        split = dataclasses.replace(split, train=split.train[-n:], test=split.test[:n])

    def train(method: Method) -> Bank:
        training = training_of(unit.settings)
        return series.train_forecasters(split, unit.seeds, method, training, device=device)

    def judge(bank: Bank, method: Method) -> list[Judgement]:
        answers: list[SamplePredictive] = series.forecast(split, unit.seeds, bank, method)
        return [judge_paths(split.y_test, dist) for dist in answers]

    return train, judge


def training_of(settings: Settings) -> Training:
    clip_norm = tabular.PAPER_TRAINING.clip_norm if settings.bounded else math.inf
    return dataclasses.replace(tabular.PAPER_TRAINING, epochs=settings.epochs, clip_norm=clip_norm)


def _shortened(split: tabular.Split, settings: Settings) -> tabular.Split:
    n = settings.most_rows
    return dataclasses.replace(split, x_train=split.x_train[:n], y_train=split.y_train[:n])

"""Trains a unit as one bank, scores every run in it, and writes the results."""

import dataclasses
import datetime as dt
import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext

import torch
from torch import Generator

from batchensemble.study.additions import NOTHING, Additions
from batchensemble.study.budgets import widths_within
from batchensemble.study.experiments import EQUAL, PAPER_TRAINING, Experiment, prepare
from batchensemble.study.spec import Unit
from batchensemble.study.store import Result, Store, describe_machine
from batchensemble.training.loop import Training
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.methods import MakeNetwork, Method, make_method
from batchensemble.training.workers import MapCalls, worker_processes


def run_unit(unit: Unit, device: torch.device) -> list[Result]:
    """Results of all runs of a unit."""
    experiment = prepare(unit, device)
    methods, makes = entrants(unit, experiment)
    start = time.monotonic()
    bank = experiment.train(methods[0], training_of(unit, experiment), makes)
    trained = time.monotonic() - start
    n_networks = len(bank) // len(unit.changes)
    results, runs = [], iter(unit.runs)
    for first in range(0, len(bank), n_networks):
        networks = bank[first : first + n_networks]
        for method in methods:
            start = time.monotonic()
            judgements = experiment.judge(networks, method)
            about = {
                "n_parameters": networks.n_parameters // len(unit.seeds),
                "n_networks": method.n_networks,
                **experiment.facts,
                "seconds_training_all_seeds": trained / len(unit.changes),
                "seconds_judging_all_seeds": time.monotonic() - start,
                "finished": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
                "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
                **describe_machine(),
            }
            results += [
                Result(next(runs), j.metrics, j.curves, about, j.arrays) for j in judgements
            ]
    return results


def entrants(unit: Unit, experiment: Experiment) -> tuple[list[Method], list[MakeNetwork]]:
    """The methods of a unit, and how the networks of each of its changes are made.

    Those with a budget get layers that use it up: a wider network, or narrower ones.
    """
    change = unit.changes[0]
    methods = [make_method(word, n_members=change.n_members) for word in unit.methods]
    widths = EQUAL
    rival = "batch_ensemble" if change.matched else change.budget
    if rival:
        budget = _n_parameters(make_method(rival), experiment.network(EQUAL, change))

        def count(first: int, later: int) -> int:
            return _n_parameters(methods[0], experiment.network((first, later), change))

        if change.matched:
            while count(widths[0] + 1, widths[1] + 1) <= budget:
                widths = (widths[0] + 1, widths[1] + 1)
        else:
            widths = widths_within(count, budget)
    return methods, [experiment.network(widths, one) for one in unit.changes]


def training_of(unit: Unit, experiment: Experiment) -> Training:
    """The paper's training; gradients are clipped only where a bounded variance is predicted.

    A network that diverges does not stop the others: its results say that it diverged.
    """
    change, penalties = unit.changes[0], [change.penalty for change in unit.changes]
    is_clipped = change.bounded and isinstance(experiment.loss, GaussianNLL)
    method = make_method(unit.methods[0], n_members=change.n_members)
    n_networks = len(unit.seeds) * method.n_networks  # of a change
    every = tuple(penalty for penalty in penalties for _ in range(n_networks))
    return dataclasses.replace(
        PAPER_TRAINING,
        epochs=unit.settings.epochs,
        lr=change.lr,
        clip_norm=PAPER_TRAINING.clip_norm if is_clipped else math.inf,
        batching=change.batching,
        penalty=every if len({*penalties}) > 1 else change.penalty,
        stop_if_lost=False,
    )


def unfinished(units: Sequence[Unit], store: Store) -> list[Unit]:
    return [unit for unit in units if not all(run in store for run in unit.runs)]


def run_units(
    units: Sequence[Unit],
    store: Store,
    *,
    device: torch.device,
    n_jobs: int = 1,
    additions: Additions = NOTHING,
    tell: Callable[[Unit, list[Result]], None] = lambda unit, results: None,
    elsewhere: MapCalls | None = None,
) -> None:
    """Run unfinished units, several at a time; each is written as soon as it is finished.

    `tell` gets a finished unit and its results, without their predictions. `elsewhere` makes the
    calls on other machines, which see the same folders.
    """
    calls = [(unit, store, device, additions) for unit in unfinished(units, store)]
    with nullcontext(elsewhere) if elsewhere else worker_processes(n_jobs) as map_calls:
        for unit, results in map_calls(_work, calls):
            tell(unit, results)


def _work(
    unit: Unit, store: Store, device: torch.device, additions: Additions
) -> tuple[Unit, list[Result]]:
    torch.set_num_threads(1)
    additions.register()
    results = run_unit(unit, device)
    for result in results:
        store.write(result)
    return unit, [dataclasses.replace(result, arrays={}) for result in results]


def _n_parameters(method: Method, make: MakeNetwork) -> int:
    network = method.network(make, Generator())
    return method.n_networks * sum(p.numel() for p in network.parameters())

"""Does the work: trains a unit as one bank, judges every run in it, writes what came out."""

import dataclasses
import datetime as dt
import math
import time
from collections.abc import Callable, Sequence
from itertools import count

import torch
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor
from torch import Generator

from batchensemble.study.experiments import Experiment, prepare
from batchensemble.study.own import Own
from batchensemble.study.spec import Unit
from batchensemble.study.store import Result, Store, describe_machine
from batchensemble.study.tabular import CLASSIFIER_TRAINING, PAPER, PAPER_TRAINING
from batchensemble.training.loop import Training
from batchensemble.training.methods import MakeNetwork, Method, make_method

WIDTH = PAPER["hidden"][0]
NOTHING = Own()


def run_unit(unit: Unit, device: torch.device) -> list[Result]:
    """Results of all runs of a unit."""
    experiment = prepare(unit)
    methods, makes = entrants(unit, experiment)
    start = time.monotonic()
    bank = experiment.train(methods[0], makes, training_of(unit, experiment), device)
    trained = time.monotonic() - start
    n_networks = len(bank) // len(unit.changes)
    results = []
    for i, change in enumerate(unit.changes):
        own = bank[i * n_networks : (i + 1) * n_networks]
        for word, method in zip(unit.methods, methods, strict=True):
            start = time.monotonic()
            judgements = experiment.judge(own, method)
            about = {
                "n_parameters": own.n_parameters // len(unit.seeds),
                "n_networks": method.n_networks,
                **experiment.facts,
                "seconds_training_all_seeds": trained / len(unit.changes),
                "seconds_judging_all_seeds": time.monotonic() - start,
                "finished": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
                "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
                **describe_machine(),
            }
            runs = [run for run in unit.runs if (run.change, run.method) == (change, word)]
            results += [
                Result(run, j.metrics, j.curves, about, j.arrays)
                for run, j in zip(runs, judgements, strict=True)
            ]
    return results


def entrants(unit: Unit, experiment: Experiment) -> tuple[list[Method], list[MakeNetwork]]:
    """The methods of a unit, and how the networks of each of its changes are made."""
    first = unit.changes[0]
    methods = [make_method(word, n_members=first.n_members) for word in unit.methods]
    makes = [experiment.network(WIDTH, change) for change in unit.changes]
    if not first.matched:
        return methods, makes
    budget = _n_parameters(make_method("batch_ensemble"), makes[0])
    if methods[0].n_networks > 1:
        n_members = budget // _n_parameters(make_method("single"), makes[0])
        return [make_method(word, n_members=n_members) for word in unit.methods], makes
    fitting = makes
    for width in count(WIDTH + 1):
        wider = [experiment.network(width, change) for change in unit.changes]
        if _n_parameters(methods[0], wider[0]) > budget:
            break
        fitting = wider
    return methods, fitting


def training_of(unit: Unit, experiment: Experiment) -> Training:
    """The paper's training; as written, it does not clip gradients.

    A network that is lost does not stop the others: it is told among the results.
    """
    first = unit.changes[0]
    is_classes = experiment.facts["task"] == "classification"
    training = dataclasses.replace(
        CLASSIFIER_TRAINING if is_classes else PAPER_TRAINING,
        epochs=unit.settings.epochs,
        batching=first.batching,
        penalty=_penalties(unit),
        stop_if_lost=False,
    )
    return training if first.bounded else dataclasses.replace(training, clip_norm=math.inf)


def _penalties(unit: Unit) -> float | tuple[float, ...]:
    """One for all, or one for each network where changes differ in it."""
    penalties = [change.penalty for change in unit.changes]
    if len({*penalties}) == 1:
        return penalties[0]
    n_networks = make_method(unit.methods[0], n_members=unit.changes[0].n_members).n_networks
    return tuple(own for own in penalties for _ in range(len(unit.seeds) * n_networks))


def run_units(
    units: Sequence[Unit],
    store: Store,
    *,
    device: torch.device,
    n_jobs: int = 1,
    own: Own = NOTHING,
    tell: Callable[[Unit, list[Result]], None] = lambda unit, results: None,
) -> None:
    """Do what is not done yet, several units at a time, each written as soon as it is finished.

    `tell` gets a finished unit and its results, without their predictions.
    """
    left = [unit for unit in units if not all(run in store for run in unit.runs)]
    jobs = (delayed(_work)(unit, store, device, own) for unit in left)
    try:
        for unit, results in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(jobs):
            tell(unit, results)
    except KeyboardInterrupt:
        get_reusable_executor().shutdown(kill_workers=True)
        raise


def _work(unit: Unit, store: Store, device: torch.device, own: Own) -> tuple[Unit, list[Result]]:
    torch.set_num_threads(1)
    own.register()
    results = run_unit(unit, device)
    for result in results:
        store.write(result)
    return unit, [dataclasses.replace(result, arrays={}) for result in results]


def _n_parameters(method: Method, make: MakeNetwork) -> int:
    network = method.network(make, Generator())
    return method.n_networks * sum(p.numel() for p in network.parameters())

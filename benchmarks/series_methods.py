"""The four methods and the three ways of feedback on Electric and Temperature, the paper's setting.

    BATCHENSEMBLE_DATA=folder python benchmarks/series_methods.py [--device cuda] [--json file]

Prints mean and standard error over the seeds, in units of the series' training range. `corr 1,2`
is the correlation of the errors of the first two steps: inside paths, and in reality.
"""

import argparse
import dataclasses
import json
from functools import partial
from multiprocessing.pool import ThreadPool
from pathlib import Path

import numpy as np
import torch

from batchensemble.metrics import selective_rmse, summarise_paths
from batchensemble.predictive import SamplePredictive
from batchensemble.study.experiments import PAPER_TRAINING, prepare
from batchensemble.study.spec import Change, Settings, Unit
from batchensemble.training.methods import METHODS, make_method
from batchensemble.training.networks import FEEDBACK

SHOWN = {
    "rmse": "rmse",
    "nll": "nll",
    "rmsce": "rmsce",
    "miscalibration_area": "miscal.",
    "crps": "crps",
    "energy_score": "energy",
    "variogram_score": "variogram",
    "coverage_80": "cov. 80",
    "coverage_80_sum": "cov. 80 of sum",
    "corr_paths": "corr 1,2 paths",
    "corr_truth": "corr 1,2 truth",
    "aleatoric": "aleatoric",
    "epistemic": "epistemic",
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--epochs", type=int, default=PAPER_TRAINING.epochs)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--series", nargs="+", default=["electric", "temperature"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--feedback", nargs="+", default=list(FEEDBACK))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    seeds = list(range(args.seeds))
    training = dataclasses.replace(PAPER_TRAINING, epochs=args.epochs)
    results = []
    for name in args.series:
        unit = Unit(name, "id", tuple(args.methods), tuple(seeds), Settings())
        experiment = prepare(unit, torch.device(args.device))
        for feedback in args.feedback:
            trained = {}
            for word in args.methods:
                method = make_method(word)
                key = "single" if word == "mc_dropout" else word  # one network, two predictions
                if key not in trained:
                    make = experiment.network(change=Change(feedback=feedback))
                    trained[key] = experiment.train(method, training, [make])
                members = [experiment.members(i, trained[key], method) for i in range(args.seeds)]
                dists = [experiment.predict(i, [each]) for i, each in enumerate(members)]
                about = {"series": name, "feedback": feedback, "method": word}
                with ThreadPool() as pool:
                    scores = pool.map(partial(judge, experiment.split.y_test), dists)
                results += [about | {"seed": s} | row for s, row in zip(seeds, scores, strict=True)]
                rows = results[-len(seeds) :]
                print(f"\n{name}, feedback {feedback}, {word}")
                print("  ".join(f"{word} {mean_se(rows, key)}" for key, word in SHOWN.items()))
                if args.json:
                    args.json.write_text(json.dumps(results))


def judge(y: np.ndarray, dist: SamplePredictive) -> dict[str, object]:
    curve = selective_rmse(y, mean=dist.mean, uncertainty=dist.std.mean(axis=1))
    return {
        **summarise_paths(y, dist),
        "corr_paths": float(dist.step_correlation()[:, 0, 1].mean()),
        "corr_truth": float(np.corrcoef((y - dist.mean)[:, :2].T)[0, 1]),
        "selective": curve.values.tolist(),
    }


def mean_se(rows: list[dict], key: str) -> str:
    values = [row[key] for row in rows]
    se = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{np.mean(values):.4f} +- {se:.4f}"


if __name__ == "__main__":
    main()

"""Does a bounded log-variance keep every run finite, and does it cost anything?

    BATCHENSEMBLE_DATA=folder python benchmarks/stability.py [--device cuda] [--epochs 500]

Trains BatchEnsemble and the single network on California, five seeds, in-distribution and shifted,
with the objective as written and with bounds, and prints mean and standard error over the seeds
that survived.
"""

import argparse
import dataclasses
import json
import math
import time
from pathlib import Path

import numpy as np
import torch

from batchensemble.metrics import shift_auroc, summarise_regression
from batchensemble.study.experiments import PAPER, PAPER_TRAINING, prepare
from batchensemble.study.spec import Change, Settings, Unit
from batchensemble.training.loop import TrainingDiverged
from batchensemble.training.methods import make_method

OBJECTIVES = {  # whether the log-variance is bounded, and the norm that gradients are clipped to
    "as written": (False, math.inf),
    "clipped": (False, PAPER["clip_norm"]),
    "bounded": (True, math.inf),
    "bounded and clipped": (True, PAPER["clip_norm"]),
}


def mean_se(values: list[float]) -> str:
    values = [v for v in values if math.isfinite(v)]
    if not values:
        return "-"
    se = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else math.nan
    return f"{np.mean(values):.4f} +- {se:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--epochs", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--dataset", default="california")
    parser.add_argument("--methods", nargs="+", default=["batch_ensemble", "single"])
    parser.add_argument("--objectives", nargs="+", default=list(OBJECTIVES))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    results = []
    for variant in ("id", "shift"):
        for word in args.methods:
            method = make_method(word)
            for name in args.objectives:
                bounded, clip = OBJECTIVES[name]
                training = dataclasses.replace(PAPER_TRAINING, epochs=args.epochs, clip_norm=clip)
                start = time.monotonic()
                seeds = tuple(range(args.seeds))
                # Alone where a run may diverge, so that it takes no other with it.
                groups = [seeds] if bounded else [(seed,) for seed in seeds]
                rows, died = [], 0
                for group in groups:
                    change = Change(bounded=bounded)
                    unit = Unit(args.dataset, variant, (word,), group, Settings(), (change,))
                    experiment = prepare(unit, torch.device(args.device))
                    try:
                        bank = experiment.train(method, training)
                        answers = [
                            experiment.predict(i, [experiment.members(i, bank, method)])
                            for i in range(len(group))
                        ]
                    except TrainingDiverged as error:
                        print(f"  {error}")
                        died += len(group)
                        continue
                    for split, dist in zip(experiment.splits, answers, strict=True):
                        row = summarise_regression(split.y_test.astype(float), dist)
                        row["largest variance"] = float(dist.variances.max())
                        if split.is_tail.any():
                            row["auroc"] = shift_auroc(split.is_tail, score=dist.epistemic)
                        rows.append(row)
                results.append(
                    {"variant": variant, "method": word, "objective": name, "died": died,
                     "rows": rows, "seconds": time.monotonic() - start}
                )  # fmt: skip
                if args.json:
                    args.json.write_text(json.dumps(results, indent=1))
                print(
                    f"{variant:6}{word:15}{name:28} died {died}  "
                    + "  ".join(
                        f"{metric} {mean_se([row[metric] for row in rows])}"
                        for metric in ("rmse", "nll", "aleatoric", "epistemic", "largest variance")
                        + (("auroc",) if variant == "shift" else ())
                    )
                    + f"  ({results[-1]['seconds']:.0f} s)",
                    flush=True,
                )


if __name__ == "__main__":
    main()

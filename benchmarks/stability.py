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

from batchensemble.metrics import shift_auroc, summarise_regression
from batchensemble.study.datasets import load_table
from batchensemble.study.tabular import PAPER, PAPER_TRAINING, predict, split_table, train_networks
from batchensemble.training.loop import TrainingDiverged
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.methods import make_method

FREE = (-math.inf, math.inf)
BOUNDS, CLIP = PAPER["log_variance_bounds"], PAPER["clip_norm"]
OBJECTIVES = {
    "as written": (FREE, math.inf),
    "clipped": (FREE, CLIP),
    "bounded": (BOUNDS, math.inf),
    "bounded and clipped": (BOUNDS, CLIP),
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
    table = load_table(args.dataset)
    results = []
    for variant in ("id", "shift"):
        splits = [split_table(table, seed, variant=variant) for seed in range(args.seeds)]
        for word in args.methods:
            method = make_method(word)
            for name in args.objectives:
                bounds, clip = OBJECTIVES[name]
                loss = GaussianNLL(bounds=bounds)
                training = dataclasses.replace(PAPER_TRAINING, epochs=args.epochs, clip_norm=clip)
                start = time.monotonic()
                # Alone where a run may die, so that it takes no other with it.
                groups = [[split] for split in splits] if bounds == FREE else [splits]
                rows, died = [], 0
                for group in groups:
                    try:
                        bank = train_networks(
                            group, method, training, loss=loss, device=args.device
                        )
                        answers = predict(group, bank, method, loss=loss)
                    except (TrainingDiverged, ValueError) as error:
                        print(f"  {error}")
                        died += len(group)
                        continue
                    for split, dist in zip(group, answers, strict=True):
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

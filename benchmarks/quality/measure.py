"""Fit and score: one row for each table, split and method, appended to a CSV file.

    python benchmarks/quality/measure.py --out FILE [--tables NAME ...] [--methods NAME ...]
        [--splits 0-9] [--jobs 1] [--device cpu]

What the file already holds is skipped, so a run that was killed goes on where it stopped. Each
fit has one thread; CRPS is twice the mean pinball loss over the 99 percentiles, for every method.
"""

import argparse
import csv
import os
import signal
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import loader
import numpy as np
from methods import METHODS, named
from numpy.typing import NDArray
from tasks import LEVELS, Task

KEYS = ["table", "split", "method"]
SCORES = ["crps", "nll", "rmse", "coverage", "width", "log_loss", "accuracy", "ece"]
COSTS = ["cpu_seconds", "wall_seconds", "predict_seconds"]
COLUMNS = [*KEYS, "device", "n_train", "n_test", *SCORES, *COSTS]
THREADS = ["OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR"]


class Job(NamedTuple):
    table: str
    split: int
    method: str
    device: str


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", default=["choosing"])
    parser.add_argument("--methods", nargs="+", default=["all"])
    parser.add_argument("--splits", help="0-9, or 3; all where not given")
    parser.add_argument("--jobs", type=int, default=1, help="fits at the same time")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    args = parser.parse_args()
    tables = [name for word in args.tables for name in loader.GROUPS.get(word, [word])]
    jobs = list(wanted(tables, named(args.methods), args.splits, args.device))
    args.out.parent.mkdir(parents=True, exist_ok=True)
    there = rows_there(args.out)
    jobs = [job for job in jobs if (job.table, str(job.split), job.method) not in there]
    print(f"{len(there)} rows in {args.out}, {len(jobs)} fits to do", flush=True)
    os.environ.update({f"{library}_NUM_THREADS": "1" for library in THREADS})
    failed = run(jobs, args.out, args.jobs)
    if failed:
        sys.exit(f"{failed} of {len(jobs)} fits failed (see above); run again to try them again")


def wanted(tables: list[str], methods: list[str], splits: str | None, device: str) -> Iterator[Job]:
    """The first split of every table first: a run cut short has something of everything."""
    for method in methods:
        if method not in METHODS:
            raise SystemExit(f"unknown method {method!r}; choose from {', '.join(METHODS)}")
    first, _, last = (splits or "0-999").partition("-")
    for split in range(int(first), int(last or first) + 1):
        for table in tables:
            for method in methods:
                fits = METHODS[method].classes or table not in loader.CLASSES
                if fits and split < loader.n_splits(table):
                    yield Job(table, split, method, device)


def rows_there(path: Path) -> set[tuple[str, ...]]:
    """The keys of the rows in the file, which gets its header here; a torn last line is cut off."""
    text = path.read_text() if path.exists() else ""
    whole = text[: text.rfind("\n") + 1] or ",".join(COLUMNS) + "\n"
    if whole != text:
        path.write_text(whole)
    lines = list(csv.DictReader(whole.splitlines()))
    return {tuple(line[key] for key in KEYS) for line in lines}


def run(jobs: list[Job], path: Path, n_processes: int) -> int:
    """How many fits failed."""
    failed = 0
    with path.open("a", newline="") as file, get_context("spawn").Pool(n_processes) as pool:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        for done, (job, row) in enumerate(pool.imap_unordered(attempt, jobs), start=1):
            label = f"{done}/{len(jobs)} {job.table} {job.split} {job.method}"
            if isinstance(row, str):
                failed += 1
                print(f"{label} failed: {row}", flush=True)
                continue
            writer.writerow(row)
            file.flush()
            score = "log_loss" if "log_loss" in row else "crps"
            print(f"{label}: {score} {row[score]}, {row['wall_seconds']} s", flush=True)
    return failed


def attempt(job: Job) -> tuple[Job, dict[str, Any] | str]:
    """One failed fit must not end the others."""
    try:
        return job, measure(job)
    except Exception as error:
        return job, f"{type(error).__name__}: {error}"


def measure(job: Job) -> dict[str, Any]:
    table = loader.load(job.table)
    train, test = loader.split(job.table, job.split, len(table.y))
    task = Task(table.X.iloc[train], table.y[train], table.n_classes, job.split, job.device)
    method = METHODS[job.method]
    warm_up(method.module, job.device)
    cpu, wall = time.process_time(), time.perf_counter()
    predict = method.fit(task)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    start = time.perf_counter()
    answer = predict(table.X.iloc[test])
    asked = time.perf_counter() - start
    scores = (class_scores if table.n_classes else number_scores)(table.y[test], answer)
    values = scores | dict(zip(COSTS, [cpu, wall, asked], strict=True))
    rounded = {name: f"{value:.7g}" for name, value in values.items()}
    sizes = {"n_train": len(train), "n_test": len(test)}
    return job._asdict() | sizes | rounded


def warm_up(module: str, device: str) -> None:
    """Imports and the start of the GPU are not part of a fit."""
    import torch

    torch.set_num_threads(1)
    import_module(module)
    if device == "cuda":
        (torch.ones(8, 8, device=device) @ torch.ones(8, 8, device=device)).cpu()


def number_scores(y: NDArray[Any], answer: Any) -> dict[str, float]:
    quantiles = answer.quantile(LEVELS)
    low, high = quantiles[:, 4], quantiles[:, 94]
    error = y[:, None] - quantiles
    scores = {
        "crps": 2 * np.maximum(LEVELS * error, (LEVELS - 1) * error).mean(),
        "rmse": np.sqrt(np.mean((y - answer.mean) ** 2)),
        "coverage": np.mean((low <= y) & (y <= high)),
        "width": np.mean(high - low),
    }
    if hasattr(answer, "log_prob"):
        scores["nll"] = -np.mean(answer.log_prob(y))
    return {name: float(score) for name, score in scores.items()}


def class_scores(y: NDArray[Any], probabilities: NDArray[Any]) -> dict[str, float]:
    """ECE with 15 bins of equal width."""
    chosen = np.maximum(probabilities[np.arange(len(y)), y], 1e-15)
    right = probabilities.argmax(1) == y
    confidence = probabilities.max(1)
    bins = np.minimum((confidence * 15).astype(int), 14)
    gaps = np.bincount(bins, confidence - right, minlength=15)
    return {
        "log_loss": float(-np.log(chosen).mean()),
        "accuracy": float(right.mean()),
        "ece": float(np.abs(gaps).sum() / len(y)),
    }


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped; run again to go on"))
    main()

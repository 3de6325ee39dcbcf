"""Pairs of engines: the compiled loops and plain torch take the same steps to the same place."""

from functools import cache
from typing import Any

import numpy as np
import torch
from agreement import apart, stepped
from fixtures import generator, line, plan_steps, walk
from fuzz.outcomes import check

from batchensemble.training.bank import Bank
from batchensemble.training.engines.fused import covers
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.networks import MLP, Recurrent

CLOSE = 1e-2  # a unit at zero but for rounding may fall on the other side of its ReLU


def plan(random: np.random.Generator) -> dict[str, Any]:
    return {
        "kind": str(random.choice(["table", "series"])),
        "hidden": random.integers(1, 9, random.integers(0, 3)).tolist(),
        "n_members": int(random.integers(1, 5)),
        "n_networks": int(random.integers(1, 4)),
        "adapters": str(random.choice(["", "r", "s", "rs", "rsb", "b"])),
        "dropout": float(random.choice([0.0, 0.2, 0.7])),
        "batch": int(random.choice([1, 3, 16])),
        "n_steps": int(random.choice([1, 4])),
        "n_threads": int(random.choice([1, 2])),
        "beta": float(random.choice([0.0, 0.5])),
        "seed": int(random.integers(2**31)),
    }


@cache
def prepare() -> None:
    """Compile the loops, which may take a minute, before any case is timed."""
    random = np.random.default_rng(0)
    for kind in ("table", "series"):
        for adapters in ("", "rsb"):
            run(plan(random) | {"kind": kind, "adapters": adapters})


def run(plan: dict[str, Any]) -> None:
    n_members = plan["n_members"] if plan["adapters"] else 1
    loss = GaussianNLL(beta=plan["beta"] if plan["kind"] == "table" else 0.0)
    shared = {"hidden": plan["hidden"], "n_members": n_members, "adapters": plan["adapters"]}
    shared["dropout"] = plan["dropout"]
    if plan["kind"] == "table":
        data: Any = line(60, seed=plan["seed"] % 1000)
        networks = [
            MLP(3, (1, 1), generator=generator(i), **shared) for i in range(plan["n_networks"])
        ]
    else:
        data = walk(60, reach=4)
        series = {"draw": loss.draw, "context": 3, "horizon": 4, "lags": (1, 2), "hidden_size": 5}
        networks = [
            Recurrent(0, (1, 1), generator=generator(i), **series, **shared)
            for i in range(plan["n_networks"])
        ]
    bank = Bank(networks)
    if not covers(bank, loss, data):
        return
    steps = plan_steps(
        plan["n_steps"],
        50,
        n_networks=plan["n_networks"],
        batch=plan["batch"],
        n_members=n_members,
        keys=plan["dropout"] > 0,
        seed=plan["seed"] % 1000,
    )
    pair = [
        stepped(engine, bank, loss, data, steps, n_threads=plan["n_threads"])
        for engine in ("fused", "plain")
    ]
    (theta, losses), (true_theta, true_losses) = pair
    check(torch.isfinite(theta).all() and torch.isfinite(losses).all(), "parameters not finite")
    check(apart(theta, true_theta) < CLOSE, f"parameters apart by {apart(theta, true_theta):.2g}")
    far = ((losses - true_losses).abs() / (1 + true_losses.abs())).max().item()
    check(far < CLOSE, f"losses apart by {far:.2g}")

"""How long to train on a table: by its rows and by what a step costs, so that a fit stays short."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from batchensemble.training.methods import Method

# About what a thousand million multiplications and additions are worth: a core does 20 to 60 in a
# second, so that 10,000 rows take a minute and ten times the rows five times as long.
GIGAFLOPS, ROWS, GROWTH = 1500.0, 10_000, 0.68
FEWEST_STEPS, MOST_STEPS = 100, 8_000
STEPS_BETWEEN_SCORES = (20, 200)
PATIENT_STEPS, PATIENT_SCORES, PATIENCE_GROWTH = 200, 8, 0.5
BLIND_STEPS = 200  # at most, where no rows are left for early stopping
LR, SMALL_LR, SMALL_TABLE = 0.002, 0.001, 5_000
BATCH, LARGE_BATCH, LARGE_TABLE = 256, 1024, 100_000


def training_length(
    settings: Mapping[str, Any],
    n_rows: int,
    *,
    n_weights: int,
    n_networks: int,
    n_members: int,
    has_held_out: bool,
) -> dict[str, Any]:
    """The settings about training with numbers in place of None.

    `n_rows` is how many a network trains on, `n_weights` how many a member multiplies with.
    """
    batch = settings["batch_size"]
    if batch is None:
        batch = LARGE_BATCH if n_rows > LARGE_TABLE else BATCH
        batch = max(1, min(batch, n_rows // 2))
    steps_a_pass = -(-n_rows // batch)
    epochs, epoch_steps = settings["epochs"], None
    if epochs is None:
        rows_a_step = batch if settings["batching"] == "split" else batch * n_members
        cost = 6e-9 * n_networks * rows_a_step * n_weights  # there and back, in gigaflops
        budget = settings["effort"] * GIGAFLOPS * (n_rows / ROWS) ** GROWTH
        steps = max(FEWEST_STEPS, min(MOST_STEPS, budget / cost))
        if not has_held_out:
            steps = min(steps, BLIND_STEPS)
        fewest, most = STEPS_BETWEEN_SCORES
        epoch_steps = min(max(steps_a_pass, fewest), most)
        epochs = math.ceil(steps / epoch_steps)
    patience, growth = settings["patience"], 0.0
    if patience is None:
        growth = PATIENCE_GROWTH
        patience = max(PATIENT_SCORES, math.ceil(PATIENT_STEPS / (epoch_steps or steps_a_pass)))
    lr = settings["lr"]
    if lr is None:
        lr = SMALL_LR if n_rows < SMALL_TABLE else LR
    return {
        "lr": lr,
        "batch_size": batch,
        "epochs": epochs,
        "epoch_steps": epoch_steps,
        "patience": patience,
        "patience_growth": growth,
    }


def length_for(
    settings: Mapping[str, Any],
    n_rows: int,
    method: Method,
    recipe: Mapping[str, Any],
    *,
    has_held_out: bool,
) -> dict[str, Any]:
    """The same, for the networks of a recipe."""
    embedding = recipe.get("embedding", {"n_positions": 0, "counts": (), "width": 0})
    n_embedded = embedding["n_positions"] + len(embedding["counts"])
    n_inputs = recipe["in_features"] + n_embedded * embedding["width"]
    return training_length(
        settings,
        n_rows,
        n_weights=weights_of(n_inputs, recipe["hidden"], sum(recipe["heads"])),
        n_networks=method.n_networks,
        n_members=getattr(method, "n_members", 1),
        has_held_out=has_held_out,
    )


def weights_of(n_inputs: int, hidden: Sequence[int], n_outputs: int) -> int:
    """How many weights a member's network has, without biases."""
    sizes = [n_inputs, *hidden, n_outputs]
    return sum(a * b for a, b in pairwise(sizes))

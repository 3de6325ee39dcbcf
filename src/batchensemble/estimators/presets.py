"""Settings that go together; an explicit argument of an estimator wins over its preset."""

import math
from typing import Any

from batchensemble.words import one_of

PRESETS: dict[str, dict[str, Any]] = {
    # Our judgement for real tables: robust inputs, early stopping, a little more room.
    "default": {
        "hidden": (128, 128),
        "epochs": 400,
        "batch_size": 256,
        "lr": 0.001,
        "dropout": 0.15,
        "weight_decay": 0.01,
        "clip_norm": 1.0,
        "scaling": "robust",
        "max_categories": 64,
        "target_scaling": "standard",
        "log_variance_bounds": (-10.0, 4.0),
        "validation_fraction": 0.15,
        "patience": 20,
    },
    # The study's setting, exactly.
    "paper": {
        "hidden": (32, 32),
        "epochs": 500,
        "batch_size": 64,
        "lr": 0.005,
        "dropout": 0.1,
        "weight_decay": 0.0,
        "clip_norm": 0.1,
        "scaling": "minmax",
        "max_categories": 1_000_000,
        "target_scaling": "minmax",
        "log_variance_bounds": (-10.0, 0.0),
        "validation_fraction": 0.0,
        "patience": 20,
    },
}

# Classes have no log-variance that could run away: their gradients are clipped by default only.
CLASSIFIER_PRESETS = {**PRESETS, "paper": PRESETS["paper"] | {"clip_norm": math.inf}}

DIRECT: dict[str, Any] = {
    "network": "direct",
    "context": None,
    "horizon": 12,
    "calendar": True,
    "hidden": (64,),
    "epochs": 40,
    "epoch_steps": 50,
    "batch_size": 256,
    "lr": 0.001,
    "dropout": 0.3,
    "weight_decay": 0.1,
    "clip_norm": 1.0,
    "scaling": "difference",
    "loss": "crps",
    "log_variance_bounds": (-16.0, 8.0),
    "validation_fraction": 0.1,
    "patience": 10,
}

RECURRENT_ONLY = ("seasonal_lag", "feedback", "hidden_size", "n_layers")

SERIES_PRESETS: dict[str, dict[str, Any]] = {
    # Our judgement for real series: exponential smoothing, corrected by a network.
    "default": DIRECT,
    "fast": DIRECT | {"hidden": (32,), "epochs": 10, "patience": 3},
    "best": DIRECT | {"hidden": (128, 128), "epochs": 200, "patience": 20},
    # The paper's network with settings for real series: windows of any level, a season of context.
    "recurrent": {
        "network": "recurrent",
        "context": None,
        "horizon": 12,
        "seasonal_lag": True,
        "calendar": True,
        "feedback": "teacher",
        "hidden_size": 64,
        "n_layers": 1,
        "hidden": (64,),
        "epochs": 300,
        "epoch_steps": 200,
        "batch_size": 64,
        "lr": 0.003,
        "dropout": 0.1,
        "weight_decay": 0.01,
        "clip_norm": 1.0,
        "scaling": "window",
        "loss": "nll",
        "log_variance_bounds": (-10.0, 4.0),
        "validation_fraction": 0.1,
        "patience": 20,
    },
    # The study's setting, exactly.
    "paper": {
        "network": "recurrent",
        "context": 12,
        "horizon": 5,
        "seasonal_lag": False,
        "calendar": False,
        "feedback": "mean",
        "hidden_size": 32,
        "n_layers": 1,
        "hidden": (32, 32),
        "epochs": 500,
        "epoch_steps": None,
        "batch_size": 64,
        "lr": 0.005,
        "dropout": 0.1,
        "weight_decay": 0.0,
        "clip_norm": 0.1,
        "scaling": "minmax",
        "loss": "nll",
        "log_variance_bounds": (-10.0, 0.0),
        "validation_fraction": 0.0,
        "patience": 20,
    },
}


def resolve(
    preset: str, given: dict[str, Any], presets: dict[str, dict[str, Any]] = PRESETS
) -> dict[str, Any]:
    """The preset's settings, with those that were given (are not None) in their place."""
    settings = presets[one_of(preset, presets, "preset")]
    return {
        name: value if given.get(name) is None else given[name] for name, value in settings.items()
    }

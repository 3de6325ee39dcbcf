"""Settings that go together; an explicit argument of an estimator wins over its preset."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from batchensemble.words import one_of

# Members start apart in the first layer only, and own their heads.
_OWN_HEADS: dict[str, Any] = {"adapters": ("rsb", "wb"), "init": ("random_sign", "ones")}

# The ensemble of the study.
_TEN_MEMBERS: dict[str, Any] = {
    "n_members": 10,
    "adapters": "rsb",
    "init": "random_sign",
    "batching": "shared",
}

# Measured on real tables (docs/quality.md): numbers enter through learned curves, members differ in
# the first layer and have heads of their own, and folds take the place of rows that early stopping
# would cost. What is None depends on the rows: see `estimators.effort`.
_DEFAULT: dict[str, Any] = {
    "n_members": 2,
    **_OWN_HEADS,
    "batching": "split",
    "hidden": (128, 128),
    "bins": 16,
    "embedding_width": 4,
    "folds": 5,
    "epochs": None,
    "effort": 1.0,
    "batch_size": None,
    "lr": 0.002,
    "dropout": 0.05,
    "weight_decay": 0.1,
    "clip_norm": 1.0,
    "scaling": "robust",
    "max_categories": 32,
    "validation_fraction": 0.15,
    "patience": None,
}

# The study's setting, exactly.
_PAPER: dict[str, Any] = {
    **_TEN_MEMBERS,
    "hidden": (32, 32),
    "bins": 0,
    "embedding_width": 4,  # only with other bins
    "folds": 1,
    "epochs": 500,
    "effort": math.inf,
    "batch_size": 64,
    "lr": 0.005,
    "dropout": 0.1,
    "weight_decay": 0.0,
    "clip_norm": 0.1,
    "scaling": "minmax",
    "max_categories": 1_000_000,
    "validation_fraction": 0.0,
    "patience": 20,
}

_FAST = {"hidden": (64, 64), "effort": 0.2, "lr": 0.004}
_BEST = {
    "n_members": 4,
    "hidden": (512, 512, 512),
    "bins": 32,
    "embedding_width": 8,
    "dropout": 0.1,
    "effort": math.inf,
}

_NUMBER = {
    "target": "auto",
    "target_scaling": "standard",
    "log_variance_bounds": (-12.0, 4.0),
    "loss": "crps",
    "beta": 0.0,
    "rescale": True,
}

PRESETS: dict[str, dict[str, Any]] = {
    "fast": _DEFAULT | _NUMBER | _FAST,
    "default": _DEFAULT | _NUMBER,
    "best": _DEFAULT | _NUMBER | _BEST,
    "paper": _PAPER
    | {
        "target": "real",
        "target_scaling": "minmax",
        "log_variance_bounds": (-10.0, 0.0),
        "loss": "nll",
        "beta": 0.0,
        "rescale": False,
    },
}

# Many classes need wider layers and longer training than a number does. In the study they have no
# log-variance that could run away, and their gradients are not clipped.
CLASSIFIER_PRESETS: dict[str, dict[str, Any]] = {
    "fast": _DEFAULT | _FAST,
    "default": _DEFAULT | {"hidden": (256, 256), "effort": 2.0, "lr": None},
    "best": _DEFAULT | _BEST | {"lr": None},
    "paper": _PAPER | {"clip_norm": math.inf},
}

# What a Regressor's preset has instead where a table has more rows than this: many rows can teach
# wide layers, in steps of more rows, and little is needed against learning them by heart.
MANY_ROWS: dict[int, dict[str, dict[str, Any]]] = {
    25_000: {
        "default": {"hidden": (192, 192), "batch_size": 512},
        "best": {
            "hidden": (256, 256),
            "bins": 16,
            "embedding_width": 4,
            "dropout": 0.05,
            "batch_size": 1024,
        },
    },
    100_000: {"default": {"batch_size": 1024}},
}

_DIRECT: dict[str, Any] = {
    **_TEN_MEMBERS,
    **_OWN_HEADS,
    "network": "direct",
    "context": None,
    "horizon": 12,
    "calendar": True,
    "hidden": None,  # this, lr and dropout by the data: see `series_networks`
    "epochs": 40,
    "epoch_steps": 50,
    "batch_size": 256,
    "lr": None,
    "dropout": None,
    "weight_decay": 0.1,
    "clip_norm": 1.0,
    "scaling": "difference",
    "loss": "crps",
    "log_variance_bounds": (-16.0, 8.0),
    "validation_fraction": 0.1,
    "patience": 10,
}

SERIES_PRESETS: dict[str, dict[str, Any]] = {
    # Our judgement for real series: exponential smoothing, corrected by a network.
    "default": _DIRECT,
    "fast": _DIRECT | {"hidden": (32,), "lr": 0.001, "dropout": 0.3, "epochs": 10, "patience": 3},
    "best": _DIRECT | {"hidden": (128, 128), "epochs": 200, "patience": 20},
    # The paper's network with settings for real series: windows of any level, a season of context.
    "recurrent": {
        "network": "recurrent",
        **_TEN_MEMBERS,
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
        **_TEN_MEMBERS,
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
    preset: str,
    given: dict[str, Any],
    presets: dict[str, dict[str, Any]] = PRESETS,
    many_rows: Mapping[int, dict[str, dict[str, Any]]] = MappingProxyType({}),
    n_rows: int = 0,
) -> dict[str, Any]:
    """The preset's settings, with those that were given (are not None) in their place."""
    settings = presets[one_of(preset, presets, "preset")]
    for limit, others in many_rows.items():
        if n_rows > limit:
            settings = settings | others.get(preset, {})
    return {
        name: value if given.get(name) is None else _plain(given[name])
        for name, value in settings.items()
    }


def _plain(value: Any) -> Any:
    """Python's number for one of numpy's, which neither torch nor a file knows everywhere."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value

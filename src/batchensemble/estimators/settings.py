"""The parameters that estimators share, as they are stored; `parameters` says what they mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator


@dataclass(eq=False, repr=False, kw_only=True)
class Settings(BaseEstimator):  # type: ignore[misc]
    """Abstract: what every estimator can be told."""

    method: str = field(default="batch_ensemble", kw_only=False)
    n_members: int | None = None
    n_passes: int = 100
    preset: str = "default"
    hidden: Sequence[int] | None = None
    epochs: int | None = None
    batch_size: int | None = None
    lr: float | None = None
    dropout: float | None = None
    weight_decay: float | None = None
    clip_norm: float | None = None
    scaling: str | None = None
    validation_fraction: float | None = None
    patience: int | None = None
    adapters: str | Sequence[str] | None = None
    init: str | Sequence[str] | None = None
    penalty: float = 0.0
    batching: str | None = None
    one_by_one: bool = False
    time_limit: float | None = None
    keep_on_interrupt: bool = False
    random_state: int | np.random.RandomState | None = None
    device: str | torch.device = "auto"
    verbose: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class TableSettings(Settings):
    """Abstract: the same for tables."""

    folds: int | None = None
    bins: int | None = None
    embedding_width: int | None = None
    max_categories: int | None = None
    categories: Mapping[str, Sequence[Any]] | None = None
    warm_start: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class NumberSettings(TableSettings):
    """Abstract: the same for numbers as targets, but for what these can be."""

    target_scaling: str | None = None
    log_variance_bounds: tuple[float, float] | None = None
    loss: str | None = None
    beta: float | None = None
    rescale: bool | None = None

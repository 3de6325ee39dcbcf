"""From predictions to what is kept of them: numbers, curves, and arrays for numbers to come."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchensemble.metrics import (
    LEVELS,
    class_disagreement,
    coverage_curve,
    member_correlation,
    member_disagreement,
    selective_accuracy,
    selective_rmse,
    shift_auroc,
    summarise_classification,
    summarise_paths,
    summarise_regression,
)
from batchensemble.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    Predictive,
    SamplePredictive,
)

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Judgement:
    metrics: dict[str, float]
    curves: dict[str, list[float]]
    arrays: dict[str, NDArray[Any]]


def judge_regression(y: Floats, dist: GaussianPredictive, is_tail: Bools) -> Judgement:
    """Members' means and variances are kept."""
    metrics = summarise_regression(y, dist)
    metrics["member_correlation"] = member_correlation(means=dist.means)
    metrics["member_disagreement"] = member_disagreement(means=dist.means)
    metrics |= _about_tails(summarise_regression, y, dist, is_tail)
    errors = selective_rmse(y, mean=dist.mean, uncertainty=dist.std)
    curves = {
        "coverage": coverage_curve(y, mean=dist.mean, std=dist.std).empirical.tolist(),
        "selective": errors.values.tolist(),
    }
    arrays = {"y": y, "is_tail": is_tail, "means": dist.means, "variances": dist.variances}
    return Judgement(metrics, curves, _compact(arrays))


def judge_classification(
    y: NDArray[np.int64], dist: CategoricalPredictive, is_tail: Bools
) -> Judgement:
    """Members' probabilities are kept."""
    metrics = summarise_classification(y, dist)
    metrics["member_disagreement"] = class_disagreement(probabilities=dist.probabilities)
    metrics |= _about_tails(summarise_classification, y, dist, is_tail)
    right = selective_accuracy(y, probabilities=dist.mean, uncertainty=dist.total)
    arrays = {"y": y, "is_tail": is_tail, "probabilities": dist.probabilities}
    return Judgement(metrics, {"selective": right.values.tolist()}, _compact(arrays))


def judge_paths(y: Floats, dist: SamplePredictive) -> Judgement:
    """Members' means and variances by step are kept, and quantiles of all paths."""
    uncertainty = dist.std.mean(axis=1)
    curves = {
        "coverage": coverage_curve(y, mean=dist.mean, std=dist.std).empirical.tolist(),
        "selective": selective_rmse(y, mean=dist.mean, uncertainty=uncertainty).values.tolist(),
    }
    means = dist.paths.mean(axis=2)
    metrics = summarise_paths(y, dist)
    by_step = np.moveaxis(means, 1, -1).reshape(-1, dist.n_members)  # windows and steps are rows
    metrics["member_correlation"] = member_correlation(means=by_step)
    metrics["member_disagreement"] = member_disagreement(means=by_step)
    arrays = {
        "y": y,
        "means": means,
        "variances": dist.paths.var(axis=2),
        "quantiles": dist.quantile(LEVELS),
    }
    return Judgement(metrics, curves, _compact(arrays))


def _about_tails(
    summarise: Callable[[Any, Any], dict[str, float]], y: Any, dist: Predictive, is_tail: Bools
) -> dict[str, float]:
    """The metrics of the rows that training had none of, and how well doubt tells them."""
    if not is_tail.any():
        return {}
    found = {f"tail_{k}": v for k, v in summarise(y[is_tail], dist[is_tail]).items()}
    if dist.n_members > 1 and not is_tail.all():
        found["tail_auroc"] = shift_auroc(is_tail, score=dist.epistemic)
    return found


def _compact(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {
        name: array.astype(np.float32) if array.dtype.kind == "f" else array
        for name, array in arrays.items()
    }

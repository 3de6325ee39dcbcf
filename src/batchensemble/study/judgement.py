"""What is kept of a run's predictions: metrics, curves, and arrays for metrics to come."""

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
FLOOR = 1e-12  # of probabilities, where a study has one: of an open choice


@dataclass(frozen=True)
class Judgement:
    """Floats of `arrays` are kept in single precision."""

    metrics: dict[str, float]
    curves: dict[str, list[float]]
    arrays: dict[str, NDArray[Any]]

    def __post_init__(self) -> None:
        for name, array in self.arrays.items():
            if array.dtype.kind == "f":
                with np.errstate(over="ignore"):  # beyond single precision is as good as infinite
                    self.arrays[name] = array.astype(np.float32)


DIVERGED = Judgement({"diverged": 1.0}, {}, {})


def judge_regression(y: Floats, dist: GaussianPredictive, is_tail: Bools) -> Judgement:
    """Members' means and variances are kept."""
    metrics = summarise_regression(y, dist) | _diversity(dist.means)
    metrics |= _tails(summarise_regression, y, dist, is_tail)
    arrays = {"y": y, "is_tail": is_tail, "means": dist.means, "variances": dist.variances}
    return Judgement(metrics, _curves(y, dist, dist.std), arrays)


def judge_classification(
    y: NDArray[np.int64], dist: CategoricalPredictive, is_tail: Bools
) -> Judgement:
    """Members' probabilities are kept."""
    metrics = summarise_classification(y, dist)
    metrics["member_disagreement"] = class_disagreement(probabilities=dist.probabilities)
    of_truth = dist.mean[np.arange(len(y)), y]
    metrics["nll_floored"] = float(-np.log(np.maximum(of_truth, FLOOR)).mean())
    metrics |= _tails(summarise_classification, y, dist, is_tail)
    right = selective_accuracy(y, probabilities=dist.mean, uncertainty=dist.total)
    arrays = {"y": y, "is_tail": is_tail, "probabilities": dist.probabilities}
    return Judgement(metrics, {"selective": right.values.tolist()}, arrays)


def judge_paths(y: Floats, dist: SamplePredictive) -> Judgement:
    """Members' means and variances by step are kept, and quantiles of all paths."""
    means = dist.paths.mean(axis=2)
    by_step = np.moveaxis(means, 1, -1).reshape(-1, dist.n_members)  # windows and steps are rows
    metrics = summarise_paths(y, dist) | _diversity(by_step)
    arrays = {
        "y": y,
        "means": means,
        "variances": dist.paths.var(axis=2),
        "quantiles": dist.quantile(LEVELS),
    }
    return Judgement(metrics, _curves(y, dist, dist.std.mean(axis=1)), arrays)


def _diversity(means: Floats) -> dict[str, float]:
    return {
        "member_correlation": member_correlation(means=means),
        "member_disagreement": member_disagreement(means=means),
    }


def _curves(
    y: Floats, dist: GaussianPredictive | SamplePredictive, uncertainty: Floats
) -> dict[str, list[float]]:
    errors = selective_rmse(y, mean=dist.mean, uncertainty=uncertainty)
    return {
        "coverage": coverage_curve(y, mean=dist.mean, std=dist.std).empirical.tolist(),
        "selective": errors.values.tolist(),
    }


def _tails(
    summarise: Callable[[Any, Any], dict[str, float]], y: Any, dist: Predictive, is_tail: Bools
) -> dict[str, float]:
    """Metrics of the rows kept out of training, and how well doubt tells them from the others."""
    if not is_tail.any():
        return {}
    metrics = {f"tail_{k}": v for k, v in summarise(y[is_tail], dist[is_tail]).items()}
    if dist.n_members > 1 and not is_tail.all():
        metrics["tail_auroc"] = shift_auroc(is_tail, score=dist.epistemic)
    return metrics

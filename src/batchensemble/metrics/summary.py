"""One row of a results table: the metrics of one prediction, by name."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from batchensemble.metrics.calibration import (
    coverage_curve,
    ece,
    pit_coverage_curve,
    probabilities_at,
)
from batchensemble.metrics.classification import accuracy, brier, categorical_nll
from batchensemble.metrics.regression import gaussian_nll, interval_coverage, rmse
from batchensemble.predictive import (
    Array,
    CategoricalPredictive,
    GaussianPredictive,
    JointPredictive,
    Predictive,
    SamplePredictive,
    TransformedPredictive,
    check_array,
)
from batchensemble.predictive.checks import as_given, as_numbers
from batchensemble.predictive.whole import to_whole


def summarise_regression(
    y: ArrayLike, dist: GaussianPredictive | TransformedPredictive, *, whole: bool = False
) -> dict[str, float]:
    """Means over rows; nll in nats, rmse and crps in units of y, uncertainties in variances.

    nll, rmsce and miscalibration_area judge the Gaussian with the mixture's mean and variance
    (`dist.moment_matched()`), or the distribution itself where it has heavier tails than a
    Gaussian, or bounds; crps and coverage_90 always judge the distribution itself. With `whole`,
    y are counts, and intervals are judged as `predict_interval` gives them, rounded.
    """
    if not isinstance(dist, GaussianPredictive | TransformedPredictive):
        raise _other("numbers", dist)
    y, mean, std = as_column(y), dist.mean, dist.std
    if dist.tail_share or isinstance(dist, TransformedPredictive):
        up_to, below = probabilities_at(y, dist, whole=whole)
        nll, curve = -float(dist.log_prob(y).mean()), pit_coverage_curve(up_to, below=below)
    else:
        nll = gaussian_nll(y, mean=mean, std=std)
        curve = coverage_curve(y, mean=mean, std=std)
    ends = dist.interval(0.9)
    lower, upper = (to_whole(ends) if whole else ends).T
    return {
        "rmse": rmse(y, mean=mean),
        "nll": nll,
        "rmsce": curve.rmsce(),
        "miscalibration_area": curve.miscalibration_area(),
        "crps": float(dist.crps(y).mean()),
        "coverage_90": interval_coverage(y, lower=lower, upper=upper),
        **_uncertainties(dist),
    }


def summarise_classification(y: ArrayLike, dist: CategoricalPredictive) -> dict[str, float]:
    """Means over rows, all of the members' mean probabilities; nll and uncertainties in nats.

    y has the labels of `dist`; ece has 15 bins.
    """
    if not isinstance(dist, CategoricalPredictive):
        raise _other("classes", dist)
    y = dist.encode(as_column(y))
    return {
        "accuracy": accuracy(y, probabilities=dist.mean),
        "nll": categorical_nll(y, probabilities=dist.mean),
        "brier": brier(y, probabilities=dist.mean),
        "ece": ece(y, probabilities=dist.mean),
        **_uncertainties(dist),
    }


def summarise_paths(y: ArrayLike, dist: SamplePredictive) -> dict[str, float]:
    """Means over windows and steps; y (windows, horizon). nll in nats, uncertainties in variances.

    nll, rmsce and miscalibration_area judge the Gaussian with the draws' mean and variance, step
    by step; crps and coverage the draws of each step; energy_score, variogram_score (p = 0.5) and
    coverage_80_sum, of the sum over the horizon, whole paths. Where y is NaN, the truth is missing:
    every known value counts, and for whole paths every window without a gap, if there is one.
    """
    if not isinstance(dist, SamplePredictive):
        raise _other("sample paths", dist)
    values = as_numbers("y", y)
    known = ~np.isnan(values)
    filled = check_array("y", np.where(known, values, 0.0), len(dist), dist.horizon)
    if not known.any():
        raise ValueError("y: expected values to compare with, got only NaN; drop these windows")
    truth, mean, std = filled[known], dist.mean[known], dist.std[known]
    curve = coverage_curve(truth, mean=mean, std=std)

    def coverage(nominal: float) -> float:
        lower, upper = np.moveaxis(dist.interval(nominal)[known], -1, 0)
        return interval_coverage(truth, lower=lower, upper=upper)

    return {
        "rmse": rmse(truth, mean=mean),
        "nll": gaussian_nll(truth, mean=mean, std=std),
        "rmsce": curve.rmsce(),
        "miscalibration_area": curve.miscalibration_area(),
        "crps": float(dist.crps(filled)[known].mean()),
        **_of_whole_paths(filled, dist, np.all(known, axis=1)),
        "coverage_80": coverage(0.8),
        "coverage_95": coverage(0.95),
        **_uncertainties(dist),
    }


def _of_whole_paths(
    truth: Array, dist: SamplePredictive, whole: NDArray[np.bool_]
) -> dict[str, float]:
    if not whole.any():
        return {}
    if not whole.all():
        truth, dist = truth[whole], dist[whole]
    lower, upper = np.moveaxis(dist.aggregate().interval(0.8), -1, 0)
    total = truth.sum(axis=1, keepdims=True)
    return {
        "energy_score": float(dist.energy_score(truth).mean()),
        "variogram_score": float(dist.variogram_score(truth).mean()),
        "coverage_80_sum": interval_coverage(total, lower=lower, upper=upper),
    }


_SUMMARIES = {
    "numbers": "summarise_regression",
    "classes": "summarise_classification",
    "sample paths": "summarise_paths",
}


def _other(wanted: str, dist: object) -> TypeError:
    kinds: dict[type, str] = {
        GaussianPredictive: "numbers",
        TransformedPredictive: "numbers",
        CategoricalPredictive: "classes",
        SamplePredictive: "sample paths",
    }
    kind = kinds.get(type(dist))
    cure = f"use {_SUMMARIES[kind]}" if kind else "pass what predict_dist returns"
    if isinstance(dist, JointPredictive):
        cure = f"pass one target at a time: dist[{next(iter(dist))!r}]"
    return TypeError(f"expected a distribution of {wanted}, got a {type(dist).__name__}; {cure}")


def _uncertainties(dist: Predictive) -> dict[str, float]:
    return {name: float(value.mean()) for name, value in dist.uncertainty()._asdict().items()}


def as_column(y: ArrayLike) -> ArrayLike:
    """The one column of a frame as (rows,), as `fit` takes it."""
    values = as_given("y", y)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else y

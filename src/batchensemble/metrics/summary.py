"""One row of a results table: the metrics of one prediction, by name."""

from numpy.typing import ArrayLike

from batchensemble.metrics.calibration import coverage_curve, ece
from batchensemble.metrics.classification import accuracy, brier, categorical_nll
from batchensemble.metrics.regression import gaussian_nll, interval_coverage, rmse
from batchensemble.predictive import CategoricalPredictive, GaussianPredictive, Predictive


def summarise_regression(y: ArrayLike, dist: GaussianPredictive) -> dict[str, float]:
    """Means over rows; nll in nats, rmse and crps in units of y, uncertainties in variances.

    nll, rmsce and miscalibration_area judge the Gaussian with the mixture's mean and variance
    (`dist.moment_matched()`); crps and coverage_90 judge the mixture itself.
    """
    mean, std = dist.mean, dist.std
    curve = coverage_curve(y, mean=mean, std=std)
    lower, upper = dist.interval(0.9).T
    return {
        "rmse": rmse(y, mean=mean),
        "nll": gaussian_nll(y, mean=mean, std=std),
        "rmsce": curve.rmsce(),
        "miscalibration_area": curve.miscalibration_area(),
        "crps": float(dist.crps(y).mean()),
        "coverage_90": interval_coverage(y, lower=lower, upper=upper),
        **_uncertainties(dist),
    }


def summarise_classification(y: ArrayLike, dist: CategoricalPredictive) -> dict[str, float]:
    """Means over rows, all of the members' mean probabilities; nll and uncertainties in nats.

    y holds labels as `dist` speaks them; ece has 15 bins.
    """
    y = dist.encode(y)
    return {
        "accuracy": accuracy(y, probabilities=dist.mean),
        "nll": categorical_nll(y, probabilities=dist.mean),
        "brier": brier(y, probabilities=dist.mean),
        "ece": ece(y, probabilities=dist.mean),
        **_uncertainties(dist),
    }


def _uncertainties(dist: Predictive) -> dict[str, float]:
    return {name: float(value.mean()) for name, value in dist.uncertainty()._asdict().items()}

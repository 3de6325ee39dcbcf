"""Scores of whole distributions for scikit-learn's `scoring=`: higher is better, as it expects."""

from typing import Any

from numpy.typing import ArrayLike

from batchensemble.metrics.summary import as_column


def neg_crps(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Minus the mean CRPS of a fitted Regressor, in units of y; higher is better."""
    return -float(_predicted(estimator, X).crps(as_column(y)).mean())


def neg_nll(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Minus the mean negative log-likelihood, in nats, of numbers or classes; higher is better."""
    return float(_predicted(estimator, X).log_prob(as_column(y)).mean())


def _predicted(estimator: Any, X: Any) -> Any:
    """The distribution, also of the last step of a Pipeline."""
    if hasattr(estimator, "steps"):
        estimator, X = estimator[-1], estimator[:-1].transform(X)
    return estimator.predict_dist(X)

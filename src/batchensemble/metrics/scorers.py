"""Scores of whole distributions for scikit-learn's `scoring=`: higher is better, as it expects."""

from typing import Any

from numpy.typing import ArrayLike

from batchensemble.metrics.summary import as_column


def neg_crps(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Minus the mean CRPS of a fitted Regressor, in units of y; higher is better."""
    dist = _predicted(estimator, X, "crps", "a Regressor", "classes by neg_nll, ")
    return -float(dist.crps(as_column(y)).mean())


def neg_nll(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Minus the mean negative log-likelihood, in nats, of numbers or classes; higher is better."""
    dist = _predicted(estimator, X, "log_prob", "a Regressor or Classifier")
    return float(dist.log_prob(as_column(y)).mean())


def _predicted(estimator: Any, X: Any, score: str, expected: str, classes: str = "") -> Any:
    """The distribution, also of a Pipeline's last step or of the best of a search, if it has it."""
    while hasattr(estimator, "steps") or hasattr(estimator, "best_estimator_"):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            X = estimator[:-1].transform(X) if len(estimator.steps) > 1 else X
            estimator = estimator[-1]
    dist = estimator.predict_dist(X) if hasattr(estimator, "predict_dist") else None
    if not hasattr(dist, score):
        raise TypeError(
            f"expected {expected}, got {type(estimator).__name__}; score {classes}several targets "
            "by their regressors_, other estimators by a scorer of scikit-learn"
        )
    return dist

"""Regression with a whole distribution for an answer."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import assert_all_finite, column_or_1d

from batchensemble.estimators.base import PARAMETERS, TableEstimator
from batchensemble.losses import GaussianNLL
from batchensemble.predictive import GaussianPredictive
from batchensemble.words import one_of


@final
@dataclass(eq=False, repr=False, kw_only=True)
class Regressor(RegressorMixin, TableEstimator):  # type: ignore[misc]
    __doc__ = f"""Predict a number, and how far to trust it.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Regressor(random_state=0, epochs=5).fit(X[:400], y[:400])
    >>> model.predict_interval(X[400:], coverage=0.9).shape
    (42, 2)
    {PARAMETERS}    target_scaling : {{"standard", "minmax"}}
        Of the target, inside; answers are in the target's own units.
    log_variance_bounds : (float, float)
        Smooth bounds of the predicted log-variance, in units of the scaled target;
        `(-inf, inf)` for none.
    beta : float
        Above 0: the beta-NLL loss, which weighs rows by their variance to this power.

    Attributes
    ----------
    n_parameters_ : int
        Trained numbers, of all networks together.
    bank_, encoder_, history_
        The trained networks, the encoder of the columns, and losses and scores by epoch (a list
        of one history, or with `one_by_one` of one for each network).
    """

    target_scaling: str | None = None
    log_variance_bounds: tuple[float, float] | None = None
    beta: float = 0.0

    def predict(
        self, X: Any, return_std: bool = False
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean, and with `return_std=True` also the standard deviation."""
        dist = self.predict_dist(X)
        return (dist.mean, dist.std) if return_std else dist.mean

    def predict_dist(self, X: Any) -> GaussianPredictive:
        """The whole distribution of every row: a mixture of the members' Gaussians."""
        outputs = self._outputs(X)
        means, log_variances = self._loss().moments(outputs)
        return GaussianPredictive(
            self.target_location_ + self.target_scale_ * means.numpy(),
            self.target_scale_**2 * log_variances.exp().numpy(),
        )

    def predict_interval(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
        """The central interval of that probability: (rows, 2), lower and upper end."""
        return self.predict_dist(X).interval(coverage)

    def predict_quantiles(self, X: Any, q: ArrayLike) -> NDArray[np.float64]:
        """Quantiles of the distribution: (rows,) for one level, (rows, levels) for several."""
        return self.predict_dist(X).quantile(q)

    def _learn_target(self, y: ArrayLike) -> NDArray[np.float32]:
        values = np.asarray(y)
        if values.dtype.kind == "c":
            raise ValueError(f"Complex data not supported\n{values}\n")
        try:
            values = column_or_1d(values, warn=True).astype(np.float64)
        except (TypeError, ValueError) as error:
            if values.ndim > 1:
                raise
            raise ValueError(
                f"expected numbers as targets, got {values.dtype} values such as "
                f"{values[0] if len(values) else None!r}; for classes use Classifier"
            ) from error
        assert_all_finite(values, input_name="y")
        one_of(self._settings["target_scaling"], ("minmax", "standard"), "target_scaling")
        with np.errstate(over="ignore", invalid="ignore"):
            if self._settings["target_scaling"] == "minmax":
                location, scale = values.min(), np.ptp(values)
            else:
                location, scale = values.mean(), values.std()
        if not np.isfinite(scale * scale) or not np.isfinite(location):
            raise ValueError(
                "expected targets whose variance is a finite number, "
                f"got values from {values.min()} to {values.max()}; divide them by a constant"
            )
        if scale < np.finfo(np.float64).tiny ** 0.5:  # all targets are the same number
            scale = 1e-6 * (abs(location) or 1.0)
        self.target_location_, self.target_scale_ = float(location), float(scale)
        scaled: NDArray[np.float32] = (values - self.target_location_) / self.target_scale_
        return scaled.astype(np.float32)

    def _loss(self) -> GaussianNLL:
        return GaussianNLL(bounds=self._settings["log_variance_bounds"], beta=self.beta)

    def _heads(self) -> tuple[int, ...]:
        return (1, 1)

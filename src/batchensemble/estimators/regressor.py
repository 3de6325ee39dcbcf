"""Regression with a whole distribution for an answer."""

from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval
from torch import Tensor

from batchensemble.conformal import IntervalCalibration, fewest_rows, widened
from batchensemble.data.frames import Columns
from batchensemble.estimators.parameters import (
    TABLE_ATTRIBUTES,
    TABLE_CONSTRAINTS,
    TABLE_PARAMETERS,
)
from batchensemble.estimators.presets import PRESETS
from batchensemble.estimators.trust import TrustedTable
from batchensemble.predictive import GaussianPredictive
from batchensemble.training.losses import GaussianNLL
from batchensemble.words import one_of


@final
@dataclass(eq=False, repr=False, kw_only=True)
class Regressor(RegressorMixin, TrustedTable):  # type: ignore[misc]
    __doc__ = f"""Predict a number, and how far to trust it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Regressor(random_state=0, epochs=5).fit(X[:400], y[:400])
    >>> model.predict_interval(X[400:], coverage=0.9).shape
    (42, 2)
    {TABLE_PARAMETERS}    target_scaling : None or one of "standard", "minmax"
        Of the target, inside; answers are in the target's own units.
    log_variance_bounds : (float, float) or None
        Smooth bounds of the predicted log-variance, in units of the scaled target;
        `(-inf, inf)` for none.
    beta : float
        Above 0: the beta-NLL loss, which weighs rows by their variance to this power.

    Attributes
    ----------
    calibration_ : IntervalCalibration
        After `calibrate`: predictions for the calibration rows, beside the truth.
    {TABLE_ATTRIBUTES}
    """

    _presets: ClassVar[dict[str, dict[str, Any]]] = PRESETS
    _task: ClassVar[str] = "regression"

    target_scaling: str | None = None
    log_variance_bounds: tuple[float, float] | None = None
    beta: float = 0.0

    calibration_: IntervalCalibration = field(init=False)

    _fewest_calibration_rows: ClassVar[int] = fewest_rows(0.9)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TABLE_CONSTRAINTS,
        "target_scaling": [str, None],
        "log_variance_bounds": [tuple, list, None],
        "beta": [Interval(Real, 0, 1, closed="both")],
    }

    def predict(
        self, X: Any, return_std: bool = False
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean, and with `return_std=True` also the standard deviation."""
        if not return_std:
            return self._answer(X, lambda dist: dist.mean)
        both = self._answer(X, lambda dist: np.column_stack([dist.mean, dist.std]))
        return both[:, 0], both[:, 1]

    def predict_interval(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
        """The interval that holds the truth with that probability: (rows, 2), its two ends.

        Of the predicted distribution the central one. After calibration: the mean, give or take as
        many standard deviations as the calibration rows needed.
        """
        if not hasattr(self, "calibration_"):
            return self._answer(X, lambda dist: dist.interval(coverage))
        factor = self.calibration_.factors(coverage)
        return self._answer(X, lambda dist: widened(dist.mean, dist.std, factor))

    def predict_quantiles(self, X: Any, q: ArrayLike) -> NDArray[np.float64]:
        """Quantiles of the distribution: (rows,) for one level, (rows, levels) for several.

        Calibration does not change them: it is about intervals.
        """
        return self._answer(X, lambda dist: dist.quantile(q))

    def _dist(self, outputs: Tensor) -> GaussianPredictive:
        means, log_variances = self._loss().moments(outputs)
        return GaussianPredictive(
            self.target_location_ + self.target_scale_ * means.numpy(),
            self.target_scale_**2 * log_variances.exp().numpy(),
        )

    def _tempered(self, outputs: Tensor) -> Tensor:
        return outputs

    def _disagreement(self, outputs: Tensor) -> NDArray[np.float64]:
        return self._dist(outputs).epistemic

    def _calibration(self, columns: Columns, values: NDArray[Any]) -> IntervalCalibration:
        y, parts, start = _numbers(values), [], 0
        for dist in self._dists(columns):
            parts.append(IntervalCalibration.of(y[start : start + len(dist)], dist))
            start += len(dist)
        return IntervalCalibration.joined(parts)

    def _learn_target(self, values: NDArray[Any], learned: Any) -> NDArray[np.float32]:
        every = _numbers(values)
        y = every[learned]
        one_of(self._settings["target_scaling"], ("minmax", "standard"), "target_scaling")
        if self._settings["target_scaling"] == "minmax":
            location, scale = y.min(), np.ptp(y)
        else:
            location, scale = y.mean(), y.std()
        if scale <= 1e-15 * abs(location):  # all targets are the same number
            scale = np.float64(1e-6 * (abs(location) or 1.0))
        if scale < 1e-100:
            raise ValueError(
                f"expected targets whose spread is above 1e-100, got {scale}; "
                "multiply them by a constant"
            )
        self.target_location_, self.target_scale_ = float(location), float(scale)
        scaled = (every - self.target_location_) / self.target_scale_
        return scaled.astype(np.float32)

    def _loss(self) -> GaussianNLL:
        return GaussianNLL(bounds=tuple(self._settings["log_variance_bounds"]), beta=self.beta)

    def _about_target(self) -> dict[str, Any]:
        return {"location": self.target_location_, "scale": self.target_scale_}

    def _heads(self) -> tuple[int, ...]:
        return (1, 1)


def _numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    if values.dtype.kind not in "iufb":
        raise ValueError(
            f"expected numbers as targets, got {values.dtype} values such as {values[0]!r}; "
            "convert them to numbers, or for classes use Classifier"
        )
    y = values.astype(np.float64)
    if np.abs(y).max() > 1e100:
        raise ValueError(
            "expected targets of size at most 1e100, "
            f"got values from {y.min()} to {y.max()}; divide them by a constant"
        )
    return y

"""How far to trust the answers for tables: calibration, unusual rows, when to abstain."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from batchensemble.conformal import REPORTED, IntervalCalibration, SetCalibration
from batchensemble.estimators.table import TableEstimator
from batchensemble.estimators.targets import read_target
from batchensemble.models import predict_rows

SHIFT_ROWS, SHIFT_LEVEL = 1000, 0.95


@dataclass(eq=False, repr=False, kw_only=True)
class TrustedTable(TableEstimator):
    """Abstract: `Regressor` and `Classifier` say what a calibration is."""

    def calibrate(self, X: Any, y: ArrayLike) -> Self:
        """Learn from rows that fit has not seen how far the answers are to be trusted.

        They must come from where the rows to predict will come from. Then intervals and sets hold
        the truth as often as asked for, on average, whatever the model is worth. A new fit
        forgets it.
        """
        columns = self._read(X)
        values = read_target(y, columns.n_rows)
        if columns.n_rows < self._fewest_calibration_rows:
            raise ValueError(
                f"expected at least {self._fewest_calibration_rows} rows to calibrate a "
                f"{type(self).__name__} with, got {columns.n_rows}; collect more"
            )
        self.calibration_ = self._calibration(columns, values)
        return self

    def calibration_report(self) -> pd.DataFrame:
        """What calibration changed, by nominal coverage.

        `..._before` are the model's own answers on the calibration rows. For `..._after` each row
        is judged by a calibration with all others. That is fair, but `coverage_after` could hardly
        differ from the nominal one: `assured_after` says more, what the coverage of many new rows
        is not below after 95 of 100 calibrations with so many rows.
        """
        calibration = self._calibrated()
        report = {**calibration.report(), "rows": len(calibration)}
        return pd.DataFrame(report, index=pd.Index(REPORTED, name="coverage"))

    def abstain_threshold(self, max_error: float) -> float:
        """The largest `uncertainty(X).total` up to which the answers are good enough.

        On the calibration rows up to it, the root mean squared error (of numbers) or the share of
        wrong classes is at most `max_error`. An estimate: chosen to suit these rows, it may suit
        others a little less.
        """
        return self._calibrated().abstain_threshold(max_error)

    def shift_score(self, X: Any) -> NDArray[np.float64]:
        """How unusual each row looks: its epistemic uncertainty beside that of the rows of fit.

        95 of 100 rows of fit are below 1; there is no upper end. Calibration does not change it.
        """
        columns = self._read(X)
        if self._members.n_members == 1:
            raise ValueError(
                "expected several members, whose disagreement tells unusual rows, got one "
                f"(method={self.method!r}); fit with another method, or more members"
            )
        parts = [self._dist(outputs).epistemic for outputs in self._outputs(columns)]
        scores: NDArray[np.float64] = np.concatenate(parts) / self.shift_scale_
        return scores

    def _learn_shift(self, x: NDArray[np.float32], random: np.random.Generator) -> None:
        some = random.permutation(len(x))[:SHIFT_ROWS]
        outputs = predict_rows(self._members, x[some], self.bank_.theta.device)
        epistemic = np.concatenate([self._dist(part).epistemic for part in outputs])
        # Where members agree to the last bit, the least doubt is unusual.
        smallest = float(np.finfo(np.float64).tiny)
        self.shift_scale_ = max(float(np.quantile(epistemic, SHIFT_LEVEL)), smallest)

    def _calibrated(self) -> IntervalCalibration | SetCalibration:
        check_is_fitted(self, "bank_")
        if not hasattr(self, "calibration_"):
            raise NotFittedError(
                f"expected a calibrated {type(self).__name__}, got one that is not; call "
                "calibrate(X, y) with rows that fit has not seen, or fit(X, y, calibrate=True)"
            )
        return self.calibration_

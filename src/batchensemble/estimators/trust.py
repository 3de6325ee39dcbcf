"""How far to trust the answers for tables: calibration, unusual rows, when to abstain."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from batchensemble.conformal import REPORTED
from batchensemble.estimators.table import TableEstimator
from batchensemble.estimators.targets import read_target
from batchensemble.training.models import predict_rows

SHIFT_ROWS, SHIFT_LEVEL = 1000, 0.95


@dataclass(eq=False, repr=False, kw_only=True)
class TrustedTable(TableEstimator):
    """Abstract: `Regressor` and `Classifier` say what calibration and disagreement are."""

    @abstractmethod
    def _disagreement(self, outputs: Tensor) -> NDArray[np.float64]:
        """(rows,), the members' disagreement, larger the farther they are apart."""

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
        self._check_calibrated()
        report = {**self.calibration_.report(), "rows": len(self.calibration_)}
        return pd.DataFrame(report, index=pd.Index(REPORTED, name="coverage"))

    def abstain_threshold(self, max_error: float) -> float:
        """The largest `uncertainty(X).total` up to which the answers are good enough.

        On the calibration rows up to it, the root mean squared error (of numbers) or the share of
        wrong classes is at most `max_error`. An estimate: chosen to suit these rows, it may suit
        others a little less.
        """
        self._check_calibrated()
        return self.calibration_.abstain_threshold(max_error)

    def shift_score(self, X: Any) -> NDArray[np.float64]:
        """How unusual each row looks: how far members disagree about it, beside the rows of fit.

        95 of 100 rows of fit are below 1, of fresh rows like them 90 to 95; there is no upper end.
        Of numbers it is the variance of the members' means, the epistemic uncertainty. Of classes
        it is the variance of their logits: far away all members may be sure of one class, and
        their probabilities agree. `scaling="robust"` draws outliers in, so that very far rows
        score like far ones. Calibration does not change it.
        """
        columns = self._read(X)
        if self._members.n_members == 1:
            raise ValueError(
                "expected several members, whose disagreement tells unusual rows, got one "
                f"(method={self.method!r}); fit with another method, or more members"
            )
        parts = [self._disagreement(outputs) for outputs in self._outputs(columns)]
        scores: NDArray[np.float64] = np.concatenate(parts) / self.shift_scale_
        return scores

    def _learn_shift(self, x: NDArray[np.float32], random: np.random.Generator) -> None:
        some = random.permutation(len(x))[:SHIFT_ROWS]
        outputs = predict_rows(self._members, x[some], self.bank_.theta.device)
        apart = np.concatenate([self._disagreement(part) for part in outputs])
        # Where members agree to the last bit, the least doubt is unusual.
        smallest = float(np.finfo(np.float64).tiny)
        self.shift_scale_ = max(float(np.quantile(apart, SHIFT_LEVEL)), smallest)

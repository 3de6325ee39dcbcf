"""Past windows forecast in hindsight, by models fitted before the first, before each, or as is."""

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from batchensemble.data.panels import check_lengths
from batchensemble.estimators.forecast import Forecast

if TYPE_CHECKING:
    from batchensemble.estimators.forecaster import Forecaster

AS_FITTED = "never"


def past_forecasts(
    model: "Forecaster", df: Any, h: int, n_windows: int, step_size: int, refit: Any
) -> list[Forecast]:
    """The last `n_windows` stretches of h steps, `step_size` apart; one forecast for each fit.

    refit: False, one fit to what precedes them all; True, one before each; n, one before every
    n-th; "never", the model as it is.
    """
    for name, count in (("n_windows", n_windows), ("step_size", step_size)):
        if not isinstance(count, Integral) or count < 1:
            raise ValueError(f"expected {name} to be a whole number above 0, got {count!r}")
    n_each = _windows_a_fit(refit, n_windows)
    as_fitted = refit == AS_FITTED
    if as_fitted:
        check_is_fitted(model, "model_")
    panel = model.read_past(df, as_fitted=as_fitted)
    check_lengths(panel, h + (int(n_windows) - 1) * int(step_size) + 1)
    back = np.array([h + k * int(step_size) for k in reversed(range(int(n_windows)))])
    found = []
    for first in range(0, n_windows, n_each):
        history, judged = panel.head(back[first]), model
        if as_fitted:
            model.check_unseen(history)
            judged = model.caught_up(history)
        else:
            calibration = model.calibration_
            adapts = calibration is not None and calibration.cutoffs is not None
            judged = clone(model).fit(history, calibrate=calibration is not None, adapt=adapts)
        last_known = panel.starts[1:, None] - back[first : first + n_each] - 1
        found.append(judged.past(panel, history, h, last_known.ravel()))
    return found


def _windows_a_fit(refit: Any, n_windows: int) -> int:
    if refit is False or refit == AS_FITTED:
        return n_windows
    if not isinstance(refit, Integral) or refit < 1:
        raise ValueError(
            "expected refit to be False (one fit before the first window), True (one before each), "
            f"a whole number n (one before every n-th) or {AS_FITTED!r} (the model as it is), got "
            f"{refit!r}"
        )
    return int(refit)

"""Past windows forecast in hindsight, by models fitted before the first, before each, or as is."""

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from batchensemble.data.panels import check_lengths
from batchensemble.estimators.forecast import Answers, Forecast, names_of_ends, read_levels
from batchensemble.estimators.usefulness import doubt_about_held

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
        history, able = panel.head(back[first]), model
        if as_fitted:
            model.check_unseen(history)
            able = model.caught_up(history)
        else:
            calibration = model.calibration_
            adapts = calibration is not None and calibration.is_adaptive
            able = clone(model).fit(history, calibrate=calibration is not None, adapt=adapts)
        last_known = panel.starts[1:, None] - back[first : first + n_each] - 1
        found.append(able.judged(panel, history, h, last_known.ravel()))
    return found


def doubts_about_levels(
    parts: Sequence[Forecast], answers: Sequence[Answers], level: Sequence[float] | None
) -> Iterator[str]:
    """A sentence about the first level whose intervals hold too few of the true values."""
    alias, h = parts[0].alias, parts[0].ahead.h
    truth = np.concatenate([past.truth for past in parts])
    rows = np.concatenate([past.ahead.origins for past in parts])[:, None] + np.arange(h)
    is_known = ~np.isnan(truth)
    n_values = len(np.unique(rows[is_known]))  # windows may overlap
    for share in read_levels(level) if n_values else ():
        lower, upper = (
            np.concatenate([found[name] for found in answers])
            for name in names_of_ends(alias, share)
        )
        held = float(((lower <= truth) & (truth <= upper))[is_known].mean())
        if doubt := next(doubt_about_held(held, share / 100, n_values // h, n_values), ""):
            yield doubt
            return


def _windows_a_fit(refit: Any, n_windows: int) -> int:
    if isinstance(refit, bool | np.bool_):
        return 1 if refit else n_windows
    if isinstance(refit, str) and refit == AS_FITTED:
        return n_windows
    if not isinstance(refit, Integral) or refit < 1:
        raise ValueError(
            "expected refit to be False (one fit before the first window), True (one before each), "
            f"a whole number n (one before every n-th) or {AS_FITTED!r} (the model as it is), got "
            f"{refit!r}"
        )
    return int(refit)

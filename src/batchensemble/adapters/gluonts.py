"""Forecasts as gluonts' `SampleForecast`, so that its evaluators and plots apply."""

from typing import Any

import pandas as pd

from batchensemble.estimators.forecast import in_turn
from batchensemble.estimators.forecaster import Forecaster


def sample_forecasts(
    model: Forecaster, h: int | None = None, *, n_paths: int | None = None, X_df: Any = None
) -> list[Any]:
    """The next h steps of every series, one `gluonts.model.forecast.SampleForecast` each.

    Its samples are (n_paths, h), the paths of `model.predict_dist`; its item_id is the id of the
    series as a string; its start_date is the first step as a period, so series need dates.
    """
    try:
        from gluonts.model.forecast import SampleForecast
    except ImportError as error:
        raise ImportError(
            f"sample_forecasts needs gluonts, and importing it failed ({error}); "
            "pip install batchensemble[gluonts]"
        ) from error
    dist = model.predict_dist(h, n_paths=n_paths, X_df=X_df)
    panel = model.panel_
    samples = in_turn(dist, model.n_paths if n_paths is None else n_paths)
    return [
        SampleForecast(samples=own, start_date=period(start, panel.freq), item_id=str(i))
        for own, start, i in zip(samples, panel.future_times(1), panel.ids, strict=True)
    ]


def period(time: Any, freq: Any) -> pd.Period:
    """The period of the frequency at which a time lies."""
    if not isinstance(time, pd.Timestamp):
        raise ValueError(
            f"expected series with dates, which gluonts needs for its start_date, got {time!r}; "
            "give the frame dates in place of whole numbers"
        )
    try:
        # An index knows which period belongs to an offset: months to "MS" as well as to "ME".
        return pd.DatetimeIndex([time.tz_localize(None)], freq=freq).to_period()[0]
    except ValueError as error:
        raise ValueError(
            f"expected a frequency with periods, such as 'D' or 'MS', got {freq.freqstr!r}: {error}"
        ) from error

"""A model's forecasts compared with a file that continues its series."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.cli.columns import read_series
from batchensemble.cli.coverage_in_time import coverage_in_time
from batchensemble.cli.errors import about_file
from batchensemble.cli.evaluation import Evaluation, Windows, doubtful
from batchensemble.cli.forecast_scores import score_forecast
from batchensemble.cli.interval_curves import compare_intervals
from batchensemble.cli.known_series import in_periods, left_out, rows_known
from batchensemble.cli.subgroups import by_subgroup
from batchensemble.data.file_options import FileOptions
from batchensemble.estimators.forecaster import Forecaster

GOLDEN = (5**0.5 - 1) / 2  # multiples of it, without their whole parts, fill 0 to 1 evenly
MOST_WINDOWS = 1000  # of a series, spread over it if there are more
MOST_STEPS = 8_000  # of all windows, whose paths are in memory, unless there are more series


def evaluate_series(
    model: Forecaster, path: Path, facts: dict[str, Any], options: FileOptions
) -> Evaluation:
    """Rows that follow what the model knows are forecast, from times all over them."""
    new, n_without = read_series(model, path, options)
    df, unknown = _continued(model, new, path)
    h = model.model_.horizon
    with about_file(path):
        panel = model.read_past(df, as_fitted=True)
    begins = model.first_new_rows(panel)
    n_new = panel.starts[1:] - begins
    longest = int(n_new.max())
    if longest < h:
        raise ValueError(
            f"{path}: expected at least {h} new steps of a series, as many as the model forecasts, "
            f"got {longest}; add rows, or fit with a shorter --horizon"
        )
    is_long = n_new >= h
    most = min(MOST_WINDOWS, max(1, MOST_STEPS // h // int(is_long.sum())))
    cutoffs = [
        begins[i] - 1 + _spread(n_new[i] - h + 1, most, k * GOLDEN % 1)
        for k, i in enumerate(np.flatnonzero(is_long))
    ]
    with about_file(path):
        history = panel.cut(panel.starts[:-1], begins)
        past = model.judged(panel, history, h, np.concatenate(cutoffs)).scored()
    truth, dist = past.truth, past.dist
    frame = past.frame(past.columns([100 * facts["coverage"]]), with_truth=True)
    frame.columns = ["series", "time", "cutoff", "truth", "mean", "lower", "upper"]
    scores, doubt = score_forecast(past, model.season_), dist.std.mean(axis=1)
    ends = frame.iloc[:: dist.horizon]
    beside = {
        "series": ends["series"].to_numpy(),
        "known until": ends["cutoff"].astype(str).to_numpy(),
        "RMSE": np.sqrt(np.nanmean(np.square(dist.mean - truth), axis=1)),
        "mean std": doubt,
    }
    windows = pd.DataFrame(index=np.arange(1, len(dist) + 1))
    is_known = frame["truth"].notna().to_numpy()
    known = frame[is_known]
    n_rows = len(known[["series", "time"]].drop_duplicates())
    parts = known[["series"]].assign(step=np.tile(np.arange(1, h + 1), len(dist))[is_known])
    is_inside = known["truth"].between(known["lower"], known["upper"]).to_numpy()
    is_last = frame["cutoff"] == frame.groupby("series")["cutoff"].transform("max")
    return Evaluation(
        **facts,
        task="forecast",
        target=model.target_col,
        n_rows=n_rows,
        n_without_target=n_without,
        **compare_intervals(model, truth, dist, frame, scores, past=past),
        **coverage_in_time(frame, h),
        doubtful=doubtful(windows, doubt, beside, "window"),
        subgroups=by_subgroup(
            parts, dist.std.ravel()[is_known], {"coverage": is_inside}, n_rows / h / len(known)
        ),
        detail=Windows(
            frame[is_last],
            _history(model, df, frame[is_last], 3 * h),
            isinstance(model.panel_.times, pd.DatetimeIndex),
        ),
        n_windows=len(dist),
        horizon=h,
        warnings=(
            *left_out(panel.ids[~is_long], f"fewer than {h} new steps"),
            *left_out(unknown, "not among the series of fit"),
        ),
    )


def _history(model: Forecaster, df: pd.DataFrame, last: pd.DataFrame, n: int) -> pd.DataFrame:
    """The last n values before the last window of each series."""
    names = {model.id_col: "series", model.time_col: "time", model.target_col: "truth"}
    known = df[[*names]].rename(columns=names)
    cutoffs = last.groupby("series")["cutoff"].first()
    known = known[known["time"] <= known["series"].map(cutoffs)].sort_values("time")
    return known.groupby("series", sort=False).tail(n)


def _continued(
    model: Forecaster, new: pd.DataFrame, path: Path
) -> tuple[pd.DataFrame, NDArray[Any]]:
    """What the model knows, followed by new rows; and series that it does not know."""
    panel, new = model.panel_, new.copy()
    if model.id_col not in new:
        new[model.id_col] = model.target_col
    known = rows_known(model, np.arange(len(panel.times)))
    last = pd.Series(panel.last_times, index=panel.ids.tolist())
    is_known = new[model.id_col].isin(last.index)
    unknown = new.loc[~is_known, model.id_col].unique()
    if len(unknown) and not is_known.any():
        raise ValueError(
            f"{path}: expected series of fit, such as {last.index[0]!r}, got {[*unknown[:5]]}; "
            "choose a file that continues them"
        )
    new = new[is_known].copy()
    new[model.time_col] = in_periods(model, new[model.time_col])
    new = new[new[model.time_col] > new[model.id_col].map(last)]
    return pd.concat([known, new], ignore_index=True), np.asarray(unknown)


def _spread(n: int, most: int, phase: float) -> NDArray[np.int64]:
    """At most so many of the numbers below n, the first and the last among them.

    If it is only one, `phase` says where it lies, from 0 for the first to 1 for the end.
    """
    if most == 1:
        return np.array([int(phase * n)])
    return np.linspace(n - 1, 0, min(n, most)).round().astype(np.int64)[::-1]

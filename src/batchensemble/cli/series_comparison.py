"""A model's forecasts compared with a file that continues its series."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from batchensemble.cli.columns import read_series
from batchensemble.cli.coverage_in_time import coverage_in_time
from batchensemble.cli.errors import about_file
from batchensemble.cli.evaluation import Evaluation, Windows, doubtful
from batchensemble.cli.forecast_scores import score_forecast
from batchensemble.cli.interval_curves import compare_intervals
from batchensemble.cli.subgroups import by_subgroup
from batchensemble.data.file_options import FileOptions
from batchensemble.data.public_holidays import holiday_names
from batchensemble.data.stamps import moved_to_start
from batchensemble.estimators import Forecaster

MOST_WINDOWS = 100


def evaluate_series(
    model: Forecaster, path: Path, facts: dict[str, Any], options: FileOptions
) -> Evaluation:
    """Rows that follow what the model knows are forecast, from every time that leaves a horizon."""
    new, n_without = read_series(model, path, options)
    df, counts = _continued(model, new, path)
    h = model.model_.horizon
    n_windows = min(int(counts.min()) - h + 1, MOST_WINDOWS)
    if n_windows < 1:
        shortest = counts.index.tolist()[int(counts.argmin())]
        raise ValueError(
            f"{path}: expected at least {h} new steps of every series, as many as the model "
            f"forecasts, got {int(counts.min())} for {shortest!r}; add rows, or fit with a shorter "
            "--horizon"
        )
    with about_file(path):
        past = model.backtest(df, n_windows=n_windows, refit="never").complete()
    truth, dist = past.truth, past.dist
    frame = past.frame(past.columns([100 * facts["coverage"]]), with_truth=True)
    frame.columns = ["series", "time", "cutoff", "truth", "mean", "lower", "upper"]
    scores, doubt = score_forecast(past, model.season_), dist.std.mean(axis=1)
    ends = frame.iloc[:: dist.horizon]
    beside = {
        "series": ends["series"].to_numpy(),
        "known until": ends["cutoff"].astype(str).to_numpy(),
        "RMSE": np.sqrt(np.square(dist.mean - truth).mean(axis=1)),
        "mean std": doubt,
    }
    windows = pd.DataFrame(index=np.arange(1, len(dist) + 1))
    n_rows = len(frame[["series", "time"]].drop_duplicates())
    parts = frame[["series"]].assign(step=np.tile(np.arange(1, h + 1), len(dist)))
    is_inside = frame["truth"].between(frame["lower"], frame["upper"]).to_numpy()
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
            parts, dist.std.ravel(), {"coverage": is_inside}, n_rows / h / len(frame)
        ),
        detail=Windows(
            frame[is_last],
            _history(model, df, frame[is_last], 3 * h),
            isinstance(model.panel_.times, pd.DatetimeIndex),
        ),
        n_windows=len(dist),
        horizon=h,
    )


def _history(model: Forecaster, df: pd.DataFrame, last: pd.DataFrame, n: int) -> pd.DataFrame:
    """The last n values before the last window of each series."""
    names = {model.id_col: "series", model.time_col: "time", model.target_col: "truth"}
    known = df[[*names]].rename(columns=names)
    cutoffs = last.groupby("series")["cutoff"].first()
    known = known[known["time"] <= known["series"].map(cutoffs)].sort_values("time")
    return known.groupby("series", sort=False).tail(n)


def _continued(model: Forecaster, new: pd.DataFrame, path: Path) -> tuple[pd.DataFrame, pd.Series]:
    """What the model knows, followed by new rows; and the number of these by series."""
    panel, new = model.panel_, new.copy()
    if model.id_col not in new:
        new[model.id_col] = model.target_col
    computed = holiday_names(model.holidays)
    known = pd.DataFrame(
        {
            model.id_col: np.repeat(panel.ids, panel.lengths),
            model.time_col: panel.times,
            model.target_col: panel.observed,
            **{c.name: c.values for c in panel.columns or () if c.name not in computed},
        }
    )
    last = pd.Series(panel.last_times, index=panel.ids.tolist())
    unknown = sorted({*new[model.id_col]} - {*last.index})
    if unknown:
        raise ValueError(
            f"{path}: expected only series of fit, got {unknown[:5]}; delete the rows of the others"
        )
    each = np.arange(len(new) + 1)  # by itself: rows of a file may be of times that are known
    moved = moved_to_start(pd.Index(new[model.time_col]), each, panel.freq)
    if moved is not None:
        new[model.time_col] = moved
    new = new[new[model.time_col] > new[model.id_col].map(last)]
    counts = new[model.id_col].value_counts().reindex(last.index, fill_value=0)
    return pd.concat([known, new], ignore_index=True), counts

"""A model's forecasts compared with a file that continues its series."""

from collections.abc import Iterator
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
MOST_NAMED = 5


def evaluate_series(
    model: Forecaster, path: Path, facts: dict[str, Any], options: FileOptions
) -> Evaluation:
    """Rows that follow what the model knows are forecast, from every time that leaves a horizon."""
    new, n_without = read_series(model, path, options)
    df, counts, unknown = _continued(model, new, path)
    h = model.model_.horizon
    longest = int(counts.max())
    if longest < h:
        raise ValueError(
            f"{path}: expected at least {h} new steps of a series, as many as the model forecasts, "
            f"got {longest}; add rows, or fit with a shorter --horizon"
        )
    is_long = counts >= h
    df = df[df[model.id_col].isin(counts.index[is_long])]
    n_windows = min(int(counts[is_long].min()) - h + 1, MOST_WINDOWS)
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
        warnings=(
            *_left_out(counts.index[~is_long], f"fewer than {h} new steps"),
            *_left_out(unknown, "not among the series of fit"),
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
) -> tuple[pd.DataFrame, pd.Series, pd.Index]:
    """What the model knows, followed by new rows; the number of these by series; unknown series."""
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
    is_known = new[model.id_col].isin(last.index)
    unknown = pd.Index(new.loc[~is_known, model.id_col].unique())
    if len(unknown) and not is_known.any():
        raise ValueError(
            f"{path}: expected series of fit, such as {last.index[0]!r}, got {[*unknown[:5]]}"
        )
    new = new[is_known]
    each = np.arange(len(new) + 1)  # by itself: rows of a file may be of times that are known
    moved = moved_to_start(pd.Index(new[model.time_col]), each, panel.freq)
    if moved is not None:
        new[model.time_col] = moved
    new = new[new[model.time_col] > new[model.id_col].map(last)]
    counts = new[model.id_col].value_counts().reindex(last.index, fill_value=0)
    return pd.concat([known, new], ignore_index=True), counts, unknown


def _left_out(names: pd.Index, why: str) -> Iterator[str]:
    if len(names):
        some = ", ".join(map(repr, names[:MOST_NAMED].tolist())) + ", ..." * (
            len(names) > MOST_NAMED
        )
        yield f"{len(names):,} series left out ({why}): {some}"

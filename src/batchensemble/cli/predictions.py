"""Predictions for the rows of a file, in batches, or for the next steps of series."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from batchensemble.cli.columns import check_columns, has_one_series, read_series, table_kinds
from batchensemble.cli.errors import about_file
from batchensemble.conformal import predicted_interval
from batchensemble.data.reading import TableFile, check_suffix, open_table
from batchensemble.data.text import read_as
from batchensemble.data.writing import TableWriter, check_place
from batchensemble.estimators import Classifier, Forecaster, Regressor
from batchensemble.words import one_of


def predict_file(
    model: Any,
    data: Path | None,
    out: Path,
    *,
    coverage: float,
    keep: Sequence[str],
    horizon: int | None,
    ahead: Path | None,
    progress: Callable[[int, float | None], None],
) -> dict[str, Any]:
    """Write predictions to `out`; the file, its number of rows and its columns."""
    check_suffix(out)
    check_place(out, beside=[path for path in (data, ahead) if path])
    if isinstance(model, Forecaster):
        if keep:
            raise ValueError("--keep is for tables, and this model is a forecaster; omit it")
        frame = forecast(model, data, ahead=ahead, horizon=horizon, coverage=coverage)
        with TableWriter(out) as writer:
            writer.write(frame)
        return {"file": str(out), "n_rows": len(frame), "columns": list(frame)}
    if horizon or ahead:
        raise ValueError("--horizon and --ahead are for forecasts, and this model predicts a table")
    if data is None:
        raise ValueError("expected a file with rows to predict after the model; - is a pipe")
    return predict_table(model, data, out, coverage=coverage, keep=keep, progress=progress)


def predict_table(
    model: Regressor | Classifier,
    data: Path,
    out: Path,
    *,
    coverage: float,
    keep: Sequence[str],
    progress: Callable[[int, float | None], None],
    batch: int | None = None,
) -> dict[str, Any]:
    """One row of predictions for each row of the file."""
    kinds = table_kinds(model)
    n_rows, columns = 0, list[str]()
    with open_table(data) as file:
        kept = _kept(keep, file)
        check_columns(kinds, file)
        with TableWriter(out) as writer:
            for rows in file.batches(*([batch] if batch else [])):
                dist = model.predict_dist(read_as(rows, kinds, file))
                predictions = prediction_columns(model, dist, coverage)
                both = [name for name in predictions if name in kept]
                if both:
                    raise ValueError(
                        f"{file.name}: --keep names a column that is called like a prediction: "
                        f"{', '.join(map(repr, both))}; omit it, or rename it in the file"
                    )
                whole = pd.concat([rows[kept], predictions.set_axis(rows.index)], axis=1)
                writer.write(whole)
                n_rows, columns = n_rows + len(rows), list(whole)
                progress(n_rows, file.share_read())
            if not n_rows:
                raise ValueError(f"{file.name}: expected rows to predict, got none")
    return {"file": str(out), "n_rows": n_rows, "columns": columns}


def _kept(keep: Sequence[str], file: TableFile) -> list[str]:
    if list(keep) == ["all"]:
        return file.names
    return [one_of(name, file.names, f"the --keep column of {file.name}") for name in keep]


def prediction_columns(model: Regressor | Classifier, dist: Any, coverage: float) -> pd.DataFrame:
    """What `predict` writes about rows, from their predictive distribution."""
    if isinstance(model, Regressor):
        lower, upper = predicted_interval(dist, coverage, model.calibration_).T
        return pd.DataFrame(
            {
                "mean": dist.mean,
                "std": dist.std,
                "lower": lower,
                "upper": upper,
                "aleatoric": dist.aleatoric,
                "epistemic": dist.epistemic,
            }
        )
    classes = model.classes_
    names = [str(one).lower() if classes.dtype.kind == "b" else str(one) for one in classes]
    sets: dict[str, Any] = {}
    if model.calibration_ is not None:
        words, inside = np.array(names, dtype=object), model.calibration_.sets(dist.mean, coverage)
        sets["set"] = ["|".join(words[row]) for row in inside]
    return pd.DataFrame(
        {
            "prediction": dist.mode,
            "confidence": dist.confidence,
            **sets,
            **{f"p_{name}": p for name, p in zip(names, dist.mean.T, strict=True)},
            "total": dist.total,
            "aleatoric": dist.aleatoric,
            "epistemic": dist.epistemic,
        }
    )


def forecast(
    model: Forecaster,
    history: Path | None,
    *,
    ahead: Path | None,
    horizon: int | None,
    coverage: float,
) -> pd.DataFrame:
    """The next steps of every series of fit, or of those in `history`."""
    _check_ahead(model, ahead)
    df = None if history is None else read_series(model, history)[0]
    future = None if ahead is None else read_series(model, ahead, is_ahead=True)[0]
    with about_file(" and ".join(str(path) for path in (history, ahead) if path)):
        steps = model.forecast(horizon, df=df, X_df=future)
    frame = steps.frame(steps.columns([100 * coverage]))
    mean, lower, upper = frame.columns[-3:]
    frame = frame.rename(columns={mean: "mean", lower: "lower", upper: "upper"})
    if has_one_series(model):
        frame = frame.drop(columns=model.id_col)
    if not frame.columns.is_unique:
        raise ValueError(
            "the columns of series and times must not be called mean, lower or upper, got "
            f"{list(frame)}; rename them and fit again"
        )
    return frame


def _check_ahead(model: Forecaster, ahead: Path | None) -> None:
    names = ", ".join(map(repr, model.future_columns))
    if names and ahead is None:
        raise ValueError(
            f"this model needs --ahead, a file with the future values of {names}, which were named "
            "with --future at fit"
        )
    if ahead and not names:
        raise ValueError("--ahead is not needed: the model was fitted without --future; omit it")

"""Predictions for the rows of a file, in batches, or for the next steps of series."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from batchensemble.cli.columns import (
    check_columns,
    has_one_series,
    notations_of,
    open_new,
    read_rows,
    read_series,
    table_kinds,
)
from batchensemble.cli.errors import about_file
from batchensemble.cli.format import named
from batchensemble.cli.known_series import with_future, with_history
from batchensemble.data.arrow import BATCH
from batchensemble.data.file_options import AS_FOUND, FileOptions
from batchensemble.data.reading import PIPE, TableFile, is_table
from batchensemble.data.telling import tell
from batchensemble.data.writing import TableWriter, check_place, check_written
from batchensemble.estimators.answers import prediction_columns
from batchensemble.estimators.classifier import Classifier
from batchensemble.estimators.forecaster import Forecaster
from batchensemble.estimators.joint import JointRegressor
from batchensemble.estimators.regressor import Regressor
from batchensemble.words import one_of


def predict_file(
    model: Any,
    data: Path | None,
    out: Path,
    *,
    coverage: float,
    keep: Sequence[str] = (),
    horizon: int | None = None,
    ahead: Path | None = None,
    options: FileOptions = AS_FOUND,
    progress: Callable[[int, float | None], None] = lambda n_rows, share: None,
    batch: int = BATCH,
) -> dict[str, Any]:
    """Write predictions to `out`, in batches; the file, its number of rows and its columns.

    `progress` is told the rows done and, where it is known, the share of the file read.
    """
    if data is not None and data != PIPE and not is_table(data) and not data.exists():
        raise FileNotFoundError(f"there is no file or folder {data}; check the path")
    check_written(out)
    check_place(out, beside=[path for path in (data, ahead) if path])
    if isinstance(model, Forecaster):
        if keep:
            raise ValueError("--keep is for tables, and this model is a forecaster; omit it")
        frames = iter([forecast(model, data, ahead, horizon, coverage, options)])
    elif horizon or ahead:
        raise ValueError(
            "--horizon and --ahead are for forecasts, and this model predicts a table; omit them"
        )
    elif data is None:
        raise ValueError("name a file with rows to predict after the model, or - for a pipe")
    else:
        answer, needed = _answers(model)
        asked = partial(answer, coverage=coverage)
        frames = _predicted_batches(needed, asked, data, keep, progress, batch, options)
    n_rows, columns = 0, list[str]()
    with TableWriter(out) as writer:
        for frame in frames:
            writer.write(frame)
            n_rows, columns = n_rows + len(frame), list(frame)
    return {"file": str(out), "n_rows": n_rows, "columns": columns}


def _answers(model: Any) -> tuple[Callable[..., pd.DataFrame], Collection[str]]:
    """What is said about rows of a file, and the columns that takes."""
    if isinstance(model, JointRegressor):
        from batchensemble.cli.joint import first_of, joint_predictions

        return partial(joint_predictions, model), list(table_kinds(first_of(model)))
    if isinstance(model, Regressor | Classifier):
        return partial(table_predictions, model), list(table_kinds(model))
    return model.answer, model.needed


def _predicted_batches(
    needed: Collection[str],
    answer: Callable[[pd.DataFrame, TableFile], pd.DataFrame],
    data: Path,
    keep: Sequence[str],
    progress: Callable[[int, float | None], None],
    batch: int,
    options: FileOptions,
) -> Iterator[pd.DataFrame]:
    """One row for each row of the file: the columns to keep, and the predictions."""
    n_rows = 0
    with open_new(data, options) as file:
        kept = file.names if list(keep) == ["all"] else _kept(keep, file)
        check_columns(needed, file)
        for rows in file.batches(batch):
            predictions = answer(rows, file)
            both = [name for name in predictions if name in kept]
            if both:
                raise ValueError(
                    f"{file.name}: --keep names a column with the name of a prediction: "
                    f"{', '.join(map(repr, both))}; omit it, or rename it in the file"
                )
            yield pd.concat([rows[kept], predictions], axis=1)
            n_rows += len(rows)
            progress(n_rows, file.share_read())
        if not n_rows:
            raise ValueError(f"{file.name}: expected rows to predict, got none")


def _kept(keep: Sequence[str], file: TableFile) -> list[str]:
    """Names of columns, or several between commas."""
    names = [n for words in keep for n in ([words] if words in file.names else in_commas(words))]
    what = f"the --keep column of {file.name}"
    return [one_of(name, file.names, what) for name in dict.fromkeys(names)]


def in_commas(words: str) -> list[str]:
    return [name.strip() for name in words.split(",") if name.strip()]


def table_predictions(
    model: Regressor | Classifier, rows: pd.DataFrame, file: TableFile, coverage: float
) -> pd.DataFrame:
    """What `predict` writes about some rows of a file."""
    X = read_rows(model, rows, file, table_kinds(model), notations_of(model))
    dist, groups = model.predict_dist(X), model.groups_in(X)
    return prediction_columns(model, dist, coverage, groups).set_axis(rows.index)


def forecast(
    model: Forecaster,
    history: Path | None,
    ahead: Path | None,
    horizon: int | None,
    coverage: float,
    options: FileOptions = AS_FOUND,
) -> pd.DataFrame:
    """The next steps of every series of fit, or of those in `history`."""
    _check_ahead(model, ahead)
    df = None if history is None else read_series(model, history, options)[0]
    alike = options if history is None or ahead is None else _of_other(options, history, ahead)
    future = None if ahead is None else read_series(model, ahead, alike, is_ahead=True)[0]
    if future is not None:
        _tell_of_unknown(model, df, future, ahead)
    with about_file(" and ".join(str(path) for path in (history, ahead) if path)):
        return forecast_columns(model, df, future, horizon, coverage)


def _tell_of_unknown(
    model: Forecaster, df: pd.DataFrame | None, future: pd.DataFrame, ahead: Path | None
) -> None:
    """Warn of series whose rows ahead are ignored, since they are not forecast."""
    series = model.id_col
    if series not in future:
        return
    if df is not None and series not in df:
        return
    known = {*(model.panel_.ids.tolist() if df is None else df[series])}
    unknown = sorted(str(name) for name in set(future[series]) - known)
    if unknown:
        where = "in fit" if df is None else "in the file of new rows"
        tell(
            f"{ahead}: ignored the rows of {len(unknown):,} series that are not {where} "
            f"({named(unknown)}); name series as there, or add their history",
            2,
        )


def _of_other(options: FileOptions, file: Path, other: Path) -> FileOptions:
    """How to read another file beside one: alike if both are of a kind, such as CSV."""
    if file.suffix.lower() == other.suffix.lower():
        return options
    return replace(options, encoding=None, skip_lines=0, sheet=None)


def forecast_columns(
    model: Forecaster,
    df: pd.DataFrame | None,
    future: pd.DataFrame | None,
    horizon: int | None,
    coverage: float,
) -> pd.DataFrame:
    """What `predict` writes about the next steps; bounds that adapt do so to what is new."""
    is_named = df is not None and model.id_col in df
    df = with_future(model, None if df is None else with_history(model, df), future)
    if df is not None:
        model = model.caught_up(model.read_past(df, as_fitted=True))
    steps = model.forecast(horizon, df=df, X_df=future)
    frame = pd.DataFrame(steps.table(steps.columns([100 * coverage])))
    mean, lower, upper = frame.columns[-3:]
    frame = frame.rename(columns={mean: "mean", lower: "lower", upper: "upper"})
    if has_one_series(model) and not is_named:
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
            "with --future in fit"
        )
    if ahead and not names:
        raise ValueError("--ahead is not needed: the model was fitted without --future; omit it")

"""A model's answers for files: rows in batches, in their order, whatever the file's size."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from batchensemble.cli.exits import naming
from batchensemble.cli.given import long_frame
from batchensemble.data.frames import Kind
from batchensemble.data.reading import TableFile, check_suffix, open_table
from batchensemble.data.text import read_as, zoned
from batchensemble.data.writing import TableWriter, check_place
from batchensemble.estimators import Classifier, Forecaster, Regressor
from batchensemble.words import closest, one_of

ALL = "all"
Watch = Callable[[int, float | None], None]
"""Told how many rows are done, and the share of the file that is read where it is known."""


@dataclass(frozen=True)
class Answered:
    file: str
    n_rows: int
    columns: list[str]


def predict_file(
    model: Any,
    data: Path | None,
    out: Path,
    *,
    coverage: float,
    keep: Sequence[str],
    horizon: int | None,
    ahead: Path | None,
    watch: Watch,
) -> Answered:
    """Rows of a table, or the next steps of series."""
    check_suffix(out)
    check_place(out, beside=[path for path in (data, ahead) if path])
    if isinstance(model, Forecaster):
        if keep:
            raise ValueError("expected no --keep: a forecast has rows of its own")
        return forecast(model, out, history=data, ahead=ahead, horizon=horizon, coverage=coverage)
    if horizon or ahead:
        raise ValueError("expected neither --horizon nor --ahead: the model is for tables")
    if data is None:
        raise ValueError("expected a file with rows to predict after the model's; - is a pipe")
    return predict_table(model, data, out, coverage=coverage, keep=keep, watch=watch)


def predict_table(
    model: Regressor | Classifier,
    data: Path,
    out: Path,
    *,
    coverage: float,
    keep: Sequence[str],
    watch: Watch,
    batch: int | None = None,
) -> Answered:
    """One row of answers for each row of the file."""
    kinds = kinds_of(model)
    n_rows, columns = 0, list[str]()
    with open_table(data) as file:
        kept = _kept(keep, file)
        check_columns(kinds, file)
        with TableWriter(out) as writer:
            for rows in file.batches(*([batch] if batch else [])):
                answers = answer(model, read_as(rows, kinds, file), coverage)
                _refuse_same(kept, answers.columns, file)
                whole = pd.concat([rows[kept], answers.set_axis(rows.index)], axis=1)
                writer.write(whole)
                n_rows, columns = n_rows + len(rows), list(whole)
                watch(n_rows, file.share_read())
            if not n_rows:
                raise ValueError(f"{file.name}: expected rows to predict, got none")
    return Answered(str(out), n_rows, columns)


def answer(model: Regressor | Classifier, X: pd.DataFrame, coverage: float) -> pd.DataFrame:
    """The columns of a prediction."""
    dist = model.predict_dist(X)
    if isinstance(model, Regressor):
        lower, upper = model.predict_interval(X, coverage).T
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
    return pd.DataFrame(
        {
            "prediction": dist.mode,
            "confidence": dist.confidence,
            **_sets(model, X, coverage),
            **{f"p_{c}": p for c, p in zip(_words(model), dist.mean.T, strict=True)},
            "total": dist.total,
            "aleatoric": dist.aleatoric,
            "epistemic": dist.epistemic,
        }
    )


def _sets(model: Classifier, X: pd.DataFrame, coverage: float) -> dict[str, list[str]]:
    """Of a calibrated model: the classes that hold the truth together."""
    if not hasattr(model, "calibration_"):
        return {}
    names = np.array(_words(model), dtype=object)
    return {"set": ["|".join(names[inside]) for inside in model.predict_set(X, coverage)]}


def _words(model: Classifier) -> list[str]:
    """The classes as files have them."""
    classes = model.classes_
    return [str(one).lower() if classes.dtype.kind == "b" else str(one) for one in classes]


def forecast(
    model: Forecaster,
    out: Path,
    *,
    history: Path | None,
    ahead: Path | None,
    horizon: int | None,
    coverage: float,
) -> Answered:
    """The next steps of every series of fit, or of those in `history`."""
    _check_ahead(model, ahead)
    df = None if history is None else read_series(model, history)[0]
    future = None if ahead is None else read_series(model, ahead, is_ahead=True)[0]
    with naming(history or ahead):
        frame = model.predict(horizon, level=[100 * coverage], df=df, X_df=future)
    mean, lower, upper = frame.columns[-3:]
    frame = frame.rename(columns={mean: "mean", lower: "lower", upper: "upper"})
    if has_one_series(model):
        frame = frame.drop(columns=model.id_col)
    if not frame.columns.is_unique:
        raise ValueError(
            f"expected other names for series and times than those of answers, got {list(frame)}; "
            "rename the columns and fit again"
        )
    with TableWriter(out) as writer:
        writer.write(frame)
    return Answered(str(out), len(frame), list(frame))


def _check_ahead(model: Forecaster, ahead: Path | None) -> None:
    names = ", ".join(map(repr, model.future_columns))
    if names and ahead is None:
        raise ValueError(
            f"expected --ahead, a file with {names} for the times to come, got none: the model "
            "learned from what is known ahead"
        )
    if ahead and not names:
        raise ValueError(f"expected no --ahead, got {ahead}: the model was fitted without --future")


def kinds_of(model: Regressor | Classifier) -> dict[str, Kind]:
    """The columns that a model learned from, in its order."""
    return dict(zip(model.encoder_.names_, model.encoder_.kinds_, strict=True))


def has_one_series(model: Forecaster) -> bool:
    """Whether it was fitted to a single series, which needs no name."""
    return bool(model.panel_.ids.tolist() == [model.target_col])


def read_series(
    model: Forecaster, path: Path, *, is_ahead: bool = False
) -> tuple[pd.DataFrame, int]:
    """A long frame from a file, its columns read as at fit, and how many rows were left out.

    Left out are rows without a target.
    """
    kinds = series_kinds(model)
    series = None if has_one_series(model) else model.id_col
    if series is None:
        kinds.pop(model.id_col)
    if is_ahead:
        kinds = {n: k for n, k in kinds.items() if n not in (model.target_col, *model.past_columns)}
    with open_table(path) as file:
        check_columns(kinds, file)
        parts = []
        for rows in file.batches():
            parts.append(read_as(rows, kinds, file))
            _check_zones(rows[model.time_col], model, file)
        if not parts:
            raise ValueError(f"{file.name}: expected rows of the series, got none")
    frame = every = pd.concat(parts)
    if not is_ahead:
        frame = every[every[model.target_col].notna()]
    df = long_frame(frame, kinds, file.name, file.unit, time=model.time_col, series=series)
    if getattr(model.panel_.times, "tz", None):
        df[model.time_col] = df[model.time_col].dt.tz_localize("UTC")
    return df, len(every) - len(frame)


def _check_zones(times: pd.Series, model: Forecaster, file: TableFile) -> None:
    """All of them have one, or none has, as at fit."""
    if not isinstance(model.panel_.times, pd.DatetimeIndex):
        return
    had = model.panel_.times.tz is not None
    has = zoned(times)
    for row in has.index[has != had][:1]:
        raise ValueError(
            f"{file.name}, {file.unit} {row}, column {model.time_col!r}: expected a time "
            f"{'with' if had else 'without'} a zone as at fit, got {times[row]}; write all alike"
        )


def series_kinds(model: Forecaster) -> dict[str, Kind]:
    panel = model.panel_
    is_number = all(isinstance(i, int | np.integer) for i in panel.ids)
    kinds: dict[str, Kind] = {
        model.id_col: "number" if is_number else "category",
        model.time_col: "date" if isinstance(panel.times, pd.DatetimeIndex) else "number",
        model.target_col: "number",
    }
    for encoder in model.encoder_.encoders_.values():
        kinds |= dict(zip(encoder.names_, encoder.kinds_, strict=True))
    return kinds


def check_columns(
    wanted: Collection[str], file: TableFile, what: str = "all columns that the model learned from"
) -> None:
    """All of them have to be in the file; one that is not may be there under a similar name."""
    missing = [name for name in wanted if name not in file.names]
    if not missing:
        return
    spare = [name for name in file.names if name not in wanted]
    close = {name: closest(name, spare) for name in missing}
    told = [f"{n!r} (did you mean {c!r}?)" if c else repr(n) for n, c in close.items()]
    raise ValueError(
        f"{file.name}: expected {what}, got none called {', '.join(told)}; add them, empty where "
        "nothing is known"
    )


def _kept(keep: Sequence[str], file: TableFile) -> list[str]:
    if list(keep) == [ALL]:
        return file.names
    return [one_of(name, file.names, f"a column of {file.name} to keep") for name in keep]


def _refuse_same(kept: Sequence[str], answers: Iterable[str], file: TableFile) -> None:
    both = [name for name in answers if name in kept]
    if both:
        raise ValueError(
            f"{file.name}: expected no column to keep that is called like an answer, got "
            f"{', '.join(map(repr, both))}; leave it out of --keep, or rename it in the file"
        )

"""The columns that a model needs, found and read in a file."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from batchensemble.cli.format import named
from batchensemble.cli.series_names import names_of_fit
from batchensemble.cli.typed_columns import read_typed
from batchensemble.data.clocks import alike, strays
from batchensemble.data.columns import Kind
from batchensemble.data.doubts import doubts_about_covariates
from batchensemble.data.file_options import AS_FOUND, FileOptions
from batchensemble.data.file_parts import refuse_zones
from batchensemble.data.frames import read_columns
from batchensemble.data.notation import Notation
from batchensemble.data.public_holidays import holiday_names
from batchensemble.data.reading import TableFile, open_table
from batchensemble.data.tables import check_told_apart
from batchensemble.data.telling import tell
from batchensemble.data.text import zone_of
from batchensemble.data.units import doubts_about_series
from batchensemble.estimators.answers import with_zones
from batchensemble.estimators.classifier import Classifier
from batchensemble.estimators.forecaster import Forecaster
from batchensemble.estimators.regressor import Regressor
from batchensemble.words import closest

NO_NAME = "unique_id"  # of series, where none is given
OF_FORECASTS = ("mean", "lower", "upper")


@contextmanager
def open_new(path: Path, options: FileOptions) -> Iterator[TableFile]:
    """A file for a model; what is in doubt about its letters or sheet is told when it is read."""
    with open_table(path, options) as file:
        yield file
        for note in file.notes:
            tell(note, 2)


def table_kinds(model: Regressor | Classifier) -> dict[str, Kind]:
    """The kinds of the columns that a model learned from, in its order."""
    encoder = model.model_.encoder
    return dict(zip(encoder.names_, encoder.kinds_, strict=True))


def notations_of(model: Any) -> dict[str, Notation]:
    """How columns were written in the file of fit, where that was not plain."""
    kept = (getattr(model, "origin_", None) or {}).get("notations") or {}
    return {name: Notation.of(parts) for name, parts in kept.items()}


def series_kinds(model: Forecaster) -> dict[str, Kind]:
    """The kinds of the columns of a forecaster's file."""
    panel = model.panel_
    kinds: dict[str, Kind] = {}
    if not has_one_series(model):
        kinds[model.id_col] = "category"
    kinds[model.time_col] = "date" if isinstance(panel.times, pd.DatetimeIndex) else "number"
    kinds[model.target_col] = "number"
    for encoder in model.model_.encoder.encoders_.values():
        kinds |= dict(zip(encoder.names_, encoder.kinds_, strict=True))
    return {name: kind for name, kind in kinds.items() if name not in holiday_names(model.holidays)}


def has_one_series(model: Forecaster) -> bool:
    """Whether it was fitted to a single series without a name."""
    return bool(model.id_col == NO_NAME and model.panel_.ids.tolist() == [model.target_col])


def check_columns(
    wanted: Collection[str],
    file: TableFile,
    what: str = "columns that the model learned from",
    cure: str = "add them, and leave unknown cells empty",
) -> None:
    """Raise if one is missing, with the closest name that the file has."""
    missing = [name for name in wanted if name not in file.names]
    if not missing:
        return
    spare = [name for name in file.names if name not in wanted]
    close = {name: closest(name, spare) for name in missing}
    names = [f"{n!r} (did you mean {c!r}?)" if c else repr(n) for n, c in close.items()]
    raise ValueError(f"{file.name}: missing {what}: {', '.join(names)}; {cure}")


def read_rows(
    model: Regressor | Classifier,
    rows: pd.DataFrame,
    file: TableFile,
    kinds: Mapping[str, Kind],
    notations: Mapping[str, Notation],
) -> pd.DataFrame:
    """Rows of a table as the model wants them; `kinds` may have more columns than it needs."""
    encoder = model.model_.encoder
    return with_zones(encoder, read_typed(rows, file, kinds, notations, [encoder]))


def read_series(
    model: Forecaster, path: Path, options: FileOptions = AS_FOUND, *, is_ahead: bool = False
) -> tuple[pd.DataFrame, int]:
    """A long frame with the columns as in fit, and the number of rows left out.

    Rows without a target are left out. With `is_ahead` only what is known ahead is read.
    """
    with open_new(path, options) as file:
        df, n_left_out = series_in(model, file, is_ahead=is_ahead)
    if df.empty and not is_ahead:
        raise ValueError(
            f"{path}: expected values in {model.target_col!r}, got empty cells only; fill some in"
        )
    doubt_series(model, df, path, is_ahead=is_ahead)
    return df, n_left_out


def doubt_series(model: Forecaster, df: pd.DataFrame, path: Any, *, is_ahead: bool) -> None:
    """Warn of series that are not known, and of numbers that look like those of another unit.

    What is ahead, the model looks at itself.
    """
    if is_ahead:
        return
    for doubt in [*_doubts_about(model, df, path), *_doubts_about_columns(model, df)]:
        tell(doubt, 3)


def _doubts_about(model: Forecaster, df: pd.DataFrame, path: Any) -> Iterator[str]:
    """Sentences about the series of a file."""
    panel = model.panel_
    ids = np.asarray(df[model.id_col] if model.id_col in df else np.repeat(panel.ids, len(df)))
    if (panel.numbers_of(pd.unique(ids)) < 0).all():
        yield (
            f"no series of {path}, such as {ids[0]}, was in the training data, so they are "
            "forecast from their rows there alone; if they were in it, name them as there, such as "
            f"{panel.ids[0]}"
        )
    yield from doubts_about_series(panel, ids, df[model.target_col].to_numpy(np.float64))


def _doubts_about_columns(model: Forecaster, df: pd.DataFrame) -> Iterator[str]:
    for encoder in model.model_.encoder.encoders_.values():
        own = [name for name in encoder.names_ if name in df]
        if own:
            yield from doubts_about_covariates(read_columns(df[own]), encoder)


def series_in(
    model: Forecaster,
    file: TableFile,
    *,
    is_ahead: bool = False,
    notations: Mapping[str, Notation] | None = None,
) -> tuple[pd.DataFrame, int]:
    """The same of an open file, in the notations of fit or in others."""
    kinds = series_kinds(model)
    if model.id_col in file.names:  # as names even if the one series of fit had none
        kinds.setdefault(model.id_col, "category")
    series = model.id_col if model.id_col in kinds else None
    if is_ahead:
        unknown = (model.target_col, *model.past_columns, *model.static_columns)
        kinds = {n: k for n, k in kinds.items() if n not in unknown}
    notations = notations_of(model) if notations is None else notations
    check_columns(kinds, file)
    usual = {model.target_col: model.panel_.observed[~np.isnan(model.panel_.observed)]}
    encoders = model.model_.encoder.encoders_.values()
    parts = []
    for rows in file.batches():
        parts.append(read_typed(rows, file, kinds, notations, encoders, usual))
        _check_zones(rows[model.time_col], parts[-1][model.time_col], model.panel_.times, file)
    if not parts:
        raise ValueError(f"{file.name}: expected rows of the series, got none; add some")
    every = pd.concat(parts)
    if series and has_one_series(model) and every[series].nunique() < 2:
        every, series = every.drop(columns=series), None  # fit left this column out as well
    frame = every if is_ahead else every[every[model.target_col].notna()]
    names: Any = {"time": model.time_col, "series": series}
    zone = getattr(model.panel_.times, "tz", None)
    df = long_frame(frame, kinds, file.name, file.unit, **names, zone=zone)
    for encoder in encoders:
        df = with_zones(encoder, df)
    lost = set() if series is None else set(every[series].dropna()) - set(frame[series])
    if lost and len(frame):
        tell(
            f"{file.name}: left out {len(lost):,} series without any value in "
            f"{model.target_col!r} ({named(sorted(lost))}); fill some in to have them forecast",
            2,
        )
    if series is not None:
        df[series] = names_of_fit(df[series], model.panel_.ids)
    return df, len(every) - len(frame)


def _check_zones(written: pd.Series, read: pd.Series, of_fit: Any, file: TableFile) -> None:
    """All times have a zone, or none has, as in fit; and days begin by the same clock."""
    if not isinstance(of_fit, pd.DatetimeIndex):
        return
    refuse_zones(written, file, had_zones=of_fit.tz is not None, place="in fit")
    if of_fit.tz is not None:
        moments = pd.DatetimeIndex(read.dropna()).tz_localize("UTC")
        if len(strays(moments.tz_convert(of_fit.tz), of_fit)):
            try:
                alike(moments.tz_convert(zone_of(written)), of_fit)
            except ValueError as error:
                raise ValueError(f"{file.name}: {error}") from None


def long_frame(
    frame: pd.DataFrame,
    kinds: dict[str, Kind],
    file: str,
    unit: str,
    *,
    time: str,
    series: str | None,
    zone: Any,
) -> pd.DataFrame:
    """Times as dates, in their zone, or whole numbers; series by words or the same."""
    frame = frame.copy()
    for name, role, roles in ((time, "time", "times"), (series, "series", "series")):
        if name is None:
            continue
        if name in OF_FORECASTS:
            raise ValueError(
                f"{file}: expected {roles} in a column not named like a forecast "
                f"({', '.join(OF_FORECASTS)}), got {name!r}; rename it"
            )
        gaps = np.flatnonzero(frame[name].isna())
        if gaps.size:
            raise ValueError(
                f"{file}: expected a {role} in every row of {name!r}, got an empty cell, or one "
                f"such as NA, in {unit} {frame.index[gaps[0]]}; fill it in or delete the row"
            )
        if kinds[name] == "number":
            whole = frame[name].round()
            for value in frame[name][whole != frame[name]][:1]:
                raise ValueError(
                    f"{file}: expected {roles} that are whole numbers in {name!r}, got {value:g}; "
                    "correct it, or name another column"
                )
            check_told_apart(whole, roles, file, "shorten them")
            frame[name] = whole.astype(np.int64)
    if kinds[time] not in ("date", "number"):
        raise ValueError(
            f"{file}: expected dates such as 2026-01-31 or whole numbers in the time column "
            f"{time!r}, got {frame[time].iloc[0]!r}; write them so, or name another column"
        )
    if zone:
        frame[time] = frame[time].dt.tz_localize("UTC").dt.tz_convert(zone)
    return frame.reset_index(drop=True)

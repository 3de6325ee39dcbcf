"""Requests -> the columns of a model -> what `predict` writes about them."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

import pandas as pd
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, Strict, TypeAdapter, WrapValidator
from typing_extensions import TypedDict

from batchensemble.cli.batching import Batches
from batchensemble.cli.columns import (
    check_columns,
    doubt_series,
    notations_of,
    read_rows,
    series_in,
    series_kinds,
    table_kinds,
)
from batchensemble.cli.predictions import forecast_columns
from batchensemble.cli.request_values import NUMBERS, REQUEST, Rows, row_numbers, values_of
from batchensemble.cli.typed_columns import usual_numbers, words_like_gaps
from batchensemble.data.columns import Column, Columns, Kind
from batchensemble.data.durations import spans_of
from batchensemble.data.file_parts import refuse_zones
from batchensemble.data.reading import open_csv
from batchensemble.data.scalars import texts
from batchensemble.data.telling import collected, tell
from batchensemble.estimators.answers import with_shift, zones_of
from batchensemble.estimators.classifier import Classifier
from batchensemble.estimators.forecaster import Forecaster
from batchensemble.estimators.regressor import Regressor

JSON, CSV = "application/json", "text/csv"
# Texts are read later, as those of files are: pydantic would read 1.234 as less than two.
AS_TEXT = WrapValidator(lambda cell, check: cell if isinstance(cell, str) else check(cell))
TYPES: dict[Kind, Any] = {
    "number": Annotated[Annotated[float, Strict()] | None, Field(allow_inf_nan=False), AS_TEXT],
    "boolean": Annotated[bool | None, AS_TEXT],
    "category": str | bool | int | float | None,
    "date": str | None,
}
Coverage = Annotated[float, Field(ge=0.01, le=0.999)]


@dataclass(frozen=True)
class Limits:
    """What one request may hold."""

    rows: int = 10_000
    megabytes: float = 10.0
    steps: int = 500_000  # of all paths together, beyond the horizon of fit


class Answer(NamedTuple):
    """What `predict` writes, and what a person should know about it."""

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()


class TooMuch(ValueError):
    """A request beyond the limits."""


@dataclass(eq=False)
class TableRequests:
    model: Regressor | Classifier
    limits: Limits

    def __post_init__(self) -> None:
        self.kinds, self.notations = table_kinds(self.model), notations_of(self.model)
        encoder = self.model.model_.encoder
        self.usual = usual_numbers(encoder)
        self.like_gaps = words_like_gaps([encoder])
        self.zoned, self.spans = zones_of(encoder), spans_of(encoder)
        calibration = self.model.calibration_
        if getattr(calibration, "groups", None) is not None and not self.model.group_column_:
            raise ValueError(
                "this model was calibrated by group labels that are not a column, so a "
                "request cannot give a row's group; calibrate with the name of a column as "
                "groups="
            )
        row = _object("row", {name: TYPES[kind] for name, kind in self.kinds.items()})
        rows = _listed(row, self.limits.rows, fewest=1)
        body = {"rows": rows, "coverage": NotRequired[Coverage]}
        self.body = _adapter(body)
        self.batches = Batches(lambda columns, share: with_shift(self.model, columns, share))

    def prepare(self) -> None:
        self.model.model_.ensemble.members.prepare()

    def schema(self) -> dict[str, Any]:
        return _contents(self.body, self.kinds)

    async def answer(self, body: bytes, is_csv: bool, coverage: float) -> Answer:
        if is_csv:
            columns = await asyncio.to_thread(self._from_csv, body)
        else:
            given = self.body.validate_json(body)
            coverage = given.get("coverage", coverage)
            columns = self._from_rows(given["rows"])
        self.model.model_.encoder.as_at_fit(columns)  # refuses what is wrong in this request alone
        return Answer(await self.batches(columns, coverage))

    def _from_csv(self, body: bytes) -> Columns:
        with open_csv(body, REQUEST) as file:
            check_columns(self.kinds, file)
            batches = file.batches(self.limits.rows)
            rows = next(batches, None)
            if rows is None:
                raise ValueError(f"{REQUEST}: expected rows to predict, got none")
            if next(batches, None) is not None:
                raise TooMuch(f"expected at most {self.limits.rows:,} rows, got more; send fewer")
            return self.model.read(read_rows(self.model, rows, file, self.kinds, self.notations))

    def _from_rows(self, rows: list[dict[str, Any]]) -> Columns:
        return Columns(
            tuple(
                self._column(name, kind, [row[name] for row in rows])
                for name, kind in self.kinds.items()
            )
        )

    def _column(self, name: str, kind: Kind, cells: list[Any]) -> Column:
        known, is_zoned = (self.notations, cells, self.usual), False
        kept = self.like_gaps.get(name, ())
        values = values_of(name, kind, *known, is_span=name in self.spans, kept=kept)
        if kind == "date" and name in self.zoned:
            is_zoned, rows = self.zoned[name], pd.DataFrame({name: cells}, row_numbers(cells))
            refuse_zones(rows[name], Rows(rows), had_zones=is_zoned, place="in fit")
        return Column(name, kind, values, is_zoned)


@dataclass(eq=False)
class SeriesRequests:
    model: Forecaster
    limits: Limits

    def __post_init__(self) -> None:
        self.kinds, self.notations = series_kinds(self.model), notations_of(self.model)
        encoders = self.model.model_.encoder.encoders_.values()
        self.spans = frozenset[str]().union(*map(spans_of, encoders))
        times = {self.model.id_col, self.model.time_col, *self.model.future_columns}
        words = TYPES["category"]
        cells = {n: TYPES[k] if k in NUMBERS else words for n, k in self.kinds.items()}
        row, later = (
            _object(word, {name: cell for name, cell in cells.items() if name in names})
            for word, names in (("row", cells), ("later", times))
        )
        most = self.limits.rows
        body = {
            "history": NotRequired[_listed(row, most)],
            "ahead": NotRequired[_listed(later, most)],
            "horizon": NotRequired[Annotated[int, Strict(), Field(ge=1, le=most)]],
            "coverage": NotRequired[Coverage],
        }
        self.body = _adapter(body)
        self.thread = ThreadPoolExecutor(1)

    def prepare(self) -> None:
        """Nothing to load."""

    def schema(self) -> dict[str, Any]:
        return _contents(self.body, self.kinds)

    async def answer(self, body: bytes, is_csv: bool, coverage: float) -> Answer:
        fields: dict[str, Any] = {"history": body} if is_csv else self.body.validate_json(body)
        loop = asyncio.get_running_loop()
        given = {"coverage": coverage, **fields}
        return await loop.run_in_executor(self.thread, self._with_notes, given)

    def _with_notes(self, given: dict[str, Any]) -> Answer:
        with collected() as doubts:
            frame = self._forecast(given)
        for doubt in doubts:
            tell(doubt, 1)
        return Answer(frame, tuple(dict.fromkeys(doubts)))

    def _forecast(self, given: dict[str, Any]) -> pd.DataFrame:
        if given.get("ahead") and not self.model.future_columns:
            raise ValueError(
                f"{REQUEST}: `ahead` is not needed: the model was fitted without --future; omit it"
            )
        past = self._read(given.get("history"), is_ahead=False)
        ahead = self._read(given.get("ahead"), is_ahead=True)
        if self.model.future_columns and ahead is None:
            names = ", ".join(map(repr, self.model.future_columns))
            raise ValueError(f"{REQUEST}: expected future values of {names} in `ahead`, got none")
        horizon = given.get("horizon") or self.model.model_.horizon
        self._check_size(past, horizon)
        frame = forecast_columns(self.model, past, ahead, horizon, given["coverage"])
        times = frame[self.model.time_col]
        if isinstance(times.iloc[0], pd.Timestamp):
            frame[self.model.time_col] = times.map(pd.Timestamp.isoformat)
        return frame

    def _check_size(self, past: pd.DataFrame | None, horizon: int) -> None:
        """Steps beyond the horizon of fit take long: each path goes through the network anew."""
        model, name = self.model, self.model.id_col
        ids = model.panel_.ids if past is None else past[name].unique() if name in past else [name]
        extra = self.limits.steps // (len(ids) * model.n_paths)
        most = min(self.limits.rows // len(ids), model.model_.horizon + extra)
        if horizon > most:
            raise ValueError(
                f"horizon: expected at most {most:,} steps of {len(ids):,} series in a request, "
                f"got {horizon:,}; ask for fewer steps or fewer series, or start serve with higher "
                "limits (--max-steps, --max-rows)"
            )

    def _read(
        self, rows: bytes | list[dict[str, Any]] | None, *, is_ahead: bool
    ) -> pd.DataFrame | None:
        """A CSV, or the rows of a JSON request."""
        if rows is None or (is_ahead and not rows):
            return None
        if not rows:
            raise ValueError(
                f"{REQUEST}: expected the history of a series, got nothing; send {{}} as JSON to "
                "continue the series of fit"
            )
        opened: AbstractContextManager[Any] = (
            open_csv(rows, REQUEST) if isinstance(rows, bytes) else nullcontext(self._file(rows))
        )
        is_csv = isinstance(rows, bytes)  # in JSON, numbers are what they are
        notations = {name: one for name, one in self.notations.items() if is_csv or one.date}
        with opened as file:
            frame, _ = series_in(self.model, file, is_ahead=is_ahead, notations=notations)
        if frame.empty:
            names = "`ahead`" if is_ahead else f"{self.model.target_col!r} of the history"
            raise ValueError(f"{REQUEST}: expected values in {names}, got none")
        if len(frame) > self.limits.rows:
            raise TooMuch(
                f"expected at most {self.limits.rows:,} rows, got {len(frame):,}; send fewer"
            )
        doubt_series(self.model, frame, REQUEST, is_ahead=is_ahead)
        return frame

    def _file(self, rows: list[dict[str, Any]]) -> Rows:
        columns: dict[str, NDArray[Any]] = {}
        for name in rows[0]:
            cells, kind = [row[name] for row in rows], self.kinds[name]
            # Dates and durations are read, and the zones of dates checked, as those of files.
            is_span = name in self.spans and any(isinstance(cell, str) for cell in cells)
            columns[name] = (
                texts(cells)
                if kind == "date" or is_span
                else values_of(name, kind, self.notations, cells)
            )
        return Rows(pd.DataFrame(columns, index=row_numbers(rows)))


def _object(
    name: str, fields: dict[str, Any], extra: Literal["ignore", "forbid"] = "ignore"
) -> Any:
    make: Any = TypedDict
    made = make(name, fields)
    made.__pydantic_config__ = ConfigDict(extra=extra)
    return made


def _adapter(fields: dict[str, Any]) -> TypeAdapter[Any]:
    """A request; unlike unknown columns, unknown fields are refused: one may be misspelt."""
    return TypeAdapter(_object("body", fields, extra="forbid"))


def _listed(row: Any, most: int, fewest: int = 0) -> Any:
    return Annotated[list[row], Field(min_length=fewest, max_length=most)]


def _contents(body: TypeAdapter[Any], kinds: dict[str, Kind]) -> dict[str, Any]:
    """What a request may hold, for OpenAPI."""
    lines = {"schema": {"type": "string"}, "example": ",".join(kinds) + "\n"}
    return {JSON: {"schema": _inlined(body.json_schema())}, CSV: lines}


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Without references, which would point outside of an OpenAPI document."""
    parts = schema.pop("$defs", {})

    def whole(value: Any) -> Any:
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):  # else it is a column of this name
                return whole(parts[value["$ref"].rsplit("/", 1)[-1]])
            return {name: whole(one) for name, one in value.items()}
        return [whole(one) for one in value] if isinstance(value, list) else value

    inlined: dict[str, Any] = whole(schema)
    return inlined

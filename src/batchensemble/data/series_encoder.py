"""A panel -> scaled values and covariates, and the windows that a forecast is learned from."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data.calendars import calendar
from batchensemble.data.columns import Columns
from batchensemble.data.encoded_series import Encoded
from batchensemble.data.gaps import seasonally_filled
from batchensemble.data.grids import Ints, series_of
from batchensemble.data.intermittent import is_intermittent, reordered
from batchensemble.data.linear_effects import learn_effects, own_effects
from batchensemble.data.panels import Panel
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.data.windows import continued_back, series_scale, window_scales
from batchensemble.words import one_of

Floats = NDArray[np.float64]

SCALINGS = ("minmax", "standard", "window", "difference")
FARTHEST = 1e4  # from fit's location, in fit's scales: beyond it float32 blurs what is known
SMALLEST = 1e-4  # of fit's numbers: a history below it is one in other units


class SeriesEncoder:
    """Learns each series' scale and the coding of exogenous columns.

    scaling   "minmax" (each series to [0, 1]), "standard" (to mean 0 and variance 1), or "window":
              like "standard", and then each window by the mean and spread of what is known in it;
              or "difference": each series, and then each window, by its mean change over a season.
    calendar  whether the position in year, week and day becomes a covariate.
    linear    whether columns known ahead add a multiple of themselves to the scaled series, found
              by regressing changes on changes; otherwise they become covariates. Then the first
              covariate is 1 for values that were observed, and 0 for those in their place.
    static    columns that are the same at all times of a series; they become covariates.
    period    above 1: the position in a cycle of so many steps does, for series without dates.
    """

    def __init__(
        self,
        scaling: str,
        *,
        calendar: bool,
        period: int = 1,
        linear: bool = False,
        future: Sequence[str] = (),
        past: Sequence[str] = (),
        static: Sequence[str] = (),
    ) -> None:
        self.scaling = one_of(scaling, SCALINGS, "scaling")
        self.calendar, self.period, self.linear = calendar, period, linear
        self.future, self.past, self.static = tuple(future), tuple(past), tuple(static)

    def fit(self, panel: Panel) -> "SeriesEncoder":
        self.lowest_ = self._floors_by(panel)
        panel = seasonally_filled(panel, self.period)
        self.draws_history_ = False
        self.scales_ = {
            _key(i): self._scale(panel.values[panel.rows(k)]) for k, i in enumerate(panel.ids)
        }
        self.encoders_: dict[str, TableEncoder] = {
            kind: TableEncoder("robust").fit(_chosen(panel.columns, names))
            for kind, names in (("future", self.future), ("past", self.past))
            if names
        }
        if self.static:
            self.encoders_["static"] = TableEncoder("robust").fit(self._of_series(panel))
        if self.linear and self.future:
            self.effects_ = np.zeros(self.encoders_["future"].n_features_out_)
            columns, values = _chosen(panel.columns, self.future), self.encode(panel).values
            self.encoders_["future"], self.effects_ = learn_effects(panel, columns, values)
            encoded = self._encoded("future", columns)
            self.effects_, own = own_effects(panel, encoded, values, self.effects_)
            self.own_effects_ = dict(zip(self.scales_, map(tuple, own.tolist()), strict=True))
        return self

    def drawing(self, *, history: bool) -> "SeriesEncoder":
        """A copy that draws paths of intermittent series from their history, or does not."""
        other = copy.copy(self)
        other.draws_history_ = history
        return other

    def having_seen(self, panel: Panel) -> "SeriesEncoder":
        """A copy that remembers which series of the panel have been negative."""
        other = copy.copy(self)
        other.lowest_ = {**self.floors, **self._floors_by(panel)}
        return other

    @property
    def acts_linearly(self) -> bool:
        """Older files do not say: no."""
        return bool(vars(self).get("linear", False))

    @property
    def floors(self) -> Mapping[Any, float]:
        """What no forecast of a series is below, by id. Older files do not say."""
        found: Mapping[Any, float] = vars(self).get("lowest_", {})
        return found

    @property
    def draws_history(self) -> bool:
        """Of intermittent series. Older files do not say: no."""
        return bool(vars(self).get("draws_history_", False))

    def _scale(self, values: Floats) -> tuple[float, float]:
        return series_scale(values, scaling=self.scaling, period=self.period)

    def _scale_of(self, key: Any, values: Floats) -> tuple[float, float]:
        """Fit's, unless float32 could not tell these values apart by it."""
        location, scale = self.scales_[key]
        if self.scaling not in ("window", "difference"):
            return location, scale
        is_far = np.abs(values - location).max() > FARTHEST * scale
        is_small = 0 < np.abs(values).max() < SMALLEST * max(abs(location), scale)
        return self._scale(values) if is_far or is_small else (location, scale)

    def _floors_by(self, panel: Panel) -> dict[Any, float]:
        """Zero for a series that was never negative; the study's scalings know no limit.

        A value below fit's floor proves it wrong; what stands in the place of one proves nothing.
        """
        is_free = np.logical_or.reduceat(panel.observed < 0, panel.starts[:-1])
        floors = np.where(is_free | (self.scaling != "difference"), -np.inf, 0.0).tolist()
        found = {_key(i): floor for i, floor in zip(panel.ids, floors, strict=True)}
        return {key: min(self.floors.get(key, floor), floor) for key, floor in found.items()}

    def _floors_before(self, panel: Panel) -> Floats:
        """(rows,), the same by what is known before each row, for forecasts that begin there."""
        is_negative = panel.observed < 0
        n_before: NDArray[np.int64] = np.cumsum(is_negative) - is_negative
        is_free = n_before > np.repeat(n_before[panel.starts[:-1]], panel.lengths)
        usual = 0.0 if self.scaling == "difference" else -np.inf
        floors = [self.floors.get(_key(i), usual) for i in panel.ids]
        return np.where(is_free, -np.inf, np.repeat(floors, panel.lengths))

    @property
    def n_past(self) -> int:
        """Covariates that are known up to the present only, a flag for that among them."""
        return self.encoders_["past"].n_features_out_ + 1 if self.past else 0

    def encode(
        self, panel: Panel, *, learned_from: Panel | None = None, reach: int | None = None
    ) -> Encoded:
        """The rows of a panel.

        A series that fit has not seen is scaled by `learned_from`'s. One whose last `reach` numbers
        there, those that a forecast reads, are of another size than what fit has seen is scaled by
        these.
        """
        location, scale = self._scales_by_row(panel, learned_from or panel, reach)
        effect = self._effect(panel.ids, panel.lengths, panel.columns)
        panel = seasonally_filled(panel, self.period, scale * effect)
        values = (panel.values - location) / scale - effect
        parts = self._known_ahead(panel.times, panel.freq, panel.columns)
        if panel.gaps is not None and self.acts_linearly:
            parts[0][panel.gaps] = 0.0
        parts.append(np.repeat(self._static(panel), panel.lengths, axis=0))
        if self.past:
            past = self._encoded("past", panel.columns)
            # What belongs to a time is known one step later. The first row of a series has nothing
            # before it, and no window reads its covariates: it is there for its lagged value.
            shifted = np.concatenate([past[:1], past[:-1]])
            parts.append(np.column_stack([shifted, np.ones(len(past), dtype=np.float32)]))
        covariates = np.concatenate(parts, axis=1)
        # What fit has not seen may lie anywhere: float32 must hold it, or its square, all the same.
        most = 1e12 if self.scaling in ("window", "difference") else 1e30
        single = np.clip(values, -most, most).astype(np.float32)
        lowest = self._floors_before(panel)
        return Encoded(single, covariates, location, scale, effect, panel.values, lowest)

    def filled(
        self, panel: Panel, source: Panel, reach: int | None, done: Ints | int | None = None
    ) -> Panel:
        """With something in the place of missing values, columns known ahead doing what they do."""
        if panel.gaps is None:
            return panel
        _, scale = self._scales_by_row(panel, source, reach)
        effect = scale * self._effect(panel.ids, panel.lengths, panel.columns)
        return seasonally_filled(panel, self.period, effect, done=done)

    def _scales_by_row(
        self, panel: Panel, source: Panel, reach: int | None
    ) -> tuple[Floats, Floats]:
        """(rows,), location and scale of each row's series."""
        source = seasonally_filled(source, self.period)
        latest = source if reach is None else source.tail(reach)
        scales = [
            self._scale_of(_key(i), latest.values[latest.rows(k)])
            if _key(i) in self.scales_
            else self._scale(source.values[source.rows(k)])
            for k, i in enumerate(panel.ids)
        ]
        location, scale = np.repeat(np.array(scales), panel.lengths, axis=0).T
        return location, scale

    def encode_ahead(
        self, history: Panel, reach: int, times: pd.Index, columns: Columns | None
    ) -> Encoded:
        """The last `reach` rows of each series followed by times to forecast, without values."""
        history = self.filled(history, history, reach)  # before it is cut: gaps repeat a season
        panel = history.tail(reach)
        rows, starts, repeated = continued_back(panel.starts, reach - panel.lengths, self.period)
        known = self.encode(panel, learned_from=history, reach=reach).take(rows, repeated)
        h = len(times) // len(panel)
        parts = self._known_ahead(times, panel.freq, columns)
        parts.append(np.repeat(self._static(history), h, axis=0))
        if self.past:
            first_step = np.zeros((len(panel), h, self.n_past), dtype=np.float32)
            first_step[:, 0, :-1] = self._encoded("past", panel.columns)[panel.starts[1:] - 1]
            first_step[:, 0, -1] = 1
            parts.append(first_step.reshape(len(times), -1))
        firsts, floors = np.repeat(starts[:-1], h), [*self._floors_by(history).values()]
        series = np.concatenate([series_of(starts), np.repeat(np.arange(len(panel)), h)])
        order = np.argsort(series, kind="stable")  # what is ahead comes after each series

        def joined(rows: NDArray[Any], ahead: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([rows, ahead])[order]

        return Encoded(
            joined(known.values, np.zeros(len(times), dtype=np.float32)),
            joined(known.covariates, np.concatenate(parts, axis=1)),
            joined(known.location, known.location[firsts]),
            joined(known.scale, known.scale[firsts]),
            joined(known.effect, self._effect(panel.ids, h, columns)),
            joined(known.raw, np.zeros(len(times))),
            np.repeat(floors, reach + h),
        )

    def decode(
        self, paths: Floats, encoded: Encoded, starts: NDArray[np.int64], reach: int = 0
    ) -> Floats:
        """Paths (windows, members, paths, steps) of scaled series, from `starts` on, in units.

        Those of intermittent series are drawn from the `reach` values before them, if that paid.
        """
        rows = starts[:, None] + np.arange(paths.shape[-1])
        if self.acts_linearly and self.future:
            paths = paths + encoded.effect[rows][:, None, None]
        first = starts[:, None, None, None]
        values: Floats = paths * encoded.scale[first] + encoded.location[first]
        values = np.maximum(values, encoded.lowest[first], out=values)
        if self.draws_history:
            for window, start in zip(values, starts, strict=True):
                history = encoded.known(slice(start - reach, start))
                if is_intermittent(history):
                    window[:] = reordered(window, history)
        return values

    def _effect(self, ids: Any, counts: Ints | int, columns: Columns | None) -> Floats:
        """(rows,), what columns of series with so many rows do, in scales of each series."""
        if not (self.acts_linearly and self.future):
            return np.zeros(len(np.repeat(ids, counts)))
        own = vars(self).get("own_effects_", {})  # older files have none
        effects = np.repeat([own.get(_key(i), self.effects_) for i in ids], counts, axis=0)
        return np.asarray((self._encoded("future", columns) * effects).sum(axis=1))

    def _known_ahead(
        self, times: pd.Index, freq: Any, columns: Columns | None
    ) -> list[NDArray[np.float32]]:
        """Covariates that are known at any time: the calendar, and the future columns."""
        parts = [np.ones((len(times), 1), dtype=np.float32)] if self.acts_linearly else []
        if self.calendar:
            parts.append(calendar(times, freq, self.period))
        if self.future and not self.acts_linearly:
            parts.append(self._encoded("future", columns))
        return parts or [np.empty((len(times), 0), dtype=np.float32)]

    def _static(self, panel: Panel) -> NDArray[np.float32]:
        """(series, features), of the columns that never change. Older files have none."""
        if not vars(self).get("static"):
            return np.empty((len(panel), 0), dtype=np.float32)
        return self.encoders_["static"].transform(self._of_series(panel))

    def _of_series(self, panel: Panel) -> Columns:
        """The static columns, a row for each series: its last value that is not missing."""
        return panel.last_known(_chosen(panel.columns, self.static))

    def _encoded(self, when: str, columns: Columns | None) -> NDArray[np.float32]:
        """The exogenous columns known in the "future" or the "past"."""
        return self.encoders_[when].transform(_chosen(columns, getattr(self, when)))

    def window_scales(self, values: NDArray[np.float32], reach: int) -> tuple[Floats, Floats]:
        """Of the window that starts at each row, from its `reach` known values."""
        return window_scales(values, reach, scaling=self.scaling, period=self.period)


def _chosen(columns: Columns | None, names: Sequence[str]) -> Columns:
    assert columns is not None
    by_name = {column.name: column for column in columns}
    return Columns(tuple(by_name[name] for name in names))


def _key(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value

"""A panel -> scaled values and covariates, and the windows that a forecast is learned from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data.calendars import calendar
from batchensemble.data.frames import Columns
from batchensemble.data.grids import series_of
from batchensemble.data.panels import Panel
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.words import one_of

Floats = NDArray[np.float64]

SCALINGS = ("minmax", "standard", "window")
WINDOW_FLOATS = 2**20
LEAST_WINDOW_SCALE = 0.1  # of the series' own: a quiet stretch must not blow up what follows


@dataclass(frozen=True, eq=False)
class Encoded:
    """Rows of series as numbers for a network.

    values     (rows,) scaled by series
    covariates (rows, covariates): known ahead first, then those known up to the present only
    location, scale  (rows,): value * scale + location gives back the user's units
    """

    values: NDArray[np.float32]
    covariates: NDArray[np.float32]
    location: Floats
    scale: Floats


class SeriesEncoder:
    """Learns each series' scale and the coding of exogenous columns.

    scaling   "minmax" (each series to [0, 1]), "standard" (to mean 0 and variance 1), or "window":
              like "standard", and then each window by the mean and spread of what is known in it.
    calendar  whether the position in year, week and day becomes a covariate.
    period    above 1: the position in a cycle of so many steps does, for series without dates.
    """

    def __init__(
        self,
        scaling: str,
        *,
        calendar: bool,
        period: int = 1,
        future: Sequence[str] = (),
        past: Sequence[str] = (),
    ) -> None:
        self.scaling = one_of(scaling, SCALINGS, "scaling")
        self.calendar, self.period = calendar, period
        self.future, self.past = tuple(future), tuple(past)

    def fit(self, panel: Panel) -> "SeriesEncoder":
        self.scales_ = {
            _key(i): self._scale(panel.values[panel.rows(k)]) for k, i in enumerate(panel.ids)
        }
        self.encoders_: Mapping[str, TableEncoder] = {
            kind: TableEncoder("robust").fit(_chosen(panel.columns, names))
            for kind, names in (("future", self.future), ("past", self.past))
            if names
        }
        return self

    def _scale(self, values: Floats) -> tuple[float, float]:
        if self.scaling == "minmax":
            location, scale = values.min(), np.ptp(values)
        else:
            location, scale = values.mean(), values.std()
        if scale <= 1e-14 * abs(location) or scale < 1e-100:  # one and the same number all along
            scale = np.float64(1e-6 * (abs(location) or 1.0))
        return float(location), float(scale)

    @property
    def n_past(self) -> int:
        """Covariates that are known up to the present only, a flag for that among them."""
        return self.encoders_["past"].n_features_out_ + 1 if self.past else 0

    def encode(self, panel: Panel, *, learned_from: Panel | None = None) -> Encoded:
        """The rows of a panel; a series that fit has not seen is scaled by `learned_from`'s."""
        source = learned_from or panel
        scales = [
            self.scales_.get(_key(i)) or self._scale(source.values[source.rows(k)])
            for k, i in enumerate(panel.ids)
        ]
        location, scale = np.repeat(np.array(scales), panel.lengths, axis=0).T
        values = (panel.values - location) / scale
        parts = self._known_ahead(panel.times, panel.freq, panel.columns)
        if self.past:
            past = self._encoded("past", panel.columns)
            # What belongs to a time is known one step later. The first row of a series has nothing
            # before it, and no window reads its covariates: it is there for its lagged value.
            shifted = np.concatenate([past[:1], past[:-1]])
            parts.append(np.column_stack([shifted, np.ones(len(past), dtype=np.float32)]))
        return Encoded(values.astype(np.float32), np.concatenate(parts, axis=1), location, scale)

    def encode_ahead(
        self, history: Panel, reach: int, times: pd.Index, columns: Columns | None
    ) -> Encoded:
        """The last `reach` rows of each series followed by times to forecast, without values."""
        panel = history.tail(reach)
        known = self.encode(panel, learned_from=history)
        h = len(times) // len(panel)
        parts = self._known_ahead(times, panel.freq, columns)
        if self.past:
            first_step = np.zeros((len(panel), h, self.n_past), dtype=np.float32)
            first_step[:, 0, :-1] = self._encoded("past", panel.columns)[panel.starts[1:] - 1]
            first_step[:, 0, -1] = 1
            parts.append(first_step.reshape(len(times), -1))
        firsts = np.repeat(panel.starts[:-1], h)
        series = np.concatenate([series_of(panel.starts), np.repeat(np.arange(len(panel)), h)])
        order = np.argsort(series, kind="stable")  # what is ahead comes after each series

        def joined(rows: NDArray[Any], ahead: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([rows, ahead])[order]

        return Encoded(
            joined(known.values, np.zeros(len(times), dtype=np.float32)),
            joined(known.covariates, np.concatenate(parts, axis=1)),
            joined(known.location, known.location[firsts]),
            joined(known.scale, known.scale[firsts]),
        )

    def _known_ahead(
        self, times: pd.Index, freq: Any, columns: Columns | None
    ) -> list[NDArray[np.float32]]:
        """Covariates that are known at any time: the calendar, and the future columns."""
        parts = [calendar(times, freq, self.period)] if self.calendar else []
        if self.future:
            parts.append(self._encoded("future", columns))
        return parts or [np.empty((len(times), 0), dtype=np.float32)]

    def _encoded(self, when: str, columns: Columns | None) -> NDArray[np.float32]:
        """The exogenous columns known in the "future" or the "past"."""
        names = self.future if when == "future" else self.past
        return self.encoders_[when].transform(_chosen(columns, names))

    def window_scales(self, values: NDArray[np.float32], reach: int) -> tuple[Floats, Floats]:
        """Location and scale of the window that starts at each row, from its `reach` known values.

        Windows that would run past the last row get 0 and 1.
        """
        location, scale = np.zeros(len(values)), np.ones(len(values))
        n = len(values) - reach + 1
        if self.scaling != "window" or n < 1:
            return location, scale
        # Not by running sums: an enormous value would spoil those of all windows after it.
        every = np.lib.stride_tricks.sliding_window_view(values, reach)
        size = max(1, WINDOW_FLOATS // reach)
        for first in range(0, n, size):
            windows = every[first : first + size].astype(np.float64)
            rows = slice(first, first + len(windows))
            location[rows], scale[rows] = windows.mean(axis=1), windows.std(axis=1)
        scale[:n] = np.maximum(scale[:n], LEAST_WINDOW_SCALE)
        return location, scale


def window_starts(panel: Panel, length: int) -> NDArray[np.int64]:
    """Rows at which a whole window of `length` starts."""
    counts = np.maximum(panel.lengths - length + 1, 0)
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    starts: NDArray[np.int64] = np.repeat(panel.starts[:-1], counts) + offsets
    return starts


def _chosen(columns: Columns | None, names: Sequence[str]) -> Columns:
    assert columns is not None
    by_name = {column.name: column for column in columns}
    return Columns(tuple(by_name[name] for name in names))


def _key(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value

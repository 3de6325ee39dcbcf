"""How forecasters learn and draw: series into windows, windows into networks, these into paths."""

import dataclasses
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from batchensemble.data.calendars import season_length
from batchensemble.data.panels import Names, Panel, check_lengths, read_future, read_panel
from batchensemble.data.series_encoder import Encoded, SeriesEncoder, window_starts
from batchensemble.estimators.base import Estimator, pick_device
from batchensemble.estimators.parameters import SERIES_CONSTRAINTS
from batchensemble.estimators.presets import SERIES_PRESETS, resolve
from batchensemble.training.engines import Windows
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.methods import MakeNetwork, Members, make_method
from batchensemble.training.models import Rows, make_members, maker, sample_paths
from batchensemble.training.networks import Recurrent
from batchensemble.training.progress import track

FEWEST_WINDOWS_HELD_OUT = 4
LONGEST_AUTOMATIC_CONTEXT = 60

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ahead:
    """What is to be forecast: windows of encoded rows, and the times that they lead to."""

    encoded: Encoded
    starts: Ints  # (windows,), rows of `encoded`
    ids: NDArray[Any]  # (windows,)
    cutoffs: pd.Index  # (windows,), the last time that is known
    times: pd.Index  # (windows * h,)

    @property
    def h(self) -> int:
        return len(self.times) // len(self.starts)


@dataclass(eq=False, repr=False, kw_only=True)
class SeriesEstimator(Estimator):
    """Abstract: `Forecaster` says what may be asked of the paths."""

    context: int | None = None
    horizon: int | None = None
    season: int | None = None
    seasonal_lag: bool | None = None
    calendar: bool | None = None
    feedback: str | None = None
    hidden_size: int | None = None
    n_layers: int | None = None
    gates: str = "czf"
    log_variance_bounds: tuple[float, float] | None = None
    n_paths: int = 2000
    future_columns: Sequence[str] = ()
    past_columns: Sequence[str] = ()
    freq: str | int | pd.offsets.BaseOffset | None = None
    fill: str | None = None
    id_col: str = "unique_id"
    time_col: str = "ds"
    target_col: str = "y"
    alias: str | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = SERIES_CONSTRAINTS

    panel_: Panel = field(init=False)
    _forgotten: dict[Any, int] = field(init=False)
    """By series, rows before those of `panel_` that a file did not keep."""

    def _resolve(self) -> dict[str, Any]:
        self._validate_params()
        return resolve(self.preset, self.get_params(deep=False), SERIES_PRESETS)

    def _fit(self, df: Any) -> None:
        self._settings = self._resolve()
        self._method = make_method(self.method, n_members=self.n_members, n_passes=self.n_passes)
        training = self._training()
        panel = self._read(df, fill=self.fill, freq=self.freq)
        self._choose_reading(panel)
        self.encoder_ = SeriesEncoder(
            self._settings["scaling"],
            calendar=self._settings["calendar"],
            period=self.season_,
            future=self.future_columns,
            past=self.past_columns,
        ).fit(panel)
        random = check_random_state(self.random_state)
        seed, self._prediction_seed = map(int, random.randint(2**31 - 1, size=2))
        data = self._windows(self.encoder_.encode(panel), self._horizon, pick_device(self.device))
        rows, held_out = self._split(panel)
        if training.patience is not None and held_out is None and self.epochs is None:
            training = dataclasses.replace(training, epochs=max(1, training.epochs // 3))
        self._recipe = {
            "covariates": data.series.shape[1] - 1,
            "heads": (1, 1),
            "context": self.context_,
            "horizon": self._horizon,
            "lags": self.lags_,
            "feedback": self._settings["feedback"],
            "hidden_size": self._settings["hidden_size"],
            "n_layers": self._settings["n_layers"],
            "hidden": tuple(self._settings["hidden"]),
            "dropout": self._settings["dropout"],
            "adapters": str(self.adapters),
            "gates": self.gates,
            "init": self.init,
        }
        own = Rows(seed, torch.tensor(rows), None if held_out is None else torch.tensor(held_out))
        self._learn(data, training, own)
        self.panel_, self._forgotten = panel, {}
        self._learned_until = dict(zip(panel.ids.tolist(), panel.last_times, strict=True))

    def _choose_reading(self, panel: Panel) -> None:
        """Context and lags, as given or as the frequency and the shortest series allow."""
        shortest = int(panel.lengths.min())
        self.season_ = self.season or season_length(panel.freq)
        wants_lag = self._settings["seasonal_lag"] and self.season_ > 1
        self.lags_ = (1, self.season_) if wants_lag and shortest >= 3 * self.season_ else (1,)
        context = self._settings["context"]
        if context is None:
            context = min(max(12, self.season_), LONGEST_AUTOMATIC_CONTEXT)
            context = max(2, min(context, (shortest - self._horizon - max(self.lags_)) // 2))
        self.context_ = int(context)
        check_lengths(panel, self._reach + self._horizon)

    @property
    def _horizon(self) -> int:
        return int(self._settings["horizon"])

    @property
    def _reach(self) -> int:
        """Observations that a forecast needs."""
        return self.context_ - 1 + max(self.lags_)

    def _split(self, panel: Panel) -> tuple[Ints, Ints | None]:
        """Training windows and, where there are enough, each series' last ones held out.

        No target of a training window is a target of one that is held out.
        """
        length, horizon = self._reach + self._horizon, self._horizon
        every = window_starts(panel, length)
        counts = panel.lengths - length + 1
        n_held_out = np.round(self._settings["validation_fraction"] * counts).astype(np.int64)
        kept = np.maximum(counts - n_held_out - horizon + 1, 0)
        is_spared = (n_held_out > 0) & (kept > 0)
        n_held_out, kept = np.where(is_spared, n_held_out, 0), np.where(is_spared, kept, counts)
        if n_held_out.sum() < FEWEST_WINDOWS_HELD_OUT or kept.sum() < FEWEST_WINDOWS_HELD_OUT:
            return every, None
        position = every - np.repeat(panel.starts[:-1], counts)
        is_kept = position < np.repeat(kept, counts)
        is_held_out = position >= np.repeat(counts - n_held_out, counts)
        return every[is_kept], every[is_held_out]

    def _windows(self, encoded: Encoded, horizon: int, device: torch.device) -> Windows:
        location, scale = self.encoder_.window_scales(encoded.values, self._reach)

        def tensor(values: NDArray[Any]) -> torch.Tensor:
            return torch.tensor(values, dtype=torch.float32, device=device)

        return Windows(
            tensor(np.column_stack([encoded.values, encoded.covariates])),
            tensor(location),
            tensor(scale),
            self._reach,
            horizon,
            self.encoder_.n_past,
        )

    def _loss(self) -> GaussianNLL:
        return GaussianNLL(bounds=tuple(self._settings["log_variance_bounds"]))

    def _maker(self) -> MakeNetwork:
        return maker(Recurrent, **self._recipe, draw=self._loss().draw)

    def _make_members(self) -> Members:
        return make_members(self._method, self.bank_, self._prediction_seed, torch.float32)

    def _shorter(self) -> dict[str, Any]:
        needed = self._reach + self._horizon  # `update` forecasts what its first rows belong to
        kept = self.panel_.tail(max(needed, self._usual_history(self._horizon)))
        dropped = self.panel_.lengths - kept.lengths
        forgotten = {
            i: n + self._forgotten.get(i, 0)
            for i, n in zip(kept.ids.tolist(), dropped.tolist(), strict=True)
        }
        return {"panel_": kept, "_forgotten": {i: n for i, n in forgotten.items() if n}}

    def _usual_history(self, h: int) -> int:
        """Past steps that a plot of h steps shows unless told otherwise."""
        return 3 * max(self.context_, h)

    def _about_data(self) -> dict[str, Any]:
        panel = self.panel_
        columns = [
            {"name": name, "kind": kind, "known": known}
            for known, encoder in self.encoder_.encoders_.items()
            for name, kind, _ in encoder.columns_
        ]
        return {
            "columns": columns,
            "target": {
                "name": self.target_col,
                "n_series": len(panel),
                "freq": panel.freq if isinstance(panel.freq, int) else panel.freq.freqstr,
                "last_time": max(panel.last_times),
                "horizon": self._horizon,
                "context": self.context_,
            },
        }

    def _read(self, df: Any, *, fill: str | None, freq: Any) -> Panel:
        names = Names(self.id_col, self.time_col, self.target_col)
        columns = (*self.future_columns, *self.past_columns)
        return read_panel(df, names=names, columns=columns, freq=freq, fill=fill)

    def _ahead(self, h: int | None, X_df: Any, df: Any) -> tuple[Panel, Ahead]:
        """The next h times of the series of fit, or of those in df."""
        check_is_fitted(self, "bank_")
        h = check_horizon(self._horizon if h is None else h)
        panel = self.panel_
        if df is not None:
            panel = self._read(df, fill=self.fill, freq=panel.freq)
            check_lengths(panel, self._reach)
        columns = None
        if self.future_columns:
            if X_df is None:
                raise ValueError(
                    f"expected X_df= with the columns {list(self.future_columns)} for the next {h} "
                    "times of every series, got none; they were named future_columns"
                )
            columns = read_future(panel, X_df, h, self.future_columns)
        elif X_df is not None:
            raise ValueError(
                "expected no X_df=, since no columns were named future_columns at fit, got "
                f"{type(X_df).__name__}; name them and fit again, or leave it away"
            )
        times = panel.future_times(h)
        encoded = self.encoder_.encode_ahead(panel, self._reach, times, columns)
        starts = np.arange(len(panel)) * (self._reach + h)
        return panel, Ahead(encoded, starts, panel.ids, panel.last_times, times)

    def _ahead_of(self, panel: Panel, history: Panel, h: int, rows: Ints) -> Ahead:
        """The h times after these rows of the panel, forecast afterwards."""
        check_lengths(history, self._reach)
        return Ahead(
            self.encoder_.encode(panel, learned_from=history),
            rows - self._reach + 1,
            panel.ids[np.searchsorted(panel.starts, rows, side="right") - 1],
            panel.times[rows],
            panel.times[(rows[:, None] + 1 + np.arange(h)).ravel()],
        )

    def _draw(
        self, ahead: Ahead, n_paths: int | None = None, seed: int | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Paths in the user's units, (windows, members, paths, h), in chunks of windows."""
        windows = self._windows(ahead.encoded, ahead.h, self.bank_.theta.device)
        seeds, per_member = self._seeds(ahead, seed), self._paths_per_member(n_paths)
        chunks = sample_paths(self._members, windows, ahead.starts, seeds, per_member)
        done = 0
        for paths in track(chunks, len(ahead.starts), "window", verbose=self.verbose):
            rows = ahead.starts[done : done + len(paths), None, None, None]
            yield paths * ahead.encoded.scale[rows] + ahead.encoded.location[rows]
            done += len(paths)

    def _seeds(self, ahead: Ahead, seed: int | None) -> list[int]:
        """One for each window, by its series and the last time that it knows."""
        seed = self._prediction_seed if seed is None else seed
        return [_seed(seed, *window) for window in zip(ahead.ids, ahead.cutoffs, strict=True)]

    def _paths_per_member(self, n_paths: int | None) -> int:
        n_paths = self.n_paths if n_paths is None else n_paths
        if not isinstance(n_paths, Integral) or n_paths < 1:
            raise ValueError(f"expected n_paths to be a whole number above 0, got {n_paths!r}")
        return -(-int(n_paths) // self._members.n_members)


def check_horizon(h: Any, name: str = "h") -> int:
    if isinstance(h, bool) or not isinstance(h, Integral) or h < 1:
        raise ValueError(f"expected {name} to be a whole number of steps above 0, got {h!r}")
    return int(h)


def _seed(seed: int, series: Any, cutoff: Any) -> int:
    words = zlib.crc32(f"{series} {cutoff}".encode())
    return int(np.random.SeedSequence([seed, words]).generate_state(1)[0])

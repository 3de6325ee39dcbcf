"""The fitted model of series: what is known in, sample paths out."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from batchensemble.data.columns import Columns
from batchensemble.data.encoded_series import Encoded
from batchensemble.data.panels import Panel, check_lengths
from batchensemble.data.scalars import category_text
from batchensemble.data.series_encoder import SeriesEncoder
from batchensemble.data.windows import continued_back, read_alone, window_starts
from batchensemble.estimators.parameters import MOST_PATHS
from batchensemble.estimators.requirements import is_count
from batchensemble.predictive import SamplePredictive
from batchensemble.training.direct import Direct
from batchensemble.training.engines import Windows
from batchensemble.training.losses import Gaussian
from batchensemble.training.methods import MakeNetwork
from batchensemble.training.models import Ensemble, maker, sample_paths
from batchensemble.training.networks import Recurrent
from batchensemble.training.progress import track

FEWEST_WINDOWS_HELD_OUT = 4
FEWEST_KNOWN = 3  # values of a series that is continued backwards by repeating its first season
MOST_STEPS = 2**26  # of all paths of a window

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ahead:
    """What is to be forecast: windows of encoded rows, and the times that they lead to."""

    encoded: Encoded
    starts: Ints  # (windows,), rows of `encoded`
    origins: Ints  # (windows,), the panel's row of the first forecast, where it has one
    ids: NDArray[Any]  # (windows,)
    cutoffs: pd.Index  # (windows,), the last known time
    times: pd.Index  # (windows * h,)

    @property
    def h(self) -> int:
        return len(self.times) // len(self.starts)

    def only(self, which: NDArray[np.bool_]) -> "Ahead":
        """Some of the windows."""
        return Ahead(
            self.encoded,
            self.starts[which],
            self.origins[which],
            self.ids[which],
            self.cutoffs[which],
            self.times[np.repeat(which, self.h)],
        )


@dataclass(frozen=True, eq=False)
class SeriesModel:
    """An encoder, trained networks and their loss; nothing in it changes."""

    encoder: SeriesEncoder
    ensemble: Ensemble
    loss: Gaussian

    @property
    def network(self) -> Recurrent | Direct:
        network = self.ensemble.members.network
        assert isinstance(network, Recurrent | Direct)
        return network

    @property
    def kind(self) -> str:
        """Of network: "direct" or "recurrent"."""
        return kind_of(self.ensemble.recipe)

    @property
    def horizon(self) -> int:
        """Steps that it was trained to forecast."""
        return int(self.ensemble.recipe["horizon"])

    @property
    def context(self) -> int:
        """Steps that a forecast reads."""
        return int(self.ensemble.recipe["context"])

    @property
    def reach(self) -> int:
        """Observations that a forecast reads: the context and the lags before it."""
        return reach_of(self.context, self.ensemble.recipe["lags"])

    @property
    def shortest(self) -> int:
        """Observations that a forecast needs."""
        return FEWEST_KNOWN if self.kind == "direct" else self.reach

    def ahead(self, panel: Panel, h: int, columns: Columns | None) -> Ahead:
        """The next h times of every series; `columns` hold what is known about them."""
        times = panel.future_times(h)
        encoded = self.encoder.encode_ahead(panel, self.reach, times, columns)
        starts = np.arange(len(panel)) * (self.reach + h)
        return Ahead(encoded, starts, panel.starts[1:], panel.ids, panel.last_times, times)

    def ahead_of(self, panel: Panel, history: Panel, h: int, rows: Ints) -> Ahead:
        """The h times after these rows of the panel, forecast in hindsight."""
        check_lengths(history, self.shortest)
        series = np.searchsorted(panel.starts, rows, side="right") - 1
        firsts, period = panel.starts[series], self.encoder.period
        n_missing = np.zeros(len(panel), dtype=np.int64)
        np.maximum.at(n_missing, series, self.reach - 1 - (rows - firsts))
        whole, starts, repeated = continued_back(panel.starts, n_missing, period)
        begins = rows + (starts[1:] - panel.starts[1:])[series] - self.reach + 1
        # Where less than a season is known, what is repeated must not come from what is ahead.
        young = rows - firsts + 1 < min(period, self.reach)
        begins[young] = len(whole) + np.arange(young.sum()) * (self.reach + h)
        alone, again = read_alone(firsts[young], rows[young], self.reach, h)
        whole, repeated = np.concatenate([whole, alone]), np.concatenate([repeated, again])
        encoded = self.encoder.encode(panel, learned_from=history, reach=self.reach)
        return Ahead(
            encoded.take(whole, repeated),
            begins,
            rows + 1,
            panel.ids[series],
            panel.times[rows],
            panel.times[(rows[:, None] + 1 + np.arange(h)).ravel()],
        )

    def simulate(
        self, ahead: Ahead, n_paths: int, *, seed: int | None = None, verbose: bool = False
    ) -> SamplePredictive:
        """Sample paths of every window in the user's units, shared evenly by the members."""
        parts = self.chunks(ahead, n_paths, seed=seed, verbose=verbose)
        return SamplePredictive(np.concatenate([dist.paths for dist in parts]))

    def chunks(
        self, ahead: Ahead, n_paths: int, *, seed: int | None = None, verbose: bool = False
    ) -> Iterator[SamplePredictive]:
        """The same, some windows at a time, so that memory stays bounded."""
        per_member = self.paths_per_member(n_paths)
        if int(n_paths) * ahead.h > MOST_STEPS:
            raise ValueError(
                f"{n_paths:,} paths of {ahead.h:,} steps do not fit into memory; ask for a shorter "
                f"horizon or fewer n_paths, at most {MOST_STEPS:,} steps of all paths of a series"
            )
        device = self.ensemble.device
        windows = make_windows(self.encoder, ahead.encoded, self.reach, ahead.h, device)
        seeds = self.seeds(ahead, seed)
        parts = sample_paths(self.ensemble.members, windows, ahead.starts, seeds, per_member)
        done = 0
        for paths in track(parts, len(ahead.starts), "window", verbose=verbose):
            first_steps = ahead.starts[done : done + len(paths)] + self.reach
            yield SamplePredictive(
                self.encoder.decode(paths, ahead.encoded, first_steps, self.reach)
            )
            done += len(paths)

    def seeds(self, ahead: Ahead, seed: int | None) -> list[int]:
        """One for each window, from its series and its cutoff."""
        seed = self.ensemble.seed if seed is None else seed
        if not is_count(seed, least=0):
            raise ValueError(f"expected seed to be a whole number of at least 0, got {seed!r:.80}")
        words = [
            f"{category_text(i)} {cutoff}"
            for i, cutoff in zip(ahead.ids, ahead.cutoffs, strict=True)
        ]
        return [
            int(np.random.SeedSequence([seed, zlib.crc32(word.encode())]).generate_state(1)[0])
            for word in words
        ]

    def paths_per_member(self, n_paths: int) -> int:
        """At least two, which tell noise from disagreement."""
        if not is_count(n_paths):
            raise ValueError(f"expected n_paths to be a whole number above 0, got {n_paths!r:.80}")
        if n_paths > MOST_PATHS:
            raise ValueError(f"expected at most {MOST_PATHS:,} n_paths, got {n_paths:,}")
        return max(2, -(-int(n_paths) // self.ensemble.members.n_members))


def series_network(recipe: dict[str, Any], loss: Gaussian) -> MakeNetwork:
    network = Direct if kind_of(recipe) == "direct" else Recurrent
    return maker(network, **recipe, draw=loss.draw)


def kind_of(recipe: dict[str, Any]) -> str:
    """Of the network that a recipe is for: "direct" or "recurrent"."""
    return "recurrent" if "feedback" in recipe else "direct"


def reach_of(context: int, lags: tuple[int, ...]) -> int:
    return context - 1 + max(lags)


def make_windows(
    encoder: SeriesEncoder, encoded: Encoded, reach: int, horizon: int, device: torch.device
) -> Windows:
    """Encoded rows on the device, every window with its own location and scale.

    For an encoder with columns that act linearly, where zero is stands beside each value.
    """
    location, scale = encoder.window_scales(encoded.values, reach)

    levels = [-encoded.location / encoded.scale] if encoder.acts_linearly else []

    def tensor(values: NDArray[Any]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.float32, device=device)

    return Windows(
        tensor(np.column_stack([encoded.values, *levels, encoded.covariates])),
        tensor(location),
        tensor(scale),
        reach,
        horizon,
        encoder.n_past,
        n_levels=len(levels),
    )


def hold_out_windows(
    starts: Ints, reach: int, horizon: int, fraction: float, most: int | None = None
) -> tuple[Ints, Ints | None]:
    """Training windows and, where there are enough, each series' last ones held out.

    No target of a training window is a target of one that is held out; of these, at most about
    `most` are kept, evenly spread.
    """
    length = reach + horizon
    every = window_starts(starts, length)
    counts = np.maximum(np.diff(starts) - length + 1, 0)
    n_held_out = np.round(fraction * counts).astype(np.int64)
    kept = np.maximum(counts - n_held_out - horizon + 1, 0)
    can_spare = (n_held_out > 0) & (kept > 0)
    n_held_out, kept = np.where(can_spare, n_held_out, 0), np.where(can_spare, kept, counts)
    if n_held_out.sum() < FEWEST_WINDOWS_HELD_OUT or kept.sum() < FEWEST_WINDOWS_HELD_OUT:
        return every, None
    position = every - np.repeat(starts[:-1], counts)
    is_kept = position < np.repeat(kept, counts)
    held_out = every[position >= np.repeat(counts - n_held_out, counts)]
    return every[is_kept], held_out[:: -(-len(held_out) // most) if most else 1]

"""The networks of a forecaster, one class for each: what they read, are made from and learn."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from batchensemble.data.calendars import season_length, seasons_of
from batchensemble.data.encoded_series import Encoded
from batchensemble.data.panels import Panel, check_lengths
from batchensemble.data.telling import tell
from batchensemble.data.windows import continued_back
from batchensemble.estimators.path_spread import Errors, errors_of, path_spread
from batchensemble.estimators.series_model import FEWEST_KNOWN, Ints, reach_of
from batchensemble.estimators.table_model import by_layer
from batchensemble.estimators.usefulness import doubts_about_windows
from batchensemble.training.engines import Windows
from batchensemble.training.losses import Gaussian
from batchensemble.training.models import Ensemble, make_members
from batchensemble.training.smoothing import LONG

LONGEST_RECURRENT_CONTEXT = 60
LONGEST_CONTEXT = 720
MOST_ADDED, MOST_ADDED_A_ROW = 10**6, 100  # values before series: more than both is a mistake
MANY_SERIES = 10
# Where a long season came back often, there is much to learn beside what the smoothers know.
MANY_SEASONS = 100
WIDE: dict[str, Any] = {"hidden": (128, 128), "lr": 0.0015, "dropout": 0.1}
NARROW: dict[str, Any] = {"hidden": (64,), "lr": 0.001, "dropout": 0.3}


@dataclass(frozen=True)
class HeldOut:
    """Windows to judge trained networks by.

    About `n_apart` of them do not overlap, and `n_learned` of those that networks learned from.
    """

    windows: Windows
    rows: Ints
    loss: Gaussian
    n_apart: float
    n_learned: float


@final
class DirectSetup:
    """Exponential smoothing, corrected by a network: all steps at once.

    aliases    what its forecasts are called, by method
    is_linear  whether columns known ahead act linearly; the network reads them otherwise
    reads_around_gaps  whether it is told which values are missing
    only       parameters that no other kind of network has
    """

    aliases: ClassVar[Mapping[str, str]] = {
        "batch_ensemble": "BatchEnsemble",
        "deep_ensemble": "DeepEnsemble",
        "mc_dropout": "MCDropout",
        "single": "Single",
    }
    is_linear: ClassVar[bool] = True
    reads_around_gaps: ClassVar[bool] = True
    only: ClassVar[tuple[str, ...]] = ()

    def __init__(self, settings: dict[str, Any], panel: Panel, season: int | None) -> None:
        self.freq = panel.freq
        self.season = int(season or season_length(panel.freq))
        check_lengths(panel, FEWEST_KNOWN + int(settings["horizon"]))
        if settings["context"] == 1:
            raise ValueError(
                "expected a context of at least 2 steps, got 1: one value does not tell how "
                "far a series moves; omit it, or use preset='recurrent'"
            )
        usual = int(np.quantile(panel.lengths, 0.75))
        self.context = int(
            settings["context"] or automatic_context(panel.freq, self.season, usual, len(panel))
        )
        n_seasons = int(panel.lengths.sum()) / self.season
        # Of a week that came back seldom, networks learn little: the smoothers have to know it.
        self.blended = usual < MANY_SEASONS * self.season
        has_much = self.context >= LONG and n_seasons >= MANY_SEASONS
        by_data = WIDE if has_much else NARROW
        self.settings = settings | {k: v for k, v in by_data.items() if settings[k] is None}
        self.lags: tuple[int, ...] = (1,)

    def lengthened(self, encoded: Encoded, panel: Panel) -> tuple[Encoded, Ints]:
        """Rows and starts of series that are long enough to have windows to learn from."""
        reach, horizon = reach_of(self.context, self.lags), int(self.settings["horizon"])
        known = np.minimum(panel.lengths - horizon, max(2 * self.season + 1, 2 * reach // 3))
        is_short = panel.lengths < 2 * reach + horizon
        n_missing = np.where(is_short, np.maximum(reach - known, 0), 0)
        n_added, n_rows = int(n_missing.sum()), len(panel.values)
        if n_added > MOST_ADDED and n_added > MOST_ADDED_A_ROW * n_rows:
            raise ValueError(
                f"to read context={self.context:,} steps, {n_added:,} values would be added before "
                f"the {n_rows:,} of the series; choose a shorter context"
            )
        whole, starts, repeated = continued_back(panel.starts, n_missing, self.season)
        return encoded.take(whole, repeated), starts

    def recipe(self, covariates: int) -> dict[str, Any]:
        """The arguments of the networks."""
        settings, n_hidden = self.settings, len(self.settings["hidden"])
        return _common(self, covariates) | {
            "adapters": by_layer(settings["adapters"], n_hidden, first=n_hidden),
            "init": by_layer(settings["init"], n_hidden, first=1),
            "seasons": seasons_of(self.freq, self.season),
            "blended": self.blended,
        }

    def finished(self, ensemble: Ensemble, held_out: HeldOut) -> Ensemble:
        """How wide paths must be, and how their steps hang together."""
        errors = _errors(ensemble, held_out, self.season)
        spread = path_spread(errors, held_out.n_apart, held_out.n_learned)
        found = errors.standardised * errors.stds, errors.stds * spread["factors"], errors.naive
        for doubt in doubts_about_windows(*found, held_out.n_apart, self.season):
            tell(doubt, 4)
        ensemble.bank.module.spread = spread  # type: ignore[assignment]
        return dataclasses.replace(ensemble, recipe=ensemble.recipe | {"spread": spread})


@final
class RecurrentSetup:
    """GRUBE, one step after the other."""

    aliases: ClassVar[Mapping[str, str]] = {
        "batch_ensemble": "GRUBE",
        "deep_ensemble": "GRU-ensemble",
        "mc_dropout": "GRU-dropout",
        "single": "GRU",
    }
    is_linear: ClassVar[bool] = False
    reads_around_gaps: ClassVar[bool] = False
    only: ClassVar[tuple[str, ...]] = (
        "seasonal_lag",
        "feedback",
        "hidden_size",
        "n_layers",
        "gates",
    )

    def __init__(self, settings: dict[str, Any], panel: Panel, season: int | None) -> None:
        self.settings = settings
        self.season = int(season or season_length(panel.freq))
        shortest, horizon = int(panel.lengths.min()), int(settings["horizon"])
        wants_lag = settings["seasonal_lag"] and self.season > 1
        self.lags: tuple[int, ...] = (
            (1, self.season) if wants_lag and shortest >= 3 * self.season else (1,)
        )
        context = settings["context"]
        if context is None:
            context = min(max(12, self.season), LONGEST_RECURRENT_CONTEXT)
            context = max(2, min(context, (shortest - horizon - max(self.lags)) // 2))
        self.context = int(context)
        check_lengths(panel, reach_of(self.context, self.lags) + horizon)

    def lengthened(self, encoded: Encoded, panel: Panel) -> tuple[Encoded, Ints]:
        """They are: shorter ones are refused."""
        return encoded, panel.starts

    def recipe(self, covariates: int) -> dict[str, Any]:
        names = ("feedback", "hidden_size", "n_layers", "gates", "adapters", "init")
        return _common(self, covariates) | {name: self.settings[name] for name in names}

    def finished(self, ensemble: Ensemble, held_out: HeldOut) -> Ensemble:
        """As trained."""
        errors = _errors(ensemble, held_out, self.season)
        found = errors.standardised * errors.stds, None, errors.naive
        for doubt in doubts_about_windows(*found, held_out.n_apart, self.season):
            tell(doubt, 4)
        return ensemble


NETWORKS: dict[str, type[DirectSetup] | type[RecurrentSetup]] = {
    "direct": DirectSetup,
    "recurrent": RecurrentSetup,
}


def _errors(ensemble: Ensemble, held_out: HeldOut, season: int) -> Errors:
    members = make_members(ensemble.method, ensemble.bank, ensemble.seed, ensemble.dtype)
    return errors_of(members, held_out.windows, held_out.rows, held_out.loss, season)


def _common(network: DirectSetup | RecurrentSetup, covariates: int) -> dict[str, Any]:
    return {
        "covariates": covariates,
        "heads": (1, 1),
        "context": network.context,
        "horizon": int(network.settings["horizon"]),
        "lags": network.lags,
        "dropout": network.settings["dropout"],
        "hidden": tuple(network.settings["hidden"]),
    }


def automatic_context(freq: Any, season: int, usual: int, n_series: int) -> int:
    """Ten seasons, more of short ones, fewer of long ones; two weeks within a day; if there are.

    Of few series no more than six seasons, or two thirds of their values: other windows must be
    left to learn from, and to be judged by.
    """
    context = max(32, min(10 * season, max(3 * season, 144)))
    if n_series < MANY_SERIES:
        context = min(context, max(32, 6 * season, 2 * usual // 3))
    if week := seasons_of(freq, season)[1:]:
        context = max(context, min(2 * week[0] + 1, LONGEST_CONTEXT))
    return max(FEWEST_KNOWN, min(context, usual))

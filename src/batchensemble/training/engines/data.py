"""Training data on the device: rows of a table, or windows of series."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Source(Protocol):
    """Examples by number, for all networks together."""

    @property
    def weight(self) -> Tensor | None:
        """(examples,), of mean 1."""
        ...

    @property
    def device(self) -> torch.device: ...

    @property
    def dtype(self) -> torch.dtype: ...

    def take(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Any shape of numbers -> x (*shape, ..., features) and y (*shape, ...)."""
        ...


@dataclass(frozen=True)
class Data:
    """The rows of a table."""

    x: Tensor  # (rows, features)
    y: Tensor  # (rows,), or (rows, 2) for `CensoredNLL`
    weight: Tensor | None = None

    @property
    def device(self) -> torch.device:
        return self.x.device

    @property
    def dtype(self) -> torch.dtype:
        return self.x.dtype

    def take(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        return self.x[rows], self.y[rows]

    def followed_by(self, others: "Data") -> "Data":
        """These rows and others, which count 1 each unless they have weights."""
        ys, weights = [self.y, others.y], [self.weight, others.weight]
        if ys[0].ndim != ys[1].ndim:  # those of one part are all known
            ys = [torch.stack([y, torch.zeros_like(y)], 1) if y.ndim == 1 else y for y in ys]
        weight = None
        if any(each is not None for each in weights):
            ones = [torch.ones(len(y), device=y.device) for y in ys]
            both = [one if own is None else own for own, one in zip(weights, ones, strict=True)]
            weight = torch.cat(both)
        return Data(torch.cat([self.x, others.x]), torch.cat(ys), weight)


@dataclass(frozen=True)
class Windows:
    """Windows of series, cut out when they are needed; an example is a window's first time.

    Values are scaled by window: (value - location) / scale; so are levels that stand beside them.
    """

    series: Tensor  # (times, 1 + covariates): the series one after the other, values first
    location: Tensor  # (times,): of the window that starts there
    scale: Tensor  # (times,)
    reach: int  # times before the first forecast
    horizon: int  # times to forecast
    n_past: int = 0  # the last so many covariates are unknown after the first forecast
    weight: Tensor | None = None
    n_levels: int = 0  # the first so many covariates are scaled as the values are; if there are
    # any, the one after them is 0 where a value stands for a missing one: no target, but NaN

    @property
    def device(self) -> torch.device:
        return self.series.device

    @property
    def dtype(self) -> torch.dtype:
        return self.series.dtype

    def take(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """x (*shape, reach + horizon, 1 + covariates), y (*shape, horizon)."""
        times = torch.arange(self.reach + self.horizon, device=self.device)
        x = self.series[rows.unsqueeze(-1) + times]
        n = 1 + self.n_levels
        levels = (x[..., :n] - self.location[rows, None, None]) / self.scale[rows, None, None]
        x = torch.cat([levels, x[..., n:]], -1)
        if self.n_past:
            x[..., self.reach + 1 :, -self.n_past :] = 0
        y = levels[..., self.reach :, 0]
        if self.n_levels:
            y = torch.where(x[..., self.reach :, n] == 0, torch.nan, y)
        return x, y

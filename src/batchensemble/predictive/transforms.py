"""From the whole line to the values that a target can take, and back."""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from batchensemble.predictive.checks import Array

MOST_PIECES = 8
STEEPEST = 300.0  # log of the largest slope
STEP = 4.0  # between knots, of the log of the slope


@dataclass(frozen=True)
class Transform:
    """A rising, continuous function that is flat outside [starts[0], end], where it is low or high.

    Between `starts`, it is straight where the rate is 0; elsewhere its slope grows by the factor
    exp(rate) in a unit. It begins with slope 1, and the slope does not jump in between.
    """

    low: float
    high: float
    starts: tuple[float, ...]
    rates: tuple[float, ...]
    end: float = math.inf

    def __post_init__(self) -> None:
        at, n = (*self.starts, self.end), len(self.rates)
        numbers = (self.low, *self.starts, *self.rates)
        fits = 1 <= len(self.starts) == n <= MOST_PIECES and all(map(math.isfinite, numbers))
        lengths = [b - a for a, b in itertools.pairwise(at)]
        fits = fits and max(map(abs, numbers)) <= 1e100 and min(lengths) > 0
        bends = [abs(r * length) for r, length in zip(self.rates, lengths, strict=False) if r]
        if not fits or sum(bends) > STEEPEST:
            raise ValueError(
                "expected rising starts and one rate for each, not too steep, and an end above "
                f"them, infinite only after a rate of 0, got {self.starts}, {self.rates}, {at[-1]}"
            )
        last = float(self.values[-1] + self.slopes[-1] * _rise(self.rates[-1], lengths[-1]))
        if not math.isclose(last, self.high, rel_tol=1e-9, abs_tol=1e-9 * abs(last - self.low)):
            raise ValueError(f"expected {last} as the largest value, got {self.high}")

    @classmethod
    def straight(cls, low: float, high: float = math.inf) -> Self:
        """The number itself, but never below `low` or above `high`."""
        return cls(low, high, (low,), (0.0,), high)

    @classmethod
    def logarithmic(cls, a: float, b: float) -> Self:
        """Above 0: straight up to a, then in proportion to the value, from b on straight again.

        Straight from b on, since exponential tails would have no sensible mean.
        """
        return cls(0.0, math.inf, (0.0, a, a + a * math.log(b / a)), (0.0, 1 / a, 0.0))

    @classmethod
    def between(cls, low: float, high: float, a: float) -> Self:
        """As `logarithmic` from both ends to the middle, straight nearer than a to one of them."""
        reach = a * math.log((high - low) / (2 * a))
        starts = (0.0, a, a + reach, a + 2 * reach)
        return cls(low, high, starts, (0.0, 1 / a, -1 / a, 0.0), 2 * (a + reach))

    @cached_property
    def values(self) -> Array:
        """(pieces,), at the starts."""
        rises = [s * _rise(r, length) for s, r, length in self._lengths]
        return self.low + np.concatenate([[0.0], np.cumsum(rises)])

    @cached_property
    def slopes(self) -> Array:
        """(pieces,), at the starts."""
        lengths = np.diff(self.starts)
        return np.asarray(np.exp(np.concatenate([[0.0], np.cumsum(lengths * self.rates[:-1])])))

    @cached_property
    def knots(self) -> Array:
        """The starts and the end, and places between, so that no slope grows much from one on."""
        knots: list[float] = []
        ends = (*self.starts[1:], self.end)
        for start, end, rate in zip(self.starts, ends, self.rates, strict=True):
            n = math.ceil(abs(rate) * (end - start) / STEP) if rate else 1
            knots += [start, *(start + i / n * (end - start) for i in range(1, n))]
        return np.array([*knots, self.end])

    @property
    def _lengths(self) -> list[tuple[float, float, float]]:
        return list(zip(self.slopes, self.rates, np.diff(self.starts).tolist(), strict=False))

    @cached_property
    def pieces(self) -> list[tuple[float, float, float, float]]:
        """Value, slope, start and rate of each piece, the flat ends included."""
        inside = zip(self.values, self.slopes, self.starts, self.rates, strict=True)
        end = self.high if self.high < math.inf else 0.0  # which no number reaches
        return [(self.low, 0.0, 0.0, 0.0), *inside, (end, 0.0, 0.0, 0.0)]

    def __call__(self, z: Array) -> Array:
        """Values of any shape."""
        z = np.clip(z, self.starts[0], self.end)
        i = self._piece(z)
        rise, rates = z - np.array(self.starts)[i], np.array(self.rates)[i]
        if any(self.rates):
            safe = np.where(rates == 0, 1.0, rates)
            with np.errstate(invalid="ignore"):
                rise = np.where(rates == 0, rise, np.expm1(rates * rise) / safe)
        inside = np.clip(self.values[i] + self.slopes[i] * rise, self.low, self.high)
        return np.where(z >= self.end, self.high, inside)  # the end itself, whatever rounding gives

    def inverse(self, y: Array) -> Array:
        """Of values between low and high; beyond, that of low or high."""
        y = np.clip(y, self.low, self.high)
        i = np.searchsorted(self.values, y, side="right") - 1
        rise, rates = (y - self.values[i]) / self.slopes[i], np.array(self.rates)[i]
        bent = np.log1p(np.maximum(rates * rise, -1 + 1e-16)) / np.where(rates == 0, 1.0, rates)
        z = np.array(self.starts)[i] + np.where(rates == 0, rise, bent)
        return np.asarray(np.minimum(z, self.end))

    def bend(self, z: Array) -> tuple[Array, Array]:
        """Slope and rate, of any shape; 0 outside, where it is flat."""
        i, is_flat = self._piece(z), (z < self.starts[0]) | (z > self.end)
        return (
            np.where(is_flat, 0.0, np.exp(self.log_slope(z))),
            np.where(is_flat, 0.0, np.array(self.rates)[i]),
        )

    def log_slope(self, z: Array) -> Array:
        """Inside, of any shape."""
        i = self._piece(z)
        steepening = np.array(self.rates)[i] * (z - np.array(self.starts)[i])
        return np.asarray(np.log(self.slopes)[i] + steepening)

    def _piece(self, z: Array) -> Any:
        return np.maximum(np.searchsorted(self.starts, z, side="right") - 1, 0)


def _rise(rate: float, length: float) -> float:
    return length if rate == 0 else math.expm1(rate * length) / rate

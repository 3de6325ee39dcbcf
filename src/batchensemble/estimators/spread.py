"""How wide predictions really are: learned from rows that early stopping held out."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr

from batchensemble.conformal.sides import two_sides_are_better
from batchensemble.predictive import GaussianPredictive
from batchensemble.predictive.base import average
from batchensemble.training.engines import Data
from batchensemble.training.losses import Gaussian
from batchensemble.training.models import Ensemble, Rows, predict_rows

Floats = NDArray[np.float64]

FEWEST_ROWS, MOST_ROWS = 30, 4_000
# Bounds of the log-variance's shift, of the distance, of the tails' share and of their log-width.
BOUNDS = ((-6.0, 6.0), (0.1, 2.0), (1e-3, 0.5), (math.log(1.5), math.log(30.0)))
# What is likely before any row is seen, as mean and standard deviation: it counts as much as a row
# or two. A few rows cannot show that there are no outliers, so there are tails by default.
USUAL_SHIFT, USUAL_DISTANCE, USUAL_LOG_WIDTH = (0.0, 1.0), (1.0, 0.3), (math.log(3.0), 0.5)
USUAL_SHARE = 0.05
LEAST_FACTOR = 0.5
# On new rows, networks of folds differ more than on rows they trained on: their variance is about
# twice as large with few rows, 1.5 times with so many, and the same with very many.
NEW_ROWS = 2_000


@dataclass(frozen=True)
class Spread:
    """Factors that make predictions as wide as errors are.

    variance    of the members' variances
    distance    of the members' distance from their mean
    tail_share  how often an error comes from a Gaussian that is `tail_width` times as wide
    narrowest   the least standard deviation of a member, in the target's units
    skewed      whether errors reach so much further to one side that a calibration shall have two
    """

    variance: float = 1.0
    distance: float = 1.0
    tail_share: float = 0.0
    tail_width: float = 1.0
    narrowest: float = 0.0
    skewed: bool = False

    @classmethod
    def learned(
        cls,
        means: Floats,
        variances: Floats,
        errors: Floats,
        weights: Floats | None = None,
        censored: NDArray[np.bool_] | None = None,
    ) -> Self:
        """The most likely one for rows (rows, members) and what their mean missed, (rows,).

        A `censored` row's mean missed at least so much.
        """
        weights = np.ones(len(errors)) if weights is None else weights
        censored = np.zeros(len(errors), bool) if censored is None else censored
        if len(errors) < FEWEST_ROWS:
            return cls()
        if len(errors) > MOST_ROWS:
            some = np.linspace(0, len(errors) - 1, MOST_ROWS).astype(int)
            means, variances, errors = means[some], variances[some], errors[some]
            weights, censored = weights[some], censored[some]
        from_mean = means - means.mean(axis=1, keepdims=True)
        log_variances = np.log(variances)
        stds = np.sqrt(variances[censored])

        def cost(at: Floats) -> float:
            shift, distance, share, log_width = at.tolist()
            squares = (errors[:, None] - distance * from_mean) ** 2 / variances
            core = _log_density(squares, log_variances, shift) + math.log1p(-share)
            tails = _log_density(squares, log_variances, shift + 2 * log_width) + math.log(share)
            if len(stds):
                beyond = (errors[censored, None] - distance * from_mean[censored]) / stds
                core[censored] = _log_survival(beyond, shift) + math.log1p(-share)
                tails[censored] = _log_survival(beyond, shift + 2 * log_width) + math.log(share)
            usual = (USUAL_SHIFT, USUAL_DISTANCE, USUAL_LOG_WIDTH)
            surprise = 0.5 * math.log(share) - share / (2 * USUAL_SHARE)  # most likely as usual
            for value, (mean, std) in zip((shift, distance, log_width), usual, strict=True):
                surprise -= 0.5 * ((value - mean) / std) ** 2
            return float(-surprise - weights @ np.logaddexp(core, tails))

        start = (-0.2, 1.0, USUAL_SHARE, USUAL_LOG_WIDTH[0])
        shift, distance, share, log_width = minimize(cost, start, bounds=BOUNDS).x.tolist()
        # The predictive's variance is that of both Gaussians together.
        variance = math.exp(shift) * (1 + share * (math.exp(2 * log_width) - 1))
        return cls(variance, distance, share, math.exp(log_width))

    def total(self, means: Floats, variances: Floats) -> Floats:
        """The variance of each row's prediction; (rows, members) -> (rows,)."""
        within, between = variances.mean(axis=1), means.var(axis=1)
        total: Floats = self.variance * within + self.distance**2 * between
        return total

    def predictive(self, means: Floats, variances: Floats) -> GaussianPredictive:
        """The prediction with these factors; a row's mean stays."""
        if self.distance != 1:
            centre = average(means, 1)[:, None]
            means = centre + self.distance * (means - centre)
        variances = np.maximum(self.variance * variances, self.least_variance)
        return GaussianPredictive(means, variances, self.tail_share, self.tail_width)

    @property
    def least_variance(self) -> float:
        """Of a member whose narrower Gaussian is as narrow as can be."""
        return self.narrowest**2 * (1 + self.tail_share * (self.tail_width**2 - 1))


def held_out_spread(
    ensemble: Ensemble,
    loss: Gaussian,
    data: Data,
    splits: Sequence[Rows],
    transform: Callable[[Floats], Floats],
) -> Spread:
    """From the rows that each fold held out, by its own networks, which know nothing of them.

    The mean of all networks is nearer to the truth than theirs, on average by the variance between
    networks; and all members together are further apart, by the same. So the spread is narrowed
    by both. That variance is taken from the networks that trained on a row, and they agree more
    than on new rows: see `NEW_ROWS`. `transform` gives targets as the user knows them.
    """
    if splits[0].held_out is None:
        return Spread()
    held_out = [rows.held_out.numpy() for rows in splits if rows.held_out is not None]
    fold_of = np.repeat(np.arange(len(splits)), list(map(len, held_out)))
    rows = np.concatenate(held_out)
    if len(rows) > MOST_ROWS:
        some = np.random.default_rng(splits[0].seed).permutation(len(rows))[:MOST_ROWS]
        rows, fold_of = rows[some], fold_of[some]
    x, y = (part[rows].cpu().numpy() for part in (data.x, data.y))
    weight = None if data.weight is None else data.weight[rows].cpu().double().numpy()
    outputs = torch.from_numpy(
        np.concatenate(list(predict_rows(ensemble.members, x, ensemble.device)))
    )
    moments = (part.numpy().reshape(len(rows), len(splits), -1) for part in loss.moments(outputs))
    by_fold, log_variances = moments
    is_own = fold_of[:, None] == np.arange(len(splits))
    means, variances = by_fold[is_own], np.exp(log_variances[is_own])
    censored = None
    if y.ndim > 1:  # targets of which some are censored
        y, censored = y[:, 0], y[:, 1] > 0
    y = y.astype(np.float64)  # in the user's units, targets may be too large for float32
    errors = y - means.mean(axis=1)
    spread = Spread.learned(means, variances, errors, weight, censored)
    if censored is None and spread != Spread():
        stds = np.sqrt(spread.total(means, variances))
        skewed = two_sides_are_better(y, means.mean(axis=1), stds, transform)
        spread = replace(spread, skewed=skewed)
    if len(splits) < 3:
        return spread
    others = by_fold[~is_own].reshape(len(rows), len(splits) - 1, -1).mean(axis=2)
    total = spread.total(means, variances)
    share = 1 - 1 / len(splits)  # of the variance of one network, for the mean of all
    more = 1 + 1 / (1 + len(data.x) / NEW_ROWS)
    between = more * share * float((others.var(axis=1, ddof=1) / total).mean())
    factor = max((1 - between) / (1 + spread.distance**2 * between), LEAST_FACTOR)
    return replace(
        spread,
        variance=spread.variance * factor,
        distance=spread.distance * math.sqrt(factor),
    )


def _log_density(squares: Floats, log_variances: Floats, shift: float) -> Floats:
    """Of the mixture whose log-variances are shifted, without constants: -> (rows,)."""
    return _log_sum(-0.5 * (squares * math.exp(-shift) + log_variances + shift))


def _log_survival(deviations: Floats, shift: float) -> Floats:
    """Of what the mixture has above a row's value: -> (rows,)."""
    return _log_sum(log_ndtr(-deviations * math.exp(-0.5 * shift)))


def _log_sum(logs: Floats) -> Floats:
    largest = logs.max(axis=1, keepdims=True)
    log_sums: Floats = np.log(np.exp(logs - largest).sum(axis=1)) + largest[:, 0]
    return log_sums

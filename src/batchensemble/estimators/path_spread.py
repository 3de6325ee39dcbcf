"""What held-out windows say about the spread of paths, and how their steps hang together."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from batchensemble.training.engines import Windows
from batchensemble.training.losses import Gaussian
from batchensemble.training.methods import Members
from batchensemble.training.networks import Recurrent

Floats = NDArray[np.float64]

MOST_WINDOWS = 4000
COVERAGE, IN_STDS = 0.8, 1.2815515655446004  # so many standard deviations hold so much of a normal
LARGEST_ERROR = 4.0  # in standard deviations, that a correlation counts
PRIOR_WINDOWS = 40.0  # how many held-out ones the belief that little needs to change is worth
WIDER = 0.2  # of what was learned from few windows, by which it is too narrow


class Errors(NamedTuple):
    """Of forecasts in hindsight, all (windows, horizon), in scaled units; NaN without a truth."""

    standardised: Floats  # of the mean, in predicted standard deviations
    stds: Floats
    naive: Floats  # of repeating the last season


def path_spread(errors: Errors, n_apart: float, n_learned: float) -> dict[str, Floats]:
    """Factors by step, (horizon,), and a Cholesky factor of the correlation between steps.

    `n_apart` is about how many of the rows do not overlap: the fewer, the less they change. What
    was learned from `n_learned` windows that do not overlap is expected to be too narrow, by a
    fifth if there was none.
    """
    z = errors.standardised
    z = z[~np.isnan(z).all(axis=1)]  # not windows without a known target
    if not len(z):
        z, n_apart = np.zeros((1, z.shape[1])), 0.0
    trust = n_apart / (n_apart + PRIOR_WINDOWS)
    needed = np.array([_coverage(np.abs(step[~np.isnan(step)])) for step in z.T])
    expected = 1 + WIDER * PRIOR_WINDOWS / (PRIOR_WINDOWS + n_learned)
    factors = np.clip(needed, 0.2, 5.0) ** trust * expected ** (1 - trust)
    return {"factors": factors, "cholesky": np.linalg.cholesky(correlation(z, n_apart))}


def _coverage(sizes: Floats) -> float:
    """By how much a normal would have to be stretched to hold as many errors as it should."""
    return float(np.quantile(sizes, COVERAGE)) / IN_STDS if len(sizes) else 1.0


def errors_of(
    members: Members, windows: Windows, rows: NDArray[np.int64], loss: Gaussian, season: int
) -> Errors:
    """Of the mixture's mean for these windows, or some of them if there are many."""
    network = members.network
    masks = None if members.masks is None else members.masks.to(windows.device)
    if masks is not None and isinstance(network, Recurrent):  # the same along a path
        masks = masks.repeat(1, windows.horizon)
    rows = rows[:: -(-len(rows) // MOST_WINDOWS)]
    season = season if season <= windows.reach else 1
    repeated = windows.reach - season + np.arange(windows.horizon) % season
    parts = []
    with torch.inference_mode():
        for some in torch.tensor(rows, device=windows.device).split(512):
            x, y = windows.take(some)
            naive = y - x[:, repeated, 0]
            if windows.n_levels:  # not what a value stands for that is not known
                is_known = x[:, repeated, 1 + windows.n_levels] > 0
                naive = torch.where(is_known, naive, torch.nan)
            x = x.unsqueeze(-2).expand(-1, -1, members.n_members, -1)
            mean, log_variance = loss.moments(network(x, masks))
            stds = (log_variance.exp().mean(-1) + mean.var(-1, correction=0)).sqrt()
            parts.append(torch.stack([(y - mean.mean(-1)) / stds, stds, naive]))
    return Errors(*torch.cat(parts, 1).double().cpu().numpy())


def correlation(errors: Floats, n_apart: float) -> Floats:
    """(horizon, horizon): as observed, drawn towards one that decays with the distance in time."""
    horizon = errors.shape[1]
    z = np.clip(np.nan_to_num(errors), -LARGEST_ERROR, LARGEST_ERROR)
    scale = np.sqrt(np.square(z).mean(axis=0)) + 1e-12
    observed = (z / scale).T @ (z / scale) / len(z)
    next_step = np.clip(np.diag(observed, 1).mean(), 0.0, 0.99) if horizon > 1 else 0.0
    apart = np.abs(np.subtract.outer(np.arange(horizon), np.arange(horizon)))
    trust = 0.98 * n_apart / (n_apart + horizon)
    mixed = trust * observed + (1 - trust) * next_step**apart
    np.fill_diagonal(mixed, 1.0)
    shrunk: Floats = mixed
    return shrunk

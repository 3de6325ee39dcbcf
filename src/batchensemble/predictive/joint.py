"""Several numbers for each row: a distribution for each, and the correlation of their errors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from batchensemble.predictive.base import read_only
from batchensemble.predictive.checks import Array, Rng, check_array, check_draws
from batchensemble.predictive.gaussian import GaussianPredictive
from batchensemble.predictive.transformed import TransformedPredictive

NumberPredictive = GaussianPredictive | TransformedPredictive

ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class JointPredictive(Mapping[str, NumberPredictive]):
    """A mapping from each target's name to its distribution, tied together by a Gaussian copula.

    correlation  (targets, targets), of the normal scores of the targets' errors

    Arrays are (rows, targets, ...). Each target's draws follow its own distribution exactly.
    """

    targets: Mapping[str, NumberPredictive]
    correlation: Array

    def __post_init__(self) -> None:
        counts = {len(dist) for dist in self.targets.values()}
        if len(counts) != 1:
            raise ValueError(
                f"expected the same number of rows for every target, got {sorted(counts)}"
            )
        correlation = check_correlation(self.correlation, len(self.targets))
        object.__setattr__(self, "correlation", read_only(correlation))

    def __reduce__(self) -> Any:
        """Copies never change, either."""
        return type(self), (dict(self.targets), np.array(self.correlation))

    def __getitem__(self, name: str) -> NumberPredictive:
        return self.targets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.targets)

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.targets.values())))

    @property
    def mean(self) -> Array:
        """(rows, targets)."""
        return np.stack([dist.mean for dist in self.values()], axis=1)

    @property
    def std(self) -> Array:
        """(rows, targets)."""
        return np.stack([dist.std for dist in self.values()], axis=1)

    def quantile(self, q: ArrayLike) -> Array:
        """Of each target: one q -> (rows, targets), several -> (rows, targets, len(q))."""
        return np.stack([dist.quantile(q) for dist in self.values()], axis=1)

    def interval(self, coverage: float = 0.9) -> Array:
        """(rows, targets, 2), the central interval of each target."""
        return np.stack([dist.interval(coverage) for dist in self.values()], axis=1)

    def sample(self, n: int, rng: Rng) -> Array:
        """(n, rows, targets) joint draws; `rng` is a numpy Generator or a seed."""
        rng = check_draws(n, rng, self.n_rows * len(self))
        variances, vectors = np.linalg.eigh(self.correlation)
        factor = vectors * np.sqrt(np.maximum(variances, 0.0))
        scores = rng.standard_normal((n, self.n_rows, len(self))) @ factor.T
        draws = [dist.from_normal(scores[..., k].T) for k, dist in enumerate(self.values())]
        return np.stack(draws, axis=-1).swapaxes(0, 1)


def check_correlation(correlation: ArrayLike, n_targets: int) -> Array:
    """A float64 copy of a correlation matrix, (targets, targets)."""
    matrix = check_array("correlation", correlation, n_targets, n_targets)
    is_one = np.abs(np.diagonal(matrix) - 1).max() < ROUNDING
    is_even = np.abs(matrix - matrix.T).max() < ROUNDING
    if not is_one or not is_even or np.linalg.eigvalsh(matrix)[0] < -ROUNDING:
        raise ValueError(
            "correlation: expected a symmetric matrix with ones on its diagonal and no negative "
            f"eigenvalue, got {matrix.tolist()!r:.80}; pass that of the targets' errors"
        )
    return matrix

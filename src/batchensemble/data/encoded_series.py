"""Rows of series as numbers for a network."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Encoded:
    """Rows of series as numbers for a network.

    values     (rows,) scaled by series
    covariates (rows, covariates): known ahead first, then those known up to the present only
    location, scale  (rows,): value * scale + location gives back the user's units
    effect     (rows,): what columns that act linearly added, taken out of the scaled values
    raw        (rows,): the values as they came
    lowest     (rows,): what no forecast that begins there is below, as they came
    """

    values: NDArray[np.float32]
    covariates: NDArray[np.float32]
    location: Floats
    scale: Floats
    effect: Floats
    raw: Floats
    lowest: Floats

    def take(self, rows: NDArray[np.int64], is_repeated: NDArray[np.bool_]) -> "Encoded":
        """These rows; of those that are repeated, the first covariate is -1: later ones follow."""
        taken = Encoded(*(getattr(self, field.name)[rows] for field in fields(self)))
        if is_repeated.any():
            taken.covariates[is_repeated, 0] = -1.0
        return taken

    def known(self, rows: slice) -> Floats:
        """The values of these rows that were observed."""
        observed: Floats = self.raw[rows][self.covariates[rows, 0] > 0]
        return observed

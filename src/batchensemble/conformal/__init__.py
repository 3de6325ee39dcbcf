"""Intervals and sets with a guarantee, learned from rows that the model has not seen.

Split conformal prediction: rank the model's errors on n such rows. A new row from the same source
is equally likely to fall into any of the n + 1 gaps between them. So an interval or set that
reaches to the k-th smallest error contains the truth with probability k / (n + 1), however good the
model is, on average over rows and over calibrations; for one kind of rows it may be less, unless
the rows of each kind are ranked separately.
"""

from batchensemble.conformal.adaptation import Adaptation
from batchensemble.conformal.deviations import interval_scores, widened
from batchensemble.conformal.groups import check_enough, quantiles_by_group, read_groups
from batchensemble.conformal.intervals import IntervalCalibration, predicted_interval
from batchensemble.conformal.ranks import (
    REPORTED,
    assured_coverage,
    conformal_quantile,
    conformal_rank,
    fewest_rows,
    left_out_quantiles,
    stepwise_quantiles,
)
from batchensemble.conformal.sets import (
    SetCalibration,
    fit_temperature,
    halves,
    label_scores,
    label_sets,
    neglected,
    promised_sets,
)

__all__ = [
    "REPORTED",
    "Adaptation",
    "IntervalCalibration",
    "SetCalibration",
    "assured_coverage",
    "check_enough",
    "conformal_quantile",
    "conformal_rank",
    "fewest_rows",
    "fit_temperature",
    "halves",
    "interval_scores",
    "label_scores",
    "label_sets",
    "left_out_quantiles",
    "neglected",
    "predicted_interval",
    "promised_sets",
    "quantiles_by_group",
    "read_groups",
    "stepwise_quantiles",
    "widened",
]

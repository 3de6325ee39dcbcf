"""Whether a loaded calibration can widen intervals or choose sets."""

import math
from typing import Any

import numpy as np

from batchensemble.conformal import (
    REPORTED,
    IntervalCalibration,
    SetCalibration,
    read_groups,
)
from batchensemble.estimators.requirements import is_positive, require
from batchensemble.predictive.checks import check_array, check_labels, check_probabilities


def check_sets(calibration: Any, n_classes: int) -> None:
    require(isinstance(calibration, SetCalibration), "a calibration of classes")
    require(is_positive(calibration.temperature), "a temperature above 0")
    n = len(check_probabilities("probabilities", calibration.probabilities, "rows", n_classes))
    check_probabilities("untempered", calibration.untempered, n, n_classes)
    check_labels("labels", calibration.labels, n_rows=n, n_classes=n_classes)
    require(calibration.labels.dtype.kind in "iu" and n, "labels of the calibration rows")
    require(type(calibration.per_class) is bool, "whether sets are by class")
    if calibration.per_class:
        require(len(np.unique(calibration.labels)) == n_classes, "rows of every class")
    if calibration.groups is not None:
        read_groups(calibration.groups, n)


def check_intervals(calibration: Any, n_steps: int) -> None:
    require(isinstance(calibration, IntervalCalibration), "a calibration of intervals")
    y, cutoffs = calibration.y, calibration.cutoffs
    require(isinstance(y, np.ndarray) and y.dtype == np.float64, "true values")
    if cutoffs is not None:  # forecasts, where some may be missing
        y = np.where(np.isnan(y), 0.0, y)
    n = len(check_array("y", y, "rows", n_steps))
    require(n and calibration.fewest, "rows of the calibration")
    check_array("means", calibration.means, n, n_steps)
    variances = check_array("variances", calibration.variances, n, n_steps, largest=math.inf)
    require((variances >= 0).all() and np.isfinite(variances).all(), "variances of at least 0")
    ends = [
        check_array(name, getattr(calibration, name), n, n_steps, len(REPORTED))
        for name in ("lower", "upper")
    ]
    require((ends[0] <= ends[1]).all(), "intervals whose lower end is below the upper one")
    if calibration.transform is not None:
        check_array("latent_means", calibration.latent_means, n, n_steps)
        latent = check_array("variances", calibration.latent_variances, n, n_steps, largest=1e300)
        require((latent >= 0).all(), "variances of at least 0")
    if calibration.groups is not None:
        read_groups(calibration.groups, n)
    require(type(calibration.two_sided) is bool, "whether intervals have two sides")
    require(type(calibration.whole) is bool, "whether intervals end at whole numbers")
    require(type(calibration.adapts) is bool, "whether intervals adapt to change")
    require(
        cutoffs is None or (cutoffs.dtype == np.int64 and cutoffs.shape == (n,)),
        "times of the calibration",
    )

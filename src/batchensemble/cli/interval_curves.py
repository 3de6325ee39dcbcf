"""Scores and curves of the intervals that `predict` writes."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble import metrics
from batchensemble.cli.evaluation import Curve
from batchensemble.estimators.forecast import Forecast
from batchensemble.estimators.forecaster import Forecaster
from batchensemble.estimators.regressor import Regressor
from batchensemble.metrics.calibration import probabilities_at
from batchensemble.predictive import SamplePredictive


def compare_intervals(
    model: Regressor | Forecaster,
    y: NDArray[Any],
    dist: Any,
    columns: pd.DataFrame,
    scores: dict[str, float],
    groups: Any = None,
    past: Forecast | None = None,
) -> dict[str, Any]:
    """Scores and curves of the intervals that `predict` writes, calibrated where the model is."""
    is_series, uncalibrated = isinstance(dist, SamplePredictive), None
    errors = y - dist.mean
    if is_series:
        known = ~np.isnan(y)
        paths, truth = dist.paths, y[:, None, None]
        up_to, below = (share.mean(axis=(1, 2))[known] for share in (paths <= truth, paths < truth))
        errors = np.sqrt(np.nanmean(np.square(errors), axis=1))
        columns = columns[known.ravel()]
    else:
        is_count = isinstance(model, Regressor) and model.is_count
        up_to, below = probabilities_at(y, dist, whole=is_count)
    curve = metrics.pit_coverage_curve(up_to, below=below)
    if model.calibration_ is not None:
        if past is not None:
            curve = past.calibrated_curve()
        else:
            deviations = model.calibration_.deviations_of(y, dist)
            curve = model.calibration_.coverage_curve(deviations, groups)
        before = metrics.pit_coverage_curve(up_to, below=below, levels=curve.levels)
        uncalibrated = Curve.of("nominal", "empirical", before.levels, before.empirical)
        actual = dict(zip(curve.levels.tolist(), curve.empirical.tolist(), strict=True))
        scores |= {"rmsce": curve.rmsce(), "miscalibration_area": curve.miscalibration_area()}
        for name, level in (("coverage_80", 0.8), ("coverage_95", 0.95)):
            if scores.pop(name, None) is not None and level in actual:
                scores[name] = actual[level]
    lower, upper = columns["lower"].to_numpy(), columns["upper"].to_numpy()
    truths = y[~np.isnan(y)]
    scores["coverage"] = metrics.interval_coverage(truths, lower=lower, upper=upper)
    doubt = dist.std.reshape(len(dist), -1).mean(axis=1)
    kept = metrics.selective_rmse(errors, mean=np.zeros(len(errors)), uncertainty=doubt)
    share = f"share of {'windows' if is_series else 'rows'} kept"
    return {
        "scores": scores,
        "calibration": Curve.of("nominal", "empirical", curve.levels, curve.empirical),
        "selective": Curve.of(share, "RMSE", kept.coverages, kept.values),
        "uncalibrated": uncalibrated,
    }

"""Metrics: pure functions of truth and prediction, `metric(truth, *, prediction)` -> float.

Functions with `curve`, `selective` or `pit` in their name return arrays. Logarithms are natural.
"""

from batchensemble.metrics.calibration import (
    LEVELS,
    CoverageCurve,
    ReliabilityCurve,
    coverage_curve,
    ece,
    miscalibration_area,
    pit_coverage_curve,
    reliability_curve,
    rmsce,
)
from batchensemble.metrics.censored import censored_coverage, censored_nll
from batchensemble.metrics.classification import (
    accuracy,
    brier,
    categorical_nll,
    cheapest_threshold,
)
from batchensemble.metrics.diversity import (
    class_disagreement,
    epistemic_share,
    error_correlation,
    member_correlation,
    member_disagreement,
)
from batchensemble.metrics.paths import energy_score, mase, seasonal_scale, variogram_score
from batchensemble.metrics.regression import (
    crps_gaussian,
    crps_mixture,
    crps_samples,
    gaussian_nll,
    interval_coverage,
    interval_score,
    interval_width,
    mae,
    mixture_nll,
    pit,
    rmse,
    sharpness,
)
from batchensemble.metrics.scorers import neg_crps, neg_nll
from batchensemble.metrics.selective import (
    COVERAGES,
    RiskCurve,
    SelectiveCurve,
    aurc,
    risk_curve,
    selective_accuracy,
    selective_curve,
    selective_rmse,
    shift_auroc,
)
from batchensemble.metrics.summary import (
    summarise_classification,
    summarise_paths,
    summarise_regression,
)

__all__ = [
    "COVERAGES",
    "LEVELS",
    "CoverageCurve",
    "ReliabilityCurve",
    "RiskCurve",
    "SelectiveCurve",
    "accuracy",
    "aurc",
    "brier",
    "categorical_nll",
    "censored_coverage",
    "censored_nll",
    "cheapest_threshold",
    "class_disagreement",
    "coverage_curve",
    "crps_gaussian",
    "crps_mixture",
    "crps_samples",
    "ece",
    "energy_score",
    "epistemic_share",
    "error_correlation",
    "gaussian_nll",
    "interval_coverage",
    "interval_score",
    "interval_width",
    "mae",
    "mase",
    "member_correlation",
    "member_disagreement",
    "miscalibration_area",
    "mixture_nll",
    "neg_crps",
    "neg_nll",
    "pit",
    "pit_coverage_curve",
    "reliability_curve",
    "risk_curve",
    "rmsce",
    "rmse",
    "seasonal_scale",
    "selective_accuracy",
    "selective_curve",
    "selective_rmse",
    "sharpness",
    "shift_auroc",
    "summarise_classification",
    "summarise_paths",
    "summarise_regression",
    "variogram_score",
]

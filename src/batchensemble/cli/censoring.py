"""Rows whose target is only known to be at least so large: how they are read and scored."""

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from batchensemble import metrics
from batchensemble.cli.evaluation import Curve, doubtful
from batchensemble.cli.format import counted
from batchensemble.conformal import fewest_rows, predicted_interval
from batchensemble.estimators.answers import prediction_columns
from batchensemble.metrics.calibration import LEVELS
from batchensemble.metrics.censored import censored_coverage_curve, censored_logs
from batchensemble.predictive import NumberPredictive
from batchensemble.predictive.transforms import Transform

FEWEST_KNOWN = 2  # targets, to score anything
TRUTH = {"true": True, "yes": True, "1": True, "1.0": True}
TRUTH |= {"false": False, "no": False, "0": False, "0.0": False}


def censored_rows(column: pd.Series, file: str) -> NDArray[np.bool_]:
    """Where the column of --censored is true."""
    words = column.astype(str).str.strip().str.lower().map(TRUTH)
    if words.isna().any():
        odd = column[words.isna()].iloc[0]
        got = "a gap" if pd.isna(odd) else str(odd)
        raise ValueError(
            f"{file}: expected true/false, yes/no or 1/0 in every row of the --censored column "
            f"{column.name!r}, got {got}; write true where the target is only a lower bound"
        )
    return np.asarray(words.astype(bool))


def score_censored(
    y: NDArray[Any], censored: NDArray[np.bool_], dist: NumberPredictive, *, whole: bool = False
) -> dict[str, float]:
    """What can be said where some targets are lower bounds, and the NLL of a constant answer."""
    if np.count_nonzero(~censored) < FEWEST_KNOWN:
        raise ValueError(
            f"expected at least {FEWEST_KNOWN} rows whose target is known, got "
            f"{np.count_nonzero(~censored)} of {len(y):,}; the others are censored: hold out more "
            "rows (--holdout), or score on a larger file"
        )
    lower, upper = predicted_interval(dist, 0.9, whole=whole).T
    ends = {"lower": lower, "upper": upper}
    return {
        "nll": metrics.censored_nll(y, censored=censored, dist=dist, whole=whole),
        "nll_of_constant": nll_of_constant(y, censored, getattr(dist, "transform", None)),
        "coverage_90": metrics.censored_coverage(
            y, censored=censored, dist=dist, **ends, whole=whole
        ),
        **{name: float(part.mean()) for name, part in dist.uncertainty()._asdict().items()},
    }


def nll_of_constant(
    y: NDArray[Any], censored: NDArray[np.bool_], transform: Transform | None = None
) -> float:
    """Mean NLL of a good distribution, the same for all rows, in nats; lower is better.

    Known values at a bound have a probability, as those of a model with this transform have. The
    others are Gaussian or, if all are above 0 and it is lower, log-normal.
    """
    if transform is None:
        return _best_shape(y, censored)
    at_low, at_high = (~censored & (y == end) for end in (transform.low, transform.high))
    others = ~(at_low | at_high)
    counts = np.array([np.count_nonzero(part) for part in (at_low, at_high, others)])
    if counts[2] == len(y) or np.count_nonzero(others & ~censored) < FEWEST_KNOWN:
        return _best_shape(y, censored)
    shares = counts[counts > 0] / len(y)
    return float(
        -(shares * np.log(shares)).sum() + shares[-1] * _best_shape(y[others], censored[others])
    )


def _best_shape(y: NDArray[Any], censored: NDArray[np.bool_]) -> float:
    """Mean NLL of the best Gaussian or log-normal."""
    best = _best_gaussian(y, censored)
    if y.min() <= 0:
        return best
    # The density of y is that of its logarithm divided by y; a probability stays what it is.
    logs = np.log(y)
    return min(best, _best_gaussian(logs, censored) + float(np.where(censored, 0.0, logs).mean()))


def _best_gaussian(y: NDArray[Any], mask: NDArray[np.bool_]) -> float:
    scale = float(y.std()) or 1.0
    known, above = y[~mask] / scale, y[mask] / scale
    data = stats.CensoredData(uncensored=known, right=above)
    mean, std = stats.norm.fit(data)
    fitted = stats.norm(mean, max(std, 1e-9))
    total = fitted.logpdf(known).sum() - len(known) * math.log(scale) + fitted.logsf(above).sum()
    return -float(total) / len(y)


def compare_censored(
    model: Any,
    X: pd.DataFrame,
    truth: pd.Series,
    censored: NDArray[np.bool_],
    unit: str,
    facts: dict[str, Any],
) -> dict[str, Any]:
    """Without what needs the true values, such as the RMSE."""
    y, groups = truth.to_numpy(dtype=np.float64), model.groups_in(X)
    dist = model.predict_dist(X)
    columns = prediction_columns(model, dist, facts["coverage"], groups)
    ends = {name: columns[name].to_numpy() for name in ("lower", "upper")}
    scores = score_censored(y, censored, dist, whole=model.is_count)
    scores.pop("coverage_90")
    scores["coverage"] = metrics.censored_coverage(
        y, censored=censored, dist=dist, **ends, whole=model.is_count
    )
    curve, before = _curves(model, y, censored, dist, groups)
    costs = -censored_logs(y, censored=censored, dist=dist, whole=model.is_count)
    can_be = np.isfinite(costs)
    shown = Curve("share of rows kept", "NLL", [], [])
    if can_be.any():
        kept = metrics.selective_curve(costs[can_be], uncertainty=dist.std[can_be])
        shown = Curve.of("share of rows kept", "NLL", kept.coverages, kept.values)
    n = counted(int(censored.sum()), "target")
    facts["note"] = "; ".join(
        filter(None, [facts["note"], f"{n} are censored: the truth is at least that"])
    )
    truths = [f"≥ {value:.6g}" if one else value for value, one in zip(y, censored, strict=True)]
    beside = {"truth": np.array(truths, object), "mean": columns["mean"], **ends, "std": dist.std}
    return {
        "task": "regression",
        "scores": scores,
        "calibration": curve,
        "selective": shown,
        "uncalibrated": before,
        "doubtful": doubtful(X, dist.std, beside, unit),
    }


def _curves(
    model: Any, y: NDArray[Any], censored: NDArray[np.bool_], dist: NumberPredictive, groups: Any
) -> tuple[Curve, Curve | None]:
    """Coverage of the intervals that `predict` writes, and before calibration if there was one."""
    known: dict[str, Any] = {"censored": censored, "dist": dist, "whole": model.is_count}
    curve, calibration = censored_coverage_curve(y, **known), model.calibration_
    if calibration is None:
        return Curve.of("nominal", "empirical", curve.levels, curve.empirical), None
    is_enough = np.array([calibration.fewest >= fewest_rows(level) for level in LEVELS])
    levels, held = LEVELS[is_enough], []
    for level in levels:
        ends = predicted_interval(dist, level, calibration, groups, whole=model.is_count)
        held.append(metrics.censored_coverage(y, lower=ends[:, 0], upper=ends[:, 1], **known))
    return (
        Curve.of("nominal", "empirical", levels, np.array(held)),
        Curve.of("nominal", "empirical", levels, curve.empirical[is_enough]),
    )

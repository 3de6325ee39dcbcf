"""Whether a fitted model beats an answer that needs no model, by what early stopping held out.

A sentence is said only where chance hardly explains it: a false alarm is worse than silence.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from batchensemble.conformal import SetCalibration, fewest_rows, neglected
from batchensemble.training.engines import Data
from batchensemble.training.history import History
from batchensemble.training.loop import Training
from batchensemble.training.models import Ensemble, Rows, predict_rows

Floats = NDArray[np.float64]

FEWEST_ROWS, MOST_ROWS = 50, 1_000
MOST_NAMED = 5
FEWEST_WINDOWS = 8.0  # that do not overlap
STANDARD_ERRORS = 2.0
# Of the error of a constant answer. Of eleven fits to pure noise (300 rows) nine were told so, of
# six with R2 = 0.1 none; twice as much slandered one of nine others of those.
LITTLE = 0.05
COVERAGE, IN_STDS, CHANCE = 0.8, 1.2815515655446004, 1e-3
# Of one window of 12 steps whose errors have a correlation of 0.7 from step to step, 3 in 100
# good forecasts hold fewer; of two windows, 3 in 1,000.
FAR, FEWEST_VALUES = 0.55, 8
# Of 36 single series of 36 to 144 months and six kinds, the largest error was 1.4 of the naive one.
FAR_WORSE, NEGLIGIBLE = 1.5, 1e-3  # the second in units of a series' spread

# A score that falls exponentially gains so much in its last tenth if a quarter is still to come.
MUCH, FEWEST_EPOCHS = 0.05, 10

CONSTANT = "no better than always predicting"
NAIVE = "worse than repeating the last"
NARROW = ".* % intervals cover only"  # a pattern
SETS = 0.9  # the coverage of the sets that are looked at


def held_out_outputs(
    ensemble: Ensemble, data: Data, splits: Sequence[Rows]
) -> tuple[NDArray[np.int64], Floats]:
    """Some held-out rows, and (rows, members, outputs) of the networks that did not see them."""
    parts = []
    held_out = [rows.held_out.numpy() for rows in splits if rows.held_out is not None]
    chosen = [rows[:: -(-len(rows) * len(held_out) // MOST_ROWS)] for rows in held_out]
    for fold, rows in enumerate(chosen):
        x = data.x[rows].cpu().numpy()
        outputs = np.concatenate(list(predict_rows(ensemble.members, x, ensemble.device)))
        parts.append(np.split(outputs, len(splits), axis=1)[fold])
    return np.concatenate(chosen), np.concatenate(parts)


def is_no_gain(gains: Floats, trivial: float) -> bool:
    """Whether errors fell, beside those of a trivial answer, by nothing that chance does not do.

    `gains` are the differences by row; `trivial` is the mean error of the trivial answer.
    """
    if len(gains) < FEWEST_ROWS:
        return False
    mean, error = float(gains.mean()), float(gains.std()) / math.sqrt(len(gains))
    at_most = mean + STANDARD_ERRORS * error
    return mean - STANDARD_ERRORS * error <= 0 and at_most < LITTLE * trivial


def doubt_about_numbers(y: Floats, mean: Floats, answer: float) -> Iterator[str]:
    """A sentence if held-out rows show no gain over always answering the mean."""
    scale = float(np.abs(y - answer).max())
    if scale <= max(1e-9 * np.abs(y).max(), 1e-100):  # nothing to explain
        return
    # In units of the largest deviation, and not too far: squares of squares must be finite.
    trivial, errors = (
        np.square(np.clip((y - other) / scale, -1e50, 1e50)) for other in (answer, mean)
    )
    if is_no_gain(trivial - errors, float(trivial.mean())):
        yield (
            f"{CONSTANT} the mean, {answer:.4g}, on {len(y):,} held-out rows: the columns "
            "do not predict the target, or training was too short"
        )


def doubt_about_classes(labels: NDArray[np.int64], predicted: NDArray[np.int64]) -> Iterator[str]:
    """The same for always answering the most common class."""
    is_common = labels == np.bincount(labels).argmax()
    gains = (labels == predicted).astype(np.float64) - is_common
    if is_no_gain(gains, 1 - float(is_common.mean())):
        yield (
            f"{CONSTANT} the most common class, on {len(labels):,} held-out rows; use the "
            "probabilities with a threshold, or class_weight, or better columns"
        )


def doubts_about_sets(calibration: SetCalibration, classes: NDArray[Any]) -> Iterator[str]:
    """A sentence if sets with one guarantee for all classes leave some class out."""
    if calibration.per_class or len(calibration) < fewest_rows(SETS):
        return
    if calibration.groups is not None:
        return
    sets = calibration.sets(calibration.probabilities, SETS)
    yield from about_neglected(neglected(sets, calibration.labels, SETS), classes, SETS)


def about_neglected(
    found: Mapping[int, tuple[int, int]], classes: NDArray[Any], coverage: float
) -> Iterator[str]:
    """The sentence."""
    if not found:
        return
    named = [f"{classes[i]} in only {held} of its {n} rows" for i, (held, n) in found.items()]
    more = f", and {len(named) - MOST_NAMED} more classes" if len(named) > MOST_NAMED else ""
    yield (
        f"the {100 * coverage:.4g} % sets contain the class "
        f"{', '.join(named[:MOST_NAMED])}{more}: the guarantee is for all classes "
        "together; for one per class, calibrate with per_class=True"
    )


def doubts_about_windows(
    errors: Floats, stds: Floats | None, naive: Floats, n_apart: float, season: int
) -> Iterator[str]:
    """Sentences about held-out windows: errors, predicted stds and a naive forecast's errors.

    All are (windows, horizon), NaN where the truth is missing; stds are None where those of paths
    are others. Windows overlap: only about
    `n_apart` of them count for chance; 0 if none was held out and these are of training.
    """
    is_known = ~np.isnan(errors).any(axis=1) & ~np.isnan(naive).any(axis=1)
    errors, naive = errors[is_known], naive[is_known]
    if not len(errors):
        return
    n_apart = min(n_apart, float(len(errors)))
    if is_worse_than(naive, errors, n_apart):
        what = "season" if season > 1 else "value"
        where = "held-out windows" if n_apart else "the windows that it was trained on"
        times = np.abs(errors).mean() / max(float(np.abs(naive).mean()), NEGLIGIBLE)
        yield (
            f"{NAIVE} {what}: on {where} the error is {times:.3g} times as large; "
            "try more history, another context, or that simple forecast"
        )
    if n_apart and stds is not None:
        held = float((np.abs(errors) <= IN_STDS * stds[is_known]).mean())
        n = round(n_apart)
        yield from doubt_about_held(held, COVERAGE, n, min(n, 2) * errors.shape[1])


def is_worse_than(naive: Floats, errors: Floats, n_apart: float) -> bool:
    """Whether windows err more than naive forecasts by what chance hardly does, or by far."""
    typical = float(np.abs(errors).mean())
    if typical < NEGLIGIBLE or errors.size < FEWEST_VALUES:
        return False
    if n_apart < FEWEST_WINDOWS:
        return typical > FAR_WORSE * float(np.abs(naive).mean())
    gains = np.abs(naive).mean(axis=1) - np.abs(errors).mean(axis=1)
    return bool(gains.mean() + STANDARD_ERRORS * gains.std() / math.sqrt(n_apart) < 0)


def doubt_about_held(
    held: float, coverage: float, n_apart: int, n_values: int = 0
) -> Iterator[str]:
    """A sentence if the intervals of windows, `n_apart` of them apart, hold too few values."""
    if holds_too_little(held, coverage, n_apart, n_values):
        yield (
            f"the {100 * coverage:.4g} % intervals cover only {100 * held:.0f} % of the "
            "values in held-out windows; fit with calibrate=True, or calibrate with "
            "newer observations"
        )


def holds_too_little(held: float, coverage: float, n_apart: int, n_values: int = 0) -> bool:
    """Whether so few were held that chance hardly explains it, or far too few of `n_values`.

    Steps of a window err alike: a window or two prove nothing, but may show what is badly wrong.
    """
    is_far_off = n_values >= FEWEST_VALUES and held < FAR * coverage
    return is_far_off or bool(binom.cdf(round(held * n_apart), n_apart, coverage) < CHANCE)


def doubts_about_length(
    histories: Sequence[History], training: Training, asked: int | None
) -> Iterator[str]:
    """A sentence if the time limit, or epochs that the user `asked` for, ended too soon."""
    if any(map(_was_cut_short, histories)):
        yield (
            f"training ended by the time limit of {training.time_limit:g} s while still "
            "improving; allow more time for better predictions"
        )
    elif asked is not None and any(map(_ended_too_early, histories)):
        yield (
            f"training ended after {training.epochs} epochs while still improving; "
            "allow more epochs for better predictions, or leave their number to the preset"
        )


def _was_cut_short(history: History) -> bool:
    """Whether the time limit ended a training that still improved in its last tenth."""
    if history.ended != "time_limit":
        return False
    n = len(history.scores)
    if n:
        return max(history.best_epochs, default=0) >= 0.9 * n - 1
    losses = np.array(history.losses).reshape(len(history.losses), -1).mean(axis=1)
    last = max(1, len(losses) // 10)
    return len(losses) < 2 or bool(losses[-last:].min() < losses[:-last].min())


def _ended_too_early(history: History) -> bool:
    """Whether much of what held-out scores gained in all came in the last tenth of the epochs."""
    scores = np.array(history.scores)
    if history.ended != "epochs" or len(scores) < FEWEST_EPOCHS:
        return False
    last = len(scores) // 10
    before, best = scores[:-last].min(axis=0), scores.min(axis=0)
    return bool((before > best + MUCH * (scores[0] - best)).any())

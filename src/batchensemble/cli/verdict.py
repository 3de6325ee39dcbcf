"""An evaluation in two sentences, and how far chance alone moves a share."""

import math

from scipy.stats import betabinom, binom

from batchensemble.cli.evaluation import Evaluation
from batchensemble.cli.format import counted, percent
from batchensemble.cli.scores import TRIVIAL, is_worse, sampling_range
from batchensemble.conformal import conformal_rank, fewest_rows
from batchensemble.estimators.usefulness import FEWEST_ROWS
from batchensemble.plots.sheets import brief

PROBABILITY = 0.95  # of every range
CHANCE = " (the difference may be chance)"
ALIKE = 0.005  # errors that differ by less are the same


def chance_range(coverage: float, n: int, n_calibrated: int = 0) -> tuple[float, float]:
    """Between which the covered share of n rows lies if the intervals are as they should be.

    Those of a calibration differ by the rows that it was done with, too.
    """
    if n_calibrated >= fewest_rows(coverage):
        k = conformal_rank(n_calibrated, coverage)
        by_chance = betabinom(n, k, n_calibrated + 1 - k)
    else:
        by_chance = binom(n, coverage)
    low, high = by_chance.interval(PROBABILITY)
    return float(low) / n, float(high) / n


def between(low: float, high: float) -> str:
    """A range of shares."""
    return f"{percent(low)[:-2]} to {percent(high)}"


def n_independent(evaluation: Evaluation) -> int:
    """Rows; of forecasts, windows that do not overlap, since the steps of one err alike."""
    return max(1, evaluation.n_rows // (evaluation.horizon or 1))


def in_short(evaluation: Evaluation) -> str:
    """Whether the model is better than a trivial answer, and whether its uncertainty holds."""
    if evaluation.task == "classification":
        return _of_classes(evaluation)
    scores = evaluation.scores
    if "nll_of_constant" in scores:
        good = scores["nll"] < scores["nll_of_constant"]
        said = (
            f"{'Better' if good else 'No better'} than one distribution for all rows: the NLL is "
            f"{brief(scores['nll'])} instead of {brief(scores['nll_of_constant'])}."
        )
        if math.isinf(scores["nll"]):
            said = "The model rules out a true value, so the NLL is infinite."
        return f"{said} {_of_coverage(evaluation, 'coverage', 'intervals')}"
    name = next(name for name in TRIVIAL if name in scores)
    ours, theirs = scores["rmse"], scores[name]
    change = 1 - ours / theirs if theirs else 0.0
    word = "No better" if abs(change) < ALIKE else ("Better" if change > 0 else "Worse")
    by = f" by {percent(abs(change))}" if word != "No better" else ""
    is_table = not evaluation.horizon
    if is_table and word != "Better" and evaluation.n_rows < FEWEST_ROWS:
        by += "" if is_worse(ours, theirs, evaluation.n_rows) else CHANCE
    said = (
        f"{word} than always {TRIVIAL[name]}{by}: the typical error is {brief(ours)} instead of "
        f"{brief(theirs)}."
    )
    if is_table and not theirs:
        said = f"The typical error is {brief(ours)}; all true values are the same."
    return f"{said} {_of_coverage(evaluation, 'coverage', 'intervals')}"


def _of_classes(evaluation: Evaluation) -> str:
    scores, n = evaluation.scores, evaluation.n_rows
    right, common = scores["accuracy"], scores["accuracy_of_commonest"]
    low, high = sampling_range(right, n)
    word = "Better" if low > common else "No better"
    if low <= common < right:
        word = f"Perhaps better{CHANCE}"
    elif right < common <= high and n < FEWEST_ROWS:
        word = f"No better{CHANCE}"
    said = (
        f"{word} than always predicting the most common class: right in "
        f"{percent(right)} of {counted(n, 'row')} (95 % confidence interval: "
        f"{between(low, high)}) instead of {percent(common)}."
    )
    if common == 1:
        said = f"Right in {percent(right)} of {counted(n, 'row')}, all of one class."
    if "coverage_of_sets" not in scores:
        return said
    return f"{said} {_of_coverage(evaluation, 'coverage_of_sets', 'sets')}"


def _of_coverage(evaluation: Evaluation, name: str, things: str) -> str:
    held, n = evaluation.scores[name], n_independent(evaluation)
    low, high = chance_range(evaluation.coverage, n, evaluation.n_calibrated)
    judged = "which is what chance allows"
    if held < low:
        judged = f"fewer than chance allows ({between(low, high)}): they are too narrow"
    elif held > high:
        judged = f"more than they promise ({between(low, high)} by chance): they are wide"
    rows = counted(evaluation.n_rows, "row")
    if evaluation.horizon:
        rows = f"the values in {counted(evaluation.n_windows or 0, 'window')}"
    return (
        f"Its {percent(evaluation.coverage)} {things} covered {percent(held)} of {rows}, {judged}."
    )

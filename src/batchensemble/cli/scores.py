"""The name, meaning and number of each score, as people read them."""

import math
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from scipy.stats import binomtest, f

from batchensemble.cli.format import percent, print_grid
from batchensemble.estimators.usefulness import (
    CHANCE,
    FAR_WORSE,
    FEWEST_ROWS,
    FEWEST_WINDOWS,
    holds_too_little,
)
from batchensemble.plots.looks import NAMES
from batchensemble.plots.sheets import brief

MEANINGS = {
    "rmse": "typical error, in units of {target}",
    "rmse_of_mean": "RMSE of predicting the mean",
    "rmse_of_season": "RMSE of repeating the last season",
    "rmse_of_last": "RMSE of repeating the last value",
    "nll_of_constant": "NLL of one distribution for all rows",
    "accuracy": "share of correct predictions",
    "accuracy_of_commonest": "accuracy of predicting the most common class",
    "auc": "chance that a row of the rarer class is ranked above another; guessing: 0.5",
    "average_precision": "how precise its ranking of the rarer class is; 1 is best",
    "share_of_rarer": "share of the rarer class: average precision of guessing",
    "coverage": "share of true values inside the {coverage} intervals",
    "coverage_of_sets": "share of true classes inside the {coverage} sets",
    "size_of_sets": "mean number of classes in a set",
    "coverage_80": "share of true values inside the 80 % intervals",
    "coverage_90": "share of true values inside the 90 % intervals",
    "coverage_95": "share of true values inside the 95 % intervals",
    "coverage_80_sum": "the same for the sum over the horizon, at 80 %",
    "crps": "error of the whole distribution, in units of {target}",
    "nll": "negative log-likelihood, in nats; lower is better",
    "brier": "squared error of the probabilities; lower is better",
    "ece": "gap between confidence and accuracy; 0 is best",
    "ece_before": "the same before calibration",
    "rmsce": "gap between nominal and actual coverage; 0 is best",
    "miscalibration_area": "the same gap, as an area; 0 is best",
    "energy_score": "error of whole paths, in units of {target}",
    "variogram_score": "error of the dependence between steps; lower is better",
    "total": "mean uncertainty of a row, {unit}",
    "aleatoric": "its part from noise in the data; more data does not reduce it",
    "epistemic": "its part from the model; more data can reduce it",
}
OTHER_NAMES = {
    "rmse_of_mean": "RMSE of the mean",
    "rmse_of_season": "RMSE of last season",
    "rmse_of_last": "RMSE of last value",
    "nll_of_constant": "NLL of a constant",
    "accuracy_of_commonest": "most common class",
    "auc": "AUC",
    "average_precision": "average precision",
    "share_of_rarer": "rarer class",
    "coverage": "coverage",
    "coverage_of_sets": "coverage of sets",
    "size_of_sets": "size of sets",
    "ece_before": "ECE, uncalibrated",
    "total": "uncertainty",
}
TRIVIAL = {
    "rmse_of_mean": "predicting the mean",
    "rmse_of_season": "repeating the last season",
    "rmse_of_last": "repeating the last value",
}
SHARES = ("accuracy", "coverage", "share_of")
RANGE = "its 95 % range, in %"
UNCERTAINTIES = ("total", "aleatoric", "epistemic")
DETAILS = (  # left out on a terminal
    *("coverage_80_sum", "rmsce", "miscalibration_area", "energy_score", "variogram_score"),
    *("total", "aleatoric", "epistemic", "ece_before"),
)


def in_words(
    scores: Mapping[str, float],
    *,
    target: str,
    task: str,
    coverage: float,
    few: bool = False,
    n: int | None = None,
) -> list[tuple[str, str, str]]:
    """Name, number and meaning of each score, the most telling first.

    Shares of n independent rows are followed by the range in which chance leaves them.
    """
    is_classes = task == "classification"
    unit = "as an entropy in nats" if is_classes else f"as a standard deviation of {target}"

    def written(name: str) -> str:
        if name.startswith(SHARES):
            share = percent(scores[name])
            return share if n is None else f"{share} ({sampling_words(scores[name], n)})"
        is_variance = name in UNCERTAINTIES and not is_classes
        return brief(math.sqrt(max(0.0, scores[name])) if is_variance else scores[name])

    return [
        (
            OTHER_NAMES.get(name) or NAMES[name],
            written(name),
            meaning.format(target=target, coverage=percent(coverage), unit=unit),
        )
        for name, meaning in MEANINGS.items()
        if name in scores and not (few and name in DETAILS)
    ]


def sampling_range(share: float, n: int) -> tuple[float, float]:
    """Between which the share of many such rows lies, 95 times in 100, after n (Wilson's)."""
    found = binomtest(round(share * n), n).proportion_ci(0.95, method="wilson")
    return float(found.low), float(found.high)


def sampling_words(share: float, n: int) -> str:
    """That range in per cent, short enough for a phone."""
    low, high = sampling_range(share, n)
    return f"{100 * low:.0f}-{100 * high:.0f}"


def doubts_about_scores(scores: Mapping[str, float], task: str, n: int) -> list[str]:
    """Sentences about a model that is no better than a guess which needs none.

    Scores are those of n rows or, of forecasts, of n windows that do not overlap.
    """
    if task == "forecast":
        few, may_be_chance = "windows", n < FEWEST_WINDOWS
    else:
        few, may_be_chance = "rows", n < FEWEST_ROWS
    chance = f" in so few {few}, which may be chance: evaluate it on more"
    useless = "; do not rely on its predictions"
    if task == "classification":
        if is_more_accurate(scores):
            return []
        cure = "; judge it by its probabilities, or add columns or rows that tell the classes apart"
        constant = "no more accurate than always predicting the most common class"
        return [constant + (chance if may_be_chance else cure)]
    if "nll_of_constant" in scores:
        if scores["nll"] < scores["nll_of_constant"]:
            return []
        if math.isinf(scores["nll"]):
            return ["the NLL is infinite: the model rules out a true value"]
        constant = "no better than one distribution for all rows"
        return [constant + (chance if may_be_chance else useless)]
    ours = scores["rmse"]
    for name, meaning in TRIVIAL.items():
        theirs = scores.get(name, math.inf)
        if ours < theirs or (task != "forecast" and theirs == 0):  # all rows have one value
            continue
        is_far = is_worse(ours, theirs, n) if task != "forecast" else ours >= FAR_WORSE * theirs
        return [f"no better than {meaning}{chance if may_be_chance and not is_far else useless}"]
    return []


def is_more_accurate(scores: Mapping[str, float]) -> bool:
    """Whether a classifier is right more often than a constant; if that is always right, too."""
    constant = scores["accuracy_of_commonest"]
    return scores["accuracy"] > constant or constant == 1


def is_worse(ours: float, theirs: float, n: int) -> bool:
    """Whether an RMSE is larger than that of the rows' mean by what chance hardly does (F test)."""
    ratio = (ours / theirs) ** 2 * (n - 1) / n if theirs else math.inf
    return bool(f.sf(ratio, n, n - 1) < CHANCE)


def doubt_about_coverage(held: float, coverage: float, n: int, n_values: int = 0) -> list[str]:
    """A sentence, if it is no chance that so few of `n` independent values were inside.

    Of forecasts, `n` windows do not overlap and have `n_values`.
    """
    if not holds_too_little(held, coverage, n, n_values):
        return []
    return [
        f"the {percent(coverage)} intervals cover only {percent(held)} of the true "
        "values: the rows differ from those of fit, or the model is overconfident; "
        "calibrate it with newer rows"
    ]


def print_scores(console: Console, facts: Mapping[str, Any], coverage: float) -> None:
    """The most telling few of an origin or an evaluation."""
    words = {"target": facts["target"], "task": facts["task"], "coverage": coverage}
    print_grid(console, in_words(facts["scores"], **words, few=True))

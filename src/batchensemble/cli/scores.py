"""Scores in words: what each is called, what it means, and how its number is written."""

from collections.abc import Mapping

from batchensemble.plots.looks import NAMES
from batchensemble.plots.sheets import brief

MEANINGS = {
    "rmse": "typical error, in units of {target}",
    "rmse_of_mean": "the same for always saying their mean",
    "rmse_of_season": "the same for repeating the last season",
    "rmse_of_last": "the same for repeating the last value",
    "accuracy": "share of right answers",
    "accuracy_of_commonest": "the same for always saying their commonest class",
    "coverage": "share of truths inside the intervals of {coverage}",
    "coverage_of_sets": "share of truths inside the sets of {coverage}",
    "size_of_sets": "mean number of classes in such a set",
    "coverage_80": "share of truths inside the intervals of 80 %",
    "coverage_90": "share of truths inside the intervals of 90 %",
    "coverage_95": "share of truths inside the intervals of 95 %",
    "coverage_80_sum": "the same, for sums over the horizon",
    "crps": "error of the whole distribution, in units of {target}",
    "nll": "surprise at the truth, in nats; lower is better",
    "brier": "squared error of probabilities; lower is better",
    "ece": "how far confidence is from accuracy; 0 is best",
    "rmsce": "how far coverage is from what was promised; 0 is best",
    "miscalibration_area": "the same, as an area; 0 is best",
    "energy_score": "error of whole paths, in units of {target}",
    "variogram_score": "error of the steps' dependence; lower is better",
    "total": "mean uncertainty of a row, {unit}",
    "aleatoric": "of it noise in the data, which no model can take away",
    "epistemic": "of it doubt, which more data may take away",
}
OTHER_NAMES = {
    "rmse_of_mean": "RMSE of the mean",
    "rmse_of_season": "RMSE of last season",
    "rmse_of_last": "RMSE of last value",
    "accuracy_of_commonest": "of the commonest",
    "coverage": "coverage",
    "coverage_of_sets": "coverage of sets",
    "size_of_sets": "size of sets",
    "total": "uncertainty",
}
SHARES = ("accuracy", "coverage")
FEW = (
    *("rmse", "rmse_of_mean", "rmse_of_season", "rmse_of_last"),
    *("accuracy", "accuracy_of_commonest", "coverage", "coverage_of_sets", "size_of_sets"),
    *("coverage_80", "coverage_90", "coverage_95", "crps", "nll", "brier", "ece"),
)


def in_words(
    scores: Mapping[str, float], *, target: str, task: str, coverage: float, few: bool = False
) -> list[tuple[str, str, str]]:
    """Name, number and meaning of each score, the most telling first."""
    unit = "as an entropy in nats" if task == "classification" else "as a variance"
    return [
        (
            OTHER_NAMES.get(name) or NAMES[name],
            percent(scores[name]) if name.startswith(SHARES) else brief(scores[name]),
            meaning.format(target=target, coverage=percent(coverage), unit=unit),
        )
        for name, meaning in MEANINGS.items()
        if name in scores and (name in FEW or not few)
    ]


def percent(share: float) -> str:
    """With one decimal where it has one; number and sign stay together."""
    return f"{round(100 * share, 1):g}\N{NO-BREAK SPACE}%"


def counted(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'s' * (n != 1)}"

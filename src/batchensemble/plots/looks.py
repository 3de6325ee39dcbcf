"""How methods, datasets and metrics are named and coloured, the same in every output."""

from typing import NamedTuple
from zlib import crc32


class Look(NamedTuple):
    label: str
    colour: str
    mark: str


# Okabe and Ito's colours, told apart by all eyes; a method is always the same colour and mark.
LOOKS = {
    "batch_ensemble": Look("BatchEnsemble", "#0072B2", "o"),
    "deep_ensemble": Look("Deep ensemble", "#D55E00", "s"),
    "mc_dropout": Look("MC dropout", "#009E73", "^"),
    "single": Look("Single", "#CC79A7", "D"),
}
BAD = "#9b2318"  # of what went wrong
SPARE = (("#E69F00", "v"), ("#56B4E9", "P"), ("#7F7F7F", "X"), ("#AA4499", "*"))

NAMES = {
    "rmse": "RMSE",
    "accuracy": "accuracy",
    "nll": "NLL",
    "brier": "Brier score",
    "ece": "ECE",
    "rmsce": "RMSCE",
    "miscalibration_area": "miscalibration area",
    "crps": "CRPS",
    "energy_score": "energy score",
    "variogram_score": "variogram score",
    "coverage_80": "coverage of 80 %",
    "coverage_90": "coverage of 90 %",
    "coverage_95": "coverage of 95 %",
    "coverage_80_sum": "coverage of 80 %, sum",
    "total": "total",
    "aleatoric": "aleatoric",
    "epistemic": "epistemic",
    "member_correlation": "correlation of members",
    "member_disagreement": "disagreement",
}
METRICS = tuple(NAMES)  # in the order of tables
UP = ("accuracy",)  # of those drawn; of the others less is better
ERROR = {"regression": "rmse", "classification": "accuracy", "forecasting": "rmse"}
CALIBRATION = {
    "regression": "miscalibration_area",
    "classification": "ece",
    "forecasting": "miscalibration_area",
}


def look(method: str) -> Look:
    """The method's; one that is not the paper's gets a spare colour and mark by its name alone."""
    if method in LOOKS:
        return LOOKS[method]
    number = crc32(method.encode())
    colour, mark = SPARE[number % len(SPARE)][0], SPARE[number // len(SPARE) % len(SPARE)][1]
    return Look(method, colour, mark)


def label(method: str) -> str:
    return look(method).label


def dataset_name(dataset: str) -> str:
    """As in headings; the paper writes Breast_cancer."""
    name, _, task = dataset.partition("_")
    if name == "ackley":
        return f"Ackley {task}".strip()
    return dataset[:1].upper() + dataset[1:]

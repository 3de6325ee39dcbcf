"""The result of `evaluate`: scores, curves, and the least certain rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    precision_recall_fscore_support,
    roc_auc_score,
)

from batchensemble.cli.coverage_in_time import Part
from batchensemble.cli.format import counted, percent
from batchensemble.cli.scores import is_more_accurate
from batchensemble.estimators.usefulness import FEWEST_ROWS
from batchensemble.plots.charts import Chart
from batchensemble.plots.sheets import Cell, Sheet

N_DOUBTFUL = 20
N_SHOWN = 6  # columns of the file beside an uncertain row
MOST_CLASSES = 12  # of a confusion matrix
LONGEST = 60  # text in a table
ONLY_SHOWN = (
    "detail",
    "predicted",
    "subgroups",
    "reasons",
    "uncalibrated",
    "drawn_in_time",
)  # on a page


@dataclass(frozen=True)
class Curve:
    x: str
    y: str
    at: list[float]
    values: list[float]
    counts: list[int] | None = None  # rows behind each value, where they differ

    @classmethod
    def of(cls, x: str, y: str, at: NDArray[np.float64], values: NDArray[np.float64]) -> "Curve":
        return cls(x, y, at.tolist(), values.tolist())


@dataclass(frozen=True)
class Pairs:
    """Truth and prediction of each row, and its place in the file."""

    truth: NDArray[np.float64]
    mean: NDArray[np.float64]
    rows: list[str]


@dataclass(frozen=True)
class Windows:
    """Forecasts beside the truth: a frame with series, time, truth, mean, lower and upper."""

    frame: pd.DataFrame  # of the last window of each series
    history: pd.DataFrame  # what precedes it: series, time and truth
    is_date: bool


@dataclass(frozen=True)
class Evaluation:
    file: str
    task: str
    target: str
    coverage: float
    n_rows: int
    n_without_target: int
    scores: dict[str, float]
    calibration: Curve
    selective: Curve
    doubtful: Sheet
    mistakes: Sheet | None = None
    classes: Sheet | None = None  # scores of each class
    predicted: Sequence[int] = ()  # rows for which each class was predicted
    subgroups: Sheet | None = None  # coverage or accuracy in parts of the file
    reasons: Mapping[str, Sequence[Chart]] = field(default_factory=dict)  # of uncertain rows
    uncalibrated: Curve | None = None  # as `calibration`, before the model was calibrated
    detail: Pairs | Windows | None = None
    note: str = ""
    warnings: tuple[str, ...] = ()
    n_windows: int | None = None  # of forecasts, each of `horizon` steps
    horizon: int | None = None
    seed: int | None = None  # of the model
    n_calibrated: int = 0  # rows or forecasts that its intervals or sets rest on
    coverage_in_time: Sequence[Part] = ()  # of forecasts
    drawn_in_time: Sequence[Part] = ()  # the same, in finer parts

    @property
    def verdict(self) -> str:
        """One line on a classifier that a constant answer equals or beats; otherwise empty."""
        if "accuracy_of_commonest" not in self.scores or is_more_accurate(self.scores):
            return ""
        right, baseline = self.scores["accuracy"], self.scores["accuracy_of_commonest"]
        than = "less accurate than" if right < baseline else "no more accurate than"
        return (
            f"{than} always predicting the most common class: {percent(right)} of the rows are "
            f"right, against {percent(baseline)}; {self.advice}"
        )

    @property
    def advice(self) -> str:
        """What to do about a verdict."""
        if self.n_rows < FEWEST_ROWS:
            return "in so few rows that may be chance: evaluate it on more"
        return "judge it by its probabilities"

    @property
    def judged_on(self) -> str:
        rows = counted(self.n_rows, "row")
        if self.n_windows is None or self.horizon is None:
            return rows
        steps = counted(self.horizon, "step")
        return f"{counted(self.n_windows, 'window')} of {steps} ({rows})"

    def as_dict(self) -> dict[str, Any]:
        """All but the points of charts."""
        sheets = {"doubtful": self.doubtful}
        if self.classes:
            sheets["classes"] = self.classes
        return {
            "verdict": self.verdict,
            **{name: value for name, value in vars(self).items() if name not in ONLY_SHOWN},
            **{
                name: [dict(zip(sheet.columns, row, strict=True)) for row in sheet.rows]
                for name, sheet in sheets.items()
            },
        }


def doubtful(
    X: pd.DataFrame, doubt: NDArray[np.float64], beside: Mapping[str, Any], unit: str
) -> Sheet:
    """The least certain rows, the least certain first."""
    rows = np.argsort(-doubt, kind="stable")[:N_DOUBTFUL]
    shown = list(X)[:N_SHOWN]
    columns = {
        unit: X.index[rows],
        **{name: np.asarray(column)[rows] for name, column in beside.items()},
    }
    columns |= {
        f"{name} (column)" if name in columns else name: X[name].iloc[rows] for name in shown
    }
    lines = tuple(zip(*map(_cells, columns.values()), strict=True))
    more = len(X.columns) - len(shown)
    note = f"The first {N_SHOWN} columns of the file; {more} more are not shown." * (more > 0)
    return Sheet("doubtful", f"The least certain {unit}s", tuple(columns), lines, note)


def _cells(column: Iterable[Any]) -> list[Cell]:
    """As a table shows them; whole numbers if all are."""
    cells = [_cell(value) for value in column]
    numbers = [cell for cell in cells if isinstance(cell, float)]
    if all(number.is_integer() and abs(number) < 1e15 for number in numbers):
        return [int(cell) if isinstance(cell, float) else cell for cell in cells]
    return cells


def _cell(value: Any) -> Cell:
    if pd.isna(value):
        return None
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | float | np.number):
        return int(value) if isinstance(value, int | np.integer) else float(value)
    text = str(value).removesuffix(" 00:00:00")
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def mistakes(
    labels: NDArray[Any], y: NDArray[np.int64], predicted: NDArray[np.int64]
) -> Sheet | None:
    """The confusion matrix, if there are few classes."""
    classes = [str(one) for one in labels]
    if len(classes) > MOST_CLASSES:
        return None
    counts = confusion_matrix(y, predicted, labels=np.arange(len(classes)))
    lines = zip(classes, counts.tolist(), strict=True)
    rows: tuple[tuple[Cell, ...], ...] = tuple((name, *line) for name, line in lines)
    note = "Rows are true classes, columns are predicted ones."
    return Sheet("mistakes", "Right and wrong, by class", ("truth", *classes), rows, note)


def told_apart(is_own: NDArray[np.bool_], chance: NDArray[np.float64]) -> tuple[float, float]:
    """AUC and average precision of a class by its probability."""
    return float(roc_auc_score(is_own, chance)), float(average_precision_score(is_own, chance))


def by_class(
    labels: NDArray[Any],
    y: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    inside: NDArray[np.bool_] | None = None,
) -> Sheet:
    """How well each class is told from the others; gaps where it has no rows, or all.

    `inside` says of which rows the set holds the true class.
    """
    numbers = np.arange(len(labels))
    precision, recall, f1, counts = precision_recall_fscore_support(
        y, probabilities.argmax(axis=1), labels=numbers, zero_division=0.0
    )
    rows = []
    for i in numbers.tolist():
        is_own, own = y == i, probabilities[:, i]
        curves: list[Cell] = [None, None]
        if 0 < counts[i] < len(y):
            curves = [*told_apart(is_own, own)]
        shares = (float(recall[i]) if counts[i] else None, float(precision[i]), float(f1[i]))
        held: tuple[Cell, ...] = ()
        if inside is not None:
            held = (float(inside[is_own].mean()) if counts[i] else None,)
        rows.append((str(labels[i]), int(counts[i]), *shares, *curves, *held))
    names: tuple[str, ...] = ("class", "rows", "recall", "precision", "F1", "AUC")
    names = (*names, "average precision", *(["in its set"] if inside is not None else []))
    note = "Recall and precision are of the most probable class; AUC is 0.5 for guessing."
    return Sheet("classes", "Scores of each class", names, tuple(rows), note)

"""Results as tables: one row a number, and mean with standard error over the seeds."""

import csv
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from batchensemble.plots.looks import LOOKS
from batchensemble.plots.sheets import Cell, MeanSE, Sheet, show
from batchensemble.study.published import SHAPES
from batchensemble.study.spec import PLAIN, Settings
from batchensemble.study.store import Result, Store

Place = tuple[str, str]  # dataset, variant
QUICK = "QUICK: fewer epochs, seeds and rows; draw no conclusions"
UNFINISHED = "UNFINISHED: not all five seeds; draw no conclusions"
N_SEEDS = 5  # of the full study
COLUMNS = ("dataset", "variant", "method", "seed", "metric", "value")


def write_sheet(sheet: Sheet, folder: Path, note: str = "") -> list[Path]:
    """The table as CSV for machines, and as Markdown and LaTeX for people."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{sheet.name}.csv"
    _write_csv(sheet, path)
    if find_spec("tabulate") is None:
        return [path]
    from tabulate import tabulate

    cells = [[show(cell) for cell in row] for row in sheet.rows]
    numbers = [i for i, _ in enumerate(sheet.columns) if not isinstance(sheet.rows[0][i], str)]
    align = ["right" if i in numbers else "left" for i in range(len(sheet.columns))]
    layout: Any = {"headers": sheet.columns, "colalign": align, "disable_numparse": True}
    notes = [line for line in (note, sheet.note) if line]
    markdown = [f"## {sheet.title}", tabulate(cells, tablefmt="pipe", **layout), *notes]
    latex = [
        *(f"% {line}" for line in (sheet.title, *notes)),
        tabulate(cells, tablefmt="latex_booktabs", **layout).replace("±", r"$\pm$"),
    ]
    path.with_suffix(".md").write_text("\n\n".join(markdown) + "\n")
    path.with_suffix(".tex").write_text("\n".join(latex) + "\n")
    return [path.with_suffix(suffix) for suffix in (".csv", ".md", ".tex")]


def _write_csv(sheet: Sheet, path: Path) -> None:
    """A mean and its standard error are two columns."""
    columns = range(len(sheet.columns))
    is_pair = [any(isinstance(row[i], MeanSE) for row in sheet.rows) for i in columns]
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        names = zip(sheet.columns, is_pair, strict=True)
        rows.writerow([n for name, pair in names for n in ((name, f"{name}, SE")[: 1 + pair])])
        for row in sheet.rows:
            out: list[Cell] = []
            for cell, pair in zip(row, is_pair, strict=True):
                out += (cell if isinstance(cell, MeanSE) else (cell, None)) if pair else (cell,)
            rows.writerow(out)


def near_end(cell: MeanSE, *, highest: bool) -> float:
    """The end of an interval that others have to pass to be better beyond doubt."""
    return cell.mean + cell.se if highest else cell.mean - cell.se


def read_results(folder: Path) -> list[Result]:
    """All results of a folder of the study: the paper's datasets in its order, then others."""
    order = {name: i for i, name in enumerate(SHAPES)}
    results = sorted(Store(folder / "runs"), key=lambda r: order.get(r.run.dataset, len(order)))
    if not results:
        raise ValueError(
            f"expected results in {folder / 'runs'}, got none; make some with "
            f"`batchensemble reproduce -o {folder}`, or name the folder that has them"
        )
    return results


def label_of(results: Sequence[Result]) -> str:
    """What must stand on everything made from these results; nothing if they are a full study.

    The main study decides; where there is none of it, all results do.
    """
    runs = [r.run for r in results if r.run.change == PLAIN] or [r.run for r in results]
    if not runs or any(run.settings != Settings() for run in runs):
        return QUICK
    seeds: dict[tuple[str, str, str], set[int]] = {}
    for run in runs:
        seeds.setdefault((run.dataset, run.variant, run.entrant), set()).add(run.seed)
    return "" if all(own >= set(range(N_SEEDS)) for own in seeds.values()) else UNFINISHED


def write_runs(results: Iterable[Result], path: Path) -> None:
    """`runs.csv`: one row for each run and metric."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for result in results:
            run = result.run
            own = (run.dataset, run.variant, run.entrant, run.seed)
            for metric, value in result.metrics.items():
                rows.writerow([*own, metric, repr(value)])


def places(results: Iterable[Result]) -> list[Place]:
    """Datasets and variants of the main study, in the order of the results."""
    found = {(r.run.dataset, r.run.variant): None for r in results if r.run.change == PLAIN}
    return list(found)


def methods(results: Iterable[Result]) -> list[str]:
    """The methods of the main study: the paper's in its order, then others."""
    found = {r.run.method for r in results if r.run.change == PLAIN}
    return [m for m in LOOKS if m in found] + sorted(found - {*LOOKS})


def of_place(results: Iterable[Result], place: Place) -> list[Result]:
    """Of the main study."""
    key = (*place, PLAIN)
    return [r for r in results if (r.run.dataset, r.run.variant, r.run.change) == key]


def over_seeds(results: Iterable[Result], metric: str) -> dict[str, MeanSE]:
    """By entrant; only those that have the metric."""
    values: dict[str, list[float]] = {}
    for result in results:
        if metric in result.metrics:
            values.setdefault(result.run.entrant, []).append(result.metrics[metric])
    return {entrant: MeanSE.of(own) for entrant, own in values.items()}

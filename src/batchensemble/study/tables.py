"""Tables as files: CSV for machines, Markdown and LaTeX for people."""

import csv
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from batchensemble.plots.sheets import Cell, MeanSE, OneRun, Sheet, show


def write_sheet(sheet: Sheet, folder: Path, note: str = "") -> list[Path]:
    """The paths of the files; without tabulate, of the CSV alone."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{sheet.name}.csv"
    _write_csv(sheet, path)
    if find_spec("tabulate") is None:
        return [path]
    from tabulate import tabulate

    cells = [[show(cell) for cell in row] for row in sheet.rows]
    align = ["left" if isinstance(cell, str) else "right" for cell in sheet.rows[0]]
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
    """A mean and its standard error, if it is known, are two columns."""
    columns = range(len(sheet.columns))
    is_pair = [any(isinstance(row[i], MeanSE) for row in sheet.rows) for i in columns]
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        names = zip(sheet.columns, is_pair, strict=True)
        rows.writerow([n for name, pair in names for n in ((name, f"{name}, SE")[: 1 + pair])])
        for row in sheet.rows:
            out: list[Cell] = []
            for cell, pair in zip(row, is_pair, strict=True):
                if isinstance(cell, MeanSE):
                    out += (cell.mean, None if isinstance(cell, OneRun) else cell.se)
                else:
                    out += (cell, None)[: 1 + pair]
            rows.writerow(out)

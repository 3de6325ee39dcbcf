"""What the commands say on a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from batchensemble.cli.evaluation import Evaluation
from batchensemble.cli.given import Given
from batchensemble.cli.learning import Learned
from batchensemble.cli.scores import counted, in_words
from batchensemble.plots.sheets import Cell, brief

N_TERMINAL, N_COLUMNS = 5, 7  # rows of most doubt, and what is shown of them


def print_given(console: Console, given: Given) -> None:
    """How a file was understood."""
    without = given.n_without_target
    left = f"; {counted(without, 'row')} without a {given.target} left out" if without else ""
    console.print(f"[bold]{escape(Path(given.file).name)}[/]: {counted(given.n_rows, 'row')}{left}")
    console.print(f"Task: [bold]{given.task}[/] of {escape(given.target)} ({escape(given.why)})")
    if given.columns:
        by_kind: dict[str, list[str]] = {}
        for name, kind in given.columns.items():
            by_kind.setdefault(kind, []).append(name)
        console.print(f"Learns from {counted(len(given.columns), 'column')}:")
        _grid(console, [(kind, ", ".join(names)) for kind, names in by_kind.items()])
    reasons: dict[str, list[str]] = {}
    for name, why in given.left_out.items():
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        console.print(f"[yellow]Left out[/]: {escape(', '.join(names))} ({escape(why)})")
    for note in given.notes:
        console.print(f"[yellow]Note[/]: {escape(note)}")


def print_learned(console: Console, given: Given, learned: Learned, path: Path) -> None:
    """How well it went, and where the model is."""
    console.print(f"Judged on {learned.judged_on}.")
    if learned.scores:
        _print_scores(console, learned.scores, given.target, given.task, coverage=0.9)
    _print_calibrated(console, learned.calibrated)
    console.print(
        f"Model: [bold]{escape(str(path))}[/] "
        f"({learned.model.n_parameters_:,} parameters, {_size(path.stat().st_size)})",
        soft_wrap=True,
    )
    file = "" if given.task == "forecast" else " new.csv"
    console.print(f"Next: batchensemble predict {escape(str(path))}{file}", soft_wrap=True)


def print_evaluation(console: Console, found: Evaluation) -> None:
    without = found.n_without_target
    left = f"; {counted(without, 'row')} without a {found.target} left out" if without else ""
    console.print(f"[bold]{escape(Path(found.file).name)}[/]: {found.judged_on}{left}")
    if found.note:
        console.print(f"[yellow]Note[/]: {escape(found.note)}")
    _print_scores(console, found.scores, found.target, found.task, found.coverage)
    sheet = found.doubtful
    table = Table(box=None)
    for i, column in enumerate(sheet.columns[:N_COLUMNS]):
        is_number = any(isinstance(row[i], int | float) for row in sheet.rows)
        table.add_column(escape(column), justify="right" if is_number else "left")
    for row in sheet.rows[:N_TERMINAL]:
        table.add_row(*(escape(_written(cell)) for cell in row[:N_COLUMNS]))
    console.print("What it is least sure of:")
    console.print(table)


def _written(cell: Cell) -> str:
    if isinstance(cell, float):
        return brief(cell)
    return "" if cell is None else str(cell)


def print_inspected(console: Console, facts: Mapping[str, Any]) -> None:
    """A model's file, the most telling first."""
    target, settings = facts["target"], facts["settings"]
    console.print(f"[bold]{escape(facts['file'])}[/]", soft_wrap=True)
    rows = [
        ("task", f"{facts['task']} of {target['name'] or 'an unnamed target'}"),
        ("method", f"{facts['method']}, {settings['n_members']} members"),
        ("parameters", f"{facts['n_parameters']:,}"),
        ("columns", ", ".join(f"{one['name']} ({one['kind']})" for one in facts["columns"]) or "-"),
        ("target", _told({name: fact for name, fact in target.items() if name != "name"})),
        ("fitted", facts["fitted_at"].replace("T", " ")),
        *(("training", _trained(one)) for one in facts["training"]),
        (
            "file",
            f"{_size(facts['bytes'])}, format {facts['format']}, batchensemble {facts['library']}",
        ),
        ("settings", _told({k: v for k, v in settings.items() if v is not None})),
    ]
    _grid(console, rows)
    origin = facts["origin"]
    if origin:
        console.print(
            f"Learned from {origin['n_learned']:,} rows of {escape(Path(origin['file']).name)}, "
            f"judged on {escape(origin['judged_on'])}."
        )
        _print_scores(console, origin["scores"], origin["target"], origin["task"], coverage=0.9)
        _print_calibrated(console, origin["calibrated"])


def _trained(history: Mapping[str, Any]) -> str:
    """Of one training."""
    losses = [sum(row) / len(row) for row in history["losses"]]
    ended = {"epochs": "all there were to be", "patience": "it got no better"}
    why = ended.get(history["ended"], history["ended"].replace("_", " "))
    spent = f"{len(losses)} epochs ({why}) in {brief(history['seconds'])} s"
    return f"{spent}; loss from {brief(losses[0])} to {brief(losses[-1])}" if losses else spent


def _print_scores(
    console: Console, scores: Mapping[str, float], target: str, task: str, coverage: float
) -> None:
    _grid(console, in_words(scores, target=target, task=task, coverage=coverage, few=True))


def _print_calibrated(console: Console, words: str) -> None:
    if words:
        console.print(f"Calibrated: {escape(words)}.")


def _grid(console: Console, rows: Iterable[Sequence[str]]) -> None:
    """Columns side by side; the last may take several lines."""
    table = Table.grid(padding=(0, 2))
    for i, row in enumerate(rows):
        if i == 0:
            for j in range(len(row)):
                is_number = 0 < j < len(row) - 1
                table.add_column(justify="right" if is_number else "left", no_wrap=j < len(row) - 1)
        table.add_row("  " + escape(row[0]), *map(escape, row[1:]))
    console.print(table)


def _told(value: Any) -> str:
    match value:
        case None:
            return "-"
        case dict():
            return ", ".join(f"{name} {_told(one)}" for name, one in value.items())
        case list() | tuple():
            return ", ".join(_told(one) for one in value)
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:g}"
        case _:
            return str(value)


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e3:,.0f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:,.1f} MB"

"""What `fit` prints: how a file was read, what the target is, and the scores."""

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from rich.console import Console
from rich.markup import escape

from batchensemble.cli.format import counted, named, print_grid


def print_source(console: Console, origin: Mapping[str, Any]) -> None:
    """How a file was read."""
    target = origin["target"]
    print_rows(console, counted(origin["n_rows"], "row"), origin)
    console.print(f"Task: [bold]{origin['task']}[/] of {escape(target)} ({escape(origin['why'])})")
    if origin["columns"]:
        console.print(f"Learns from {counted(len(origin['columns']), 'column')}:")
        by_kind = _grouped(origin["columns"])
        print_grid(console, [(kind, ", ".join(names)) for kind, names in by_kind.items()])
    for reason, names in _grouped(origin["left_out"]).items():
        console.print(f"[yellow]Left out[/]: {escape(', '.join(names))} ({escape(reason)})")
    for note in origin["notes"]:
        console.print(f"[yellow]Note[/]: {escape(note)}")


def print_groups(console: Console, folder: Path, counts: Mapping[str, Any]) -> None:
    """How many models were fitted, and what to do with them."""
    name, n_kept = escape(str(folder)), counts["n_kept"]
    kept = f"; {n_kept:,} already existed" if n_kept else ""
    console.print(f"Models: [bold]{name}[/] ({counted(counts['n_groups'], 'group')}{kept})")
    notes = {"not_calibrated": "not calibrated", "doubted": "with warnings"}
    for fact, words in notes.items():
        if some := counts[fact]:
            told = f"{words} (see `inspect`): {counted(len(some), 'group')}, {named(some)}"
            console.print(f"[yellow]Note[/]: {escape(told)}", soft_wrap=True)
    print_next(console, folder, " new.csv")


def print_next(console: Console, path: Path, new: str) -> None:
    """The command that predicts with a model, as a shell reads it."""
    console.print(f"Next: batchensemble predict {escape(quote(str(path)))}{new}", soft_wrap=True)


def print_rows(console: Console, rows: str, facts: Mapping[str, Any]) -> None:
    """A file and its rows, and how many were left out."""
    from batchensemble.data.file_lists import is_pattern

    file, n = facts["file"], facts["n_without_target"]
    left_out = f"; left out {counted(n, 'row')} without {escape(facts['target'])}" if n else ""
    name = str(file) if is_pattern(file) else Path(file).name
    console.print(f"[bold]{escape(name)}[/]: {rows}{left_out}")


def print_kind(console: Console, model: Any) -> None:
    """What a number was recognised to be, how to say otherwise, and what may help."""
    from batchensemble.estimators.target_kinds import described

    if rare := getattr(model, "intermittent_", []):
        history = model.model_.encoder.draws_history
        drawn_from = "past values, which did better than the network" if history else "the network"
        console.print(
            f"[yellow]Note[/]: {len(rare):,} of {len(model.panel_):,} series are intermittent, "
            f"with zeros between the values; their forecasts are drawn from {drawn_from}"
        )
    kind = getattr(model, "target_kind_", "real")
    if kind == "real" and not getattr(model, "target", None):
        return
    is_given = model.target or model.target_bounds
    how = "" if is_given else "; recognised, --target-kind overrides it"
    console.print(f"Target: {escape(described(kind, model.transform_))}{how}")
    if kind == "positive" and model.spread_.skewed and not any(model.transform_.rates):
        console.print(
            "[yellow]Note[/]: its errors are skewed, which calibrated intervals allow for; with "
            "--target-scaling log they may be sharper still: compare the CRPS"
        )


def print_result(console: Console, origin: Mapping[str, Any]) -> None:
    """The scores of a training, and what calibration changed."""
    from batchensemble.cli.scores import print_scores

    judged_on = escape(origin["judged_on"])
    console.print(f"Scores on {judged_on}:" if origin["scores"] else f"Not scored: {judged_on}.")
    print_scores(console, origin, coverage=0.9)
    if origin["calibrated"]:
        console.print(f"{escape(origin['calibrated'])}.")


def _grouped(by_name: Mapping[str, str]) -> dict[str, list[str]]:
    groups = dict.fromkeys(by_name.values())
    return {one: [name for name, group in by_name.items() if group == one] for one in groups}

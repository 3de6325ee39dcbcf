"""`batchensemble inspect`: what a model is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import typer
from rich.console import Console
from rich.markup import escape

from batchensemble.cli.errors import Terminal
from batchensemble.cli.format import as_json, plain, print_grid, size
from batchensemble.cli.options import JsonOption, ModelArgument

ENDINGS = {"epochs": "all epochs", "patience": "stopped early"}


def inspect(model: ModelArgument, json: JsonOption = False) -> None:
    """Show what a model is: its task, columns, settings, training and size."""
    facts = describe_model(model)
    if json:
        typer.echo(as_json(facts))
    else:
        print_model(Terminal(highlight=False), facts)


def describe_model(path: Path) -> dict[str, Any]:
    """Its description, its training, and the data it comes from if `fit` made it."""
    from dataclasses import asdict

    from batchensemble.estimators.joint import JointRegressor
    from batchensemble.estimators.loading import load
    from batchensemble.modelfile.persistence import describe

    model = load(path, device="cpu")
    origins, first = None, cast(Any, model)
    if isinstance(model, JointRegressor):
        from batchensemble.cli.joint import first_of, origins_of

        origins, first = origins_of(model), first_of(model)
    return {
        "file": str(path),
        **describe(path),
        "training": [asdict(history) for history in model.history_],
        "n_calibrated": len(first.calibration_ or ()),
        "origin": getattr(model, "origin_", None),
        "origins": origins,
    }


def print_model(console: Console, facts: Mapping[str, Any]) -> None:
    from batchensemble.cli.fit_output import print_result

    target, settings, origin = facts["target"], facts["settings"], facts["origin"]
    versions = f"format {facts['format']}, batchensemble {facts['library']}"
    console.print(f"[bold]{escape(facts['file'])}[/]", soft_wrap=True)
    columns = (f"{one['name']} ({one.get('kind')})" for one in facts["columns"])
    rows = [
        ("task", f"{facts['task']} of {target['name'] or 'an unnamed target'}"),
        ("method", f"{facts['method']}, {facts.get('n_members') or settings['n_members']} members"),
        ("parameters", f"{facts['n_parameters']:,}"),
        ("columns", ", ".join(columns) or "-"),
        *([("written", _written(origin))] if (origin or {}).get("notations") else []),
        *(("target", _target(one)) for one in facts.get("targets", [{**target, "name": None}])),
        *([("correlation", _matrix(facts))] if "correlation" in facts else []),
        ("fitted", facts["fitted_at"].replace("T", " ")),
        *(("training", _training(one)) for one in facts["training"]),
        ("file", f"{size(facts['bytes'])}, {versions}"),
        ("settings", plain({k: v for k, v in settings.items() if v is not None})),
    ]
    print_grid(console, rows)
    if origin:
        file = escape(Path(origin["file"]).name)
        console.print(f"Trained on {origin['n_learned']:,} rows of {file}.")
        if facts.get("origins"):
            from batchensemble.cli.joint import print_targets

            print_targets(console, facts["origins"], origin["scores"])
        else:
            print_result(console, origin)


def _target(target: Mapping[str, Any]) -> str:
    learned = plain({name: _words(fact) for name, fact in target.items() if name != "name"})
    return f"{target['name']}: {learned}" if target["name"] else learned


def _words(fact: Any) -> Any:
    """Classes as `predict` writes them: here true is a word."""
    if not isinstance(fact, list):
        return fact
    return [str(one).lower() if isinstance(one, bool) else one for one in fact]


def _matrix(facts: Mapping[str, Any]) -> str:
    """Of the errors of every two targets."""
    names = [one["name"] for one in facts["targets"]]
    pairs = ((i, k) for i in range(len(names)) for k in range(i))
    rows = facts["correlation"]
    return ", ".join(f"{names[k]} and {names[i]} {rows[i][k]:.2f}" for i, k in pairs)


def _written(origin: Mapping[str, Any]) -> str:
    """How columns are read that were not written plainly."""
    from batchensemble.data.notation import Notation

    notations = {name: Notation.of(parts) for name, parts in origin["notations"].items()}
    return ", ".join(f"{name} like {one.example()}" for name, one in notations.items())


def _training(history: Mapping[str, Any]) -> str:
    from batchensemble.plots.sheets import brief

    losses = [sum(row) / len(row) for row in history["losses"]]
    ending = ENDINGS.get(history["ended"], history["ended"].replace("_", " "))
    spent = f"{len(losses)} epochs ({ending}) in {brief(history['seconds'])} s"
    return f"{spent}; loss from {brief(losses[0])} to {brief(losses[-1])}" if losses else spent

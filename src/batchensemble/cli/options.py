"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated, Any

import typer

DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A .csv, .csv.gz, .tsv, .parquet or .feather file; - reads a CSV from a pipe.",
    ),
]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model written by fit.")]
CoverageOption = Annotated[
    float,
    typer.Option(
        min=0.01, max=0.999, help="Share of true values that intervals and sets should contain."
    ),
]
DeviceOption = Annotated[str, typer.Option(help='"auto", "cpu" or "cuda".')]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def forecast_option(text: str, **more: Any) -> Any:
    return typer.Option(help=text, rich_help_panel="Forecasts", **more)

"""Arguments and options that several commands share."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer


def option(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, **more)


forecast_option = partial(option, rich_help_panel="Forecasts")

DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A .csv, .csv.gz, .tsv, .parquet or .feather file; - reads a CSV from a pipe.",
    ),
]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model written by fit.")]
Names = list[str] | None
CoverageOption = Annotated[
    float, option("Share of true values that intervals and sets should hold.", min=0.01, max=0.999)
]
DeviceOption = Annotated[str, option('"auto", "cpu" or "cuda".')]
JsonOption = Annotated[bool, option("Print one JSON object instead of text.", "--json")]

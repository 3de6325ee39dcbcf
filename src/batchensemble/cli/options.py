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
        help="A .csv, .csv.gz, .tsv, .xlsx, .parquet or .feather file, or - for a CSV from a pipe.",
    ),
]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model written by fit.")]
Names = list[str] | None
CoverageOption = Annotated[
    float,
    option("Share of true values that intervals and sets should contain.", min=0.01, max=0.999),
]
DeviceOption = Annotated[
    str, option('Where to compute: "cpu", "cuda", or "auto" for a GPU if there is one.')
]
JsonOption = Annotated[bool, option("Print one JSON object instead of text.", "--json")]

file_option = partial(option, rich_help_panel="Files")
DecimalOption = Annotated[
    str | None, file_option("Decimal mark of numbers, . or , ; by default recognised.")
]
ThousandsOption = Annotated[
    str | None,
    file_option("Mark between thousands: , or . or ' or a space; by default recognised."),
]
DayfirstOption = Annotated[
    bool | None,
    file_option("Whether 01/02/2026 is the first of February; by default recognised."),
]
EncodingOption = Annotated[
    str | None, file_option("Encoding of a CSV, such as cp1252; by default recognised.")
]
SkipLinesOption = Annotated[
    int, file_option("Lines above the column names to skip.", min=0, metavar="N")
]
SheetOption = Annotated[
    str | None, file_option("Name or number of a sheet in an Excel file; by default the first.")
]

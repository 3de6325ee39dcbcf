"""`batchensemble predict`: predictions for a file, or the next steps of series."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from batchensemble.cli.format import as_json, counted
from batchensemble.cli.options import (
    CoverageOption,
    DayfirstOption,
    DecimalOption,
    DeviceOption,
    EncodingOption,
    JsonOption,
    ModelArgument,
    Names,
    SheetOption,
    SkipLinesOption,
    ThousandsOption,
    forecast_option,
    option,
)


def predict(
    model: ModelArgument,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="Rows to predict, in any format that fit reads; - reads a CSV from a pipe; a "
            "folder or a pattern in quotes for many files. For a forecast: the series to continue, "
            "by default the training series.",
        ),
    ] = None,
    out: Annotated[
        Path,
        option(
            ".csv, .csv.gz, .parquet, .feather, or - to print a CSV, on a terminal with six "
            "digits; a folder for many files.",
            "--out",
            "-o",
        ),
    ] = Path("-"),
    coverage: CoverageOption = 0.9,
    keep: Annotated[
        Names, option("Columns of DATA to copy: comma-separated, or all; may be repeated.")
    ] = None,
    horizon: Annotated[
        int | None, forecast_option("Steps to forecast; by default the model's horizon.", min=1)
    ] = None,
    ahead: Annotated[
        Path | None, forecast_option("A file with the future values of the --future columns.")
    ] = None,
    ray: Annotated[
        str | None,
        option("Predict many files on this Ray cluster; local starts one here.", metavar="ADDRESS"),
    ] = None,
    device: DeviceOption = "auto",
    decimal: DecimalOption = None,
    thousands: ThousandsOption = None,
    dayfirst: DayfirstOption = None,
    encoding: EncodingOption = None,
    skip_lines: SkipLinesOption = 0,
    sheet: SheetOption = None,
    json: JsonOption = False,
) -> None:
    """Predict the rows of a file of any size, in order.

    A regression writes `mean` and `std`, `lower` and `upper` (an interval that contains the true
    value with probability `--coverage`), and the two parts of the variance std²: `aleatoric`, noise
    in the data, and `epistemic`, uncertainty of the model. Calibration corrects the interval alone:
    `std` and its parts stay as the model predicts them.

    A classification writes the `prediction`, its `confidence`, a probability `p_CLASS` for each
    class, and entropies in nats: `total`, the sum of `aleatoric` (noise) and `epistemic` (model).
    A calibrated model adds `set`, classes that include the true one with probability `--coverage`.

    For a folder, each file's predictions go into a file of the same name; existing ones
    are not recomputed.

    A model of several targets has these columns for each, as `TARGET_mean`, `TARGET_std` and so on.

    A forecast writes the next times of each series with `mean`, `lower` and `upper`.

    A folder written by `fit --by` predicts each row with the model of its group.

    `batchensemble predict houses.be new.csv -o out.csv --keep id`

    `batchensemble predict houses.be 'new/*.parquet' -o out/`

    `cat new.csv | batchensemble predict houses.be - | head`
    """
    if json and out == Path("-"):
        raise typer.BadParameter("--json needs a file for the predictions: -o FILE")
    from batchensemble.cli.errors import Terminal, plain_warnings
    from batchensemble.cli.folders import is_many, predict_folder
    from batchensemble.cli.model_folder import load_models
    from batchensemble.cli.predictions import predict_file
    from batchensemble.data.file_options import FileOptions

    options = FileOptions(decimal, thousands, dayfirst, encoding, skip_lines, sheet)
    how: Any = {
        "coverage": coverage,
        "keep": keep or [],
        "options": options,
    }
    if ray and not is_many(data):
        raise typer.BadParameter("--ray is for a folder or a pattern of files, such as 'in/*.csv'")
    with plain_warnings(Terminal(stderr=True, highlight=False)), progress_bar(out) as progress:
        if data is not None and is_many(data):
            if horizon or ahead:
                raise typer.BadParameter("--horizon and --ahead are for forecasts, not for folders")
            done = predict_folder(
                model, data, out, device=device, ray=ray, progress=progress, **how
            )
        else:
            done = predict_file(
                load_models(model, device),
                data,
                out,
                horizon=horizon,
                ahead=ahead,
                progress=progress,
                **how,
            )
    if json:
        typer.echo(as_json({"model": model, **done}))
    elif out != Path("-"):
        said = counted(done["n_rows"], "row")
        if "n_files" in done:
            said += f" of {counted(done['n_files'], 'file')}"
            said += f" ({done['n_before']:,} done before)" if done["n_before"] else ""
        Terminal(stderr=True, highlight=False).print(f"{said}: {out}", soft_wrap=True, markup=False)


@contextmanager
def progress_bar(out: Path) -> Iterator[Callable[[int, float | None], None]]:
    """A function of the rows done and the share of the file read; shown if stderr is a terminal.

    Not between rows that are printed to a terminal themselves.
    """
    console = Console(stderr=True)
    is_read = out == Path("-") and sys.stdout is not None and sys.stdout.isatty()
    columns = (TextColumn("{task.fields[rows]:,} rows"), BarColumn(), TimeRemainingColumn())
    with Progress(
        *columns,
        console=console,
        transient=True,
        disable=is_read or not console.is_terminal,
        redirect_stdout=False,
    ) as bar:
        task = bar.add_task("", total=None, rows=0)

        def progress(n_rows: int, share: float | None) -> None:
            total = None if share is None else 1.0
            bar.update(task, completed=share or 0.0, total=total, rows=n_rows)

        yield progress

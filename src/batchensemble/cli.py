"""The command line: it parses, calls and prints; it never thinks."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

app = typer.Typer(
    help="Predictions with trustworthy uncertainty, at the price of one network.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def main() -> None:
    """Keep the commands apart, also while there is only one."""


@app.command()
def datasets(
    download: Annotated[
        bool, typer.Option("--download", help="Fetch what is missing from its public origin.")
    ] = False,
) -> None:
    """List the datasets: what is here, and where the others come from."""
    from batchensemble.datasets.catalogue import print_datasets

    print_datasets(Console(), download=download)


@app.command()
def reproduce(
    profile: Annotated[
        str, typer.Option(help="quick (fewer epochs, seeds and rows: minutes) or full.")
    ] = "full",
    only: Annotated[
        list[str] | None, typer.Option(help="Only this dataset; may be given several times.")
    ] = None,
    device: Annotated[str, typer.Option(help='"auto", "cpu" or "cuda".')] = "auto",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Results folder; results or results/quick if not said."),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes at a time; -1: one for each core.")] = -1,
) -> None:
    """Compare the four methods on the datasets that are here, and print their metrics.

    Every run is kept as soon as it is done: start it again after an interruption, and only what is
    left is run.
    """
    from batchensemble.study.summary import reproduce as run

    try:
        run(
            profile=profile,
            only=only,
            device=device,
            folder=out or Path("results") / ("" if profile == "full" else profile),
            n_jobs=jobs,
            console=Console(),
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None

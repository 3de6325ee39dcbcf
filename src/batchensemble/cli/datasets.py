"""`batchensemble datasets`: what the study can run on."""

from typing import Annotated

import typer
from rich.console import Console


def datasets(
    download: Annotated[
        bool, typer.Option("--download", help="Download missing datasets from their public source.")
    ] = False,
) -> None:
    """List the datasets of the study: which are here, and where to get the others."""
    from batchensemble.study.datasets.catalogue import print_datasets

    print_datasets(Console(), download=download)

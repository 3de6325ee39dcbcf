"""`batchensemble datasets`: what the study can run on."""

from typing import Annotated

from rich.console import Console

from batchensemble.cli.options import option


def datasets(
    download: Annotated[bool, option("Download what is missing.", "--download")] = False,
) -> None:
    """List the study's datasets: which are available, and where to get the others."""
    from batchensemble.study.datasets.catalogue import print_datasets

    print_datasets(Console(), download=download)

"""`batchensemble reproduce`, `ablate` and `report`: the study."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from batchensemble.cli.options import DeviceOption, Names, option

ProfileOption = Annotated[str, option("full, or quick: fewer epochs, seeds and rows, in minutes.")]
OnlyOption = Annotated[Names, option("Run only this dataset; may be repeated.")]
JobsOption = Annotated[int, option("Parallel processes; -1 for one per core, or one on a GPU.")]


def reproduce(
    profile: ProfileOption = "full",
    only: OnlyOption = None,
    method: Annotated[Names, option("Run only this method; may be repeated.")] = None,
    table: Annotated[
        list[Path] | None, option("Your own .csv, .csv.gz or .parquet file; needs --target.")
    ] = None,
    target: Annotated[Names, option("The target column of --table; give one per --table.")] = None,
    plugin: Annotated[
        list[Path] | None, option("A Python file that adds your own datasets or methods.")
    ] = None,
    device: DeviceOption = "auto",
    out: Annotated[
        Path | None, option("Results folder; by default results/PROFILE.", "--out", "-o")
    ] = None,
    jobs: JobsOption = -1,
) -> None:
    """Compare the methods on all available datasets; write tables, figures, verdicts and a report.

    Every run is saved as soon as it is finished: after an interruption, the same command runs only
    what is missing.
    """
    from batchensemble.study.additions import Additions
    from batchensemble.study.reproduction import reproduce as run

    if len(table or []) != len(target or []):
        raise typer.BadParameter("expected a --target for each --table")
    run(
        profile=profile,
        only=only or (),
        methods=method or (),
        additions=Additions(
            tuple(plugin or ()), tuple(zip(table or (), target or (), strict=True))
        ),
        device=device,
        folder=out or Path("results") / profile,
        n_jobs=jobs,
        console=Console(),
    )


def ablate(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="ABLATION...",
            help="adapters, init, gates, layers, members, batching, first_values, bounds, or all.",
        ),
    ],
    profile: ProfileOption = "full",
    only: OnlyOption = None,
    device: DeviceOption = "auto",
    out: Annotated[
        Path | None,
        option("Results folder; by default results/full or quick-ablations.", "--out", "-o"),
    ] = None,
    jobs: JobsOption = -1,
) -> None:
    """Change one part of BatchEnsemble at a time, to see which parts matter.

    Full ablations share the results folder of the full study and reuse its runs.
    """
    from batchensemble.study.reproduction import ablate as run

    folder = Path("results") / (profile if profile == "full" else f"{profile}-ablations")
    run(
        names=names,
        profile=profile,
        only=only or (),
        device=device,
        folder=out or folder,
        n_jobs=jobs,
        console=Console(),
    )


def report(
    results: Annotated[Path, typer.Argument(help="Results folder written by reproduce.")],
    out: Annotated[Path, option("The page to write.", "--out", "-o")] = Path("report.html"),
) -> None:
    """Write the results as one HTML page that works offline in any browser."""
    from batchensemble.study.report import write_report

    path = write_report(results, out)
    Console().print(f"Report: {path}", soft_wrap=True)

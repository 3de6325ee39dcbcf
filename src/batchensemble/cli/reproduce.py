"""`batchensemble reproduce` and `report`: the study."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from batchensemble.cli.options import DeviceOption, Names, option

ProfileOption = Annotated[str, option("full, or quick: fewer epochs, seeds and rows, in minutes.")]
ONLY = (
    "Run only this part or dataset; may be repeated. Parts: main, matched, as_written, costs, "
    "ablations (or one of adapters, init, gates, layers, members, batching, first_values, bounds). "
    "Beyond the paper, and only if named: sensitivity, ackley, starts."
)
OnlyOption = Annotated[Names, option(ONLY)]
JobsOption = Annotated[int, option("Parallel processes; -1 for one per core, or one on a GPU.")]


def reproduce(
    profile: ProfileOption = "full",
    only: OnlyOption = None,
    method: Annotated[Names, option("Run only this method; may be repeated.")] = None,
    table: Annotated[
        list[Path] | None, option("Your own .csv, .csv.gz or .parquet file; needs --target.")
    ] = None,
    target: Annotated[Names, option("The target column of a --table; one for each.")] = None,
    plugin: Annotated[
        list[Path] | None, option("A Python file that adds your own datasets or methods.")
    ] = None,
    device: DeviceOption = "auto",
    out: Annotated[
        Path | None, option("Results folder; by default results/PROFILE.", "--out", "-o")
    ] = None,
    jobs: JobsOption = -1,
    seeds: Annotated[
        int | None,
        option(
            "How many seeds, instead of the profile's; 20 for verdicts by paired differences.",
            min=1,
        ),
    ] = None,
    ray: Annotated[
        str | None,
        option("Run on this Ray cluster; local starts one here.", metavar="ADDRESS"),
    ] = None,
) -> None:
    """Run the whole study of the paper, on all available datasets.

    The parts: main, four methods; matched, methods with equally many parameters; as_written, the
    loss without the bounds that keep it stable; ablations; costs. Then it writes tables, figures,
    verdicts and a report. Every run is saved as soon as it is finished: after an interruption, the
    same command runs only what is missing.
    """
    from batchensemble.study.additions import Additions
    from batchensemble.study.reproduction import reproduce as run

    if len(table or []) != len(target or []):
        raise typer.BadParameter(
            f"expected a --target for each --table, got {len(target or [])} for {len(table or [])}"
        )
    folder = out or Path("results") / profile
    with ExitStack() as stack:
        elsewhere = None
        if ray:
            from batchensemble.adapters.ray import connected, map_by_tasks

            stack.enter_context(connected(ray))
            elsewhere, folder = map_by_tasks, folder.resolve()  # workers may be in other folders
        run(
            elsewhere=elsewhere,
            profile=profile,
            only=only or (),
            methods=method or (),
            additions=Additions(
                tuple(plugin or ()), tuple(zip(table or (), target or (), strict=True))
            ),
            device=device,
            folder=folder,
            n_jobs=jobs,
            console=Console(),
            n_seeds=seeds,
        )


def report(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="Results folder written by reproduce.")
    ],
    out: Annotated[Path, option("The page to write.", "--out", "-o")] = Path("report.html"),
) -> None:
    """Write the results of a study as one HTML page that works offline in any browser."""
    from batchensemble.study.report import write_report

    path = write_report(results, out)
    Console().print(f"Report: {path}", soft_wrap=True, markup=False)

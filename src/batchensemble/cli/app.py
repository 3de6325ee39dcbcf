"""The command line: it parses, calls and prints; it never thinks."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from batchensemble.cli import commands
from batchensemble.cli.exits import CODES, one_line_errors

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)

ProfileOption = Annotated[
    str, typer.Option(help="quick (fewer epochs, seeds and rows: minutes) or full.")
]
OnlyOption = Annotated[
    list[str] | None, typer.Option(help="Only this dataset; may be given several times.")
]
DeviceOption = Annotated[str, typer.Option(help='"auto", "cpu" or "cuda".')]
JobsOption = Annotated[
    int, typer.Option(help="Processes at a time; -1: one for each core, or one on a GPU.")
]


STOPPED = "Stopped. What is done is kept: the same command goes on from here."
OWN, STUDY = "Your own data", "The study"


@app.callback(epilog=CODES)
def main() -> None:
    """Predictions with trustworthy uncertainty, at a fraction of the size of ten networks."""


app.command(rich_help_panel=OWN, epilog=CODES)(commands.fit)
app.command(rich_help_panel=OWN, epilog=CODES)(commands.predict)
app.command(rich_help_panel=OWN, epilog=CODES)(commands.evaluate)
app.command(rich_help_panel=OWN)(commands.inspect)
app.command(rich_help_panel=OWN)(commands.export)


@app.command(rich_help_panel=STUDY)
def datasets(
    download: Annotated[
        bool, typer.Option("--download", help="Fetch what is missing from its public origin.")
    ] = False,
) -> None:
    """List the datasets: what is here, and where the others come from."""
    from batchensemble.study.datasets.catalogue import print_datasets

    print_datasets(Console(), download=download)


@app.command(rich_help_panel=STUDY)
def reproduce(
    profile: ProfileOption = "full",
    only: OnlyOption = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Only this method; may be given several times.")
    ] = None,
    table: Annotated[
        list[Path] | None,
        typer.Option(help="A .csv, .csv.gz or .parquet file of your own; needs --target."),
    ] = None,
    target: Annotated[
        list[str] | None, typer.Option(help="The target column of --table; one for each.")
    ] = None,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(help="A Python file that adds datasets or methods of your own."),
    ] = None,
    device: DeviceOption = "auto",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Results folder; results/PROFILE if not said."),
    ] = None,
    jobs: JobsOption = -1,
) -> None:
    """Compare the methods on the datasets that are here: tables, figures, verdicts, a report.

    Every run is kept as soon as it is done: start it again after an interruption, and only what is
    left is run.
    """
    from batchensemble.study.additions import Additions
    from batchensemble.study.reproduction import reproduce as run

    if len(table or []) != len(target or []):
        raise typer.BadParameter("expected a --target for each --table")
    with one_line_errors(STOPPED):
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


@app.command(rich_help_panel=STUDY)
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
        typer.Option(
            "--out",
            "-o",
            help="Results folder; results/full or results/quick-ablations if not said.",
        ),
    ] = None,
    jobs: JobsOption = -1,
) -> None:
    """Is all of BatchEnsemble needed? Change one thing at a time, and see.

    Full ablations share the results folder of the full study: what it has is not trained again.
    """
    from batchensemble.study.reproduction import ablate as run

    folder = Path("results") / (profile if profile == "full" else f"{profile}-ablations")
    with one_line_errors(STOPPED):
        run(
            names=names,
            profile=profile,
            only=only or (),
            device=device,
            folder=out or folder,
            n_jobs=jobs,
            console=Console(),
        )


@app.command(rich_help_panel=STUDY)
def report(
    results: Annotated[Path, typer.Argument(help="Results folder, as `reproduce` left it.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path(
        "report.html"
    ),
) -> None:
    """Write one self-contained page, for any browser and without a network, from results."""
    from batchensemble.study.report import write_report

    with one_line_errors(STOPPED):
        path = write_report(results, out)
    Console().print(f"Report: {path}", soft_wrap=True)

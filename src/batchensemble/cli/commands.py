"""The commands for one's own files: they parse, call and print, and never think."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from batchensemble.cli.exits import Terminal, one_line_errors

Method = Literal["batch_ensemble", "deep_ensemble", "mc_dropout", "single"]
Preset = Literal["default", "paper"]
Task = Literal["regression", "classification", "forecast"]
Fill = Literal["interpolate", "ffill"]

DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="A .csv, .csv.gz, .tsv, .parquet or .feather file; - is a CSV pipe."
    ),
]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that fit wrote.")]
CoverageOption = Annotated[
    float,
    typer.Option(min=0.01, max=0.999, help="Share of truths that intervals and sets shall hold."),
]
DeviceOption = Annotated[str, typer.Option(help='"auto", "cpu" or "cuda".')]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")]


def _ahead(text: str, **more: Any) -> Any:
    return typer.Option(help=text, rich_help_panel="Forecasts", **more)


def _training(text: str, **more: Any) -> Any:
    return typer.Option(help=text, rich_help_panel="Training", **more)


def fit(
    data: DataArgument,
    target: Annotated[str, typer.Option("--target", "-t", help="The column to predict.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The model to write; DATA's name with .be if not said."),
    ] = None,
    task: Annotated[
        Task | None,
        typer.Option(
            metavar="TASK",
            help="regression, classification or forecast; recognised if not said.",
        ),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="A column not to learn from; may be repeated.")
    ] = None,
    holdout: Annotated[
        float,
        typer.Option(min=0, max=0.5, metavar="SHARE", help="Of the rows, to judge the model by."),
    ] = 0.2,
    calibrate: Annotated[
        bool | None,
        typer.Option(
            help="Correct intervals by what was held back: of tables unless told not to, of "
            "series, which then hold back more, if told to."
        ),
    ] = None,
    time: Annotated[str | None, _ahead("The column of times: makes it a forecast.")] = None,
    series: Annotated[str | None, _ahead("The column that tells several series apart.")] = None,
    horizon: Annotated[int | None, _ahead("Steps to forecast; 12 if not said.", min=1)] = None,
    freq: Annotated[
        str | None, _ahead("From one time to the next, such as D, MS or h; else inferred.")
    ] = None,
    fill: Annotated[Fill | None, _ahead("How to close gaps in the series.")] = None,
    future: Annotated[
        list[str] | None, _ahead("A column that is known ahead; may be repeated.")
    ] = None,
    past: Annotated[
        list[str] | None, _ahead("A column known up to the present; may be repeated.")
    ] = None,
    method: Annotated[
        Method,
        _training("batch_ensemble, deep_ensemble, mc_dropout or single.", metavar="METHOD"),
    ] = "batch_ensemble",
    members: Annotated[int, _training("How many predictions.", min=1)] = 10,
    preset: Annotated[Preset, _training("Settings that go together.")] = "default",
    epochs: Annotated[int | None, _training("At most; it may end earlier.", min=1)] = None,
    time_limit: Annotated[
        float | None, _training("Seconds after which it ends with what it has.", min=0.001)
    ] = None,
    seed: Annotated[int, _training("The same seed gives the same model.", min=0)] = 0,
    device: Annotated[str, _training('"auto", "cpu" or "cuda".')] = "auto",
    json: JsonOption = False,
) -> None:
    """Learn from a file, and say how far the model is to be trusted.

    Words, numbers, true/false and dates that begin with the year (2026-01-31) are recognised; an
    empty cell is a gap, which is allowed. Rows without a target are left out, and so are columns
    that teach nothing, each with the reason.

    Part of the rows is held back and judges the model; of a series, the last steps.

    `batchensemble fit houses.csv --target price`

    `batchensemble fit sales.csv --target sales --time month --series store --horizon 6`
    """
    if (task == "forecast" or series or horizon or freq or fill or future or past) and not time:
        raise typer.BadParameter("a forecast needs --time, the column of times")
    if time and task not in (None, "forecast"):
        raise typer.BadParameter(f"--time makes it a forecast, but --task says {task}")
    console = Terminal(quiet=json, highlight=False)
    settings = {
        "method": method,
        "n_members": members,
        "preset": preset,
        "epochs": epochs,
        "time_limit": time_limit,
        "device": device,
        "verbose": Console(stderr=True).is_terminal,
    }
    with one_line_errors():
        from batchensemble.cli.given import read_series_to_learn, read_table_to_learn
        from batchensemble.cli.learning import keep, learn, place_of
        from batchensemble.cli.machine import as_json
        from batchensemble.cli.printing import print_given, print_learned

        path = place_of(data, out)
        if time:
            settings |= {"horizon": horizon, "freq": freq, "fill": fill}
            columns = {"future": future or (), "past": past or ()}
            given: Any = read_series_to_learn(data, target, time=time, series=series, **columns)
        else:
            given = read_table_to_learn(data, target, task=task, drop=drop or ())
        print_given(console, given.about)
        learned = learn(given, settings, holdout=holdout, seed=seed, calibrate=calibrate)
        keep(learned, given.about, path)
        print_learned(console, given.about, learned, path)
        if json:
            typer.echo(as_json({"model": path, **given.about.as_dict(), **learned.as_dict()}))


def predict(
    model: ModelArgument,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="Rows to predict, in any of the formats of fit; - is a CSV pipe. Of a forecast: "
            "series to go on from, by default those of fit.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help=".csv, .csv.gz, .parquet, .feather, or - (CSV).")
    ] = Path("-"),
    coverage: CoverageOption = 0.9,
    keep: Annotated[
        str, typer.Option(help="Columns of DATA to carry over: names with commas, or all.")
    ] = "",
    horizon: Annotated[int | None, _ahead("Steps; as at fit if not said.", min=1)] = None,
    ahead: Annotated[
        Path | None, _ahead("The columns that are known ahead, for the times to come.")
    ] = None,
    device: DeviceOption = "auto",
    json: JsonOption = False,
) -> None:
    """Predict the rows of a file, in their order, whatever its size.

    Numbers get `mean` and `std`, `lower` and `upper` (the ends of an interval that holds the truth
    with probability `--coverage`), and the two parts of the variance std²: `aleatoric`, noise in
    the data, and `epistemic`, doubt of the model.

    Classes get the `prediction`, its `confidence`, a probability `p_CLASS` for each class, and
    entropies in nats: `total`, which is `aleatoric` (noise) plus `epistemic` (doubt). A calibrated
    model adds `set`, the classes that hold the truth with probability `--coverage`.

    Series get their next times with `mean`, `lower` and `upper`.

    `batchensemble predict houses.be new.csv -o out.csv --keep id`

    `cat new.csv | batchensemble predict houses.be - | head`
    """
    if json and out == Path("-"):
        raise typer.BadParameter("--json needs a file to write the predictions to: -o FILE")
    with one_line_errors():
        from batchensemble.cli.answering import predict_file
        from batchensemble.cli.machine import as_json
        from batchensemble.cli.scores import counted
        from batchensemble.cli.watching import watching
        from batchensemble.estimators import load

        found = load(model, device=device)
        with watching() as watch:
            answered = predict_file(
                found,
                data,
                out,
                coverage=coverage,
                keep=[name.strip() for name in keep.split(",") if name.strip()],
                horizon=horizon,
                ahead=ahead,
                watch=watch,
            )
        if json:
            typer.echo(as_json({"model": model, **vars(answered)}))
        elif out != Path("-"):
            Console(stderr=True, highlight=False).print(
                f"{counted(answered.n_rows, 'row')}: {out}", soft_wrap=True
            )


def evaluate(
    model: ModelArgument,
    data: DataArgument,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A page to write, such as report.html.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="The column of truth; as at fit.")
    ] = None,
    coverage: CoverageOption = 0.9,
    device: DeviceOption = "auto",
    json: JsonOption = False,
) -> None:
    """Judge a model by a file whose truth is known, which it must not have learned from.

    Of a forecast, the file goes on where the series of fit end. The page shows the scores, whether
    intervals and probabilities keep their promise, how the error falls with certainty, and the
    rows that the model is least sure of. It is one file that needs no network.

    `batchensemble evaluate houses.be test.csv -o report.html`
    """
    with one_line_errors():
        from batchensemble.cli.judging import evaluate as judge
        from batchensemble.cli.machine import as_json
        from batchensemble.cli.printing import print_evaluation
        from batchensemble.cli.report import check_report, write_report
        from batchensemble.estimators import load

        check_report(out)
        console = Terminal(quiet=json, highlight=False)
        found = load(model, device=device)
        evaluation = judge(found, data, target=target, coverage=coverage)
        print_evaluation(console, evaluation)
        if out:
            write_report(found, model, evaluation, out)
            console.print(f"Report: {out}", soft_wrap=True)
        if json:
            typer.echo(as_json({"model": model, **evaluation.as_dict()}))


def inspect(model: ModelArgument, json: JsonOption = False) -> None:
    """Say what a model is: its task, columns, settings, training and size."""
    with one_line_errors():
        from batchensemble.cli.inspecting import inspect_model
        from batchensemble.cli.machine import as_json
        from batchensemble.cli.printing import print_inspected

        facts = inspect_model(model)
        if json:
            typer.echo(as_json(facts))
        else:
            print_inspected(Terminal(highlight=False), facts)


def export(
    model: ModelArgument,
    out: Annotated[Path, typer.Argument(metavar="FILE", help="Such as houses.onnx.")],
    json: JsonOption = False,
) -> None:
    """Write a model as an ONNX file, which other programs and languages can run."""
    with one_line_errors():
        from batchensemble.cli.exporting import export_model
        from batchensemble.cli.machine import as_json
        from batchensemble.estimators import load

        export_model(load(model, device="cpu"), out)
        if json:
            typer.echo(as_json({"model": model, "file": out, "bytes": out.stat().st_size}))
        else:
            typer.echo(f"{out}", err=True)

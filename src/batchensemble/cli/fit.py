"""`batchensemble fit`: train a model on a file."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape

from batchensemble.cli.errors import Terminal, if_stopped, plain_warnings, print_warning
from batchensemble.cli.fit_output import (
    print_groups,
    print_kind,
    print_next,
    print_result,
    print_source,
)
from batchensemble.cli.format import as_json, size
from batchensemble.cli.options import (
    DataArgument,
    DayfirstOption,
    DecimalOption,
    EncodingOption,
    JsonOption,
    Names,
    SheetOption,
    SkipLinesOption,
    ThousandsOption,
    forecast_option,
    option,
)

Method = Literal["batch_ensemble", "deep_ensemble", "mc_dropout", "single"]
Preset = Literal["fast", "default", "best", "paper", "recurrent"]
Task = Literal["regression", "classification", "forecast"]
Fill = Literal["interpolate", "ffill"]
TargetKind = Literal["auto", "real", "positive", "count", "bounded"]
TargetScaling = Literal["standard", "log"]


training_option = partial(option, rich_help_panel="Training")


def fit(
    data: DataArgument,
    target: Annotated[
        list[str],
        option("The column to predict; may be repeated, for several numbers.", "--target", "-t"),
    ],
    out: Annotated[
        Path | None,
        option("The model file to write; by default the name of DATA with .be.", "--out", "-o"),
    ] = None,
    task: Annotated[
        Task | None,
        option(
            "regression, classification or forecast; by default chosen from the target.",
            "--task",  # some versions of Typer would name it after the metavar
            metavar="TASK",
        ),
    ] = None,
    target_kind: Annotated[
        TargetKind | None,
        option(
            "What a number to predict can be: real, positive (at least 0), count or bounded; "
            "by default recognised.",
            metavar="KIND",
        ),
    ] = None,
    target_bounds: Annotated[
        tuple[float, float] | None,
        option("The ends of a bounded target, such as 0 50.", metavar="LOW HIGH"),
    ] = None,
    target_scaling: Annotated[
        TargetScaling | None,
        option(
            "log: learn on a logarithmic scale, for values such as prices; standard by default.",
            metavar="SCALING",
        ),
    ] = None,
    censored: Annotated[
        str | None,
        option(
            "A column of true/false, yes/no or 1/0: true where the real value is not known, but "
            "is at least the target."
        ),
    ] = None,
    groups: Annotated[
        str | None,
        option("A column: rows with the same value in it are held out together."),
    ] = None,
    in_time: Annotated[
        str | None,
        option("A column of times: the last rows are held out.", "--in-time", "--time-split"),
    ] = None,
    by: Annotated[
        str | None,
        option("A column: one model for each of its values, in the folder -o; may be resumed."),
    ] = None,
    jobs: Annotated[
        int, option("Groups of --by to fit at a time; -1 for one per core.", metavar="N")
    ] = 1,
    ray: Annotated[
        str | None,
        option("Fit the groups of --by on this Ray cluster; local starts one.", metavar="ADDRESS"),
    ] = None,
    together: Annotated[
        bool | None,
        option(
            "Train groups of --by of similar size together; on a GPU by default.",
            "--together/--apart",
        ),
    ] = None,
    drop: Annotated[Names, option("A column not to learn from; may be repeated.")] = None,
    category: Annotated[
        Names, option("A column of codes, to be read as categories; may be repeated.")
    ] = None,
    holdout: Annotated[
        float, option("Share of rows held out for scoring.", min=0, max=0.5, metavar="SHARE")
    ] = 0.2,
    calibrate: Annotated[
        bool | None,
        option(
            "Correct the intervals with the held-out rows. On by default for tables. Off for "
            "series, where it holds out more than one horizon: SHARE of the shortest series, and "
            "the same number of steps of every other."
        ),
    ] = None,
    per_class: Annotated[
        bool,
        option(
            "Calibrate each class separately, so that sets contain rare classes as often "
            "as common ones."
        ),
    ] = False,
    adapt: Annotated[
        bool | None,
        forecast_option(
            "Calibrate, with intervals that adapt to change: the same as --calibrate. With "
            "--calibrate --no-adapt, all past errors have the same weight."
        ),
    ] = None,
    time: Annotated[
        str | None, forecast_option("The time column; with it, the task is a forecast.")
    ] = None,
    series: Annotated[
        str | None, forecast_option("The column that names the series, if there are several.")
    ] = None,
    horizon: Annotated[
        int | None, forecast_option("Steps to forecast; by default 12 (paper: 5).", min=1)
    ] = None,
    freq: Annotated[
        str | None, forecast_option("Time between steps, such as D, MS or h; by default inferred.")
    ] = None,
    fill: Annotated[Fill | None, forecast_option("How to fill gaps in the series.")] = None,
    future: Annotated[
        Names, forecast_option("A column whose future values are known; may be repeated.")
    ] = None,
    past: Annotated[
        Names, forecast_option("A column known only up to the present; may be repeated.")
    ] = None,
    holidays: Annotated[
        str | None,
        forecast_option("A country, such as NO or DE-BY, whose public holidays matter."),
    ] = None,
    static: Annotated[
        Names, forecast_option("A column that never changes in a series; may be repeated.")
    ] = None,
    method: Annotated[
        Method,
        training_option(
            "batch_ensemble, deep_ensemble, mc_dropout or single.", "--method", metavar="METHOD"
        ),
    ] = "batch_ensemble",
    members: Annotated[
        int | None,
        training_option(
            "Members of each network (of a table, the default has five), or networks of a deep "
            "ensemble; by default the preset's.",
            min=1,
        ),
    ] = None,
    preset: Annotated[
        Preset,
        training_option(
            "fast, default, best (slower, more precise), paper or, for series, recurrent.",
            "--preset",
            metavar="PRESET",
        ),
    ] = "default",
    epochs: Annotated[int | None, training_option("Maximum number of epochs.", min=1)] = None,
    time_limit: Annotated[
        float | None, training_option("Seconds after which training stops.", min=0.001)
    ] = None,
    checkpoint: Annotated[
        Path | None,
        training_option(
            "A file with the state of training; if stopped, the same command continues from it."
        ),
    ] = None,
    seed: Annotated[int, training_option("The same seed gives the same model.", min=0)] = 0,
    device: Annotated[str, training_option('"auto", "cpu" or "cuda".')] = "auto",
    decimal: DecimalOption = None,
    thousands: ThousandsOption = None,
    dayfirst: DayfirstOption = None,
    encoding: EncodingOption = None,
    skip_lines: SkipLinesOption = 0,
    sheet: SheetOption = None,
    json: JsonOption = False,
) -> None:
    """Train a model on a file, and say how far to trust it.

    Numbers (1234.5, 1.234,50, $ 12, 7 %), dates (2026-01-31, 31.01.2026, Jan 2026), true/false and
    words are recognised; cells may be empty. Where a column can be read in two ways, the output
    says which option to add. Rows without a target and columns that carry no information are left
    out; the output says why.

    Some rows are held out to score the model; for a series, these are its last steps.

    DATA may also be a folder, or a pattern in quotes, of files with the same columns: together they
    may be larger than memory.

    `batchensemble fit houses.csv --target price`

    `batchensemble fit 'houses/*.parquet' --target price`

    `batchensemble fit houses.csv --target price --target days`

    `batchensemble fit sales.csv --target sales --time month --series store --horizon 6`
    """
    if len(target) > 1 and (
        time or by or censored or checkpoint or task not in (None, "regression")
    ):
        raise typer.BadParameter(
            "several --target are for a regression of a table, without --time, --by, --censored "
            "or --checkpoint; omit these, or give one --target"
        )
    of_series = (series, horizon, freq, fill, future, past, static, holidays)
    if (task == "forecast" or any(of_series)) and not time:
        raise typer.BadParameter("a forecast needs --time, the time column")
    if time and task not in (None, "forecast"):
        raise typer.BadParameter(f"--time makes it a forecast, but --task is {task}")
    if preset == "recurrent" and not time:
        raise typer.BadParameter(
            "--preset recurrent is for series, which have --time; take fast, default, best or paper"
        )
    if groups and in_time:
        raise typer.BadParameter("expected --groups or --in-time, got both; omit one of the two")
    if time and by:
        raise typer.BadParameter(
            "--by is for tables: one forecaster learns all series together; name their column with "
            "--series instead"
        )
    if time and (groups or in_time):
        raise typer.BadParameter(
            "--groups and --in-time are for tables, not for a forecast; omit them"
        )
    if time and (drop or category):
        raise typer.BadParameter(
            "--drop and --category are for tables: a forecast learns from the columns of --future, "
            "--past and --static alone; omit them"
        )
    if (jobs != 1 or ray or together is not None) and not by:
        raise typer.BadParameter("--jobs, --ray and --together are for groups: add --by COLUMN")
    if together and ray:
        raise typer.BadParameter("--ray fits each group separately; omit --together")
    if jobs == 0 or jobs < -1 or (jobs != 1 and ray):
        raise typer.BadParameter(
            "expected --jobs of at least 1, -1 for one per core, or --ray instead of it"
        )
    if by and (out is None or out == Path("-")):
        raise typer.BadParameter("--by needs a folder for its models: -o FOLDER")
    if by in target:
        raise typer.BadParameter(f"--by names the target {by}; name another column")
    if by and by == groups:
        raise typer.BadParameter(
            f"--by and --groups name the same column {by}, which is constant within each "
            "model; name another column with --groups, or omit it"
        )
    if adapt is not None and not time:
        raise typer.BadParameter("--adapt is for a forecast, not for a table")
    if adapt is False and not calibrate:
        raise typer.BadParameter("--no-adapt only affects calibration; add --calibrate")
    if adapt and calibrate is False:
        raise typer.BadParameter("--adapt needs calibration; omit --no-calibrate")
    if checkpoint and (time or by):
        raise typer.BadParameter("--checkpoint is for tables, not for a forecast or --by; omit it")
    of_numbers = {
        "--target-kind": target_kind,
        "--target-bounds": target_bounds,
        "--target-scaling": target_scaling,
        "--censored": censored,
    }
    given = next((name for name, value in of_numbers.items() if value), None)
    if given and (time or task == "classification"):
        raise typer.BadParameter(f"{given} is for a regression; omit it")
    if per_class and (time or by or task == "regression"):
        raise typer.BadParameter("--per-class is for classes, without --time and --by; omit it")
    from batchensemble.cli.holdout import model_path, train
    from batchensemble.cli.training_data import read_training_series, read_training_table
    from batchensemble.data.file_options import FileOptions
    from batchensemble.training.processes import joined

    with joined() as team:  # of processes, if torchrun started several
        if by and team.size > 1:
            raise typer.BadParameter("--by runs groups apart: use --jobs or --ray, not torchrun")
        options = FileOptions(decimal, thousands, dayfirst, encoding, skip_lines, sheet)
        console = Terminal(quiet=json or team.rank > 0, highlight=False)
        settings: dict[str, Any] = {
            "method": method,
            "n_members": members,
            "preset": preset,
            "epochs": epochs,
            "time_limit": time_limit,
            "device": device,
            "verbose": Console(stderr=True).is_terminal,
        }
        path = out if by and out else model_path(data, out)
        if checkpoint and checkpoint.resolve() == path.resolve():
            raise typer.BadParameter(
                f"the checkpoint would overwrite the model {path}; choose another"
            )
        if time:
            settings |= {"horizon": horizon, "freq": freq, "fill": fill, "holidays": holidays}
            columns = {"future": future or (), "past": past or (), "static": static or ()}
            source = read_training_series(
                data, target[0], time=time, series=series, options=options, **columns
            )
        else:
            task = "regression" if given or len(target) > 1 else task
            names: Any = {"drop": drop or (), "category": category or (), "options": options}
            names |= {"groups": groups, "in_time": in_time, "by": by, "censored": censored}
            names |= {"more_targets": target[1:]} | ({"why": f"{given} was given"} if given else {})
            source = read_training_table(data, target[0], task=task, seed=seed, **names)
            if source.origin.task == "regression":
                settings |= {"target": target_kind, "target_scaling": target_scaling}
                settings |= {"target_bounds": target_bounds} if target_bounds else {}
        print_source(console, asdict(source.origin))
        if by:
            from batchensemble.cli.per_group import fit_groups

            how: dict[str, Any] = {"holdout": holdout, "seed": seed, "calibrate": calibrate}
            how |= {"jobs": jobs, "ray": ray, "together": together}
            settings |= {"verbose": False} if jobs != 1 or ray else {}  # bars would be a tangle
            say = partial(console.print, markup=False)  # a group may be called [/]
            counts = fit_groups(source, by, path, settings, progress=say, **how)
            print_groups(console, path, counts)
            if json:
                typer.echo(as_json({"models": path, "by": by, **counts}))
            return
        kept = f"Stopped. Run the same command again to continue from {checkpoint}, if it exists."
        told, stopped = source.origin.notes, if_stopped(lambda: kept if checkpoint else "")
        with plain_warnings(console, told) as said, stopped:
            model = train(
                source,
                settings,
                holdout=holdout,
                seed=seed,
                calibrate=adapt or calibrate,
                adapt=adapt is not False,
                per_class=per_class,
                checkpoint=checkpoint,
            )
        if team.rank > 0:  # all have the same model, and the first writes it
            return
        model.origin_["warnings"] = [*said, *model.origin_["warnings"]]
        model.save(path)
        origins = {}
        if len(target) > 1:
            from batchensemble.cli.joint import origins_of, print_targets

            origins = origins_of(model)
            print_targets(console, origins, model.origin_["scores"], model.regressors_)
        else:
            print_kind(console, model)
            print_result(console, model.origin_)
        for warning in model.origin_["warnings"][len(said) :]:
            print_warning(console, warning)
        about = f"{model.n_parameters_:,} parameters, {size(path.stat().st_size)}"
        console.print(f"Model: [bold]{escape(str(path))}[/] ({about})", soft_wrap=True)
        new_file = " --ahead ahead.csv" if future else ""
        print_next(console, path, new_file if time else " new.csv")
        if json:
            kind = {"target_kind": model.target_kind_} if hasattr(model, "target_kind_") else {}
            kind |= {"targets": origins} if origins else {}
            typer.echo(as_json({"model": path, **model.origin_, **kind}))

"""`batchensemble evaluate`: how good a model is on a file with known truth."""

from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from batchensemble.cli.errors import Terminal, plain_warnings, print_warning
from batchensemble.cli.fit_output import print_rows
from batchensemble.cli.format import as_json
from batchensemble.cli.options import (
    CoverageOption,
    DataArgument,
    DayfirstOption,
    DecimalOption,
    DeviceOption,
    EncodingOption,
    JsonOption,
    ModelArgument,
    SheetOption,
    SkipLinesOption,
    ThousandsOption,
    option,
)

MOST_ROWS, MOST_COLUMNS = 5, 7  # of the least certain rows
MOST_CLASSES = 30
MOST_LETTERS, MOST_OF_NAME = 24, 12  # in a line of a cell, or of a column's name
WIDEST = 10_000  # characters of a line


def evaluate(
    model: ModelArgument,
    data: DataArgument,
    out: Annotated[
        Path | None, option("The HTML report to write, such as report.html.", "--out", "-o")
    ] = None,
    target: Annotated[
        str | None,
        option("The column with the true values; by default the model's target.", "--target", "-t"),
    ] = None,
    coverage: CoverageOption = 0.9,
    device: DeviceOption = "auto",
    decimal: DecimalOption = None,
    thousands: ThousandsOption = None,
    dayfirst: DayfirstOption = None,
    encoding: EncodingOption = None,
    skip_lines: SkipLinesOption = 0,
    sheet: SheetOption = None,
    json: JsonOption = False,
) -> None:
    """Score a model on a file with known targets that it was not trained on.

    For a forecast, the file must continue the series of fit; it is forecast from many times, spread
    over all of it. With -o, an HTML report shows the scores, whether intervals and probabilities
    are calibrated, how the error falls when uncertain rows are left out, and the least certain
    rows. It is one file that works offline.

    A model of several targets is scored target by target, and by the energy score of all of them
    together (an error of the joint distribution; lower is better). The report shows the same.

    `batchensemble evaluate houses.be test.csv -o report.html`
    """
    from batchensemble.cli.comparison import evaluate_file
    from batchensemble.cli.report import check_report, write_report
    from batchensemble.data.file_options import FileOptions
    from batchensemble.estimators.joint import JointRegressor
    from batchensemble.estimators.loading import load

    options = FileOptions(decimal, thousands, dayfirst, encoding, skip_lines, sheet)
    check_report(out, beside=[model, data])
    console = Terminal(quiet=json, highlight=False)
    fitted = load(model, device=device)
    if isinstance(fitted, JointRegressor):
        from batchensemble.cli.joint import evaluate_targets, print_evaluations

        if target:
            raise ValueError(
                f"--target is for models of one target, and {model} predicts "
                f"{', '.join(fitted.target_names_)}; omit it"
            )
        with plain_warnings(Terminal(stderr=True, highlight=False)):
            parts, together = evaluate_targets(fitted, data, coverage=coverage, options=options)
        print_evaluations(console, parts, together)
        if out:
            from batchensemble.cli.joint_report import write_joint_report

            write_joint_report(fitted, model, parts, together, out)
            console.print(f"Report: {out}", soft_wrap=True, markup=False)
        if json:
            targets = {name: part.as_dict() for name, part in parts.items()}
            typer.echo(as_json({"model": model, "targets": targets, **together}))
        return
    how: Any = {"target": target, "coverage": coverage, "options": options}
    with plain_warnings(Terminal(stderr=True, highlight=False)):
        evaluation = evaluate_file(fitted, data, **how, explains=out is not None)
    print_evaluation(console, evaluation)
    if out:
        write_report(fitted, model, evaluation, out)
        console.print(f"Report: {out}", soft_wrap=True, markup=False)
    if json:
        typer.echo(as_json({"model": model, **evaluation.as_dict()}))


def print_evaluation(console: Console, evaluation: Any) -> None:
    """An `Evaluation`: its scores, and the least certain rows."""
    from batchensemble.cli.coverage_in_time import print_coverage_in_time
    from batchensemble.cli.scores import print_scores

    if evaluation.verdict:
        console.print(f"[yellow]Warning[/]: {escape(evaluation.verdict)}")
    print_rows(console, evaluation.judged_on, vars(evaluation))
    if evaluation.note:
        console.print(f"[yellow]Note[/]: {escape(evaluation.note)}")
    for warning in evaluation.warnings:
        print_warning(console, warning)
    print_scores(console, vars(evaluation), evaluation.coverage)
    print_coverage_in_time(console, evaluation.coverage_in_time, evaluation.coverage)
    if evaluation.classes:
        console.print("By class:")
        console.print(_fitting(console, evaluation.classes, MOST_CLASSES))
    console.print("Least certain:")
    console.print(_fitting(console, evaluation.doubtful, MOST_ROWS, MOST_COLUMNS))


def _fitting(console: Console, sheet: Any, most_rows: int, n_columns: int | None = None) -> Table:
    """So many of the first columns that no number is cut."""
    endless = console.options.update(max_width=WIDEST)
    for n in range(n_columns or len(sheet.columns), 1, -1):
        table = _table(sheet, most_rows, n)
        if console.measure(table, options=endless).maximum <= console.width:
            return table
    return _table(sheet, most_rows, 1)


def _table(sheet: Any, most_rows: int, most_columns: int) -> Table:
    from batchensemble.plots.sheets import brief

    table = Table(box=None)
    for i, column in enumerate(sheet.columns[:most_columns]):
        is_number = any(isinstance(row[i], int | float) for row in sheet.rows)
        name = escape("\n".join(wrap(column, MOST_OF_NAME)))
        if is_number:
            table.add_column(name, justify="right", no_wrap=True)
        else:
            table.add_column(name, max_width=MOST_LETTERS)
    for row in sheet.rows[:most_rows]:
        cells = [brief(cell) if isinstance(cell, float) else cell for cell in row[:most_columns]]
        table.add_row(*("" if cell is None else escape(str(cell)) for cell in cells))
    return table

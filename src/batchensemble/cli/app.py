"""The command line. One file for each command; what trains is imported when a command runs."""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from batchensemble.cli.datasets import datasets
from batchensemble.cli.errors import CODES, one_line_errors
from batchensemble.cli.evaluate import evaluate
from batchensemble.cli.export import export
from batchensemble.cli.fit import fit
from batchensemble.cli.inspect import inspect
from batchensemble.cli.predict import predict
from batchensemble.cli.reproduce import report, reproduce
from batchensemble.cli.serve import serve

RESUME = "Stopped. Finished runs are kept: run the same command again to continue."


class _Group(TyperGroup):
    def format_help(self, ctx: Any, formatter: Any) -> None:
        with one_line_errors():  # standard output may be full
            super().format_help(ctx, formatter)


class _Command(TyperCommand):
    def format_help(self, ctx: Any, formatter: Any) -> None:
        with one_line_errors():
            super().format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse empty texts: as a path, "" would be this folder, and as a column, none."""
        given = self.make_parser(ctx).parse_args(list(args))[0]
        params: list[Any] = self.get_params(ctx)
        for param in params:
            value = given.get(param.name)
            words = value if isinstance(value, list | tuple) else [value]
            if "" in words:
                wrong = "expected a value, got an empty text; is a variable of the shell not set?"
                raise typer.BadParameter(wrong, ctx=ctx, param=param)
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


@app.callback(epilog=CODES)
def main() -> None:
    """Predictions with trustworthy uncertainty for tables and time series.

    Inside is BatchEnsemble, an ensemble whose members share most of their parameters.
    """


for own in (fit, predict, evaluate, inspect, export, serve):
    app.command(cls=_Command, rich_help_panel="Your own data", epilog=CODES)(one_line_errors()(own))
for study in (datasets, reproduce, report):
    app.command(cls=_Command, rich_help_panel="The study")(one_line_errors(RESUME)(study))

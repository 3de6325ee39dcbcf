"""The command line. One file for each command; what trains is imported when a command runs."""

import typer

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

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


@app.callback(epilog=CODES)
def main() -> None:
    """Predictions with trustworthy uncertainty for tables and time series.

    Inside is BatchEnsemble, an ensemble of ten in 16 to 26 % of the parameters of ten networks.
    """


for own in (fit, predict, evaluate, inspect, export, serve):
    app.command(rich_help_panel="Your own data", epilog=CODES)(one_line_errors()(own))
for study in (datasets, reproduce, report):
    app.command(rich_help_panel="The study")(one_line_errors(RESUME)(study))

"""`batchensemble export`: a model for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from batchensemble.cli.format import as_json
from batchensemble.cli.options import JsonOption, ModelArgument, option


def export(
    model: ModelArgument,
    out: Annotated[
        Path, typer.Argument(metavar="FILE", help="The ONNX file to write, such as houses.onnx.")
    ],
    coverage: Annotated[
        float | None,
        option("Include the interval bounds of a calibrated regression, at this coverage."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write a model as an ONNX file, which other programs and languages can run."""
    from batchensemble.data.writing import check_place
    from batchensemble.estimators.loading import load
    from batchensemble.export import to_onnx

    if out.suffix != ".onnx":
        raise ValueError(f"expected a file name that ends in .onnx, got {out}")
    check_place(out, beside=[model])
    to_onnx(load(model, device="cpu"), out, coverage=coverage)
    if json:
        typer.echo(as_json({"model": model, "file": out, "bytes": out.stat().st_size}))
    else:
        typer.echo(f"{out}", err=True)
